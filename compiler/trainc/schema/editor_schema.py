"""JSON Schemas (draft 2020-12) for editors and to explain errors, derived from the same data as the fast path."""

from __future__ import annotations

from functools import cache
from typing import Any

from trainc.kube.documents import SETS
from trainc.schema.descriptions import DESCRIPTIONS
from trainc.schema.rules import integer_bounds
from trainc.schema.shapes import (
    ROOTS,
    Definition,
    ListOf,
    MapOf,
    Scalar,
    Shape,
    Struct,
    defaults_of,
    definition,
    keywords,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"
QUANTITY_FORMAT = "quantity"
_QUANTITY = r"^[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$"

Schema = dict[str, Any]


@cache
def json_schema(kind: str, release: str) -> Schema:
    """Return the JSON Schema of `kind` in `release`, without constraints on several values (list keys, CEL)."""
    root = ROOTS[kind]
    definitions: dict[str, Schema] = {}
    pending = [root]
    while pending:
        name = pending.pop()
        if name not in definitions:
            type_definition = definition(release, name)
            definitions[name] = _struct(type_definition, release)
            pending += [struct for shape in type_definition.fields.values() for struct in _structs(shape)]
    return {
        "$schema": DIALECT,
        "title": f"{kind} of Kubeflow Trainer {release}",
        "$ref": f"#/$defs/{root}",
        "$defs": dict(sorted(definitions.items())),
    }


def _structs(shape: Shape) -> list[str]:
    match shape:
        case Struct(name):
            return [name]
        case ListOf(inner) | MapOf(inner):
            return _structs(inner)
        case Scalar():
            return []


def _struct(type_definition: Definition, release: str) -> Schema:
    defaults = defaults_of(release).get(type_definition.name, {})
    properties = {}
    for field, shape in type_definition.fields.items():
        key = f"{type_definition.name}.{field}"
        schema = _value(shape, key, release)
        if key in DESCRIPTIONS:
            schema["description"] = DESCRIPTIONS[key]
        if field in defaults:
            schema["default"] = defaults[field]
        properties[field] = schema
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**schema, "required": list(type_definition.required)} if type_definition.required else schema


def _value(shape: Shape, key: str, release: str) -> Schema:
    match shape:
        case Struct(name):
            return {"$ref": f"#/$defs/{name}", **_declared(key, release, "minProperties")}
        case MapOf(value):
            return {"type": "object", "additionalProperties": _value(value, f"{key}{{}}", release)}
        case ListOf(item):
            sizes = _declared(key, release, "minItems", "maxItems") | ({"uniqueItems": True} if key in SETS else {})
            return {"type": "array", "items": _value(item, f"{key}[]", release), **sizes}
        case Scalar(kind):
            return _scalar(kind, key, release)


def _scalar(kind: str, key: str, release: str) -> Schema:
    smallest, largest = integer_bounds(key, release)
    match kind:
        case "any":
            return {}
        case "integer":
            return {"type": "integer", "minimum": smallest, "maximum": largest}
        case "int-or-string":
            return {"type": ["integer", "string"], "minimum": smallest, "maximum": largest}
        case "quantity":
            return {"type": ["integer", "string"], "pattern": _QUANTITY, "format": QUANTITY_FORMAT}
        case "time":
            return {"type": "string", "format": "date-time"}
        case "boolean":
            return {"type": "boolean"}
    return {"type": "string"} | _declared(key, release, "enum", "minLength", "maxLength", "pattern")


def _declared(key: str, release: str, *names: str) -> Schema:
    words = keywords(release).get(key, {})
    return {name: words[name] for name in names if name in words}
