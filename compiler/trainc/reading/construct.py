"""Converts a node tree to a value and reports all problems with their positions.

Follows go.yaml.in/yaml/v2 decode.go and sigs.k8s.io/yaml, but also rejects duplicate keys, and tags that kubectl would
ignore.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from trainc.diagnostics import TEMPLATE_HINT, Diagnostic
from trainc.reading.chunk import Chunk
from trainc.reading.nodes import Node
from trainc.reading.scalars import (
    MERGE,
    NotFiniteError,
    Scalar,
    decimal,
    float_key,
    integer,
    plain,
    through_json,
)

_PREFIX = "tag:yaml.org,2002:"
_COLLECTION_TAGS = {"mapping": (None, "!", _PREFIX + "map"), "sequence": (None, "!", _PREFIX + "seq")}
_SEPARATE = "put a `---` line before this line if it starts another document; otherwise keep one of the two"
_TAG_HINT = "remove the tag: Kubernetes has only strings, numbers, booleans and null"
_MERGE_HINT = "give `<<` an alias of a mapping, as in `<<: *defaults`, or a list of them"


def construct(node: Node, chunk: Chunk) -> tuple[Any, list[Diagnostic]]:
    """Return the value of a document and its problems. The value is meaningless if there are any."""
    constructor = _Constructor(chunk)
    return constructor.value(node), list(dict.fromkeys(constructor.problems))


def is_merge(key: Node) -> bool:
    """Return whether a key is the merge key, either `<<` or by its tag."""
    return key.kind == "scalar" and key.text == MERGE and (key.plain or key.tag == _PREFIX + "merge")


def key_text(key: Node) -> str | None:
    """Return a key as the string that kubectl converts it to, or None if kubectl rejects it."""
    key = key.resolved()
    if key.kind != "scalar":
        return None
    if not key.plain:
        return key.text
    value = plain(key.text)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if (whole := integer(key.text)) is not None:
        return str(whole) if whole < 2**63 else None
    return float_key(fraction) if (fraction := decimal(key.text)) is not None else None


class _Constructor:
    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.problems: list[Diagnostic] = []

    def value(self, node: Node) -> Any:
        node = node.resolved()
        if node.kind == "scalar":
            return self._scalar(node)
        if node.tag not in _COLLECTION_TAGS[node.kind]:
            self._unsupported_tag(node)
        if node.kind == "sequence":
            return [self.value(child) for child in node.children]
        mapping: dict[str, Any] = {}
        self._fill(mapping, node)
        return mapping

    def _fill(self, mapping: dict[str, Any], node: Node) -> None:
        """Set the entries of `node` in order. A merge key overwrites the keys before it."""
        seen: dict[str, Node] = {}
        is_second = False
        for key, value in node.pairs():
            if is_merge(key):
                self._merge(mapping, value)
            elif (name := self._key(key)) is not None:
                if name in seen and not is_second:
                    self._duplicate(name, key, seen[name])
                    # The remaining keys belong to another document whose `---` is missing.
                    is_second = name == "apiVersion"
                seen.setdefault(name, key)
                mapping[name] = self.value(value)

    def _merge(self, mapping: dict[str, Any], value: Node) -> None:
        # A list of mappings must be inline: an alias may only refer to a mapping (decode.go merge).
        sources = value.children if value.kind == "sequence" else [value]
        for source in reversed(sources):
            if source.resolved().kind == "mapping":
                self._fill(mapping, source.resolved())
            else:
                message = "the merge key `<<` needs a mapping"
                self._report("YAMLSyntax", source, message, _MERGE_HINT)

    def _key(self, key: Node) -> str | None:
        scalar = key.resolved()
        if scalar.tag not in (None, "!", _PREFIX + "str"):
            self._unsupported_tag(scalar)
            return None
        try:
            name = key_text(scalar)
        except NotFiniteError:
            name = None
        if name is None:
            what = (scalar.text or "nothing") if scalar.kind == "scalar" else f"a {scalar.kind}"
            template = self.chunk.text.startswith("{{", key.index - 1)
            hint = TEMPLATE_HINT if template else "put the key in quotes: keys are strings"
            self._report("UnsupportedKey", key, f"{what} cannot be a key", hint)
        return name

    def _scalar(self, node: Node) -> Scalar:
        try:
            return plain(node.text) if node.plain else self._tagged(node)
        except NotFiniteError:
            hint = "put quotes around it if it is a string: Kubernetes has finite numbers only"
            self._report("NonFiniteNumber", node, f"{node.text} is not a finite number", hint)
            return None

    def _tagged(self, node: Node) -> Scalar:
        tag, text = (node.tag or "!").removeprefix(_PREFIX), node.text
        if tag in ("!", "str"):
            return text
        value = plain(text)
        whole = integer(text) if text else None
        if tag == "int" and whole is not None:
            return through_json(whole)
        if tag == "float" and isinstance(value, int | float) and not isinstance(value, bool):
            return value
        if (tag == "bool" and isinstance(value, bool)) or (tag == "null" and value is None):
            return value
        if tag == "binary":
            return self._binary(node)
        if tag in ("int", "float", "bool", "null"):
            self._report("UnsupportedTag", node, f"{text!r} does not match its tag {_shown(node)}", _TAG_HINT)
        else:
            self._unsupported_tag(node)
        return None

    def _binary(self, node: Node) -> str | None:
        try:
            return base64.b64decode(node.text.replace("\n", "").encode(), validate=True).decode()
        except (binascii.Error, UnicodeError):
            hint = "remove the tag, and write the text or its base64 as a string"
            self._report("UnsupportedTag", node, "the !!binary value is not base64-encoded UTF-8 text", hint)
            return None

    def _duplicate(self, name: str, key: Node, first: Node) -> None:
        line = self.chunk.source(first.index).line
        message = f"the key {name!r} is already in this mapping, on line {line}"
        hint = "keep one of the two; kubectl would silently use the last"
        # Only top-level objects have an apiVersion, so a second one usually starts another document.
        self._report("DuplicateKey", key, message, _SEPARATE if name == "apiVersion" else hint)

    def _unsupported_tag(self, node: Node) -> None:
        message = f"the tag {_shown(node)} is not supported here"
        self._report("UnsupportedTag", node, message, _TAG_HINT)

    def _report(self, code: str, node: Node, message: str, hint: str) -> None:
        self.problems.append(self.chunk.error(code, node.index, message, hint))


def _shown(node: Node) -> str:
    """Format a tag as in YAML: `!!int` or `!mine`."""
    tag = node.tag or ""
    return f"!!{tag.removeprefix(_PREFIX)}" if tag.startswith(_PREFIX) else tag
