"""What jsonschema says about a refused document, in our words: types, allowed values, bounds, sizes, missing fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import jsonschema

from trainc.api.schema.editor_schema import QUANTITY_FORMAT, json_schema
from trainc.api.schema.scalars import shown
from trainc.diagnostics import Finding, Path
from trainc.startup.records import dataclass

_EXPECTED = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
}
# Fields whose type changed between releases.
_FIELD_HINTS: dict[Path, str] = {
    ("spec", "trainer", "numProcPerNode"): "from Trainer 2.2 on it is a number; leave it out to mean auto",
    ("spec", "runtimeRef"): "write its name one level down: runtimeRef: {name: ...}",
}


@dataclass(frozen=True, slots=True)
class _Failure:
    """A jsonschema error: the value, what the failed keyword demands, the schema that holds it, and the place."""

    value: Any
    wanted: Any
    schema: Any
    path: Path


def structural_findings(document: Any, kind: str, release: str) -> Iterator[Finding]:
    """Every failure that the JSON Schema of `kind` describes, but unknown fields, patterns and unique items."""
    for error in _validator(kind, release).iter_errors(document):
        explain = _EXPLANATIONS.get(str(error.validator))
        if explain is not None:
            path = tuple(error.absolute_path)
            yield from explain(_Failure(error.instance, error.validator_value, error.schema, path))


@cache
def _validator(kind: str, release: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_schema(kind, release))


def described(value: Any) -> str:
    """A value as a diagnostic names it: what it is, and its text where that is short."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return f"the string {shown(value)}"
        case int() | float():
            return f"the number {value}"[:60]
        case list():
            return "a list"
        case _:
            return "a mapping"


def _type(failure: _Failure) -> Iterator[Finding]:
    wanted, value = failure.wanted, failure.value
    if failure.schema.get("format") == QUANTITY_FORMAT:
        message = f"{described(value)} is no quantity"
        yield Finding("InvalidQuantity", "error", message, hint=_quantity_hint(failure.path, value), path=failure.path)
        return
    names = [wanted] if isinstance(wanted, str) else wanted
    expected = " or ".join(_EXPECTED[name] for name in names)
    hint = _FIELD_HINTS.get(failure.path) or _type_hint(names, value)
    yield Finding("WrongType", "error", f"expected {expected}, got {described(value)}", hint=hint, path=failure.path)


def _quantity_hint(path: Path, value: Any) -> str:
    if not isinstance(value, float):
        return 'write an amount such as "500m" or 16Gi'
    return "write a whole number: devices are not divided" if "/" in str(path[-1]) else f'quote it: "{value}"'


def _type_hint(wanted: list[str], value: Any) -> str:
    if "string" in wanted and isinstance(value, bool | int | float):
        # Not with the value: `yes` has become true by now, and 1.10 is 1.1.
        return "put quotes around it"
    if wanted == ["integer"] and isinstance(value, str) and value.lstrip("-").isdecimal():
        return "remove the quotes"
    if wanted == ["integer"] and isinstance(value, float):
        return "write a whole number"
    if wanted == ["boolean"] and isinstance(value, str):
        return "write true or false, without quotes"
    if wanted == ["array"]:
        return "write a list, each item after '- '"
    if wanted == ["object"] and isinstance(value, list):
        return "remove the dashes: one mapping belongs here"
    if wanted == ["object"]:
        return "indent its fields under it"
    return ""


def _enum(failure: _Failure) -> Iterator[Finding]:
    if isinstance(failure.value, str):
        allowed = " or ".join(repr(value) for value in failure.wanted)
        yield Finding(
            "UnsupportedValue",
            "error",
            f"{shown(failure.value)} is not supported",
            hint=f"use {allowed}",
            path=failure.path,
        )


def _range(failure: _Failure) -> Iterator[Finding]:
    smallest, largest = failure.schema["minimum"], failure.schema["maximum"]
    message = f"{described(failure.value)} is out of range"
    yield Finding(
        "OutOfRange", "error", message, hint=f"use a whole number from {smallest} to {largest}", path=failure.path
    )


def _too_long(failure: _Failure) -> Iterator[Finding]:
    message = f"the text has {len(failure.value)} characters; {failure.wanted} are allowed"
    yield Finding("TooLong", "error", message, hint="shorten it", path=failure.path)


def _too_short(failure: _Failure) -> Iterator[Finding]:
    yield Finding("TooShort", "error", "the text is empty", hint="write a value, or remove the item", path=failure.path)


def _too_many(failure: _Failure) -> Iterator[Finding]:
    message = f"the list has {len(failure.value)} items; {failure.wanted} are allowed"
    yield Finding("TooMany", "error", message, hint="remove some", path=failure.path)


def _too_few(failure: _Failure) -> Iterator[Finding]:
    noun = "item" if isinstance(failure.value, list) else "field"
    message = f"at least {failure.wanted} {noun} is needed"
    yield Finding("TooFew", "error", message, hint="fill it, or remove the whole entry", path=failure.path)


def _required(failure: _Failure) -> Iterator[Finding]:
    for name in failure.wanted:
        if name not in failure.value:
            yield Finding(
                "MissingRequired", "error", f"{name} is missing", hint=f"add {name}", path=(*failure.path, name)
            )


_EXPLANATIONS: dict[str, Callable[[_Failure], Iterator[Finding]]] = {
    "type": _type,
    "enum": _enum,
    "minimum": _range,
    "maximum": _range,
    "maxLength": _too_long,
    "minLength": _too_short,
    "maxItems": _too_many,
    "minItems": _too_few,
    "minProperties": _too_few,
    "required": _required,
}
