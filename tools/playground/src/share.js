// What is on the page, as the fragment of its address, which browsers send to no server: `#1.` and deflated JSON in base64url.
const VERSION = "1.";
// A text of ours is a few kilobytes; a fragment may come from anybody.
export const MOST_CHARACTERS = 500_000;

const isFileName = (name) => /^\w[\w.-]*\.(ya?ml|json)$/.test(name);

export async function encode(state) {
  const json = new Blob([JSON.stringify(state)]).stream();
  const bytes = new Uint8Array(await new Response(json.pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer());
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return VERSION + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// The state, with those of its fields that are what `allowed` says; null if it is none of ours.
export async function decode(fragment, allowed) {
  try {
    if (!fragment.startsWith(VERSION)) return null;
    const binary = atob(fragment.slice(VERSION.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const state = JSON.parse(await inflated(bytes));
    if (typeof state?.text !== "string") return null;
    const known = Object.entries(allowed).filter(([name, values]) => values.includes(state[name]));
    const runtimes = Object.entries(state.runtimes ?? {}).filter(([name, text]) => isFileName(name) && typeof text === "string");
    const chosen = Object.fromEntries(known.map(([name]) => [name, state[name]]));
    return { text: state.text, runtimes: Object.fromEntries(runtimes), ...chosen };
  } catch {
    return null;
  }
}

// A small fragment can stand for gigabytes, so reading stops at the bound.
async function inflated(bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (let block = await reader.read(); !block.done; block = await reader.read()) {
    text += decoder.decode(block.value, { stream: true });
    if (text.length > 2 * MOST_CHARACTERS) throw new RangeError("too long");
  }
  return text + decoder.decode();
}
