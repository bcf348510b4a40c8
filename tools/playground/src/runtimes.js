// A company's runtimes: files that are dropped or chosen, folders included. They stay in the browser, and in shared links.
import { MOST_CHARACTERS } from "./share.js";

const MOST_FILES = 2000;
const HAS_RUNTIME = /^\s*(- )?["']?kind["']?:\s*["']?(Cluster)?TrainingRuntime\b/m;

// The files of a drop, with those in its folders: [{path, file}].
export async function filesOf(transfer) {
  const waiting = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const found = waiting.length ? [] : [...transfer.files].map((file) => ({ path: file.name, file }));
  while (waiting.length && found.length < MOST_FILES) {
    const entry = waiting.shift();
    if (entry.isFile) found.push({ path: entry.fullPath, file: await new Promise((done, fail) => entry.file(done, fail)) });
    else if (!/^(\.|node_modules$)/.test(entry.name)) waiting.push(...(await entriesOf(entry.createReader())));
  }
  return found;
}

// A reader gives up to a hundred entries at a time.
async function entriesOf(reader) {
  const found = [];
  for (;;) {
    const next = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!next.length) return found;
    found.push(...next);
  }
}

// The texts of files with runtimes, by names that are safe in a folder; `others` are texts without.
export async function runtimesIn(files) {
  const runtimes = {};
  const others = [];
  let characters = 0;
  for (const { path, file } of files.slice(0, MOST_FILES)) {
    if (!/\.(ya?ml|json)$/.test(path) || file.size > MOST_CHARACTERS) continue;
    const text = await file.text();
    if (!HAS_RUNTIME.test(text)) others.push(text);
    else if ((characters += text.length) > MOST_CHARACTERS) throw new Error("these runtimes are too large for a browser");
    else runtimes[path.replace(/^\W+/, "").replace(/[^\w.-]+/g, "-")] = text;
  }
  return { runtimes, others };
}
