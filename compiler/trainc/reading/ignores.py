"""Ignore comments: `# trainc: ignore[Code, Other] reason`, on the line of a diagnostic or above it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from trainc.findings import Diagnostic, Source
from trainc.findings.codes import current_code
from trainc.findings.policy import GUARDED, Ignore, unknown_code
from trainc.findings.text import counted, first_of
from trainc.options import Limits
from trainc.reading.opening import read_file
from trainc.reading.yaml_reader import decode
from trainc.startup.patterns import pattern

_WORD = "trainc:"
_COMMENT = pattern(r"(?:^|\s)#\s*trainc:\s*ignore\b(?:\[([^\]\n]*)\])?[ \t]*:?[ \t]*(.*)$")
_CODE = pattern(r"[^\s,]+")


def text_of(file: str) -> str:
    """Return the text of a file, or an empty one if it cannot be read."""
    try:
        return decode(read_file(file, Limits().file_bytes)) if file else ""
    except (OSError, ValueError):
        return ""


class Comments:
    """The ignore comments of each file. `read_text` returns the text of a file."""

    def __init__(self, read_text: Callable[[str], str] = text_of) -> None:
        self._read_text = read_text
        self._ignores: dict[str, Sequence[Ignore]] = {}
        self._by_line: dict[str, dict[tuple[str, int], Ignore]] = {}

    def __call__(self, file: str) -> Sequence[Ignore]:
        """Return the ignore comments of a file."""
        if file not in self._ignores:
            self._ignores[file] = tuple(ignores_of(self._read_text(file), file))
        return self._ignores[file]

    def about(self, file: str, code: str, line: int) -> Ignore | None:
        """Return the first comment that ignores a code on a line of a file."""
        if file not in self._by_line:
            self._by_line[file] = {(ignore.code, ignore.line): ignore for ignore in reversed(self(file))}
        return self._by_line[file].get((code, line))


def ignores_of(text: str, file: str) -> Iterator[Ignore]:
    """Yield an `Ignore` per code in the comments of a file; the code is empty if a comment has none."""
    if _WORD not in text:
        return
    lines = text.split("\n")
    next_line: int | None = 0
    for number, line in enumerate(lines, 1):
        match = _COMMENT.search(line) if _WORD in line else None
        if match is None:
            continue
        about = number
        if line.lstrip().startswith("#"):
            # Of many comments above one line, only the first looks for it.
            if next_line is not None and next_line <= number:
                next_line = _next_line(lines, number)
            about = next_line or number
        reason = match[2].strip()
        codes = list(_CODE.finditer(match[1] or ""))
        for code in codes:
            yield Ignore(current_code(code[0]), reason, about, Source(file, number, match.start(1) + code.start() + 1))
        if not codes:
            yield Ignore("", reason, about, Source(file, number, line.index("#", match.start()) + 1))


def _next_line(lines: Sequence[str], number: int) -> int | None:
    """Return the number of the first line after `number` that is neither empty nor a comment, or None."""
    for later in range(number, len(lines)):
        if lines[later].strip() and not lines[later].lstrip().startswith("#"):
            return later + 1
    return None


def check_ignores(ignores: Iterable[Ignore], diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Check ignore comments against all diagnostics, including ignored ones, whose source is their comment."""
    used = {diagnostic.source for diagnostic in diagnostics if diagnostic.severity == "ignored"}
    for ignore in ignores:
        if not ignore.code:
            message, hint = "the comment has no code", "write `# trainc: ignore[Code] reason`"
            yield Diagnostic("UnknownCode", "warning", message, hint, source=ignore.source)
        elif hint := unknown_code(ignore.code):
            message = f"there is no diagnostic {ignore.code}"
            yield Diagnostic("UnknownCode", "warning", message, hint, source=ignore.source)
        elif ignore.code in GUARDED:
            message = f"a comment cannot ignore {ignore.code}"
            hint = f"remove the code from the comment; only `rules:` in trainc.yaml can change {ignore.code}"
            yield Diagnostic("UnusedIgnore", "info", message, hint, source=ignore.source)
        elif ignore.source not in used:
            message = f"there is no {ignore.code} on line {ignore.line} to ignore"
            hint = "remove the code from the comment, or put the comment on the line that the diagnostic names"
            yield Diagnostic("UnusedIgnore", "info", message, hint, source=ignore.source)
        if ignore.code and not ignore.reason:
            message = f"{ignore.code} is ignored without a reason"
            hint = f"add a reason: `# trainc: ignore[{ignore.code}] why it is fine`"
            yield Diagnostic("IgnoreWithoutReason", "warning", message, hint, source=ignore.source)


def count_ignored(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Report how many diagnostics are ignored, and where, so that a reviewer of the report learns of it."""
    ignored = dict.fromkeys(diagnostic for diagnostic in diagnostics if diagnostic.severity == "ignored")
    if ignored:
        places = dict.fromkeys(f"{d.code} {d.source.file}:{d.source.line}" if d.source else d.code for d in ignored)
        message = f"{counted(len(ignored), 'finding')} ignored: {first_of(list(places))}"
        yield Diagnostic("FindingsIgnored", "info", message)
