"""The text of one document inside its file, and the split of a file into such chunks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from trainc.diagnostics import Diagnostic, Source
from trainc.startup.records import dataclass, field

# kubectl splits at every line that begins so, before it parses (k8s.io/apimachinery pkg/util/yaml YAMLReader); in
# valid YAML no scalar can hold such a line.
_SEPARATOR = "\n---"


@dataclass(frozen=True, slots=True)
class Chunk:
    """`text` begins at `line` and `column` of `file`, both from 1, and ends with a line feed."""

    text: str
    file: str
    line: int = 1
    column: int = 1
    _starts: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

    def source(self, index: int) -> Source:
        """The place of the character `text[index]`; columns count characters."""
        from bisect import bisect_right

        if not self._starts:  # Where lines start; found once, as a document may have an error on every line.
            self._starts.extend(accumulate((len(line) + 1 for line in self.text.split("\n")), initial=0))
        line = bisect_right(self._starts, index) - 1
        column = index - self._starts[line] + (1 if line else self.column)
        return Source(self.file, self.line + line, column)

    def error(self, code: str, index: int, message: str, hint: str) -> Diagnostic:
        """An error about the character `text[index]`."""
        return Diagnostic(code, "error", message, hint, source=self.source(index))

    def around(self, index: int) -> tuple[str, str]:
        """The line that holds `text[index]`, before it and from it on."""
        start = self.text.rfind("\n", 0, index) + 1
        return self.text[start:index], self.text[index:].partition("\n")[0]

    def part(self, start: int, end: int) -> Chunk:
        """The text from `start` to `end` as a chunk of its own."""
        place = self.source(start)
        return Chunk(self.text[start:end], self.file, place.line, place.column)


def split(text: str, file: str) -> Iterator[Chunk | Diagnostic]:
    """The documents of a file, in order; a diagnostic in the place of one whose separator kubectl refuses."""
    if not text.endswith("\n"):
        text += "\n"  # As kubectl does: a block scalar's last line then ends with a line feed.
    before, *parts = f"\n{text[:-1]}".split(_SEPARATOR)
    if before:  # A file that begins with `---` has no document before it.
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
