"""Rewrite YAML text with changed data, preserving comments, order and style."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from trainc.features.migrate.kept_lines import with_kept_lines
from trainc.findings import CompileError
from trainc.kube.documents import Json
from trainc.reading.yaml_reader import read_value
from trainc.startup.patterns import pattern

_SEQUENCE = pattern(r"^(?P<key> *)[^\s#-][^\n#]*:[ ]*(?:#[^\n]*)?\n(?P<dash> *)- ", re.MULTILINE)
_MAPPING = pattern(r"^(?P<key> *)[^\s#-][^\n#]*:[ ]*(?:#[^\n]*)?\n(?P<child> +)[^\s#-]", re.MULTILINE)
_IDENTITIES = ("name", "manager", "mountPath")


def rewrite(text: str, changes: Sequence[tuple[Sequence[str | int], Json, Json]]) -> str:
    """`text`, a single YAML document, with each change (path of the object, its current data, its new data) applied.

    Only lines with changed data differ from `text`, unless its indentation requires rewriting everything.
    """
    yaml = _writer(text)
    before = _dump(yaml, yaml.load(text))
    tree = yaml.load(text)
    for path, now, wanted in changes:
        node = tree
        for step in path:
            node = node[step]
        _Reconciliation(node, now, wanted).run()
    after = _dump(yaml, tree)
    kept = with_kept_lines(text, before, after)
    return kept if _same(kept, after) else after


class _Reconciliation:
    """Updates the tree of one object from its current data to its new data."""

    def __init__(self, root: Any, now: Any, wanted: Any) -> None:
        self._root, self._now, self._wanted = root, now, wanted
        self._moved = list(_moved_nodes(now, wanted, root))

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
            elif value == {} and isinstance(now[key], Mapping):
                # Comments inside would end up between the key and its braces.
                node.ca.items.pop(key, None)
                node[key] = _empty()
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
        if not _is_same_shape(now, wanted):
            return self._taken_over(wanted)
        self._reconcile(node, now, wanted)
        return node

    def _taken_over(self, value: Any) -> Any:
        """The node for a new value: the one that held it elsewhere, with comments, or a fresh one."""
        for data, node in self._moved:
            if data == value:
                return node
        if isinstance(value, Mapping):
            made = CommentedMap()
            for key, item in value.items():
                made[key] = self._taken_over(item)
            return made
        if isinstance(value, list):
            return CommentedSeq([self._taken_over(item) for item in value])
        return _quoted(value) if isinstance(value, str) else value


def _is_same_shape(now: Any, wanted: Any) -> bool:
    return any(isinstance(now, kind) and isinstance(wanted, kind) for kind in (Mapping, list))


def _moved_nodes(now: Any, wanted: Any, node: Any) -> Iterator[tuple[Any, Any]]:
    """Every mapping and list that moved, with its node; outer ones first.

    A value that changes in place keeps its node; if it were moved elsewhere, it could end up inside itself.
    """
    if isinstance(now, Mapping):
        inner = [(now[k], wanted.get(k) if isinstance(wanted, Mapping) else None, node[k]) for k in now]
    elif isinstance(now, list):
        inner = [(item, None, node[i]) for i, item in enumerate(now)]
    else:
        return
    if now != wanted:
        if not _is_same_shape(now, wanted):
            yield now, node
        for item, still, item_node in inner:
            yield from _moved_nodes(item, still, item_node)


def _counterpart(item: Any, index: int, now: Sequence[Any]) -> int | None:
    """The index of the old item that a new one continues: one with the same identity or the same value."""
    if isinstance(item, Mapping):
        identity = next((key for key in _IDENTITIES if key in item), None)
        if identity is not None:
            found = (i for i, o in enumerate(now) if isinstance(o, Mapping) and o.get(identity) == item[identity])
            at = next(found, None)
            return at if at is not None or len(now) <= index else (index if _is_renamed(now[index], item) else None)
    return next((i for i, old in enumerate(now) if old == item), None)


def _is_renamed(old: Any, new: Json) -> bool:
    """Whether an item is an old one with a new name, i.e. most of its fields are the same."""
    return isinstance(old, Mapping) and set(old) == set(new)


def _empty() -> CommentedMap:
    made = CommentedMap()
    made.fa.set_flow_style()
    return made


def _quoted(text: str) -> str:
    """Quote a string that kubectl would read as something else: `yes` and `1_0` are strings only in YAML 1.2."""
    try:
        plain = read_value(text) == text
    except CompileError:
        plain = False
    return text if plain else DoubleQuotedScalarString(text)


def _rename(node: CommentedMap, old: str, new: str) -> None:
    position = list(node).index(old)
    comment = node.ca.items.pop(old, None)
    value = node.pop(old)
    node.insert(position, new, value)
    if comment is not None:
        node.ca.items[new] = comment


def _writer(text: str) -> YAML:
    """A round-trip writer with the indentation used in `text`."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1_000_000
    yaml.allow_duplicate_keys = True
    mapping = next((len(m["child"]) - len(m["key"]) for m in _MAPPING.finditer(text)), 2)
    offset = next((len(m["dash"]) - len(m["key"]) for m in _SEQUENCE.finditer(text)), 0)
    yaml.indent(mapping=mapping, sequence=offset + 2, offset=offset)
    return yaml


def _same(text: str, other: str) -> bool:
    try:
        same: bool = read_value(text) == read_value(other)
    except CompileError:
        return False
    return same


def _dump(yaml: YAML, tree: Any) -> str:
    stream = io.StringIO()
    yaml.dump(tree, stream)
    return stream.getvalue()


# Rewriting JSON: the text of an object with changed data, in its original indentation, spacing and escapes.


_SPACE = pattern(r"\s*")
_INDENT = pattern(r"\{[ \t]*\n(?P<indent>[ \t]+)")
_COLON_AND_NO_SPACE = pattern(r'"\s*:\S')


def leading_objects(text: str) -> Iterator[tuple[str, Any, str]]:
    """Each JSON object at the start of `text`: the whitespace before it, its data, its text; then the rest and None.

    Like a reader does, this takes consecutive JSON objects first, and YAML only after the last of them.
    """
    decoder = json.JSONDecoder()
    start = 0
    while (space := _SPACE.match(text, start)) and text.startswith("{", space.end()):
        try:
            value, end = decoder.raw_decode(text, space.end())
        except (ValueError, RecursionError):
            break
        yield space[0], value, text[space.end() : end]
        start = end
    yield "", None, text[start:]


def rewrite_json(text: str, now: Any, wanted: Any) -> str:
    """`text`, whose data is `now`, with the data `wanted`; lines whose data does not change stay the same."""
    write = _json_writer(text)
    after = write(wanted)
    kept = with_kept_lines(text, write(now), after)
    try:
        return kept if json.loads(kept) == wanted else after
    except ValueError:
        return after


def _json_writer(text: str) -> Callable[[Any], str]:
    found = _INDENT.match(text)
    colon = ":" if _COLON_AND_NO_SPACE.search(text) else ": "
    comma = "," if found or colon == ":" else ", "
    indent = found["indent"] if found else None
    return lambda value: json.dumps(value, indent=indent, separators=(comma, colon), ensure_ascii=text.isascii())
