// The page: what is typed goes to trainc in the worker, and what it answers is shown. Nothing is sent anywhere.
import { BYTES, EXAMPLES, RELEASE, RELEASES, VERSION } from "build";
import { Client } from "./client.js";
import { edit, goTo, inputEditor, lineOf, manifestEditor, setNotes, setText, showProblems } from "./editor.js";
import { element } from "./element.js";
import { explanationOf } from "./explanation.js";
import { pageOf } from "./page.js";
import { filesOf, runtimesIn } from "./runtimes.js";
import { MOST_CHARACTERS, decode, encode } from "./share.js";

const FILE = "train.yaml";
const TABS = ["manifests", "picture", "explain", "changes"];
const MOST_SHOWN = 100;
const PAUSE = 120;
const wide = matchMedia("(min-width: 900px)");
const at = (id) => document.getElementById(id);

// A preview is never the default.
const newest = RELEASE;
const before = RELEASES[RELEASES.indexOf(newest) - 1];
const state = { text: Object.values(EXAMPLES)[0], runtimes: {}, release: newest, from: before, tab: "manifests" };
const allowed = { release: RELEASES, from: RELEASES, tab: TABS };

// Answers for the text and the release that are on the page; dropped when either changes.
let answers = new Map();
let fields = [];
let meanings = [];
let running = false;
let stale = false;

const client = new Client(document.body.dataset.worker, onProgress);
const input = inputEditor(at("input"), { onChange: onText, onLine: showLine, explain });
const output = manifestEditor(at("output"), goToSource);

function ask(call, more = {}) {
  const key = JSON.stringify([call, more]);
  if (!answers.has(key)) answers.set(key, client.ask({ call, text: state.text, runtimes: state.runtimes, ...more }));
  return answers.get(key);
}

const words = (...given) => ask("run", { words: given });

// One round at a time; what is typed meanwhile is for the next one.
async function refresh() {
  stale = true;
  if (running) return;
  running = true;
  while (stale) {
    stale = false;
    await round().catch((error) => {
      answers.clear();
      showFailure(error);
    });
  }
  running = false;
}

async function round() {
  const { release } = state;
  if (state.text.length > MOST_CHARACTERS) {
    throw new Error(`the text has more than ${MOST_CHARACTERS.toLocaleString("en")} characters, which is for the command line`);
  }
  const { answer, took } = await ask("compiled", { release });
  if (stale) return;
  showCompiled(answer, took);
  keepInAddress();
  if (state.tab === "picture") showPictures((await ask("pictures", { release, width: at("picture").clientWidth - 32 })).answer);
  if (state.tab === "changes") showChanges(await changes());
  if (stale) return;
  const told = [(await ask("origins", { release })).answer, (await ask("meanings", { release })).answer];
  if (stale) return;
  [fields, meanings] = told;
  showLine(lineOf(input.state));
}

async function changes() {
  if (state.from === state.release) return null;
  return (await words("diff", FILE, "--releases", `${state.from}..${state.release}`)).answer;
}

// What is typed, chosen, or found in the address.
let pause;
function onText(text) {
  if (text === state.text) return;
  state.text = text;
  at("example").value = "";
  changed(PAUSE);
}

function changed(wait = 0) {
  answers = new Map();
  clearTimeout(pause);
  pause = setTimeout(refresh, wait);
}

function choose(tab) {
  state.tab = tab;
  for (const name of TABS) {
    const chosen = name === tab;
    at(`tab-${name}`).setAttribute("aria-selected", chosen);
    at(`tab-${name}`).tabIndex = chosen ? 0 : -1;
    at(name).hidden = !chosen || !at("loading").hidden;
  }
  refresh();
}

async function restore() {
  kept = location.hash;
  const fragment = kept.slice(1);
  const found = fragment && (await decode(fragment, allowed));
  if (fragment && !found) toast("This link is damaged: showing the page as it was.");
  Object.assign(state, found || {});
  showRuntimes();
  at("release").value = state.release;
  at("from").value = state.from;
  setInput(state.text);
  const example = Object.entries(EXAMPLES).find(([, text]) => text === state.text);
  at("example").value = example ? example[0] : "";
  answers = new Map();
  choose(state.tab);
}

// With the cursor on a line that has something to explain. Without the focus, which on a phone opens the keyboard.
function setInput(text) {
  setText(input, text);
  goTo(input, text.split("\n").findIndex((line) => line.includes("numNodes:")) + 1, 1, { focus: false });
}

// What the page has put into the address itself.
let kept = "";
async function keepInAddress() {
  const next = `#${await encode(state)}`;
  if (location.hash !== kept) return; // Another link has just been opened.
  kept = next;
  history.replaceState(null, "", kept);
}

async function share() {
  await keepInAddress();
  try {
    await navigator.clipboard.writeText(location.href);
    toast("Link copied. It holds the text itself; nothing was uploaded.");
  } catch {
    openDialog("Copy this link", element("textarea", { readonly: true, rows: "8" }, location.href));
  }
}

