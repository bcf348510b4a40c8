// A page of a rule: its headings, paragraphs, lists and YAML as elements. `open` takes YAML into the editor.
import { element } from "./element.js";

export function pageOf(markdown, open) {
  const made = [];
  // Between the fences is text; each of them has a language and a content.
  markdown.split(/^```(\w*)\n([^]*?)^```$/m).forEach((part, index) => {
    if (index % 3 === 0) made.push(...part.split(/\n{2,}/).map((text) => block(text.trim())));
    if (index % 3 === 2) made.push(code(part, open));
  });
  return element("article", {}, ...made);
}

function block(text) {
  const heading = /^(#+) (.*)/.exec(text);
  if (heading) return element(heading[1].length > 1 ? "h3" : "h2", {}, ...inline(heading[2]));
  if (text.startsWith("- ")) {
    const items = text.slice(2).split(/\n- /).map((item) => element("li", {}, ...inline(item)));
    return element("ul", {}, ...items);
  }
  return text && element("p", {}, ...inline(text));
}

function inline(text) {
  const parts = text.split(/(`[^`]+`|\*\*[^*]+\*\*)/);
  return parts.map((part, index) => {
    if (index % 2 === 0) return part;
    return part[0] === "`" ? element("code", {}, part.slice(1, -1)) : element("b", {}, part.slice(2, -2));
  });
}

// An example that needs other files or flags says so in its first lines, and is not for the editor.
function code(text, open) {
  const alone = /^kind: TrainJob$/m.test(text) && !/^# (trainc|file):/m.test(text);
  const button = element("button", { type: "button", onclick: () => open(text) }, "Open in the editor");
  return element("div", { class: "example" }, element("pre", {}, text), alone ? button : null);
}
