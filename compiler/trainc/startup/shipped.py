"""The files that trainc ships, each beside the module that reads it: texts, data as JSON, and rows of words."""

from __future__ import annotations

import os
from types import SimpleNamespace

from trainc.startup.typing import Any, cast


def read_text(module: str, name: str) -> str:
    """Return the text of a file beside a module of trainc, whose `__file__` this is given."""
    path = os.path.join(os.path.dirname(module), name)
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except NotADirectoryError:  # trainc runs from an archive
        from pkgutil import get_data

        return (get_data("trainc", os.path.relpath(path, os.path.dirname(os.path.dirname(__file__)))) or b"").decode()


_AS_JSON = SimpleNamespace(
    strict=True, object_hook=None, object_pairs_hook=None, parse_constant=None, parse_float=float, parse_int=int
)


def read_data(module: str, name: str) -> Any:
    """Return the data of such a file in JSON."""
    text = read_text(module, name)
    try:
        # What `json` reads with, without its patterns: importing `re` and compiling them takes longer than all of the data.
        from _json import make_scanner

        return make_scanner(cast("Any", _AS_JSON))(text, 0)[0]
    except (ImportError, AttributeError):  # It belongs to CPython, which may change it.
        from json import loads

        return loads(text)


def read_sections(module: str, name: str) -> dict[str, list[tuple[str, str]]]:
    """Return the rows of such a file by section: `[section]`, and below it `name = value` lines."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for line in read_text(module, name).splitlines():
        key, _, value = line.partition(" = ")
        if line.startswith("["):
            sections[line.strip("[]")] = []
        elif value:
            next(reversed(sections.values())).append((key, value))
    return sections
