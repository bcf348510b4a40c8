"""Links on the report page: to lines of source files, and inside descriptions of origins."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator
from typing import TypeAlias
from urllib.parse import quote

from trainc.diagnostics import Source
from trainc.explain.model import Origin
from trainc.explain.phrases import describe_origin, place

# A piece of text and its link target, empty for none.
Piece: TypeAlias = tuple[str, str]
Link: TypeAlias = Callable[[Source | None], str]


def link_into(base: str, folder: str) -> Link:
    """Build links to source lines, relative to the URL `base` of a forge if given, else relative to `folder`.

    Standard input and the catalog are not files and get no link.
    """

    def link(source: Source | None) -> str:
        if source is None or not source.file or source.file == "-" or source.file.startswith("catalog:"):
            return ""
        file = source.file if base else os.path.relpath(source.file, folder or os.curdir)
        path = quote(os.path.normpath(file).replace(os.sep, "/"))
        return f"{base.rstrip('/')}/{path}#L{source.line}" if base else f"{path}#L{source.line}"

    return link


def linked(origin: Origin, link: Link) -> list[Piece]:
    """Describe an origin, with each `file:line` as a separate linked piece."""
    return list(
        _pieces(describe_origin(origin), [(place(given.source), link(given.source)) for given in origin.inputs])
    )


def _pieces(text: str, places: list[Piece]) -> Iterator[Piece]:
    for shown, address in places:
        before, found, after = text.partition(shown) if shown and address else (text, "", "")
        if found:
            yield before, ""
            yield shown, address
            text = after
    yield text, ""
