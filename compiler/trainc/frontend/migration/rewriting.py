"""Rewriting: a YAML text with one document's data changed, its comments, order and style kept."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from trainc.patterns import pattern

Json = Mapping[str, Any]

_SEQUENCE = pattern(r"^(?P<key> *)[^\s#-][^\n#]*:[ ]*(?:#[^\n]*)?\n(?P<dash> *)- ", re.MULTILINE)
_MAPPING = pattern(r"^(?P<key> *)[^\s#-][^\n#]*:[ ]*(?:#[^\n]*)?\n(?P<child> +)[^\s#-]", re.MULTILINE)
_COMMENT = pattern(r"(?:^|\s)(?P<text>#[^\n]*)")
_MOST_COMPARED = 4_000
_IDENTITIES = ("name", "manager", "mountPath")


def rewrite(text: str, changes: Sequence[tuple[Sequence[str | int], Json, Json]]) -> str:
    """`text`, one YAML document, with each change made: (where the object is, its data now, its data wanted).

    Only lines whose data changes differ from `text`, as long as writing the document back keeps its lines.
    """
    yaml = _writer(text)
    before = _dump(yaml, yaml.load(text))
    tree = yaml.load(text)
    for path, now, wanted in changes:
        node = tree
        for step in path:
            node = node[step]
        _Reconciliation(node, now, wanted).run()
    return _with_lines_of(text, before, _dump(yaml, tree))


class _Reconciliation:
    """One object's tree, brought from the data it has to the data it shall have."""

    def __init__(self, root: Any, now: Any, wanted: Any) -> None:
        self._root, self._now, self._wanted = root, now, wanted
        self._moved = list(_vanished(now, wanted, root))

    def run(self) -> None:
        self._reconcile(self._root, self._now, self._wanted)

    def _reconcile(self, node: Any, now: Any, wanted: Any) -> None:
        if isinstance(node, CommentedMap):
            self._mapping(node, now, wanted)
        else:
            self._sequence(node, now, wanted)

    def _mapping(self, node: CommentedMap, now: Json, wanted: Json) -> None:
        for key in [key for key in now if key not in wanted]:
            new = next((k for k in wanted if k not in now and wanted[k] == now[key]), None)
            if new is None:
                del node[key]
            else:
                _rename(node, key, new)
                now = {**now, new: now[key]}
        for key, value in wanted.items():
            if key not in now:
                node[key] = self._taken_over(value)
            elif now[key] != value:
                node[key] = self._changed(node[key], now[key], value)

    def _sequence(self, node: CommentedSeq, now: Sequence[Any], wanted: Sequence[Any]) -> None:
        old = list(node)
        node[:] = [self._item(item, index, old, now) for index, item in enumerate(wanted)]

    def _item(self, wanted: Any, index: int, old: Sequence[Any], now: Sequence[Any]) -> Any:
        at = _counterpart(wanted, index, now)
        if at is None:
            return self._taken_over(wanted)
        return old[at] if now[at] == wanted else self._changed(old[at], now[at], wanted)

    def _changed(self, node: Any, now: Any, wanted: Any) -> Any:
        same_shape = (isinstance(now, Mapping) and isinstance(wanted, Mapping)) or (
            isinstance(now, list) and isinstance(wanted, list)
        )
        if not same_shape:
            return self._taken_over(wanted)
        self._reconcile(node, now, wanted)
        return node

    def _taken_over(self, value: Any) -> Any:
        """A value that is new here: the node that held it elsewhere, comments included, or a node of its own."""
        for data, node in self._moved:
            if data == value:
                return node
        if isinstance(value, Mapping):
            made = CommentedMap()
            for key, item in value.items():
                made[key] = self._taken_over(item)
            return made
        return CommentedSeq([self._taken_over(item) for item in value]) if isinstance(value, list) else value


def _vanished(now: Any, wanted: Any, node: Any) -> Iterator[tuple[Any, Any]]:
    """Every mapping and list that is not where it was any more, with its node; outer ones first."""
    if isinstance(now, Mapping):
        inner = [(now[k], wanted.get(k) if isinstance(wanted, Mapping) else None, node[k]) for k in now]
    elif isinstance(now, list):
        inner = [(item, None, node[i]) for i, item in enumerate(now)]
    else:
        return
    if now != wanted:
        yield now, node
        for item, still, item_node in inner:
            yield from _vanished(item, still, item_node)


def _counterpart(item: Any, index: int, now: Sequence[Any]) -> int | None:
    """The position of the old item that a new one continues: of the same identity, or of the same value."""
    if isinstance(item, Mapping):
        identity = next((key for key in _IDENTITIES if key in item), None)
        if identity is not None:
            found = (i for i, o in enumerate(now) if isinstance(o, Mapping) and o.get(identity) == item[identity])
            at = next(found, None)
            return at if at is not None or len(now) <= index else (index if _alike(now[index], item) else None)
    return next((i for i, old in enumerate(now) if old == item), None)


def _alike(old: Any, new: Json) -> bool:
    """Whether an item is the same one under a new name: most of its fields are there still."""
    return isinstance(old, Mapping) and set(old) == set(new)


def _rename(node: CommentedMap, old: str, new: str) -> None:
    position = list(node).index(old)
    comment = node.ca.items.pop(old, None)
    value = node.pop(old)
    node.insert(position, new, value)
    if comment is not None:
        node.ca.items[new] = comment


def _writer(text: str) -> YAML:
    """A round-trip writer with the indentation that `text` has."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1_000_000
    yaml.allow_duplicate_keys = True
    mapping = next((len(m["child"]) - len(m["key"]) for m in _MAPPING.finditer(text)), 2)
    offset = next((len(m["dash"]) - len(m["key"]) for m in _SEQUENCE.finditer(text)), 0)
    yaml.indent(mapping=mapping, sequence=offset + 2, offset=offset)
    return yaml


def _dump(yaml: YAML, tree: Any) -> str:
    stream = io.StringIO()
    yaml.dump(tree, stream)
    return stream.getvalue()


def _with_lines_of(text: str, before: str, after: str) -> str:
    """`after`, with every line that the change did not touch as it was in `text`.

    `before` is `text` written back unchanged; where that has another number of lines, the lines cannot be told.
    """
    original, old, new = (t.splitlines(keepends=True) for t in (text, before, after))
    if len(original) != len(old):
        return after
    lines: list[str] = []
    for tag, old_start, old_end, new_start, new_end in _steps(old, new):
        if tag == "equal":
            lines += original[old_start:old_end]
        else:
            lines += [*_lost_comments(original[old_start:old_end], after), *new[new_start:new_end]]
    return "".join(lines)


def _steps(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """How `old` becomes `new`, as difflib says it: what begins and ends alike costs nothing."""
    from difflib import SequenceMatcher

    start, shorter = 0, min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    yield "equal", 0, start, 0, start
    # Lines by the thousand that are all alike would take difflib hours.
    junk = len(middle_old) + len(middle_new) > _MOST_COMPARED
    for tag, a, b, c, d in SequenceMatcher(None, middle_old, middle_new, autojunk=junk).get_opcodes():
        yield tag, start + a, start + b, start + c, start + d
    yield "equal", len(old) - end, len(old), len(new) - end, len(new)


def _lost_comments(removed: Sequence[str], after: str) -> Iterator[str]:
    """Comments of removed lines that stand nowhere in `after`: they stay where they were, each on its own line."""
    for line in removed:
        found = _COMMENT.search(line)
        if found is not None and found["text"].rstrip() not in after:
            yield f"{line[: len(line) - len(line.lstrip())]}{found['text'].rstrip()}\n"
