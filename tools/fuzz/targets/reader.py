"""The reader: any bytes are documents or diagnostics, and what is read is what other readers of YAML and JSON see."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from fuzz.scalars import plain_value
from trainc.emit.yaml_writer import dump_yaml
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents

LIMITS = Limits(document_bytes=100_000, documents=50, depth=40, alias_expansions=500)
# Features that the model lacks: several documents, directives, tags, anchors, merge keys.
_UNMODELLED = re.compile(rb"^(---|\.\.\.|%)|[!&*]|<<|^[?]|\t|[^\n\x20-\x7e]", re.MULTILINE)


class _UnmodelledError(Exception):
    """The text uses a feature that the model lacks."""


def check(data: bytes) -> None:
    """Raise AssertionError for text that is read in two ways, any other exception for text that breaks the reader."""
    documents, diagnostics = read_documents(data, "input.yaml", LIMITS)
    assert all(d.code and d.message and d.source and d.source.line > 0 and d.source.column > 0 for d in diagnostics)
    for document in documents:
        _check_positions(document.data, document.locate)
        again, problems = read_documents(dump_yaml([document.data]).encode(), "output.yaml", Limits())
        assert not problems
        assert [_typed(found.data) for found in again] == [_typed(document.data)]
    if not diagnostics and not _UNMODELLED.search(data):
        _check_model(data.decode(), [document.data for document in documents])


def _check_positions(data: Any, locate: Any) -> None:
    for key in list(data)[:5]:
        assert locate((key,)).line > 0


def _check_model(text: str, read: list[dict[str, Any]]) -> None:
    try:
        found = json.loads(text, parse_constant=_refuse, parse_float=_refuse, parse_int=_small)
    except (ValueError, RecursionError, _UnmodelledError):
        found = None
    if isinstance(found, dict) and len(read) == 1 and "kind" not in found:
        assert read == [found]
    try:
        # kubectl reads by lines, and ends the last one where the file does not.
        node = yaml.compose(text if text.endswith("\n") else text + "\n", Loader=yaml.loader.SafeLoader)
        value = None if node is None else _value(node)
    except (yaml.YAMLError, ValueError, RecursionError, _UnmodelledError):
        return
    if len(read) == 1 and isinstance(value, dict) and "items" not in value:
        assert _typed(read[0]) == _typed(value)


def _refuse(text: str) -> Any:
    raise _UnmodelledError


def _small(text: str) -> int:
    return int(text) if len(text) < 18 else _refuse(text)


def _value(node: yaml.Node) -> Any:
    """A node of PyYAML's as kubectl would read it."""
    if isinstance(node, yaml.ScalarNode):
        return plain_value(node.value) if node.style is None else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_value(item) for item in node.value]
    keys = [_value(key) for key, _ in node.value]
    if not all(isinstance(key, str) for key in keys) or len(set(keys)) < len(keys):
        raise _UnmodelledError
    return dict(zip(keys, (_value(value) for _, value in node.value), strict=True))


def _typed(value: Any) -> Any:
    """`value` with its types spelled out: 1, 1.0 and true are three values."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return type(value).__name__, value
