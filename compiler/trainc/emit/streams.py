"""Jobs' manifests as one stream: the text of each job by itself, so that no two need be in memory at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trainc.emit.key_order import TOP, ordered
from trainc.emit.yaml_scalars import atom
from trainc.emit.yaml_writer import dump_yaml

Form: TypeAlias = Literal["yaml", "json"]
FORMS: tuple[Form, ...] = ("yaml", "json")

_LIST_HEAD = b'{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": ['


def text_of(manifests: Sequence[Mapping[str, Any]], form: Form) -> bytes:
    """What one job contributes to a stream; nothing where it has no manifests. ValueError for what no text can hold."""
    if form == "yaml":
        return dump_yaml(manifests).encode()
    return ",\n".join(map(_item, manifests)).encode()


def joined(texts: Iterable[bytes], form: Form) -> Iterator[bytes]:
    """The stream in pieces: YAML documents with `---` between them, or one v1 List in JSON."""
    contents = (text for text in texts if text)
    if form == "yaml":
        yield next(contents, b"")
        for text in contents:
            yield b"---\n"
            yield text
        return
    yield _LIST_HEAD
    between = b"\n"
    for text in contents:
        yield between
        yield text
        between = b",\n"
    yield b"]\n}\n" if between == b"\n" else b"\n  ]\n}\n"


def dump_json(manifests: Iterable[Mapping[str, Any]]) -> str:
    """All manifests as one JSON document, a v1 List, keys in the order of the YAML."""
    return b"".join(joined((text_of([manifest], "json") for manifest in manifests), "json")).decode()


def _item(manifest: Mapping[str, Any]) -> str:
    import json  # For those who ask for it.

    text = json.dumps(ordered(manifest, TOP), indent=2, ensure_ascii=False, allow_nan=False, default=atom)
    return "    " + text.replace("\n", "\n    ")