// What is shown.
function onProgress({ loaded, ready, failure }) {
  const [bar, text] = at("loading").children;
  if (failure) text.textContent = `trainc could not be loaded: ${failure}. Reload the page to try again.`;
  if (loaded) {
    bar.value = Math.min(loaded / BYTES, 1);
    const part = Math.min(Math.round((100 * loaded) / BYTES), 100);
    text.textContent = part < 100 ? `Loading trainc: ${part} % of ${Math.round(BYTES / 1e6)} MB` : "Starting Python";
  }
  if (ready) document.documentElement.dataset.ready = ready;
}

function showCompiled({ build, diagnostics }, took) {
  at("loading").hidden = true;
  at(state.tab).hidden = false;
  const refused = build.status !== 0;
  showManifests(refused ? "" : build.out, refused ? build.err : "");
  at("command").textContent = `trainc ${build.words.join(" ")}`;
  at("took").textContent = `${Math.max(Math.round(took), 1)} ms`;
  at("about").textContent = `trainc ${VERSION}, in your browser`;
  showProblems(input, diagnostics, FILE);
  showList(diagnostics, []);
  // Those of the text before this one; new ones are on their way.
  fields = meanings = [];
  mark();
  performance.mark("compiled");
}

// Manifests, or why there are none; never those of an earlier text.
function showManifests(text, refused) {
  at("manifests").firstElementChild.hidden = Boolean(refused);
  at("output").hidden = Boolean(refused);
  at("refused").hidden = !refused;
  at("refused").textContent = refused;
  setText(output, text);
}

function showList(diagnostics) {
  const count = (severity) => diagnostics.filter((one) => one.severity === severity).length;
  const counted = ["error", "warning", "info"].map((one) => [count(one), one]).filter(([number]) => number);
  const parts = counted.map(([number, one]) => `${number} ${one}${number > 1 ? "s" : ""}`);
  at("count").textContent = parts.join(", ") || "No problems";
  at("count").className = counted.length ? counted[0][1] : "none";
  const more = diagnostics.length - MOST_SHOWN;
  const rest = more > 0 ? [element("li", {}, `and ${more} more`)] : [];
  const shown = diagnostics.slice(0, MOST_SHOWN);
  at("problems").replaceChildren(...shown.map(problem), ...rest);
}

