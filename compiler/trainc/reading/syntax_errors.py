"""What the YAML parser stumbled over, in words that say how to mend it."""

from __future__ import annotations

import re

from yaml.error import MarkedYAMLError, YAMLError

from trainc.diagnostics import Diagnostic
from trainc.reading.chunk import Chunk
from trainc.reading.construct import TEMPLATE_HINT
from trainc.reading.misplaced_keys import misplaced_key
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class _Reading:
    """One way to fail. `problem` matches the words of libyaml and of PyYAML's own parser.

    `opening` says that the place where the broken thing begins tells more than the place where it broke.
    """

    problem: str
    message: str
    hint: str
    opening: bool = False


_TAB = _Reading(
    "tab character",
    "a tab indents this line",
    "indent with spaces; YAML does not allow tabs there",
)
_TRAILING = _Reading(
    "",
    "something follows a value that is already complete",
    "put the whole value in quotes, or begin a comment with ` #`",
)
_ENDING = _Reading(
    "",
    "the document ends in the middle of a value",
    "close every bracket with its counterpart",
)
_MISPLACED = _Reading(
    "expected (key|'-' indicator)|expected <block end>",
    "this line fits neither the mapping or list before it nor anything around it",
    "align the keys of one mapping, and the dashes of one list, in one column",
)
_READINGS = (
    _MISPLACED,
    _Reading(
        "could not find expected ':'",
        "this line stands where a `key: value` is expected",
        "write `key: value` with a space after the colon, or indent the line under the key that it belongs to",
        opening=True,
    ),
    _Reading(
        "mapping values are not allowed",
        "a colon makes this a `key: value` where there can be none",
        "quote a value that holds `: `; align a key with the other keys of its mapping",
    ),
    _Reading(
        "sequence entries are not allowed",
        "a list cannot begin here",
        "begin the list on a line of its own under its key",
    ),
    _Reading(
        "mapping keys are not allowed",
        "a value cannot be a lone `?`",
        "put the value in quotes",
    ),
    _Reading(
        r"expected ',' or '\]'",
        "this `[` is not closed",
        "separate the items with commas and close the list with `]`; quote an item that holds a bracket",
        opening=True,
    ),
    _Reading(
        r"expected ',' or '\}'",
        "this `{` is not closed",
        "separate the entries with commas and close the mapping with `}`",
        opening=True,
    ),
    _Reading(
        "unexpected (end of stream|document (indicator|separator))",
        "the text that is quoted from here on is not closed",
        "add the closing quote",
        opening=True,
    ),
    _Reading(
        "unexpected ':'",
        "a colon inside brackets is neither text nor a separator",
        "put a space after the colon, or quotes around the text",
    ),
    _TAB,
    _Reading(
        "cannot start any token",
        "no value can begin with this character",
        "put the value in quotes",
    ),
    _Reading(
        "escape (character|sequence)|hexa?decimal number|invalid Unicode character",
        "this escape inside double quotes is none that YAML knows",
        r"write `\\` for a backslash, or use single quotes, which know no escapes",
    ),
    _Reading(
        "<?document start>?|directive|incompatible YAML document|undefined tag handle",
        "a directive, or a second document without a line `---` before it",
        "remove `%` directives, which kubectl refuses, and put a line `---` between documents",
    ),
    _Reading(
        "node content",
        "a value is missing here",
        "write the value, or remove what announces it; quote a value that begins with a sign",
    ),
    _Reading(
        "alphabetic or numeric",
        "a value that begins with `&` or `*` is an anchor or an alias, and this is neither",
        "put the value in quotes",
    ),
    _Reading(
        "indentation indicator|comment or line break",
        "something follows the `|` or `>` that begins a block of text",
        "begin the text on the next line",
    ),
    _Reading(
        r"tag|expected '!'|whitespace",
        "a value that begins with `!` is a tag, and this is none that can be read",
        "put the value in quotes",
    ),
)
_UNKNOWN = _Reading(
    "",
    "this is no valid YAML",
    "check the indentation, the quotes and the brackets around this place",
)
_ELLIPSIS = _Reading(
    "",
    "an ellipsis is no YAML: it stands for something that was left out",
    "remove the ellipsis, or write what it stands for",
)
_ELLIPSIS_PROBLEM = pattern("expected ':'|mapping values|<?document start>?|expected key|<block end>")
_COLUMN_PROBLEM = pattern("mapping values are not allowed|expected (key|'-' indicator)|expected <block end>")
_ELLIPSIS_LINE = pattern(r"^[ \t]*(\.\.\.|\u2026)[ \t]*$", re.MULTILINE)
_TEMPLATE = pattern(r"\{\{|\{%")


def syntax_error(error: YAMLError, chunk: Chunk) -> Diagnostic:
    """The diagnostic for what the parser raised on `chunk`."""
    problem = error.problem or "" if isinstance(error, MarkedYAMLError) else ""
    reading = next((r for r in _READINGS if re.search(r.problem, problem)), _UNKNOWN)
    index = _index(error, reading.opening, chunk.text)
    before, after = chunk.around(index)
    place = _ellipsis(chunk.text, index - len(before)) if _ELLIPSIS_PROBLEM.search(problem) else None
    if place is not None:
        reading, index = _ELLIPSIS, place
    elif _COLUMN_PROBLEM.search(problem) and (key := misplaced_key(chunk.text, index)) is not None:
        return chunk.error("YAMLSyntax", key.index, key.message, key.hint)
    elif after.startswith("\t"):
        reading = _TAB
    elif reading is _MISPLACED and before.strip():
        reading = _TRAILING
    elif not chunk.text[index:].strip() and "node content" in problem:
        reading = _ENDING
    hint = TEMPLATE_HINT if _TEMPLATE.search(before + after) else reading.hint
    return chunk.error("YAMLSyntax", index, reading.message, hint)


def _ellipsis(text: str, line_start: int) -> int | None:
    """Where an ellipsis stands on the line that begins at `line_start`, or on the last one before it that says anything."""
    before = [match for match in _ELLIPSIS_LINE.finditer(text) if match.start() <= line_start]
    return before[-1].start(1) if before and not text[before[-1].end() : line_start].strip() else None


def _index(error: YAMLError, opening: bool, text: str) -> int:
    if not isinstance(error, MarkedYAMLError):
        return 0
    marks = (error.context_mark, error.problem_mark)
    mark = next((m for m in (marks if opening else marks[::-1]) if m is not None), None)
    # An error at the very end belongs to the last line that says anything.
    return min(mark.index, len(text.rstrip())) if mark else 0
