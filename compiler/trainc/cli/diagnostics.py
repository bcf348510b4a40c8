"""What every report of diagnostics needs: the texts of the files, the message in full, and the page of the code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextvars import ContextVar

from trainc.findings import Diagnostic, Source
from trainc.findings.codes import DOCS_URL, rule_url
from trainc.reading.yaml_reader import decode
from trainc.startup.records import dataclass, field, replace
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.reading.edits import Edit, EditedText

# The first ones show what to fix, the rest are noise; --format json lists all.
_SAID_ONCE = frozenset(("ClientSideApply", "SecretNeeded", "ServiceAccountNeeded"))
# True of every job of a project, whatever is in it: texts say it with --verbose.
STANDING = frozenset(("RestartsByDefault",))


@dataclass(slots=True)
class Files:
    """The texts that a run has read. `stdin` is stored, because it cannot be read again."""

    stdin: bytes = b""
    _texts: dict[tuple[str, str], str] = field(default_factory=dict)
    _lines: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _edited: dict[str, EditedText] = field(default_factory=dict)

    def edits(self, diagnostic: Diagnostic) -> Sequence[Edit]:
        """The edits of a file that fix a diagnostic, one of which is enough."""
        from trainc.reading.edits import EditedText

        source = diagnostic.source
        if source is None or source.origin != "file" or not diagnostic.fixes:
            return ()
        if source.file not in self._edited:
            self._edited[source.file] = EditedText(self.text(source.file))
        return self._edited[source.file].edits(diagnostic)

    def text(self, file: str, origin: str = "file") -> str:
        """The text of a file, which is read once; empty if it can no longer be read."""
        if (origin, file) not in self._texts:
            self._texts[origin, file] = self._read_text(file, origin)
        return self._texts[origin, file]

    def line(self, source: Source) -> str | None:
        """The line of a source without its line break; None if the file can no longer be read."""
        key = source.origin, source.file
        if key not in self._lines:
            self._lines[key] = self.text(source.file, source.origin).split("\n")
        lines = self._lines[key]
        return lines[source.line - 1].rstrip("\r") if source.line <= len(lines) else None

    def _read_text(self, file: str, origin: str) -> str:
        from trainc.reading import catalog, ignores
        from trainc.reading.files import STDIN

        try:
            if origin == "catalog":
                return catalog.text_of(file)
            if origin == "git":
                return ""  # The file is gone.
            return decode(self.stdin) if file == STDIN else ignores.text_of(file)
        except (OSError, ValueError):
            return ""


def once(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return one finding for each cause, and infos with the same words as the first of them, with the others."""
    if not diagnostics:
        return []
    from trainc.cli.causes import join_causes

    first: dict[object, Diagnostic] = {}
    for d in join_causes((d, ("",)) for d in diagnostics):
        same = (d.code, d.message, d.hint, d.path, d.environments) if d.severity == "info" else d
        key = d.code if d.code in _SAID_ONCE else same
        known = first.get(key)
        first[key] = d if known is None else replace(known, others=(*known.others, d.object, *d.others))
    return [*first.values()]


# `docsUrl` of the trainc.yaml that the running command has read.
configured_docs_url: ContextVar[str] = ContextVar("configured_docs_url", default="")


def rule_page(code: str, configured: str | None = None) -> str | None:
    """Return the URL of the published page of a code, if trainc.yaml, TRAINC_DOCS_URL or this build names a site."""
    configured = configured_docs_url.get() if configured is None else configured
    return rule_url(code, configured or os.environ.get("TRAINC_DOCS_URL") or DOCS_URL)


def full_message(d: Diagnostic) -> str:
    """The message after its field path, with the environments it applies to unless it applies to all."""
    more = f" (and {len(d.others):,} more like it)" if d.others else ""
    environments = f" (in {', '.join(d.environments)})" if d.environments else ""
    return f"{d.path}: {d.message}{more}{environments}" if d.path else f"{d.message}{more}{environments}"
