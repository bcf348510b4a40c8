// Python sources to the bytecode of the Python that runs in the browser, archive by archive: node precompile.mjs IN OUT ...
// Docstrings and assertions stay out.
// They are not compressed one by one: build.py packs each archive as a whole, which makes it smaller by a seventh.
// A page that compiled them itself would take two seconds more for its first result, at each visit.
import { readFileSync, writeFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

const PRECOMPILE = `
import importlib.util, zipfile
from importlib._bootstrap_external import _code_to_hash_pyc

def entry(name, content):
    if not name.endswith(".py"):
        return name, content
    code = compile(content, name, "exec", dont_inherit=True, optimize=2)
    return name + "c", bytes(_code_to_hash_pyc(code, importlib.util.source_hash(content), False))

with zipfile.ZipFile("/in.zip") as sources, zipfile.ZipFile("/out.zip", "w") as made:
    for source in sorted(name for name in sources.namelist() if not name.endswith("/")):
        name, content = entry(source, sources.read(source))
        made.writestr(zipfile.ZipInfo(name), content)
`;

const python = await loadPyodide();
const paths = process.argv.slice(2);
for (let at = 0; at < paths.length; at += 2) {
  python.FS.writeFile("/in.zip", new Uint8Array(readFileSync(paths[at])));
  python.runPython(PRECOMPILE);
  writeFileSync(paths[at + 1], python.FS.readFile("/out.zip"));
}
