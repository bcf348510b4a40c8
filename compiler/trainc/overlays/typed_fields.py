"""Fields of an overlay by their type: what has another type is reported at its place and read as absent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from trainc.diagnostics import Diagnostic, Path, format_path
from trainc.diagnostics.near_names import did_you_mean
from trainc.reading.document import Document

Json: TypeAlias = Mapping[str, Any]
_T = TypeVar("_T")


class TypedFields:
    """Reads fields of one document and collects what is wrong with them, as errors `InvalidOverlay`."""

    def __init__(self, document: Document, label: str) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._document = document
        self._label = label

    def report(self, path: Path, message: str, hint: str) -> None:
        """An error about the field at `path`."""
        where, place = format_path(path), self._document.locate(path)
        self.diagnostics.append(Diagnostic("InvalidOverlay", "error", message, hint, self._label, where, place))

    def text(self, data: Json, name: str, path: Path = ()) -> str | None:
        """A field that is text; None where it is missing."""
        value = data.get(name)
        if value is None or isinstance(value, str):
            return value
        self.report((*path, name), f"{name} is {value!r}, which is no text", "put it in quotes")
        return None

    def choice(self, data: Json, name: str, choices: tuple[str, ...]) -> str | None:
        """A field that is one of a few texts."""
        value = self.text(data, name)
        if value is None or value in choices:
            return value
        self.report((name,), f"{name} is {value!r}", f"choose {' or '.join(choices)}")
        return None

    def truth(self, data: Json, name: str) -> bool | None:
        """A field that is true or false."""
        value = data.get(name)
        if value is None or isinstance(value, bool):
            return value
        self.report((name,), f"{name} is {value!r}", "write true or false, without quotes")
        return None

    def texts(self, data: Json, name: str) -> tuple[str, ...]:
        """A field that is a list of texts."""
        return self.items(data, name, self._one_text)

    def items(self, data: Json, name: str, parse: Callable[[Any, Path], _T | None]) -> tuple[_T, ...]:
        """A field that is a list, each item read by `parse`; those that cannot be read are left out."""
        items = data.get(name, [])
        if not isinstance(items, list):
            self.report((name,), f"{name} is no list", "begin each of its items with a dash")
            return ()
        parsed = [parse(item, (name, i)) for i, item in enumerate(items)]
        return tuple(item for item in parsed if item is not None)

    def is_mapping(self, value: Any, path: Path) -> bool:
        """Whether a value is a mapping, which is reported where it is none."""
        if isinstance(value, Mapping):
            return True
        self.report(path, f"{format_path(path)} is no mapping", "write `key: value` lines here")
        return False

    def unknown(self, data: Json, known: tuple[str, ...], path: Path, hints: Mapping[str, str] | None = None) -> None:
        """Report every field that is not in `known`; `hints` knows better than a likely spelling."""
        for name in data:
            if name not in known:
                hint = did_you_mean(str(name), known) or f"known here: {', '.join(known)}"
                self.report((*path, name), f"there is no field {name!r} here", (hints or {}).get(name, hint))

    def _one_text(self, item: Any, path: Path) -> str | None:
        if isinstance(item, str) and item:
            return item
        self.report(path, f"{item!r} is no text", "write a text here")
        return None
