"""The kinds of documents that trainc itself defines (trainc.yaml, Overlay, Sweep): each is one JSON Schema, as data.

Validation, the schema for editors and docs/reference.md are made from it. As for a TrainJob, a valid document is
accepted without importing jsonschema, and an invalid one is explained by explanation.py in the same words.

Two keywords are annotations: `description`, and `errorMessage`, which is the hint for a value that the same schema
rejects; the YAML language server shows both. `propertyNames` and `uniqueItems` are for editors only: code checks the
same, with better messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from trainc.findings import Finding
from trainc.kube.documents import Json
from trainc.schema.shapes import is_integer
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, field

Schema: TypeAlias = dict[str, Any]

WORD: Schema = {"type": "string", "minLength": 1}
WORDS: Schema = {"type": "array", "items": WORD}


def about(description: str, schema: Schema) -> Schema:
    """Add a description to a schema."""
    return {"description": description, **schema}


def struct(properties: Schema, **more: Any) -> Schema:
    """Return the schema of a mapping with these fields and no others."""
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


@dataclass(frozen=True, slots=True)
class DocumentKind:
    """A kind of document: how a message names it ("an overlay"), the code of its errors, and its schema.

    `other_names` are hints for fields that other tools have at the top level.
    """

    name: str
    noun: str
    code: str
    schema: Schema
    other_names: Mapping[str, str] = field(default_factory=dict)

    def check(self, data: Json) -> tuple[dict[str, Any], list[Finding]]:
        """Return the top-level fields in which nothing is wrong, and all problems with the others."""
        if accepts(self.schema, data):
            return dict(data), []
        # Importing jsonschema is slow, and only needed for invalid documents.
        from trainc.schema.explanation import explain_own

        findings = explain_own(self, data)
        wrong, fields = {finding.path[0] for finding in findings if finding.path}, self.schema["properties"]
        # Of very many problems, only the first ones are among the findings.
        sound = {name for name in data.keys() & fields.keys() if accepts(fields[name], data[name])} - wrong
        return {name: value for name, value in data.items() if name in sound}, findings

    def json_schema(self) -> Schema:
        """Return the schema as a document of its own, for editors."""
        from trainc.schema.editor_schema import DIALECT

        return {"$schema": DIALECT, "title": f"trainc: {self.name}", **self.schema}


def without_nulls(schema: Schema, value: Any) -> Any:
    """Return a copy without the known fields that are null, which count as missing, as for the API server."""
    if isinstance(value, Mapping):
        properties = schema.get("properties", {})
        return {
            name: without_nulls(properties[name], item) if name in properties else item
            for name, item in value.items()
            if item is not None or name not in properties
        }
    if isinstance(value, list) and "items" in schema:
        return [without_nulls(schema["items"], item) for item in value]
    return value


def accepts(schema: Schema, value: Any) -> bool:
    """Return whether a value is valid. Agrees with jsonschema on the keywords that the schemas of own kinds use."""
    kinds = schema.get("type")
    if kinds is not None and not any(_is(value, kind) for kind in ((kinds,) if isinstance(kinds, str) else kinds)):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "const" in schema and (value != schema["const"] or type(value) is not type(schema["const"])):
        return False
    if "anyOf" in schema and not any(accepts(choice, value) for choice in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(accepts(choice, value) for choice in schema["oneOf"]) != 1:
        return False
    if isinstance(value, Mapping):
        return _accepts_fields(schema, value)
    if isinstance(value, list):
        fewest: int = schema.get("minItems", 0)
        return len(value) >= fewest and all(accepts(schema.get("items", {}), item) for item in value)
    if isinstance(value, str):
        shortest: int = schema.get("minLength", 0)
        return len(value) >= shortest and ("pattern" not in schema or bool(pattern(schema["pattern"]).search(value)))
    if not isinstance(value, int | float):
        return True
    outside = value < schema.get("minimum", value) or value > schema.get("maximum", value)
    return not outside and not ("exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"])


def _accepts_fields(schema: Schema, value: Mapping[Any, Any]) -> bool:
    if len(value) < schema.get("minProperties", 0) or len(value) > schema.get("maxProperties", len(value)):
        return False
    if any(name not in value for name in schema.get("required", ())):
        return False
    properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    additional = schema.get("additionalProperties", {})
    for name, item in value.items():
        inner = [properties[name]] if name in properties else []
        inner += [part for text, part in patterns.items() if pattern(text).search(name)]
        if additional is False and not inner:
            return False
        if not all(accepts(part, item) for part in inner or [additional]):
            return False
    return True


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return is_integer(value) if kind == "integer" else isinstance(value, _TYPES[kind])


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "null": type(None),
    "string": str,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": Mapping,
}
