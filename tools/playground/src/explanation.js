// What a line of the input means, and what becomes of it.
import { element } from "./element.js";

// Null where there is nothing to say. `column` narrows down which field of a line is meant.
export function explanationOf({ line, column, fields, meanings, text, most }) {
  const meant = meaning(meanings, line, column);
  const taken = takenFrom(fields, line, text);
  if (!meant && !taken.length) return null;
  const shown = taken.slice(0, most);
  const rest = taken.length - shown.length;
  return element(
    "div",
    {},
    meant && element("p", { class: "meaning" }, element("code", {}, meant.path), ` ${meant.text}`),
    shown.length ? element("h3", {}, "becomes") : null,
    ...shown.map(field),
    rest > 0 ? element("p", { class: "hint" }, `and ${rest} more`) : null,
  );
}

// The field whose key stands last before the column, or first on the line.
function meaning(meanings, line, column) {
  const here = meanings.filter((one) => one.line === line);
  return column === undefined ? here[0] : here.findLast((one) => one.column <= column) ?? here[0];
}

// Fields that are taken from the line; where there are none, from the lines inside it.
function takenFrom(fields, line, text) {
  const from = (first, last) =>
    fields.filter(({ origins }) => origins.some(({ lines }) => lines.some((one) => one >= first && one <= last)));
  const here = from(line, line);
  return here.length ? here : from(line, lastInside(text.split("\n"), line));
}

function lastInside(lines, line) {
  const indent = (one) => one.search(/\S/);
  const own = indent(lines[line - 1] ?? "");
  if (own < 0 || lines[line - 1].trimStart().startsWith("#")) return line;
  let last = line;
  while (last < lines.length && (indent(lines[last]) > own || indent(lines[last]) < 0)) last += 1;
  return last;
}

function field({ object, path, origins }) {
  const [now, ...before] = origins;
  return element(
    "div",
    { class: `field ${now.kind}` },
    element("div", {}, element("span", { class: "object" }, object), " ", element("code", {}, path)),
    element("div", {}, element("code", { class: "value" }, now.value), ` ← ${now.phrase}`),
    ...before.map((one) => element("div", { class: "hint" }, "before: ", element("code", {}, one.value), ` ← ${one.phrase}`)),
  );
}
