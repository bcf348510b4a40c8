// Offers the other versions of this page. versions.json stands beside the folders of all versions; read from a file
// system it cannot be fetched, and then only the version that is shown is offered.
document.addEventListener("DOMContentLoaded", async () => {
  const select = document.querySelector(".versions select");
  const root = document.documentElement.dataset.content_root;
  if (!select || root === undefined) return;
  const top = new URL(`${root}../`, document.baseURI);
  let versions;
  try {
    versions = await (await fetch(new URL("versions.json", top))).json();
  } catch {
    return;
  }
  const page = document.baseURI.slice(new URL(root, document.baseURI).href.length);
  select.replaceChildren(...versions.map((version) => new Option(version, version, false, version === select.dataset.current)));
  select.addEventListener("change", async () => {
    const there = new URL(`${select.value}/${page}`, top);
    const found = await fetch(there, { method: "HEAD" }).then((answer) => answer.ok, () => false);
    location.href = found ? there.href : new URL(`${select.value}/index.html`, top).href;
  });
});
