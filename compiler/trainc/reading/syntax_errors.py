"""Explains YAML syntax errors and how to fix them."""

from __future__ import annotations

import re

from yaml.error import MarkedYAMLError, YAMLError

from trainc.findings import TEMPLATE_HINT, Diagnostic
from trainc.findings.text import counted
from trainc.reading.document import Chunk
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, replace
from trainc.startup.shipped import read_data

# Finds out where a wrongly indented key belongs.

_KEY_LINE = pattern(r"(?P<indent>[ ]*)(?P<key>[\w./-]+):(?:\s|$)")
_ITEM_LINE = pattern(r"(?P<indent>[ ]*)-(?P<gap>[ ]+)(?P<key>[\w./-]+):(?P<value>.*)")
_OPENING = pattern(r"(?:[ ]*-[ ])?[ ]*[\w./-]+:\s*(?:#.*)?")
_FIELD_LINE = pattern(r"(?P<indent>(?:[ ]*-[ ]+)?[ ]*)(?P<key>[\w./-]+):[ ]+(?![|>#])\S")


@dataclass(frozen=True, slots=True)
class MisplacedKey:
    """A key at `index` of the text, with a message and a hint about its indentation."""

    index: int
    message: str
    hint: str


def misplaced_key(text: str, index: int) -> MisplacedKey | None:
    """Explain the key on the line of `text[index]`, if the lines above show where it belongs."""
    start = text.rfind("\n", 0, index) + 1
    line = _KEY_LINE.match(text, start)
    above = [other for other in text[:start].splitlines() if other.strip() and not other.lstrip().startswith("#")]
    if line is None or not above:
        return None
    return (
        _first_is_off(line, above, text)
        or _under_a_dash(line, above)
        or _too_deep(line, above[-1])
        or _between(line, above)
    )


