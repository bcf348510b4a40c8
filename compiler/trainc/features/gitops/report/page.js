"use strict";
// Sorting, filters, search and copying. Without this script the page reads the same.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const wordsOf = (input) => input.value.toLowerCase().split(/\s+/).filter(Boolean);

  // The table of jobs: sorted by a click on a column's name, once more for the other way round.
  const table = document.querySelector("table.jobs");
  const rows = all("tbody tr", table);
  const columns = all("thead th", table).map((heading) => heading.dataset.column);
  const scales = { n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 };
  const amountOf = (text) => {
    const [, digits, unit] = text.replaceAll(",", "").match(/^([\d.]+)(\D*)$/) ?? [, 0, ""];
    return digits * (scales[unit] ?? 1);
  };
  const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
  all("th button.sort", table).forEach((button, column) => {
    const heading = button.parentElement;
    button.disabled = false;
    button.addEventListener("click", () => {
      // Numbers are wanted from the largest, words from A.
      const first = heading.classList.contains("number") ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = heading.getAttribute("aria-sort") === first ? other : first;
      all("th[aria-sort]", table).forEach((one) => one.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const isAmount = heading.classList.contains("number");
      const valueOf = ({ textContent, dataset }) =>
        isAmount ? amountOf(textContent) : columns[column] === "findings" ? Number(dataset.sort ?? 0) : textContent;
      const values = new Map(rows.map((row) => [row, valueOf(row.cells[column])]));
      rows.sort((a, b) => sign * compare(values.get(a), values.get(b)));
      table.tBodies[0].append(...rows);
    });
  });

  // Filters hide rows, and the details of their jobs with them.
  const filters = document.getElementById("filters");
  const shown = document.getElementById("shown");
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const sections = all("details.job");
  const sectionOf = new Map(rows.map((row, number) => [row, sections[number]]));
  const cellOf = (row, name) => row.cells[columns.indexOf(name)].textContent.replace("–", "");
  // The jobs with a field that is searched for; null if nothing is.
  let withField = null;
  const filter = () => {
    const wanted = wordsOf(filters.elements.text);
    const chosen = all("select", filters).filter((select) => select.value);
    let count = 0;
    for (const row of rows) {
      row.hidden = !(
        chosen.every((select) => select.value === `=${cellOf(row, select.name)}`) &&
        (!filters.elements.findings.checked || "findings" in row.dataset) &&
        (!withField || withField.has(sectionOf.get(row))) &&
        wanted.every((word) => texts.get(row).includes(word))
      );
      sectionOf.get(row).hidden = row.hidden;
      count += !row.hidden;
    }
    shown.textContent = count === rows.length ? "" : `${count} of ${rows.length} jobs`;
  };
  filters.hidden = false;
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("input", filter);
  document.getElementById("clear").addEventListener("click", () => {
    filters.reset();
    filter();
  });

  // Search in all fields: only jobs with hits stay, and the hits come into view. "/" goes to the search field, Escape
  // clears it. A page about many jobs has no fields to search.
  const form = document.getElementById("search");
  if (form) searchFields();
  function searchFields() {
  const words = document.getElementById("words");
  const found = document.getElementById("found");
  const fields = all(".field").map((node) => [node, node.textContent.toLowerCase()]);
  const details = all("details.job, details.object:not(.yaml)");
  const opened = new Map(details.map((node) => [node, node.open]));
  const search = () => {
    const wanted = wordsOf(words);
    let count = 0;
    for (const [node, text] of fields) {
      node.hidden = !wanted.every((word) => text.includes(word));
      count += !node.hidden;
    }
    for (const node of details) {
      node.open = wanted.length ? Boolean(node.querySelector(".field:not([hidden])")) : opened.get(node);
    }
    found.textContent = wanted.length ? `${count} of ${fields.length} fields` : "";
    const hits = details.filter((node) => node.matches(".job") && node.open);
    withField = wanted.length ? new Set(hits) : null;
    filter();
    if (wanted.length && count) document.getElementById("jobs").scrollIntoView();
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  words.addEventListener("input", search);
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing) {
      event.preventDefault();
      words.focus();
    } else if (event.key === "Escape" && document.activeElement === words) {
      words.value = "";
      search();
    }
  });

  const expand = document.getElementById("expand");
  expand.addEventListener("click", () => {
    const open = expand.textContent === "Expand all";
    details.forEach((node) => (node.open = open));
    expand.textContent = open ? "Collapse all" : "Expand all";
  });

  }

  // The YAML of many jobs is compressed, and unpacked when the first of them is opened.
  const packed = document.getElementById("packed");
  let unpacked;
  const unpack = async () => {
    const bytes = Uint8Array.from(atob(packed.textContent), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return (await new Response(stream).text()).split("\0");
  };
  if (packed) sections.forEach((node, number) => {
    const show = async () => {
      const text = document.createElement("pre");
      text.tabIndex = 0;
      text.textContent = (await (unpacked ??= unpack()))[number];
      node.append(text);
    };
    node.open ? show() : node.addEventListener("toggle", show, { once: true });
  });

  // A link to a job opens it.
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) {
      target.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", reveal);
  reveal();

  const copied = async (button) => {
    const node = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(node.textContent);
    } catch {
      getSelection().selectAllChildren(node);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy YAML"), 2000);
  };
  all("button.copy").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", () => copied(button));
  });
})();
