"use strict";
// Search as one types. "/" goes to the search field, Escape clears it. Without this script the page reads the same.
(() => {
  const form = document.getElementById("search");
  const words = document.getElementById("words");
  const found = document.getElementById("found");
  const fields = [...document.querySelectorAll(".field")].map((node) => [node, node.textContent.toLowerCase()]);
  const opened = new Map([...document.querySelectorAll("details")].map((node) => [node, node.open]));

  const search = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const [node, text] of fields) {
      const matches = wanted.every((word) => text.includes(word));
      node.hidden = !matches;
      node.style.display = matches ? "" : "none";
      count += matches;
    }
    for (const [details, open] of opened) {
      details.open = wanted.length ? Boolean(details.querySelector(".field:not([hidden])")) : open;
    }
    found.textContent = wanted.length ? `${count} of ${fields.length} fields` : "";
  };

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  words.addEventListener("input", search);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== words) {
      event.preventDefault();
      words.focus();
    } else if (event.key === "Escape" && document.activeElement === words) {
      words.value = "";
      search();
    }
  });
})();
