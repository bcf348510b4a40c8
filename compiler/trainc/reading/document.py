"""A document as it was read: what every later stage is given, with a way back to its place in the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trainc.diagnostics import Diagnostic, Finding, Path, Source, format_path
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """One mapping out of one file.

    `locate(path)` is where `path` stands in that file: the key of a mapping's entry, the first character of a
    list's item; for a path that does not exist, its nearest ancestor that does; None where there is no text.
    It reads the text again at its first call, so call it only for a diagnostic.
    `before` is the document as it was read, where overlays have changed it since.
    """

    data: dict[str, Any]
    file: str
    locate: Callable[[Path], Source | None]
    before: Document | None = None

    @classmethod
    def of(cls, data: dict[str, Any]) -> Document:
        """A document that was handed over as data and stands in no file."""
        return cls(data, "", _nowhere)

    def place(self, finding: Finding, label: str = "") -> Diagnostic:
        """A finding about this document as a diagnostic, under its own label or another."""
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
    """`kind namespace/name` as far as the document says: what diagnostics call it."""
    metadata = data.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    name = "/".join(str(known[part]) for part in ("namespace", "name") if known.get(part))
    return f"{data.get('kind', 'document')} {name}".rstrip()


def _nowhere(path: Path) -> None:
    return None
