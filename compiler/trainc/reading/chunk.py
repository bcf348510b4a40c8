"""Splits a file into documents."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from trainc.diagnostics import Diagnostic, Source
from trainc.startup.records import dataclass, field

# kubectl splits at every line that starts with this, before parsing (k8s.io/apimachinery pkg/util/yaml YAMLReader).
# Scalars in valid YAML cannot contain such a line.
_SEPARATOR = "\n---"


@dataclass(frozen=True, slots=True)
class Chunk:
    """The text of one document, ending with a line feed. It starts at `line` and `column` (1-based) of `file`."""

    text: str
    file: str
    line: int = 1
    column: int = 1
    _starts: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

    def source(self, index: int) -> Source:
        """Return the position of `text[index]`; columns count characters."""
        from bisect import bisect_right

        if not self._starts:  # Computed once, because a document may have an error on every line.
            self._starts.extend(accumulate((len(line) + 1 for line in self.text.split("\n")), initial=0))
        line = bisect_right(self._starts, index) - 1
        column = index - self._starts[line] + (1 if line else self.column)
        return Source(self.file, self.line + line, column)

    def error(self, code: str, index: int, message: str, hint: str) -> Diagnostic:
        """Create an error diagnostic for `text[index]`."""
        return Diagnostic(code, "error", message, hint, source=self.source(index))

    def around(self, index: int) -> tuple[str, str]:
        """Return the line that contains `text[index]`, split at that character."""
        start = self.text.rfind("\n", 0, index) + 1
        return self.text[start:index], self.text[index:].partition("\n")[0]

    def part(self, start: int, end: int) -> Chunk:
        """Return the text from `start` to `end` as a chunk."""
        place = self.source(start)
        return Chunk(self.text[start:end], self.file, place.line, place.column)


def split(text: str, file: str) -> Iterator[Chunk | Diagnostic]:
    """Yield the documents of a file; a document whose separator kubectl rejects is replaced by a diagnostic."""
    if not text.endswith("\n"):
        text += "\n"  # Like kubectl, so that the last line of a block scalar ends with a line feed.
    before, *parts = f"\n{text[:-1]}".split(_SEPARATOR)
    if before:  # Empty if the file starts with `---`.
        yield _chunk(before[1:] + "\n", file, 1, "")
    line = 1 + before.count("\n")
    for part in parts:
        trailer, line_feed, document = part.partition("\n")
        yield _chunk(document + line_feed, file, line + 1, trailer.strip())
        line += 1 + part.count("\n")


def _chunk(text: str, file: str, line: int, trailer: str) -> Chunk | Diagnostic:
    if trailer and not trailer.startswith("#"):
        return Diagnostic(
            "YAMLSyntax",
            "error",
            "a `---` line separates documents and cannot have anything else on it",
            "put `---` on a line of its own and start the document on the next line",
            source=Source(file, line - 1, 1),
        )
    return Chunk(text.removeprefix("\ufeff"), file, line)
