"""Write changed data in the words of the text that it came from: what has not changed is copied, comments included.

New documents are written entry by entry. An entry continues one of the text: that of the same path in the first
document, or one of the same name and value whose place is gone. Where the values are the same, its lines are copied as
their author wrote them, in the column where they stand now. A comment whose entry is gone goes to the next one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from yaml.error import YAMLError

from trainc.api.documents import yaml_reader
from trainc.api.findings import CompileError
from trainc.api.kube import Json, documents
from trainc.api.output import yaml_writer
from trainc.api.records import pattern
from trainc.features.migration.v1.source_text import Entry, SourceText, UnfitError

_Fresh: TypeAlias = Callable[[Any, str], str]
_SPACE = pattern(r"\s*")
_COMMENT = pattern(r"[ \t]*#[^\n]*")
# The first entry of an object: what it is indented by, and what follows its colon.
_FIRST_ENTRY = pattern(r'\{\s*?(?:\n(?P<indent>[ \t]+))?"(?:[^"\\]|\\.)*"\s*:(?P<space>\s?)')
# Fields that a TrainJob calls something else.
_FORMER_NAMES = {"resourcesPerNode": "resources", "numProcPerNode": "nprocPerNode", "numNodes": "replicas"}
# What tells the items of a list apart.
_IDENTITIES = ("name", "manager", "mountPath")
# More numbers are better read on one line: the exit codes of a pod failure policy are a hundred.
_MOST_NUMBERS = 16
# What was written in brackets is written so again if it is shorter.
_LONGEST_LINE = 120


def rewrite(text: str, data: Any, new: Sequence[Json]) -> str:
    """Return the documents `new` in place of `text`, which is one YAML document with the value `data`."""
    for uses_anchors in (True, False):
        try:
            rewritten = _Writer(SourceText(text, data), uses_anchors).write(new)
        except (UnfitError, YAMLError):
            continue
        if _reads_as(rewritten, new):
            return rewritten if text.endswith("\n") else rewritten.removesuffix("\n")
    comments = (line.strip() for line in text.split("\n") if line.lstrip().startswith("#"))
    return "".join(f"{line}\n" for line in comments) + _Writer(None).write(new)


def _reads_as(text: str, documents: Sequence[Json]) -> bool:
    parts = text.split("\n---\n")
    try:
        return len(parts) == len(documents) and all(map(is_same, map(yaml_reader.read_value, parts), documents))
    except CompileError:
        return False


def is_same(left: Any, right: Any) -> bool:
    """Return whether two values are equal in YAML, where `true` is not 1."""
    if left != right or left.__class__ is str:
        return bool(left == right)
    return json.dumps(left, sort_keys=True, default=str) == json.dumps(right, sort_keys=True, default=str)


class _Slot(NamedTuple):
    """An entry of the new data: its key (None for an item of a list), value and path, and the column where it begins."""

    key: str | None
    value: Any
    path: tuple[str, ...]
    column: int


class _Writer:
    """Writes documents; the first of them continues the `source`."""

    def __init__(self, source: SourceText | None, uses_anchors: bool = False) -> None:
        self._source = source
        self._uses_anchors = uses_anchors
        self._step = (source.step if source else 0) or 2
        self._offset = max(source.offset, 0) if source else 0
        self._lines: list[str] = []
        self._number = 0
        # What stands on the line before its first entry: the dashes of the items that begin there.
        self._lead = ""

    def write(self, documents: Sequence[Json]) -> str:
        """Return the documents with `---` between them."""
        source = self._source
        if source is not None:
            _mark_staying(source.root, documents[0])
        parts: list[list[str]] = []
        for self._number, document in enumerate(documents):
            self._lines = []
            parts.append(self._lines)
            root = source.root if source is not None and self._number == 0 and source.root.node.is_block else None
            self._mapping(document, root, (), root.entries[0].column if root else 0)
        if source is not None:
            _reattach(source, parts)
            parts[-1] += source.tail
        return "---\n".join("".join(f"{line}\n" for line in lines) for lines in parts)

    def _mapping(self, value: Json, old: Entry | None, path: tuple[str, ...], column: int) -> None:
        entries_by_step = {entry.step: entry for entry in old.entries} if old is not None else {}
        for key, entry in _continued_keys(entries_by_step, value):
            slot = _Slot(key, value[key], (*path, key), column)
            self._entry(slot, entry or self._elsewhere((key, _FORMER_NAMES.get(key, key)), slot))

    def _sequence(self, value: Sequence[Any], old: Entry | None, path: tuple[str, ...], column: int) -> None:
        continued = _continued_items(old.entries, value) if old is not None else {}
        for index, item in enumerate(value):
            slot = _Slot(None, item, path, column)
            self._entry(slot, continued.get(index) or self._elsewhere(path[-1:], slot))

    def _elsewhere(self, names: Sequence[str], slot: _Slot) -> Entry | None:
        if self._source is None:
            return None
        return self._source.elsewhere(names, slot.path, slot.key is None, slot.value)

    def _entry(self, slot: _Slot, entry: Entry | None) -> None:
        source, (key, value, path, column) = self._source, slot
        if entry is None or source is None or entry.is_copied or entry.position is not None:
            self._fresh(slot, "")
            return
        entry.put((self._number, len(self._lines), column))
        if not entry.in_flow:
            above = source.lines[entry.top : entry.line]
            in_place = self._number == 0 and entry.path[:-1] == path[:-1]
            comments = above if in_place else [line for line in above if line.strip()]
            self._lines += (_shift(line, column - entry.column) for line in comments)
        is_whole = not entry.is_torn and (self._uses_anchors or not entry.node.is_shared)
        may_copy = is_whole and is_same(entry.value, value)
        if may_copy and not entry.in_flow:
            entry.use(copied=True)
            first = source.rest_of_line(entry.start if key in (None, entry.step) else entry.head)
            self._line(column, first if key in (None, entry.step) else f"{yaml_writer.inline(key)}{first}")
            below = source.lines[entry.line + 1 : entry.end]
            self._lines += (_shift(line, column - entry.column) for line in below)
        elif may_copy and key in (None, entry.step) and "\n" not in source.text[entry.start : entry.node.end]:
            entry.use(copied=True)
            self._line(column, ("" if key else "- ") + source.text[entry.start : entry.node.end])
        else:
            self._rewrite_value(slot, entry, source)
            self._lines += (_shift(line, column - entry.column) for line in source.below(entry))

    def _rewrite_value(self, slot: _Slot, entry: Entry, source: SourceText) -> None:
        """Write another value for an entry, in the form of the old one if it is of the same kind."""
        node, (key, value, _, column) = entry.node, slot
        kind = {"mapping": dict, "sequence": list}.get(node.kind)
        if kind is None or not isinstance(value, kind) or not value or (node.is_shared and not self._uses_anchors):
            self._fresh(slot, entry.behind)
        elif node.style == "[" and entry.entries and len(yaml_writer.flow(value)) < _LONGEST_LINE:
            text = recompose(source, entry, value, lambda new, _: yaml_writer.flow(new))
            self._lines += (" " * column + comment for comment in source.comments_in(node) if comment not in text)
            first, *more_lines = f"{'- ' if key is None else f'{yaml_writer.inline(key)}: '}{text}{entry.behind}".split(
                "\n"
            )
            self._line(column, first)
            self._lines += (_shift(line, column - entry.column) for line in more_lines)
        else:
            self._lines += (" " * column + comment for comment in source.comments_in(node))
            indent = entry.entries[0].column - entry.column if node.is_block else 2
            self._collection(slot, entry, entry.behind, max(indent, 2) if key is None else indent)

    def _fresh(self, slot: _Slot, behind: str) -> None:
        key, value, _, column = slot
        name = "-" if key is None else f"{yaml_writer.inline(key)}:"
        numbers = value if isinstance(value, list) and all(isinstance(inner, int) for inner in value) else ()
        if isinstance(value, (dict, list)) and value and len(numbers) <= _MOST_NUMBERS:
            indent = 2 if key is None else self._step if isinstance(value, dict) else self._offset
            self._collection(slot, None, behind, indent)
        elif (
            isinstance(value, str)
            and "\n" in value
            and (block := yaml_writer.literal(value, " " * (column + self._step)))
        ):
            first, *more_lines = block.split("\n")
            self._line(column, f"{name} {first}{behind}")
            self._lines += more_lines
        else:
            text = yaml_writer.inline(value) if isinstance(value, str) else yaml_writer.flow(value)
            self._line(column, f"{name} {text}{behind}")

    def _collection(self, slot: _Slot, old: Entry | None, behind: str, indent: int) -> None:
        key, value, path, column = slot
        if key is None:
            self._lines += [" " * column + behind.lstrip()] if behind else []
            self._lead = f"{self._lead or ' ' * column}- "
        else:
            self._line(column, f"{yaml_writer.inline(key)}:{behind}")
        (self._mapping if isinstance(value, dict) else self._sequence)(value, old, path, column + indent)

    def _line(self, column: int, text: str) -> None:
        self._lines.append(self._lead.ljust(column) + text)
        self._lead = ""


def _shift(line: str, by: int) -> str:
    """Return a line some columns further to the right, or to the left as far as it is indented."""
    if by > 0 and line.strip():
        return " " * by + line
    return line[min(-by, len(line) - len(line.lstrip(" "))) :] if by < 0 else line


# What of the text each part of the new data continues.


def _mark_staying(old: Entry, value: Any) -> None:
    """Mark the entries of an entry that `value` has in the same place, so that they are not moved elsewhere."""
    if isinstance(value, dict) and isinstance(old.value, dict):
        for entry in (entry for entry in old.entries if entry.step in value):
            entry.is_used = True
            if is_same(entry.value, value[entry.step]):
                entry.use()
            else:
                _mark_staying(entry, value[entry.step])
    elif isinstance(value, list) and isinstance(old.value, list):
        staying = {repr(item) for item in value}
        for entry in (entry for entry in old.entries if repr(entry.value) in staying):
            entry.use()


def _continued_keys(entries_by_step: Mapping[str | int, Entry], value: Json) -> Iterator[tuple[str, Entry | None]]:
    """Yield the keys of `value` with the entries that they continue: in the text's order, with new ones in between.

    An entry that is gone continues under a new key that has its value, or begins with its name.
    """
    new = {repr(value[key]): key for key in value if key not in entries_by_step}
    entries: dict[str, Entry] = {}
    for step, entry in entries_by_step.items():
        name = step if step in value else new.pop(repr(entry.value), None)
        if name is None:
            name = next((key for key in new.values() if key.startswith(str(step)) and key not in entries), None)
        if name is not None:
            entries[str(name)] = entry
    followers: dict[str | None, list[str]] = {}
    for before, key in zip((None, *value), value, strict=False):
        if key not in entries:
            followers.setdefault(before, []).append(key)
    waiting = [*reversed(entries), *reversed(followers.get(None, ()))]
    while waiting:
        key = waiting.pop()
        yield key, entries.get(key)
        waiting += reversed(followers.get(key, ()))


def _continued_items(entries: Sequence[Entry], value: Sequence[Any]) -> dict[int, Entry]:
    """Return the entries that the items of a list continue: those of the same value, name or, in their place, keys."""
    continued: dict[int, Entry] = {}
    equal: dict[str, list[Entry]] = {}
    for old in reversed(entries):
        equal.setdefault(repr(old.value), []).append(old)
    for index, item in enumerate(value):
        if queue := equal.get(repr(item)):
            continued[index] = queue.pop()
    used_ids = {id(old) for old in continued.values()}
    free = [old for old in entries if id(old) not in used_ids and isinstance(old.value, dict)]
    by_identity = {_identity(old.value): old for old in reversed(free)}
    for index, item in enumerate(value):
        if index in continued or not isinstance(item, dict):
            continue
        entry: Entry | None = by_identity.get(_identity(item))
        if entry is None and index < len(entries):
            old_value = entries[index].value
            entry = entries[index] if isinstance(old_value, dict) and set(old_value) == set(item) else None
        if entry is not None and id(entry) not in used_ids:
            used_ids.add(id(entry))
            continued[index] = entry
    return continued


def _identity(item: Json) -> tuple[str, str]:
    field = next((name for name in _IDENTITIES if name in item), "")
    return field, repr(item[field] if field else sorted(item))


def _reattach(source: SourceText, documents: Sequence[list[str]]) -> None:
    """Add the comments of entries that are gone above the next entry that is not."""
    used = (entry for entry in source.entries if entry.is_used)
    present = {(_name(entry), comment) for entry in used for comment in _comments_of(source, entry)}
    above: dict[tuple[int, int, int], list[str]] = {}

    def collect(entries: Iterable[Entry]) -> list[str]:
        pending: list[str] = []
        for entry in entries:
            inner = [] if entry.is_copied or not entry.node.is_block else collect(entry.entries)
            if entry.position is not None:
                above.setdefault(entry.position, []).extend((*pending, *inner))
                pending = []
            elif not entry.is_copied:
                # Templates that were alike are one now, and so are their comments.
                new = [comment for comment in _comments_of(source, entry) if (_name(entry), comment) not in present]
                present.update((_name(entry), comment) for comment in new)
                pending += (*new, *inner)
        return pending

    trailing = collect(source.root.entries)
    for (number, line, column), comments in sorted(above.items(), reverse=True):
        documents[number][line:line] = [" " * column + comment for comment in comments]
    documents[-1].extend(trailing)


def _name(entry: Entry) -> tuple[str, str]:
    return entry.path[-1] if entry.path else "", repr(entry.value)


def _comments_of(source: SourceText, entry: Entry) -> list[str]:
    lines = [] if entry.in_flow else [*source.lines[entry.top : entry.line], entry.behind, *source.below(entry)]
    inside = source.comments_in(entry.node)
    return [*(line.strip() for line in lines if line.lstrip().startswith("#")), *inside]


# Collections in brackets, and JSON, which consists of them.


def recompose(source: SourceText, old: Entry, value: Any, fresh: _Fresh) -> str:
    """Return a collection in brackets with another value of its kind: what it keeps, and its spacing, as written.

    `fresh` writes a new value, whose further lines are indented by its second argument.
    """
    node, entries = old.node, old.entries

    def gap(start: int, end: int) -> str:
        return _COMMENT.sub("", source.text[start:end])

    opening = gap(node.index + 1, entries[0].start)
    between = f",{opening}" if "\n" in opening else "," if "0,0" in fresh([0, 0], "") else ", "
    between = gap(entries[0].node.end, entries[1].start) if len(entries) > 1 else between
    colon, indent = gap(entries[0].head, entries[0].node.index) or ": ", opening.rpartition("\n")[2]
    after = {id(before): entry for before, entry in pairwise(entries)}
    composed, last = [source.text[node.index], opening], None
    for number, (name, item, entry) in enumerate(_parts(entries, value)):
        if number:
            is_next = last is not None and entry is not None and after.get(id(last)) is entry
            composed.append(gap(last.node.end, entry.start) if is_next and last and entry else between)
        if entry is None:
            composed.append(fresh(item, indent) if name is None else f"{fresh(name, '')}{colon}{fresh(item, indent)}")
        else:
            composed.append(source.text[entry.start : entry.head] if name in (None, entry.step) else fresh(name, ""))
            composed += (gap(entry.head, entry.node.index), _recompose_value(source, entry, item, fresh, indent))
        last = entry
    return "".join((*composed, gap(entries[-1].node.end, node.end - 1), source.text[node.end - 1]))


def _parts(entries: Sequence[Entry], value: Any) -> Iterator[tuple[str | None, Any, Entry | None]]:
    if isinstance(value, dict):
        keys = _continued_keys({entry.step: entry for entry in entries}, value)
        yield from ((key, value[key], entry) for key, entry in keys)
    else:
        continued = _continued_items(entries, value)
        yield from ((None, item, continued.get(index)) for index, item in enumerate(value))


def _recompose_value(source: SourceText, entry: Entry, value: Any, fresh: _Fresh, indent: str) -> str:
    if is_same(entry.value, value):
        entry.use(copied=True)
        return source.text[entry.node.index : entry.node.end]
    entry.is_used = True
    is_alike = value and entry.entries and isinstance(value, entry.value.__class__)
    return recompose(source, entry, value, fresh) if is_alike else fresh(value, indent)


_MOST_LEVELS = 200


def leading_objects(text: str) -> Iterator[tuple[str, Any, str]]:
    """Yield each JSON object at the start of `text`: the whitespace before it, its data, its text; then the rest and None.

    Like a reader does, this takes consecutive JSON objects first, and YAML only after the last of them.
    """
    decoder = json.JSONDecoder()
    start = 0
    # Python's parser recurses.
    is_deep = text.lstrip().startswith("{") and documents.is_deeper(text, _MOST_LEVELS)
    while not is_deep and (space := _SPACE.match(text, start)) and text.startswith("{", space.end()):
        try:
            value, end = decoder.raw_decode(text, space.end())
        except ValueError:
            break
        yield space[0], value, text[space.end() : end]
        start = end
    yield "", None, text[start:]


def rewrite_json(text: str, data: Any, new: Sequence[Json]) -> str:
    """Return the objects `new` in place of `text`, a JSON object with the value `data`, in its indentation and spacing."""
    match = _FIRST_ENTRY.match(text)
    indent = match["indent"] if match else None
    space = "" if match and not match["space"] else " "
    separators = ("," if indent else f",{space}", f":{space}")

    def fresh(value: Any, column: str) -> str:
        dumped = json.dumps(value, indent=indent, separators=separators, ensure_ascii=text.isascii())
        return dumped.replace("\n", f"\n{column}")

    objects = [fresh(value, "") for value in new]
    try:
        source = SourceText(text, data)
        first = recompose(source, source.root, new[0], fresh)
        if is_same(yaml_reader.read_value(first), new[0]):
            objects[0] = first
    except (CompileError, UnfitError, YAMLError):
        pass
    return "\n".join(objects)
