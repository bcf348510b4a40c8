"""The rulebook: one page for each diagnostic code, shipped as trainc/diagnostics/rules/<Code>.md."""

# os.path, not pathlib: it starts faster.

from __future__ import annotations

import os

_FOLDER = os.path.join(os.path.dirname(__file__), "rules")
_SUFFIX = ".md"


def codes() -> list[str]:
    """Every code that has a page, sorted."""
    return sorted(name.removesuffix(_SUFFIX) for name in os.listdir(_FOLDER) if name.endswith(_SUFFIX))


def page(code: str) -> str | None:
    """The page of a code, as Markdown; None if there is no such code."""
    if code not in codes():
        return None
    with open(os.path.join(_FOLDER, code + _SUFFIX), encoding="utf-8") as stream:
        return stream.read()


def summary_of(code: str) -> str:
    """The sentence under a page's title; empty if there is no such code."""
    return (page(code) or "").partition("\n\n")[2].partition("\n\n")[0].replace("\n", " ")
