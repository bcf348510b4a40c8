// The order of search results. Sphinx counts a word once wherever it stands in a page, which leaves most pages equal.
// `var`, because searchtools.js declares it so.
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  score: ([page, , anchor, , score]) => {
    const wanted = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase().match(/[\w-]+/g) ?? [];
    const words = WORDS[page] ?? [];
    const last = Math.max(...wanted.map((word) => (words.includes(word) ? words.indexOf(word) : Infinity)));
    // What a page is there for stands first among its words; a part of a page comes after the whole.
    const answers = wanted.length && last < Infinity ? (anchor ? 6 : 60 - 2 * Math.min(last, 20)) : 0;
    return score + answers - (FOR_CONTRIBUTORS.test(page) ? 12 : page.startsWith("rules/") ? 2 : 0);
  },
};
