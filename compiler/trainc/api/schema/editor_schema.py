"""JSON Schemas (draft 2020-12) for editors and to explain errors, derived from the same data as the fast path."""

from __future__ import annotations

from functools import cache
from typing import Any

from trainc.api.merge_keys import SETS
from trainc.api.releases import Since
from trainc.api.schema.constraints import Limits, integer_bounds, limits
from trainc.api.schema.defaults import defaults_of
from trainc.api.schema.descriptions import DESCRIPTIONS
from trainc.api.schema.shapes import ROOTS, Definition, ListOf, MapOf, Scalar, Shape, Struct, definition

DIALECT = "https://json-schema.org/draft/2020-12/schema"
QUANTITY_FORMAT = "quantity"
_QUANTITY = r"^[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$"
_STORAGE_URI = r"^$|^[A-Za-z][A-Za-z0-9+.-]*://.+$"
_PATTERNS = Since[str](
    {
        "2.3": {
            "trainer.DatasetInitializer.storageUri": _STORAGE_URI,
            "trainer.ModelInitializer.storageUri": _STORAGE_URI,
        }
    }
)

Schema = dict[str, Any]


@cache
def json_schema(kind: str, release: str) -> Schema:
    """Return the JSON Schema of `kind` in `release`, without constraints on several values (list keys, CEL)."""
    root = ROOTS[kind]
    definitions: dict[str, Schema] = {}
    wanted = [root]
    while wanted:
        name = wanted.pop()
        if name not in definitions:
            known = definition(release, name)
            definitions[name] = _struct(known, release)
            wanted += [struct for shape in known.fields.values() for struct in _structs(shape)]
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


def _struct(known: Definition, release: str) -> Schema:
    defaults = defaults_of(release).get(known.name, {})
    properties = {}
    for field, shape in known.fields.items():
        key = f"{known.name}.{field}"
        schema = _value(shape, key, release)
        if key in DESCRIPTIONS:
            schema["description"] = DESCRIPTIONS[key]
        if field in defaults:
            schema["default"] = defaults[field]
        properties[field] = schema
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**schema, "required": list(known.required)} if known.required else schema


def _value(shape: Shape, key: str, release: str) -> Schema:
    known = limits(release)
    match shape:
        case Struct(name):
            return {"$ref": f"#/$defs/{name}", **_given(minProperties=known.min_properties.get(key))}
        case MapOf(value):
            return {"type": "object", "additionalProperties": _value(value, f"{key}{{}}", release)}
        case ListOf(item):
            sizes = _given(
                minItems=known.min_items.get(key), maxItems=known.max_items.get(key), uniqueItems=key in SETS or None
            )
            return {"type": "array", "items": _value(item, f"{key}[]", release), **sizes}
        case Scalar(kind):
            return _scalar(kind, key, release, known)


def _scalar(kind: str, key: str, release: str, known: Limits) -> Schema:
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
    return {"type": "string"} | _given(
        enum=list(known.enum[key]) if key in known.enum else None,
        minLength=known.min_length.get(key),
        maxLength=known.max_length.get(key),
        pattern=_PATTERNS.at(release).get(key),
    )


def _given(**keywords: Any) -> Schema:
    return {keyword: value for keyword, value in keywords.items() if value is not None}
