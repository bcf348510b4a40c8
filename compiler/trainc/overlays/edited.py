"""A document while overlays change it, with a record of which overlay wrote what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from trainc.api.copies import Copies
from trainc.api.documents import Json
from trainc.api.field_path import FieldPath, resolve_path, stable_path
from trainc.diagnostics import Path, Source
from trainc.reading.document import Document
from trainc.startup.records import dataclass, field, replace

# What was written below each step, and by whom the step itself, if by anybody.
_Written: TypeAlias = "dict[str | int, tuple[_Written, list[Origin]]]"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written: a path inside an overlay, or inside one of its patch files."""

    document: Document
    path: Path


class Origins:
    """Who wrote what of a document. What was written below a field is written anew with it."""

    def __init__(self) -> None:
        self._top: _Written = {}

    def add(self, path: FieldPath, who: Origin) -> None:
        """`who` has written the field at `path`."""
        above = self._top
        for step in path[:-1]:
            above = above.setdefault(step, ({}, []))[0]
        if path:
            above[path[-1]] = ({}, [who])

    def of(self, path: FieldPath) -> tuple[int, Origin] | None:
        """Who wrote the field at `path`, or the nearest one around it, and how many steps lead to that; None for nobody."""
        found = None
        inner = self._top
        for length, step in enumerate(path, 1):
            if step not in inner:
                break
            inner, writers = inner[step]
            found = (length, writers[0]) if writers else found
        return found


@dataclass(frozen=True, slots=True)
class Edited:
    """`data` is what `document` has become; `origins` tells who wrote the fields that differ.

    A new `Edited` of the same document takes the place of the one before: they share `origins` and `copies`.
    `identities` are the (namespace, name) it has had, the present one last: a patch may address any of them.
    """

    document: Document
    data: dict[str, Any]
    origins: Origins = field(default_factory=Origins)
    identities: tuple[tuple[str, str], ...] = ()
    copies: Copies = field(default_factory=Copies)

    @classmethod
    def of(cls, document: Document) -> Edited:
        """A document that no overlay has touched."""
        return cls(document, document.data, identities=(identity(document.data),))

    def with_data(self, data: dict[str, Any], written: Iterable[tuple[FieldPath, Origin]]) -> Edited:
        """The document as `data`, with who wrote what of it."""
        for path, who in written:
            self.origins.add(path, who)
        return replace(self, data=data)

    def with_field(self, path: Path, value: Any, origin: Origin) -> Edited:
        """With one field set; mappings on the way are made where they are missing."""
        return self.with_data(self._set(self.data, path, value), [(stable_path(path, self.data), origin)])

    def _set(self, data: Any, path: Path, value: Any) -> Any:
        if not path:
            return value
        step, *rest = path
        known = self.copies.of(data if isinstance(data, Mapping) or isinstance(step, int) else {})
        present = known[step] if isinstance(step, int) else known.get(step)
        known[step] = self._set(present, tuple(rest), value)
        return known

    def renamed(self, changed: Edited) -> Edited:
        """`changed`, under which this document's identities are remembered."""
        return replace(changed, identities=(*self.identities, identity(changed.data)))

    def finished(self) -> Document:
        """The document as later stages see it: it finds each value where it was written."""
        if self.data is self.document.data:
            return self.document
        return Document(self.data, self.document.file, self.locate, self.document)

    def locate(self, path: Path) -> Source | None:
        """Where the value at `path` was written: in an overlay, or in the document that was read."""
        steps = stable_path(path, self.data)
        if (found := self.origins.of(steps)) is not None:
            end, origin = found
            inside = _at(origin.document.data, origin.path)
            return origin.document.locate((*origin.path, *resolve_path(steps[end:], inside)))
        return self.document.locate(resolve_path(steps, self.document.data))


def identity(data: Json) -> tuple[str, str]:
    """(namespace, name) of a document, each empty where it is missing or no text."""
    metadata = data.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    namespace, name = known.get("namespace"), known.get("name")
    return (namespace if isinstance(namespace, str) else "", name if isinstance(name, str) else "")


def _at(data: Any, path: Path) -> Any:
    for step in path:
        if isinstance(data, Mapping) or (isinstance(data, list) and isinstance(step, int) and step < len(data)):
            data = data.get(step) if isinstance(data, Mapping) else data[step]  # type: ignore[index]
        else:
            return None
    return data
