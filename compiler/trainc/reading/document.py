"""A document as it was read, with a way to find source positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trainc.diagnostics import Diagnostic, Finding, Path, Source, format_path
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A mapping from a file.

    `locate(path)` returns the position of `path` in the file: the key of a mapping entry or the first character of a
    list item. If the path does not exist, it returns the position of its nearest existing ancestor, and None for
    documents without a file. The first call parses the text again, so only call it for diagnostics. `before` is the
    original document if overlays have changed it.
    """

    data: dict[str, Any]
    file: str
    locate: Callable[[Path], Source | None]
    before: Document | None = None

    @classmethod
    def of(cls, data: dict[str, Any]) -> Document:
        """Create a document from data that was not read from a file."""
        return cls(data, "", _nowhere)

    def place(self, finding: Finding, label: str = "") -> Diagnostic:
        """Convert a finding about this document to a diagnostic; `label` overrides the name of the object."""
        return Diagnostic(
            finding.code,
            finding.severity,
            finding.message,
            finding.hint,
            label or label_of(self.data),
            format_path(finding.path),
            self.locate(finding.path if finding.source_path is None else finding.source_path),
        )


def label_of(data: Mapping[str, Any]) -> str:
    """Return `kind namespace/name` for diagnostics, without the parts that are missing."""
    metadata = data.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    name = "/".join(str(known[part]) for part in ("namespace", "name") if known.get(part))
    return f"{data.get('kind', 'document')} {name}".rstrip()


def _nowhere(path: Path) -> None:
    return None
