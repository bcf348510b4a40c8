"""Prepare the Sphinx sources: the repository's pages unchanged, one page per rule, and the first page."""

from __future__ import annotations

import json
import posixpath
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from trainc.cli.command import Command, commands
from trainc.cli.parser import build_parser
from trainc.findings.codes import codes, page, summary_of
from trainc.ir.deviations import deviations
from website.words import WORDS

_TOP = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    ".github/CODE_OF_CONDUCT.md",
    ".github/SECURITY.md",
    ".github/SUPPORT.md",
)
# The pages that the website's first page replaces.
_FIRST_PAGE = ("README.md", "docs/README.md")
# `[text](target)` with a target in the repository.
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_INDEX = "docs/README.md"
# Pages that exist only on the website, with the index heading they belong to.
_ADDED = {"Reference": ("commands", "rules/index")}
# The playground is not a Sphinx page, so its link is HTML.
_PLAYGROUND = '- <a href="playground/index.html">Playground</a>: compile a TrainJob here, in your browser\n'
# What few visitors of the site look for: search lists it last.
_FOR_CONTRIBUTORS = r"^([A-Z_]+$|genindex|docs\/(decisions\/|reliability|benchmarks|python|diagnostics-json|diff-json))"
_HOME = Path(__file__).parent / "home.md"


def lay_out(repository: Path, source: Path, demo: str, *, playground: bool) -> None:
    """Write the sources below `source` in the repository's layout, which keeps relative links valid."""
    pages = sorted(str(path.relative_to(repository)) for path in repository.glob("docs/**/*.md"))
    names = [*_TOP, *(page for page in pages if page not in _FIRST_PAGE)]
    for name in names:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        text = (repository / name).read_text(encoding="utf-8")
        text = _keywords(name) + _with_links(text, Path(name), repository, {*names})
        (source / name).write_text(text, encoding="utf-8")
    for picture in (*repository.glob("docs/*.svg"), *repository.glob("docs/pictures/*.png")):
        (source / picture.parent.relative_to(repository)).mkdir(exist_ok=True)
        shutil.copy(picture, source / picture.relative_to(repository))
    _write_rules(source / "rules")
    (source / "scorer.js").write_text(_scorer(), encoding="utf-8")
    (source / "commands.md").write_text(_commands(), encoding="utf-8")
    home = _HOME.read_text(encoding="utf-8").replace("<!-- demo -->", demo)
    home = home.replace("<!-- playground -->\n", _PLAYGROUND if playground else "")
    home = home.replace("<!-- contents -->", _contents((repository / _INDEX).read_text(encoding="utf-8")))
    (source / "index.md").write_text(home, encoding="utf-8")


def _keywords(name: str) -> str:
    """The front matter with which the search finds a page by other words than its own."""
    words = WORDS.get(name.removesuffix(".md"))
    return "" if words is None else f'---\nmyst:\n  html_meta:\n    keywords: "{", ".join(words.split())}"\n---\n'


def _scorer() -> str:
    """The script that orders search results, with the words of each page."""
    words = json.dumps({page: text.split() for page, text in WORDS.items()})
    order = (Path(__file__).parent / "scorer.js").read_text(encoding="utf-8")
    return f"const WORDS = {words};\nconst FOR_CONTRIBUTORS = /{_FOR_CONTRIBUTORS}/;\n{order}"


def _contents(index: str) -> str:
    """The sidebar, in the order of the docs/ index: one list of pages for each heading."""
    _, *parts = _HEADING.split(index)
    return "\n".join(map(_toctree, parts[::2], parts[1::2]))


def _toctree(heading: str, text: str) -> str:
    pages = [posixpath.normpath(posixpath.join("docs", found[2])) for found in _LINK.finditer(text) if not found[3]]
    entries = [page.removesuffix(".md") for page in pages]
    return "\n".join(
        ("```{toctree}", ":hidden:", f":caption: {heading}", "", *_ADDED.get(heading, ()), *entries, "```", "")
    )


def _with_links(text: str, name: Path, repository: Path, pages: set[str]) -> str:
    """A page with links to pages of the site: the README becomes the first page, other files become plain names."""

    def link(found: re.Match[str]) -> str:
        words, target = found[1], found[2]
        path = (repository / name.parent / target).resolve()
        assert path.exists(), f"{name}: {target}"
        inside = path.relative_to(repository.resolve()).as_posix()
        if inside in _FIRST_PAGE:
            return f"[{words}]({'../' * len(name.parent.parts)}index.md)"
        return found[0] if inside in pages else f"{words} (`{inside}`)"

    parts = []
    end = 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(link, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join((*parts, _LINK.sub(link, text[end:])))


def _commands() -> str:
    """The help of every command, as printed by `trainc COMMAND --help`."""
    entries = (f"## trainc {c.name}\n\n{c.summary.capitalize()}.\n\n```text\n{_help(c)}```\n" for c in commands())
    return "# Commands\n\n" + "\n".join(entries)


def _help(command: Command) -> str:
    return build_parser(command).format_help().rstrip() + "\n"


def _write_rules(folder: Path) -> None:
    folder.mkdir()
    for code in codes():
        (folder / f"{code}.md").write_text(page(code) or "", encoding="utf-8")
    (folder / "index.md").write_text(_rules_index(), encoding="utf-8")


# Who meets the codes of a stage. Codes of the other stages are about jobs.
_OF_REPOSITORIES = ("settings", "template", "overlay", "emit", "output", "diff", "sweep")
_OF_CLUSTERS = ("policy", "fits", "doctor")
_OF_OLDER_APIS = ("dialect", "migrate")


def _rules_index() -> str:
    groups: dict[str, list[str]] = {
        "Jobs and runtimes": [],
        "Repositories and output": [],
        "Clusters and their policies": [],
        "Running jobs on this machine": [],
        "Older APIs and dialects": [],
        "Only with `--semantics controller`": [],
    }
    jobs, repositories, clusters, local, older, controller = groups.values()
    of_controller = {deviation.code for deviation in deviations()}
    homes = {**dict.fromkeys(_OF_REPOSITORIES, repositories), **dict.fromkeys(_OF_CLUSTERS, clusters), "run": local}
    homes |= dict.fromkeys(_OF_OLDER_APIS, older)
    for code, known in codes().items():
        home = homes.get(known.stage, jobs) if code not in of_controller else controller
        home.append(code)
    parts = [f"## {title}\n\n{_table_of(found)}" for title, found in groups.items() if found]
    entries = "\n".join(codes())
    return (
        "# Rules\n\nEvery diagnostic has a code. `trainc rule CODE` prints its page in the terminal.\n\n"
        f"{''.join(parts)}```{{toctree}}\n:hidden:\n\n{entries}\n```\n"
    )


def _table_of(found: Sequence[str]) -> str:
    rows = "".join(f"| [{code}]({code}.md) | {codes()[code].severity} | {summary_of(code)} |\n" for code in found)
    return f"| code | severity | means |\n|---|---|---|\n{rows}\n"
