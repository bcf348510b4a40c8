"""A document while overlays change it, with a record of which overlay wrote what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trainc.api.documents import Json
from trainc.api.field_path import FieldPath, lasting, located
from trainc.diagnostics import Path, Source
from trainc.reading.document import Document
from trainc.startup.records import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written: a path inside an overlay, or inside one of its patch files."""

    document: Document
    path: Path


@dataclass(frozen=True, slots=True)
class Edited:
    """`data` is what `document` has become, never changed in place; `origins` tells who wrote the fields that differ.

    `identities` are the (namespace, name) it has had, the present one last: a patch may address any of them.
    """

    document: Document
    data: dict[str, Any]
    origins: Mapping[FieldPath, Origin] = field(default_factory=dict)
    identities: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, document: Document) -> Edited:
        """A document that no overlay has touched."""
        return cls(document, document.data, {}, (identity(document.data),))

    def with_data(self, data: dict[str, Any], written: Iterable[tuple[FieldPath, Origin]]) -> Edited:
        """The document as `data`, with who wrote what of it. What was written below a field is written anew with it."""
        new = dict(written)
        kept = {
            path: who for path, who in self.origins.items() if not any(path[: len(above)] == above for above in new)
        }
        return replace(self, data=data, origins={**kept, **new})

    def with_field(self, path: Path, value: Any, origin: Origin) -> Edited:
        """With one field set; mappings on the way are made where they are missing."""
        return self.with_data(_set(self.data, path, value), [(lasting(path, self.data), origin)])

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
        steps = lasting(path, self.data)
        for end in range(len(steps), 0, -1):
            origin = self.origins.get(steps[:end])
            if origin is not None:
                inside = _at(origin.document.data, origin.path)
                return origin.document.locate((*origin.path, *located(steps[end:], inside)))
        return self.document.locate(located(steps, self.document.data))


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


def _set(data: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    step, *rest = path
    if isinstance(step, int):
        return [_set(item, tuple(rest), value) if i == step else item for i, item in enumerate(data)]
    known = data if isinstance(data, Mapping) else {}
    return {**known, step: _set(known.get(step), tuple(rest), value)}