function problem({ code, severity, message, hint, path, source, url, fixes = [] }) {
  const place = source && `${source.file}:${source.line}:${source.column}`;
  const text = source && state.runtimes[source.file.replace(/^runtimes\//, "")];
  const jump = () => (text ? openDialog(place, element("pre", {}, text)) : goTo(input, source.line, source.column));
  const button = (title, onclick) => element("button", { type: "button", class: "fix", onclick }, title);
  const buttons = fixes.map(({ title, edits }) => button(title, () => edit(input, edits)));
  if (code === "RuntimeNotFound") buttons.unshift(button("Add your runtimes", openRuntimes));
  return element(
    "li",
    { class: severity },
    place ? element("button", { type: "button", class: "place", onclick: jump }, place) : null,
    element("button", { type: "button", class: "code", onclick: () => showRule(code, url) }, `${severity}[${code}]`),
    element("div", {}, path ? element("code", {}, path) : null, path ? ": " : "", message),
    hint ? element("div", { class: "hint" }, `help: ${hint}`) : null,
    buttons.length ? element("div", { class: "fixes" }, ...buttons) : null,
  );
}

async function showRule(code, url) {
  const { answer } = await words("rule", code);
  const known = typeof url === "string" && url.startsWith("https://");
  const link = known ? element("p", {}, element("a", { href: url, rel: "noopener", target: "_blank" }, url)) : null;
  const open = (text) => (at("dialog").close(), setInput(text));
  openDialog("", pageOf(answer.out || answer.err, open), link);
}

function showPictures(drawn) {
  for (const old of at("picture").querySelectorAll("img")) URL.revokeObjectURL(old.src);
  // As images, so that nothing in them could run.
  const images = drawn.map(({ name, svg }) => {
    const src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    return element("img", { src, alt: `The steps, pods and GPUs of ${name}` });
  });
  at("picture").replaceChildren(...(images.length ? images : [element("p", {}, "There is nothing to draw.")]));
}

function showChanges(printed) {
  at("to").textContent = `to Trainer ${state.release}`;
  const text = printed ? printed.out || printed.err : "Choose two releases.";
  const kinds = { "+": "added", "-": "removed", "~": "edited", "!": "noted" };
  const line = (one) => element("span", { class: kinds[one.trim()[0]] ?? "" }, `${one}\n`);
  at("diff").replaceChildren(...text.trimEnd().split("\n").map(line));
}

function explain(line, column) {
  return explanationOf({ line, column, fields, meanings, text: state.text, most: 4 });
}

function showLine(line) {
  at("place").textContent = `line ${line}`;
  const told = explanationOf({ line, fields, meanings, text: state.text, most: 200 });
  const nothing = element("p", {}, `No field of the output is taken from line ${line}. Put the cursor on another one.`);
  at("explain").replaceChildren(element("h2", {}, `Line ${line}`), told ?? nothing);
  mark();
}

// Notes behind the lines of the manifests; those that are taken from the line under the cursor stand out.
function mark() {
  const line = lineOf(input.state);
  const taken = fields.filter(({ origins }) => origins.some(({ lines }) => lines.includes(line)));
  output.dispatch({ effects: setNotes.of({ fields, marked: new Set(taken.map((field) => field.line)) }) });
}

function goToSource(line) {
  const field = fields.find((one) => one.line === line);
  const source = field?.origins.flatMap(({ lines }) => lines)[0];
  if (source) goTo(input, source);
}

function showFailure(error) {
  at("loading").hidden = true;
  at(state.tab).hidden = false;
  showManifests("", `trainc gave no answer: ${error.message}`);
  showProblems(input, [], FILE);
  showList([], []);
  at("count").textContent = "";
  fields = meanings = [];
  mark();
}

function openDialog(title, ...content) {
  at("dialog").lastElementChild.replaceChildren(...[title && element("h2", {}, title), ...content].filter(Boolean));
  if (!at("dialog").open) at("dialog").showModal();
}

// Runtimes that are not in the catalog.
function showRuntimes() {
  const names = Object.keys(state.runtimes).sort();
  at("runtimes").textContent = names.length ? `Runtimes (${names.length})` : "Runtimes";
  return names;
}

function setRuntimes(runtimes) {
  state.runtimes = runtimes;
  showRuntimes();
  changed();
}

async function addRuntimes(files) {
  try {
    const { runtimes, others } = await runtimesIn(files);
    const added = Object.keys(runtimes).length;
    if (added) setRuntimes({ ...state.runtimes, ...runtimes });
    else if (others.length === 1) setInput(others[0]);
    else toast("There is no TrainingRuntime or ClusterTrainingRuntime in these files.");
    if (added) toast(`${added} file${added > 1 ? "s" : ""} with runtimes added. They stay in your browser, and in links that you share.`);
  } catch (error) {
    toast(`The files could not be read: ${error.message}.`);
  }
}

function openRuntimes() {
  const chosen = ({ target }) => addRuntimes([...target.files].map((file) => ({ path: file.webkitRelativePath || file.name, file }))).then(openRuntimes);
  const choose = (title, more) => element("label", { class: "choose" }, title, element("input", { type: "file", multiple: true, onchange: chosen, ...more }));
  const remove = (name) => () => {
    setRuntimes(Object.fromEntries(Object.entries(state.runtimes).filter(([one]) => one !== name)));
    openRuntimes();
  };
  const row = (name) => element("li", {}, element("code", {}, name), element("button", { type: "button", onclick: remove(name) }, "Remove"));
  openDialog(
    "Your runtimes",
    element("p", {}, "Jobs here can use the built-in runtimes and those in your files. Drop files or a folder on the page, or choose them. Nothing is uploaded; a link that you share has them in it."),
    element("ul", { class: "files" }, ...showRuntimes().map(row)),
    element("p", {}, choose("Choose files", { accept: ".yaml,.yml,.json" }), choose("Choose a folder", { webkitdirectory: true })),
  );
}

function toast(text) {
  document.querySelector(".toast")?.remove();
  const shown = element("div", { class: "toast", role: "status" }, text);
  document.body.append(shown);
  setTimeout(() => shown.remove(), 4000);
}

// The page comes to life.
const options = (values) => values.map((value) => element("option", { value }, value));
at("release").append(...options(RELEASES));
at("from").append(...options(RELEASES));
at("example").append(element("option", { value: "", disabled: true }, "your own"), ...options(Object.keys(EXAMPLES)));
at("example").onchange = ({ target }) => {
  const chosen = target.value;
  setInput(EXAMPLES[chosen]);
  target.value = chosen;
};
at("release").onchange = ({ target }) => {
  state.release = target.value;
  changed();
};
at("from").onchange = ({ target }) => {
  state.from = target.value;
  refresh();
};
at("share").onclick = share;
at("runtimes").onclick = openRuntimes;
addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
addEventListener("drop", async (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  addRuntimes(await filesOf(event.dataTransfer));
}, true);
at("copy").onclick = async () => {
  await navigator.clipboard.writeText(output.state.doc.toString());
  toast("Manifests copied.");
};
at("notes").checked = wide.matches;
const showNotes = () => at("output").classList.toggle("noted", at("notes").checked);
at("notes").onchange = showNotes;
showNotes();
const tabs = document.querySelector("[role=tablist]");
tabs.onclick = ({ target }) => target.role === "tab" && choose(target.getAttribute("aria-controls"));
tabs.onkeydown = ({ key }) => {
  const step = { ArrowRight: 1, ArrowLeft: TABS.length - 1 }[key];
  if (!step) return;
  choose(TABS[(TABS.indexOf(state.tab) + step) % TABS.length]);
  at(`tab-${state.tab}`).focus();
};
wide.onchange = () => refresh();
addEventListener("hashchange", () => location.hash !== kept && restore());
restore();

// After the first result, so that it does not compete with what the page waits for.
if ("serviceWorker" in navigator) {
  addEventListener("load", () => navigator.serviceWorker.register("service-worker.js").catch(() => {}));
}
