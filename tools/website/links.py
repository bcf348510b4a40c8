"""Check a built site: links must work, and nothing may be loaded from other hosts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Elements that a browser loads automatically, as opposed to links (`a`).
_LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}
# Values of `rel` that describe a page and load nothing.
_SAYING = {"canonical", "next", "prev", "index", "search"}


@dataclass
class _Page(HTMLParser):
    """The links, loaded resources and anchors of a page."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in _LOADED and values.get("rel", "") not in _SAYING and _LOADED[tag] in values:
            self.loaded.append(values[_LOADED[tag]])


def problems(folder: Path) -> list[str]:
    """A line for each broken link and each resource loaded from another host."""
    pages = {path.resolve(): _read(path) for path in folder.rglob("*.html")}
    return sorted(line for path, page in pages.items() for line in _problems(path, page, pages))


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _problems(path: Path, page: _Page, pages: dict[Path, _Page]) -> Iterator[str]:
    for loaded in page.loaded:
        if urlsplit(loaded).netloc:
            yield f"{path}: loads {loaded}"
    for link in (*page.links, *page.loaded):
        target = urlsplit(link)
        if target.scheme or target.netloc:
            continue
        there = (path.parent / unquote(target.path)).resolve() if target.path else path
        if not there.is_file():
            yield f"{path}: {link} leads nowhere"
        elif target.fragment and there in pages and unquote(target.fragment) not in pages[there].anchors:
            yield f"{path}: {link} has no such anchor"
