"""What a JSON Schema says of the field at a path: which fields there are below it, and what may stand there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.diagnostics import Path
from trainc.lsp.snapshot import Schema, Snapshot

OVERLAY, SETTINGS = "Overlay", "trainc.yaml"
_NOUNS = {"object": "mapping", "array": "list", "integer": "whole number", "boolean": "true or false"}


def root_of(snapshot: Snapshot, document: Mapping[str, Any]) -> Schema | None:
    """The schema of a document of the file, by its kind; None for kinds that trainc has none of."""
    if snapshot.file.rpartition("/")[2] == SETTINGS and "kind" not in document:
        return snapshot.schema(SETTINGS)
    return snapshot.schema(str(document.get("kind")))


def at(root: Schema, path: Path) -> Schema | None:
    """The schema of what stands at `path`; None where nothing may."""
    here: Schema | None = _resolved(root, root)
    for step in path:
        here = None if here is None else _child(here, step)
        here = None if here is None else _resolved(root, here)
    return here


def fields_of(schema: Schema, root: Schema) -> dict[str, Schema]:
    """The fields that a mapping may have, by name."""
    found = dict(schema.get("properties", {}))
    for choice in _choices(schema):
        found |= {name: one for name, one in fields_of(_resolved(root, choice), root).items() if name not in found}
    return {name: _resolved(root, one) if isinstance(one, Mapping) else {} for name, one in found.items()}


def values_of(schema: Schema) -> Sequence[str]:
    """The values that there are to choose from, if the schema names them."""
    if schema.get("type") == "boolean":
        return ("true", "false")
    if "const" in schema:
        return (str(schema["const"]),)
    return [str(value) for value in schema.get("enum", ())] or [v for one in _choices(schema) for v in values_of(one)]


def kind_of(schema: Schema) -> str:
    """The type in words: `list of mappings` is told as `list`, an amount of a resource as `quantity`."""
    if schema.get("format"):
        return str(schema["format"])
    if values := values_of(schema):
        return " | ".join(values)
    kinds = schema.get("type", ())
    return " or ".join(_NOUNS.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _child(schema: Schema, step: str | int) -> Schema | None:
    for one in (schema, *_choices(schema)):
        named = one.get("properties", {})
        found = one.get("items") if isinstance(step, int) else named.get(step, _free(one, step))
        if isinstance(found, Mapping):
            return found
    return None


def _free(schema: Schema, key: str) -> Any:
    """The schema of a key that is the author's own: a label, a resource, a code."""
    import re

    patterns = schema.get("patternProperties", {})
    matching = (inner for pattern, inner in patterns.items() if re.search(pattern, key))
    return next(matching, schema.get("additionalProperties"))


def _choices(schema: Schema) -> Iterator[Schema]:
    for word in ("anyOf", "oneOf"):
        yield from (one for one in schema.get(word, ()) if isinstance(one, Mapping))


def _resolved(root: Schema, schema: Schema) -> Schema:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    target: Any = root
    for step in reference.removeprefix("#/").split("/"):
        target = target[step]
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
