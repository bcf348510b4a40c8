"""A document while overlays are applied, with a record of the overlay that wrote each field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from trainc.api.copies import Copies
from trainc.api.documents import Json
from trainc.api.field_path import FieldPath, resolve_path, stable_path
from trainc.diagnostics import Path, Source
from trainc.reading.document import Document
from trainc.startup.records import dataclass, field, replace

# A tree by path step: what was written below the step, and the origin of the step itself, if any.
_Written: TypeAlias = "dict[str | int, tuple[_Written, list[Origin]]]"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written: a path in an overlay or in one of its patch files."""

    document: Document
    path: Path


class Origins:
    """The origin of each field of a document. Writing a field discards what was recorded below it."""

    def __init__(self) -> None:
        self._top: _Written = {}

    def add(self, path: FieldPath, who: Origin) -> None:
        """Record that `who` wrote the field at `path`."""
        above = self._top
        for step in path[:-1]:
            above = above.setdefault(step, ({}, []))[0]
        if path:
            above[path[-1]] = ({}, [who])

    def of(self, path: FieldPath) -> tuple[int, Origin] | None:
        """Return the nearest written field at or above `path` as (number of steps, origin), or None."""
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
    """`document` with edits: `data` is its current content, `origins` tells who wrote the changed fields.

    Edits return a new instance that shares `origins` and `copies` and replaces the old one. `identities` are all
    (namespace, name) that the document has had, current one last; patches may refer to any of them.
    """

    document: Document
    data: dict[str, Any]
    origins: Origins = field(default_factory=Origins)
    identities: tuple[tuple[str, str], ...] = ()
    copies: Copies = field(default_factory=Copies)

    @classmethod
    def of(cls, document: Document) -> Edited:
        """Create an instance for a document without edits."""
        return cls(document, document.data, identities=(identity(document.data),))

    def with_data(self, data: dict[str, Any], written: Iterable[tuple[FieldPath, Origin]]) -> Edited:
        """Return the document with new data, and record who wrote which fields."""
        for path, who in written:
            self.origins.add(path, who)
        return replace(self, data=data)

    def with_field(self, path: Path, value: Any, origin: Origin) -> Edited:
        """Return the document with one field set, creating mappings as needed."""
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
        """Return `changed`, keeping the identities of this document."""
        return replace(changed, identities=(*self.identities, identity(changed.data)))

    def finished(self) -> Document:
        """Return the result for later stages, with positions that point to where each value was written."""
        if self.data is self.document.data:
            return self.document
        return Document(self.data, self.document.file, self.locate, self.document)

    def locate(self, path: Path) -> Source | None:
        """Return the position where the value at `path` was written, in an overlay or in the original document."""
        steps = stable_path(path, self.data)
        if (found := self.origins.of(steps)) is not None:
            end, origin = found
            inside = _at(origin.document.data, origin.path)
            return origin.document.locate((*origin.path, *resolve_path(steps[end:], inside)))
        return self.document.locate(resolve_path(steps, self.document.data))


def identity(data: Json) -> tuple[str, str]:
    """Return (namespace, name) of a document; a part that is missing or not a string is empty."""
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