def _first_is_off(line: re.Match[str], above: list[str], text: str) -> MisplacedKey | None:
    """The first key of a mapping, a space off: the parser notices at the second, which has the usual indentation."""
    column = len(line["indent"])
    near = next((i for i in range(len(above) - 1, 0, -1) if _indent(above[i]) <= column + 1), 0)
    first, parent = _KEY_LINE.match(above[near]), _OPENING.fullmatch(above[near - 1])
    if near == 0 or first is None or parent is None or abs(len(first["indent"]) - column) != 1:
        return None
    pairs = zip(lines := text.splitlines(), lines[1:], strict=False)
    steps = [
        _indent(below) - _indent(other) for other, below in pairs if _OPENING.fullmatch(other) and below != above[near]
    ]
    usual = max(filter(None, steps), key=steps.count, default=2)
    if column - _indent(above[near - 1]) != usual:
        return None
    return MisplacedKey(
        text.rfind(f"\n{above[near]}", 0, line.start()) + 1 + len(first["indent"]),
        f"`{first['key']}` is indented {_spaces(len(first['indent']))}, and `{line['key']}` below it {_spaces(column)}",
        f"indent `{first['key']}` {_spaces(column)}",
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _under_a_dash(line: re.Match[str], above: list[str]) -> MisplacedKey | None:
    """A field of a list item that is in the column of the item's dash."""
    column = len(line["indent"])
    # Lines of the item itself are indented further than its dash.
    item = next((other for other in reversed(above) if _indent(other) <= column), "")
    dash = _ITEM_LINE.match(item)
    if dash is None or len(dash["indent"]) != column:
        return None
    target_column = column + 1 + len(dash["gap"])
    return MisplacedKey(
        line.start("key"),
        f"`{line['key']}` is in the same column as the dash above, so it is outside that list item",
        f"move it to column {target_column + 1}, below `{dash['key']}`",
    )


def _between(line: re.Match[str], above: list[str]) -> MisplacedKey | None:
    """A key in a column between those of the surrounding mappings."""
    column = len(line["indent"])
    around: dict[int, str] = {}
    for other in reversed(above):
        match = _KEY_LINE.match(other) or _ITEM_LINE.match(other)
        if match is None:
            return None
        start = match.start("key")
        if start < min(around, default=start + 1):
            around[start] = match["key"]
        if start < column:
            break
    if column in around or len(around) < 2:
        return None
    deeper = min((start for start in around if start > column), default=None)
    choices = [f"{_spaces(start)} like `{around[start]}:`" for start in (deeper, min(around)) if start is not None]
    message = "the indentation of this line matches no mapping or list above it"
    return MisplacedKey(line.start("key"), message, f"indent it {', or '.join(choices)}")


def _spaces(count: int) -> str:
    return f"by {counted(count, 'space')}" if count else "not at all,"


def _too_deep(line: re.Match[str], above: str) -> MisplacedKey | None:
    """A key that is indented under a key that already has a value."""
    field = _FIELD_LINE.match(above)
    if field is None or len(field["indent"]) >= len(line["indent"]):
        return None
    if field["key"].startswith("-"):
        return MisplacedKey(
            line.start("key"),
            f"`{field['key']}` above this line has no space after its dash, so it is a key and not a list item",
            f"write `- {above.strip()[1:]}` on the line above",
        )
    return MisplacedKey(
        line.start("key"),
        f"`{line['key']}` is indented under `{field['key']}`, which already has a value",
        f"move it to column {len(field['indent']) + 1}, below `{field['key']}`, if both are fields of one mapping",
    )


@dataclass(frozen=True, slots=True)
class _Explanation:
    """One kind of syntax error. `problem` is a pattern for the messages of both libyaml and PyYAML's own parser.

    Without one, it is chosen by what stands there. `opening` means that the start of the broken construct is a better
    position than where parsing failed.
    """

    message: str
    hint: str
    problem: str | None = None
    opening: bool = False


# By name, in the order in which they are tried; the last is for all others.
_EXPLANATIONS = {name: _Explanation(**row) for name, row in read_data(__file__, "syntax_errors.json").items()}
_ELLIPSIS_PROBLEM = pattern("expected ':'|mapping values|<?document start>?|expected key|<block end>")
_COLUMN_PROBLEM = pattern("mapping values are not allowed|expected (key|'-' indicator)|expected <block end>")
_ELLIPSIS_LINE = pattern(r"^[ \t]*(\.\.\.|\u2026)[ \t]*$", re.MULTILINE)
# Spaces from word processors and web pages: no-break, thin, zero-width, ideographic.
_BLANK = pattern("[\u00a0\u2000-\u200b\u202f\u3000]")
_LONGEST = 80  # Maximum number of characters of the user's text to repeat in a hint.
# A lone word, or a key and a value without a space between them, but not a URL.
_KEY = pattern(r"(?:- +)?([A-Za-z][\w./-]*)(?::(?!//)(\S.*))?")
_TEMPLATE = pattern(r"\{\{|\{%")
# What git writes around the two versions of a conflict.
_CONFLICT = pattern(r"^(?:<{7}|>{7}) \S.*$", re.MULTILINE)

# How error messages of kubectl begin.
_KUBECTL = pattern(r"Error from server|error: |Unable to connect to the server|The connection to the server ")


def syntax_error(error: YAMLError, chunk: Chunk) -> Diagnostic:
    """Create the diagnostic for an error that the parser raised on `chunk`."""
    if _KUBECTL.match(chunk.text):
        message = "this is an error message of kubectl, not an object"
        return chunk.error("YAMLSyntax", 0, message, "run the command that wrote this file again")
    if conflict := _CONFLICT.search(chunk.text):
        hint = "keep one of the two versions, and remove the lines with <<<<<<<, ======= and >>>>>>>"
        return chunk.error("YAMLSyntax", conflict.start(), "this is an unresolved merge conflict", hint)
    if chunk.file.endswith(".json") and chunk.text.lstrip().startswith("{") and not chunk.text.rstrip().endswith("}"):
        end, hint = len(chunk.text.rstrip()), "export or publish the whole file again"
        return chunk.error("YAMLSyntax", end, "this file ends in the middle of this line", hint)
    return _explain(error, chunk)


def _explain(error: YAMLError, chunk: Chunk) -> Diagnostic:
    """Say what the parser's message means, and where the cause is: often not where it noticed."""
    problem = error.problem or "" if isinstance(error, MarkedYAMLError) else ""
    tried = ((name, known.problem) for name, known in _EXPLANATIONS.items() if known.problem is not None)
    kind = next(name for name, pattern_ in tried if re.search(pattern_, problem))
    explanation = _EXPLANATIONS[kind]
    index = _index(error, explanation.opening, chunk.text)
    before, after = chunk.around(index)
    ellipsis = _ellipsis(chunk.text, index - len(before)) if _ELLIPSIS_PROBLEM.search(problem) else None
    if ellipsis is not None:
        explanation, index = _EXPLANATIONS["ellipsis"], ellipsis
    elif _COLUMN_PROBLEM.search(problem) and (key := misplaced_key(chunk.text, index)) is not None:
        return chunk.error("YAMLSyntax", key.index, key.message, key.hint)
    elif blank := _BLANK.search(before + after.partition("\n")[0]):
        line = _BLANK.sub(" ", before + after)
        index += blank.start() - len(before)
        character = f"U+{ord(blank.group()):04X}"
        explanation = _Explanation(
            f"this is {character}, a space that YAML does not treat as one, probably from a web page or a chat",
            f"replace it with a normal space{f': `{line.strip()}`' if len(line) <= _LONGEST else ''}",
        )
    elif kind in ("list in brackets", "mapping in brackets") and (end := _after_quote(error, chunk.text)):
        explanation, index = _quoted_again(chunk, end), end - 1
    elif after.startswith("\t"):
        tab, better = _EXPLANATIONS["tab"], _replace_tab(chunk.text[: index - len(before)], after.strip())
        explanation = replace(tab, hint=f"{tab.hint}{better}")
    elif kind == "no key" and (key_line := _KEY.fullmatch((before + after).strip())) is not None:
        text = f"{key_line[1]}: {key_line[2] or ''}".rstrip()
        explanation = replace(explanation, hint=f"write `{text}`, or indent the line under its key")
    elif kind == "misplaced" and before.strip():
        explanation = _EXPLANATIONS["trailing"]
        if after[:1] in ("}", "]"):
            hint = f"remove this {after[0]}, which closes nothing; or put the value in quotes"
            explanation = replace(explanation, hint=hint)
    elif not chunk.text[index:].strip() and "node content" in problem:
        explanation = _EXPLANATIONS["ending"]
    hint = TEMPLATE_HINT if _TEMPLATE.search(before + after) else explanation.hint
    return chunk.error("YAMLSyntax", index, explanation.message, hint)


def _replace_tab(above: str, line: str) -> str:
    """Return a hint with the line indented by spaces, like the line above, or deeper if that ends in a colon."""
    last = next((other for other in reversed(above.splitlines()) if other.strip()), "")
    indent = len(last) - len(last.lstrip()) + 2 * last.rstrip().endswith(":")
    return f", so write `{' ' * indent}{line}`" if line and indent + len(line) <= _LONGEST and "\t" not in last else ""


def _ellipsis(text: str, line_start: int) -> int | None:
    """Return the offset of an ellipsis on the line at `line_start`, or on the last non-empty line before it."""
    before = [match for match in _ELLIPSIS_LINE.finditer(text) if match.start() <= line_start]
    return before[-1].start(1) if before and not text[before[-1].end() : line_start].strip() else None


def _after_quote(error: YAMLError, text: str) -> int:
    """Return the error's offset if it directly follows a quote that ended a string too early; else 0."""
    mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
    return mark.index if mark is not None and text[mark.index - 1 : mark.index] in ("'", '"') else 0


def _quoted_again(chunk: Chunk, end: int) -> _Explanation:
    """Explain a string that ends too early at the quote before `end`, and suggest the other kind of quotes."""
    quote = chunk.text[end - 1]
    other = "'" if quote == '"' else '"'
    before, after = chunk.around(end - 1)
    start, last = before.rfind(quote), after.rfind(quote)
    item = before[start + 1 :] + after[:last]
    is_known = start >= 0 and last > 0 and len(item) <= _LONGEST and not {other, "\\"} & set(item)
    hint = f"put {'single' if other == chr(39) else 'double'} quotes around the whole item"
    return _Explanation(
        f"this quote ends the text early: {after[1:].split(maxsplit=1)[0]!r} is outside of it",
        f"{hint}: {other}{item}{other}" if is_known else hint,
    )


def _index(error: YAMLError, opening: bool, text: str) -> int:
    if not isinstance(error, MarkedYAMLError):
        return 0
    marks = (error.context_mark, error.problem_mark)
    mark = next((m for m in (marks if opening else marks[::-1]) if m is not None), None)
    # Move an error at the very end of the text to the last non-empty line.
    return min(mark.index, len(text.rstrip())) if mark else 0
