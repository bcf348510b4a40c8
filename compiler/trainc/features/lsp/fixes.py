"""Fixes of diagnostics: their hints applied, where that helps, and the comment that ignores them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import TypeAlias

from trainc.api.findings import Diagnostic
from trainc.api.records import dataclass, pattern
from trainc.features.lsp.hovering import marked
from trainc.features.lsp.snapshot import Field, Position, Range, Snapshot, Tree, trees

# The edits that do what a hint says.
#
# A hint says in plain words what to write. Those that can be read with certainty are the rows of a table, so that a
# new diagnostic with such a hint has its fix already.


@dataclass(frozen=True, slots=True)
class Edit:
    """Text in the place of a range."""

    range: Range
    text: str


@dataclass(frozen=True, slots=True)
class Marked:
    """A diagnostic in its text: the words that it marks, what they say, and the field that they stand in."""

    diagnostic: Diagnostic
    range: Range
    words: str
    tree: Tree | None
    lines: Sequence[str]

    @property
    def field(self) -> Field | None:
        """The field that is marked; of an item, the one that the message names by its value."""
        field = self.tree.at(self.range.start) if self.tree is not None else None
        if field is None or field.kind == "scalar" or self.tree is None:
            return field
        below = (f for f in self.tree.fields if f.path[:-1] == field.path and f.kind == "scalar" and f.text)
        quoted = (f for f in below if re.search(rf"(?<![\w.-]){re.escape(f.text)}(?![\w-])", self.diagnostic.message))
        return next(quoted, field)


_Reading: TypeAlias = Callable[[re.Match[str], Marked], Iterator[tuple[str, Edit]]]


def hinted_edits(one: Marked) -> list[tuple[str, Edit]]:
    """What the hint of a diagnostic asks for, each with its title; the first reading of it that leads to an edit."""
    for expression, reading in _READINGS:
        found = expression.match(one.diagnostic.hint)
        edits = list(reading(found, one)) if found is not None else []
        if edits:
            return edits
    return []


def _renamed(found: re.Match[str], one: Marked) -> Iterator[tuple[str, Edit]]:
    """`did you mean a or b?`: in the place of what is marked."""
    place = one.range if _IS_WORD.match(one.words) else _value(one)
    if place is not None:
        for name in found[1].split(" or "):
            yield f"Change {_text(one, place)} to {name}", Edit(place, name)


def _replaced(found: re.Match[str], one: Marked) -> Iterator[tuple[str, Edit]]:
    """`write 64Gi`: in the place of the value."""
    value = _value(one, whole_list=found[1].startswith("["))
    if value is not None:
        option = _OPTION.match(_text(one, value))
        text = (option[0] if option is not None else "") + found[1]
        yield f"Change {_text(one, value)} to {text}", Edit(value, text)


def _set(found: re.Match[str], one: Marked) -> Iterator[tuple[str, Edit]]:
    """`write kind: TrainJob`, `set replicas: 1`: in the place of the value of that field, or as a new one next to it."""
    name, text = found[1], found[2]
    field, tree = one.field, one.tree
    if field is None or tree is None:
        return
    if field.path[-1:] == (name,) and field.kind == "scalar":
        yield f"Change {name} to {text}", Edit(field.value, text)
    elif (sibling := tree.field((*field.path[:-1], name))) is not None and sibling.kind == "scalar":
        yield f"Change {name} to {text}", Edit(sibling.value, text)


def _choice(found: re.Match[str], one: Marked) -> Iterator[tuple[str, Edit]]:
    """`use Always or Never`, `use one of the jobs: node, worker`: one fix for each."""
    value = _value(one)
    if value is not None:
        for text in re.split(r",? or |, ", found[1]):
            plain = text.strip("'")
            yield f"Change {_text(one, value)} to {plain}", Edit(value, plain)


def _quoted(found: re.Match[str], one: Marked) -> Iterator[tuple[str, Edit]]:
    """`put quotes around it`."""
    value = _value(one)
    if value is not None and not (text := _text(one, value)).startswith(("'", '"')):
        yield f"Put quotes around {text}", Edit(value, f'"{text}"')


def _unquoted(found: re.Match[str], one: Marked) -> Iterator[tuple[str, Edit]]:
    """`remove the quotes`."""
    value = _value(one)
    if value is not None and (text := _text(one, value))[:1] in ("'", '"'):
        yield f"Remove the quotes around {text[1:-1]}", Edit(value, text[1:-1])


def _removed(found: re.Match[str], one: Marked) -> Iterator[tuple[str, Edit]]:
    """`remove it`, `remove suspend`, `remove the variable`: what is marked, with its lines or its comma."""
    field, tree = one.field, one.tree
    if field is None or tree is None:
        return
    name = field.text or str(field.path[-1])
    if found[1].startswith(("the ", "this ")) and any(isinstance(step, int) for step in field.path[-2:-1]):
        field = tree.field(field.path[:-1]) or field  # The item that has the name which is marked.
    last = field.path[-1]
    if found[1] in ("it", "the field", last) or isinstance(last, int):
        edit = _without_lines(field, one.lines) or _without_comma(field, one.lines)
        if edit is not None:
            yield f"Remove {last if isinstance(last, str) else name}", edit


def _without_lines(field: Field, lines: Sequence[str]) -> Edit | None:
    """The lines of a field or item that has them for itself, gone."""
    first, last = field.whole
    before, after = lines[first.line][: first.column], lines[last.line][last.column :].split(" #")[0]
    dashed = isinstance(field.path[-1], int) and before.strip() == "-"
    if after.strip() or last.line + 1 >= len(lines) or (before.strip() and not dashed):
        return None
    return Edit(Range(Position(first.line, 0), Position(last.line + 1, 0)), "")


def _without_comma(field: Field, lines: Sequence[str]) -> Edit | None:
    """An entry in brackets gone, with the comma behind it, else the one before it."""
    first, last = field.whole.start, field.value.end
    if first.line != last.line:
        return None
    line = lines[first.line]
    before, after = line[: first.column], line[last.column :]
    if after.lstrip().startswith(","):
        gone = len(after) - len(after.lstrip().removeprefix(",").lstrip())
        return Edit(Range(first, Position(last.line, last.column + gone)), "")
    if after.lstrip()[:1] in ("]", "}") and before.rstrip()[-1:] == ",":
        return Edit(Range(Position(first.line, len(before.rstrip()) - 1), last), "")
    return None


def _added(found: re.Match[str], one: Marked) -> Iterator[tuple[str, Edit]]:
    """`add dnsPolicy: ClusterFirst`: before the field that is marked, where that lacks it; else first below it."""
    name, text, field, tree = found[1], found[2], one.field, one.tree
    if field is None or tree is None or tree.field((*field.path[:-1], name)) is not None:
        return
    where = one.diagnostic.path.rpartition(".")[0]
    inside = field.kind == "mapping" and where.endswith(str(field.path[-1]))
    place = field.value.start if inside else field.key.start
    line = one.lines[place.line]
    if not inside and (isinstance(field.path[-1], int) or line[: place.column].strip(" -")):
        return
    yield f"Add {name}: {text}", Edit(Range(place, place), f"{name}: {text}\n{' ' * place.column}")


def _value(one: Marked, *, whole_list: bool = False) -> Range | None:
    """The value of the field that is marked, all of it where only a part is; or of the list that it stands in."""
    field = one.field
    if whole_list and field is not None and one.tree is not None and isinstance(field.path[-1], int):
        field = one.tree.field(field.path[:-1])
    elif whole_list or (field is not None and field.kind != "scalar"):
        return None
    return field.value if field is not None and field.value.start.line == field.value.end.line else None


def _text(one: Marked, place: Range) -> str:
    return one.lines[place.start.line][place.start.column : place.end.column]


_IS_WORD = pattern(r"[\w/.-]")
_OPTION = pattern(r"--[\w-]+=")
_WORD = r"[^\s,;:'\"`{}\[\]()]+"
# The beginning of a hint, and what it asks for. The first that can be done is offered.
_READINGS: tuple[tuple[re.Pattern[str], _Reading], ...] = (
    (pattern(rf"did you mean ({_WORD}(?: or {_WORD})*)\?"), _renamed),
    (pattern(r"(?:quote it|put quotes around it)\b"), _quoted),
    (pattern(r"remove the quotes"), _unquoted),
    (pattern(rf"(?:write|set|use) ([\w-]+): ({_WORD})(?= or [A-Z]|,|;|$)"), _set),
    (pattern(rf"(?:write|set)(?: it as)? ({_WORD}|[\w./-]+:[\w.-]+)$"), _replaced),
    (pattern(r"(?:write|add) a [\w '/]+: (?:write )?([\w:/.-]+)(?=$| for)"), _replaced),
    (pattern(rf"write ({_WORD})(?=, or remove|: lowercase)"), _replaced),
    (pattern(r"write (\[[^\[\]{}]+\])$"), _replaced),
    (pattern(r"set (\w+) to (\d+)$"), _set),
    (pattern(r"use ('[^']*'(?: or '[^']*')*)$"), _choice),
    (pattern(rf"use one of (?:the [\w ']+: )?({_WORD}(?:, {_WORD})*)$"), _choice),
    (pattern(rf"the jobs are ({_WORD}(?:, {_WORD})*)$"), _choice),
    (pattern(r"remove ((?:the |this )?\w+)\b"), _removed),
    (pattern(r"add (\w+): (\{[^{}]*\}|[^\s,;{}`]+)(?=$|;| to the)"), _added),
)


# Diagnostics of one range: an editor asks about a line, or about all that is on the screen.
_MOST_FIXED = 8


@dataclass(frozen=True, slots=True)
class Fix:
    """What an editor offers; `preferred` is the one that the hint means where it means one only."""

    title: str
    diagnostic: Diagnostic
    edits: tuple[Edit, ...]
    preferred: bool = False


def fixes(snapshot: Snapshot, requested: Range, look: Callable[[str], Sequence[Diagnostic]]) -> list[Fix]:
    """What can be done about the diagnostics in a range: their hints first, then the comments that ignore them.

    `look` gives the diagnostics of the file with another text. What does not help, or breaks something else, is not
    offered.
    """
    found = [one for one in _marked(snapshot) if _meets(one.range, requested)][:_MOST_FIXED]
    hinted = [fix for one in found for fix in _hinted(one) if _helps(fix, snapshot, look)]
    ignoring = (fix for one in found for fix in _ignoring(one) if _helps(fix, snapshot, look))
    return [*hinted, *ignoring]


def applied(text: str, edits: Sequence[Edit]) -> str:
    """The text after edits that do not overlap."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    for edit in sorted(edits, key=lambda edit: edit.range, reverse=True):
        start, end = (starts[place.line] + place.column for place in edit.range)
        text = text[:start] + edit.text + text[end:]
    return text


