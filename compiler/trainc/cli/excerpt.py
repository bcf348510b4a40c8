"""Lines of input files, for diagnostics that point at them: read again, and only when one is shown."""

from __future__ import annotations

from trainc.diagnostics import Source
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, field

STDIN = "-"
_WORD = pattern(r"[^\s:,\[\]{}\"']+|[\"'][^\"']*[\"']")
_WIDEST = 160


@dataclass(slots=True)
class Files:
    """The texts that a run has read. `stdin` is what came from there, since it cannot be read twice."""

    stdin: bytes = b""
    _lines: dict[str, list[str]] = field(default_factory=dict)

    def line(self, source: Source) -> str | None:
        """The line that a source stands in, without its end; None where the file cannot be read any more."""
        if source.file not in self._lines:
            self._lines[source.file] = self._read(source.file).split("\n")
        lines = self._lines[source.file]
        return lines[source.line - 1].rstrip("\r") if source.line <= len(lines) else None

    def _read(self, file: str) -> str:
        from trainc.reading.catalog import SHOWN_FOLDER, text_of
        from trainc.reading.encoding import decode

        try:
            if file.startswith(SHOWN_FOLDER):
                return text_of(file)
            if file == STDIN:
                return decode(self.stdin)
            with open(file, "rb") as stream:
                return decode(stream.read())
        except (OSError, ValueError):
            return ""


def excerpt(files: Files, source: Source) -> list[str]:
    """The line that `source` points at with its number, and carets under the word it means; empty if it is not there."""
    # A tab becomes one blank, so that the caret stays under its character.
    line = (files.line(source) or "").replace("\t", " ")
    if not line.strip() or len(line) > _WIDEST or not line.isprintable():
        return []
    number = str(source.line)
    gutter = " " * len(number)
    word = _WORD.match(line, source.column - 1)
    carets = "^" * max(1, len(word.group()) if word else 1)
    return [f"{gutter} |", f"{number} | {line}", f"{gutter} | {' ' * (source.column - 1)}{carets}"]
