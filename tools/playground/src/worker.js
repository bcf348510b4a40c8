// trainc in a worker, so that the page stays responsive: it is sent {id, question}, and sends back {id, answer} or {id, failure}.
// While it starts it sends {loaded: bytes}, then {ready: milliseconds}.
import { PYTHON } from "build";

const started = performance.now();
const here = new URL(".", self.location.href).href;
let loaded = 0;

// Pyodide fetches its own files. They pass through here, so that the page knows how far it has come, and so that what is
// large is small on any server: NAME.zip and NAME.wasm are served as NAME.zip.bin and NAME.wasm.bin, in gzip.
const fetched = self.fetch.bind(self);
self.fetch = async (address, options) => {
  const url = String(address);
  const packed = /\.(wasm|zip)$/.test(url);
  const response = await fetched(packed ? `${url}.bin` : url, options);
  if (!response.ok || !response.body) return response;
  const counted = response.body.pipeThrough(new TransformStream({ transform: count }));
  const type = url.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
  const body = packed ? counted.pipeThrough(new DecompressionStream("gzip")) : counted;
  return new Response(body, { headers: { "Content-Type": type } });
};

function count(chunk, controller) {
  loaded += chunk.byteLength;
  self.postMessage({ loaded });
  controller.enqueue(chunk);
}

async function start() {
  const packages = fetch(here + PYTHON.packages).then((response) => response.arrayBuffer());
  const { loadPyodide } = await import(here + PYTHON.runtime);
  const python = await loadPyodide({
    indexURL: here + PYTHON.runtime.replace(/[^/]*$/, ""),
    stdLibURL: here + PYTHON.library,
    // No packages are ever loaded, from anywhere.
    lockFileContents: { info: PYTHON.info, packages: {} },
    packageBaseUrl: here,
    env: { HOME: "/job", NO_COLOR: "1", COLUMNS: "100" },
  });
  python.unpackArchive(await packages, "zip", { extractDir: "/packages" });
  python.runPython("import os, sys; sys.path.insert(0, '/packages'); os.makedirs('/job', exist_ok=True); os.chdir('/job')");
  const answer = python.pyimport("bridge").answer;
  self.postMessage({ ready: Math.round(performance.now() - started) });
  return answer;
}

const starting = start();

self.onmessage = async ({ data: { id, question } }) => {
  try {
    const answer = await starting;
    const before = performance.now();
    const text = answer(JSON.stringify(question));
    self.postMessage({ id, answer: JSON.parse(text), took: performance.now() - before });
  } catch (error) {
    self.postMessage({ id, failure: String(error) });
  }
};
