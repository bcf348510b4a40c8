"""Texts: a file's v1 jobs as the text of the documents that replace them, comments kept with their values."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

from trainc.features.migrate.v1.comments import Comment, comments_of, with_comments
from trainc.features.migrate.v1.provenance import Places
from trainc.findings import CompileError, Path
from trainc.kube.documents import Json
from trainc.reading.yaml_reader import read_value

_MANY = 16


def replace_text(text: str, old: Json, new: Sequence[Json]) -> str:
    """The documents `new` as YAML in place of `text`, which is the document `old`.

    A comment goes where its value is now; one whose value is gone stands at the head of the first document.
    """
    places = Places(new)
    placed_in: list[list[tuple[Path, Comment]]] = [[] for _ in new]
    tail: list[str] = []
    for comment in comments_of(text):
        if comment.path is None:
            tail.append(f"{comment.text}\n")
            continue
        place = places.of(comment.path, _at(old, comment.path)) if comment.path else None
        number, path = place or (0, ())
        # Templates that were alike are one now, and so are their comments.
        if (path, comment.text) not in [(other, kept.text) for other, kept in placed_in[number]] or not path:
            placed_in[number].append((path, comment))
    parts = [with_comments(dump(document), comments) for document, comments in zip(new, placed_in, strict=True)]
    return "---\n".join(parts) + "".join(tail)


def _at(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        else:
            value = value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None
    return value


def dump(document: Json) -> str:
    """A document as YAML, its keys in the order that they have."""
    yaml = YAML()
    yaml.width = 1_000_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.dump(_quoted(document), stream)
    return stream.getvalue()


def _quoted(value: Any) -> Any:
    """A value so that kubectl reads it as it is: ruamel.yaml writes by YAML 1.2, where `yes` and `1_0` are strings."""
    if isinstance(value, Mapping):
        return {_quoted(key): _quoted(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return _line_of_numbers(value) if _is_line(value) else [_quoted(inner) for inner in value]
    if not isinstance(value, str):
        return value
    if "\n" in value.strip("\n"):
        return LiteralScalarString(value)
    return value if _is_plain(value) else DoubleQuotedScalarString(value)


def _is_line(value: list[Any]) -> bool:
    """Whether a list is better read on one line: the exit codes of a pod failure policy are a hundred numbers."""
    return len(value) > _MANY and all(isinstance(inner, int) for inner in value)


def _line_of_numbers(value: list[Any]) -> CommentedSeq:
    line = CommentedSeq(value)
    line.fa.set_flow_style()
    return line


def _is_plain(text: str) -> bool:
    try:
        return bool(read_value(f"a: {text}") == {"a": text})
    except CompileError:
        return False