def _helps(fix: Fix, snapshot: Snapshot, look: Callable[[str], Sequence[Diagnostic]]) -> bool:
    """Return whether the fix removes the diagnostic without adding an error near it; it may reveal others elsewhere."""
    after = look(applied(_plain(snapshot), fix.edits))
    gone = _alike(fix.diagnostic, snapshot.diagnostics) > _alike(fix.diagnostic, after)
    here = [d for d in after if d.severity == "error" and _is_near(d.path, fix.diagnostic.path)]
    return gone and all(_alike(d, snapshot.diagnostics) for d in here)


def _is_near(path: str, other: str) -> bool:
    """Whether one of two fields holds the other."""
    if not path or not other:
        return path == other
    return path.startswith(other) or other.startswith(path)


def _alike(one: Diagnostic, found: Sequence[Diagnostic]) -> int:
    return sum((d.code, d.path, d.message) == (one.code, one.path, one.message) for d in found)


def _plain(snapshot: Snapshot) -> str:
    return "\n".join(snapshot.lines)


def _marked(snapshot: Snapshot) -> Iterator[Marked]:
    found, lines = marked(snapshot), snapshot.lines
    read = trees(snapshot.text) if found else []
    for diagnostic, place in found:
        tree = next((tree for tree in read if tree.whole.holds(place.start)), None)
        words = lines[place.start.line][place.start.column : place.end.column]
        yield Marked(diagnostic, place, words, tree, lines)


def _meets(one: Range, other: Range) -> bool:
    return one.start.line <= other.end.line and other.start.line <= one.end.line


def _hinted(one: Marked) -> Iterator[Fix]:
    edits = hinted_edits(one)
    for title, edit in edits:
        yield Fix(title, one.diagnostic, (edit,), preferred=len(edits) == 1)


def _ignoring(one: Marked) -> Iterator[Fix]:
    """The comment above the line, with its reason still to be written; not for what no comment can ignore."""
    source = one.diagnostic.source
    if source is None or one.diagnostic.code in _ABOUT_COMMENTS or source.line > len(one.lines):
        return
    line = one.lines[source.line - 1]
    indent = line[: len(line) - len(line.lstrip())]
    place = Position(source.line - 1, 0)
    text = f"{indent}# trainc: ignore[{one.diagnostic.code}] reason\n"
    yield Fix(f"Ignore {one.diagnostic.code} here", one.diagnostic, (Edit(Range(place, place), text),))


_ABOUT_COMMENTS = ("UnknownCode", "UnusedIgnore", "IgnoreWithoutReason")
