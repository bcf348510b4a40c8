"""Rewriting: a YAML text with one document's data changed, its comments, order and style kept."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from trainc.api.documents import Json
from trainc.diagnostics import CompileError
from trainc.migration.kept_lines import with_kept_lines
from trainc.reading.yaml_reader import read_value
from trainc.startup.patterns import pattern

_SEQUENCE = pattern(r"^(?P<key> *)[^\s#-][^\n#]*:[ ]*(?:#[^\n]*)?\n(?P<dash> *)- ", re.MULTILINE)
_MAPPING = pattern(r"^(?P<key> *)[^\s#-][^\n#]*:[ ]*(?:#[^\n]*)?\n(?P<child> +)[^\s#-]", re.MULTILINE)
_IDENTITIES = ("name", "manager", "mountPath")


def rewrite(text: str, changes: Sequence[tuple[Sequence[str | int], Json, Json]]) -> str:
    """`text`, one YAML document, with each change made: (where the object is, its data now, its data wanted).

    Only lines whose data changes differ from `text`; where its indentation allows no such thing, the whole is rewritten.
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
    """One object's tree, brought from the data it has to the data it shall have."""

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
                # Comments that stood inside would end up between the key and its braces.
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
        """A value that is new here: the node that held it elsewhere, comments included, or a node of its own."""
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
    """Every mapping and list that is not where it was any more, with its node; outer ones first.

    One that only changes stays where it is, and its node with it: elsewhere it would hold itself.
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
    """The position of the old item that a new one continues: of the same identity, or of the same value."""
    if isinstance(item, Mapping):
        identity = next((key for key in _IDENTITIES if key in item), None)
        if identity is not None:
            found = (i for i, o in enumerate(now) if isinstance(o, Mapping) and o.get(identity) == item[identity])
            at = next(found, None)
            return at if at is not None or len(now) <= index else (index if _is_renamed(now[index], item) else None)
    return next((i for i, old in enumerate(now) if old == item), None)


def _is_renamed(old: Any, new: Json) -> bool:
    """Whether an item is the same one under a new name: most of its fields are there still."""
    return isinstance(old, Mapping) and set(old) == set(new)


def _empty() -> CommentedMap:
    made = CommentedMap()
    made.fa.set_flow_style()
    return made


def _quoted(text: str) -> str:
    """A string so that kubectl reads it as one: ruamel.yaml writes by YAML 1.2, where `yes` and `1_0` are strings."""
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
    """A round-trip writer with the indentation that `text` has."""
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


# Rewriting JSON: an object's text with its data changed, in the indentation, spacing and characters that it had.


_SPACE = pattern(r"\s*")
_INDENT = pattern(r"\{[ \t]*\n(?P<indent>[ \t]+)")
_COLON_AND_NO_SPACE = pattern(r'"\s*:\S')


def leading_objects(text: str) -> Iterator[tuple[str, Any, str]]:
    """Each JSON object that `text` begins with: the space before it, its data, its text. Last, what is left, and None.

    As a reader takes them: JSON comes first, one object after the other, and YAML only where it ends.
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
    """`text`, whose data is `now`, with the data `wanted`; lines whose data does not change are as they were."""
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
