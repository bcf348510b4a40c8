"""The slow path of validation: all problems of a rejected document, with positions and hints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import jsonschema

from trainc.findings import TEMPLATE_HINT, Finding, Path, Severity
from trainc.kube.documents import LIST_MAP_KEYS, SETS
from trainc.kube.quantity import canonical
from trainc.schema.defaults import defaults_of
from trainc.schema.editor_schema import QUANTITY_FORMAT, json_schema
from trainc.schema.rules import rules_of
from trainc.schema.shapes import ROOTS, ListOf, MapOf, Refused, Scalar, Struct, is_time, quote, text_or_integer
from trainc.schema.unknown_fields import (
    VARIABLE,
    Node,
    indent_hint,
    is_template,
    nodes,
    suggest_amount,
    suggest_list,
    suggest_mapping,
    suggest_seconds,
    suggest_text,
    unknown_fields,
    well_typed,
    without_nulls,
    without_unknown,
)
from trainc.startup.records import dataclass, replace

# Explains jsonschema errors in plain words: types, allowed values, bounds, sizes, missing fields.


_EXPECTED = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
}
# Fields whose type changed between releases.
_FIELD_HINTS: dict[Path, str] = {
    (
        "spec",
        "trainer",
        "numProcPerNode",
    ): "write a number of processes, or leave it out to have it counted from the resources (`auto` until Trainer 2.1)",
}


@dataclass(frozen=True, slots=True)
class _Failure:
    """A jsonschema error: the value, the value of the failed keyword, its schema, and the path."""

    value: Any
    wanted: Any
    schema: Any
    path: Path


def structural_findings(document: Any, kind: str, release: str) -> Iterator[Finding]:
    """Report all errors by the JSON Schema of `kind`, except for unknown fields, patterns and unique items."""
    for error in _validator(kind, release).iter_errors(document):
        explain = _EXPLANATIONS.get(str(error.validator))
        if explain is not None:
            path = tuple(error.absolute_path)
            yield from explain(_Failure(error.instance, error.validator_value, error.schema, path))


@cache
def _validator(kind: str, release: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_schema(kind, release))


def describe_value(value: Any) -> str:
    """Describe a value in a diagnostic: its type, and its text if that is short."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return f"the string {quote(value)}"
        case int() | float():
            return f"the number {value}"[:60]
        case list():
            return "a list"
        case _:
            return "a mapping"


def _type(failure: _Failure) -> Iterator[Finding]:
    wanted, value = failure.wanted, failure.value
    if failure.schema.get("format") == QUANTITY_FORMAT:
        message = _not_a_quantity(failure.path, value)
        yield Finding("InvalidQuantity", "error", message, hint=_quantity_hint(failure.path, value), path=failure.path)
        return
    names = [wanted] if isinstance(wanted, str) else wanted
    expected = " or ".join(_EXPECTED[name] for name in names)
    hint = _FIELD_HINTS.get(failure.path) or _type_hint(names, value, failure.path)
    yield Finding(
        "WrongType", "error", f"expected {expected}, got {describe_value(value)}", hint=hint, path=failure.path
    )


def _quantity_hint(path: Path, value: Any) -> str:
    if not isinstance(value, float):
        return 'write an amount such as "500m" or 16Gi'
    return "write a whole number, such as 1" if "/" in str(path[-1]) else f'put quotes around it: "{value}"'


def _not_a_quantity(path: Path, value: Any) -> str:
    if isinstance(value, float) and "/" in str(path[-1]):
        return f"{path[-1]} counts whole devices, and {value} is not a whole number"
    return f"expected a quantity, got {describe_value(value)}"


def _type_hint(wanted: list[str], value: Any, path: Path) -> str:
    if "string" in wanted and isinstance(value, bool | int | float):
        # Without the value, because it is already parsed: `yes` has become true, and 1.10 is 1.1.
        return "put quotes around it"
    if wanted == ["integer"] and isinstance(value, str) and value.lstrip("-").isdecimal():
        return "remove the quotes"
    if wanted == ["integer"] and isinstance(value, float):
        return "write a whole number, such as 4"
    if wanted == ["integer"]:
        return suggest_seconds(str(value)) or _unless_template(value, "write a whole number, such as 4")
    if wanted == ["boolean"]:
        return _unless_template(value, "write true or false, without quotes")
    if wanted == ["array"]:
        return suggest_list(path, value)
    if wanted == ["object"]:
        return suggest_mapping(path, value)
    return suggest_text(value) if wanted == ["string"] else ""


def _unless_template(value: Any, hint: str) -> str:
    return TEMPLATE_HINT if isinstance(value, str) and is_template(value) else hint


def _enum(failure: _Failure) -> Iterator[Finding]:
    if isinstance(failure.value, str):
        allowed = " or ".join(repr(value) for value in failure.wanted)
        yield Finding(
            "UnsupportedValue",
            "error",
            f"{quote(failure.value)} is not supported",
            hint=f"use {allowed}",
            path=failure.path,
        )


def _range(failure: _Failure) -> Iterator[Finding]:
    smallest, largest = failure.schema["minimum"], failure.schema["maximum"]
    message = f"{describe_value(failure.value)} is out of range"
    yield Finding(
        "OutOfRange", "error", message, hint=f"use a whole number from {smallest} to {largest}", path=failure.path
    )


def _too_long(failure: _Failure) -> Iterator[Finding]:
    message = f"the text has {len(failure.value)} characters; at most {failure.wanted} are allowed"
    excess = len(failure.value) - failure.wanted
    yield Finding("TooLong", "error", message, hint=f"shorten it by {excess} characters", path=failure.path)


def _too_short(failure: _Failure) -> Iterator[Finding]:
    yield Finding(
        "TooShort", "error", "the text is empty", hint="write a value, or remove the field", path=failure.path
    )


def _too_many(failure: _Failure) -> Iterator[Finding]:
    message = f"the list has {len(failure.value)} items; at most {failure.wanted} are allowed"
    yield Finding(
        "TooMany", "error", message, hint=f"remove {len(failure.value) - failure.wanted} of them", path=failure.path
    )


def _too_few(failure: _Failure) -> Iterator[Finding]:
    noun = "item" if isinstance(failure.value, list) else "field"
    message = (
        f"{failure.path[-1] if failure.path else 'the document'} is empty; it needs at least {failure.wanted} {noun}"
    )
    yield Finding(
        "TooFew",
        "error",
        message,
        hint=f"add {'an item' if isinstance(failure.value, list) else 'a field'}, or remove it",
        path=failure.path,
    )


def _required(failure: _Failure) -> Iterator[Finding]:
    for name in failure.wanted:
        if name not in failure.value:
            yield Finding(
                "MissingRequired",
                "error",
                f"{name} is missing",
                hint=_ADDITIONS.get((*failure.path, name)) or f"add {_addition(name)}",
                path=(*failure.path, name),
            )


# Suggestions for fields that every document needs.
_ADDITIONS: dict[Path, str] = {
    ("spec", "runtimeRef"): "add runtimeRef: {name: torch-distributed}; `trainc runtimes list` shows the others",
}
_EXAMPLES = {"containers": "[{name: node, image: ...}]", "mountPath": "/data", "topologyKey": "kubernetes.io/hostname"}


def _addition(name: str) -> str:
    return f"{name}: {_EXAMPLES[name]}" if name in _EXAMPLES else f"`{name}:` with a value"


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


# A finding that implies a missing field, which is then not reported separately.
_EXPLAINS_MISSING_TEMPLATE = "PodSpecInsteadOfJobSpec"


def explain(
    document: Mapping[str, Any], kind: str, release: str, *, prune: bool
) -> tuple[list[Finding], dict[str, Any]]:
    """Return all problems, and the document without nulls and, with `prune`, without unknown fields."""
    shape = Struct(ROOTS[kind])
    severity: Severity = "warning" if prune else "error"
    findings = list(unknown_fields(Node(dict(document), shape, (), kind), release, severity))
    remaining = without_nulls(dict(document), shape, release)
    if prune:
        remaining = without_unknown(remaining, shape, release)
    structure = list(dict.fromkeys(structural_findings(remaining, kind, release)))
    siblings: dict[Path, list[Finding]] = {}
    for finding in findings:
        siblings.setdefault(finding.path[:-1], []).append(finding)
    findings += [finding for finding in structure if not _is_consequence(finding, siblings)]
    root = Node(remaining, shape, (), kind)
    findings += [finding for node in nodes(root, release) for finding in _value_findings(node, release)]
    typed = Node(well_typed(remaining, shape, release), shape, (), kind)
    wrong = {finding.path for finding in findings}
    findings += [finding for finding in _rule_findings(typed, release) if not _has_wrong_parent(finding.path, wrong)]
    return findings, remaining


def _is_consequence(missing: Finding, siblings: Mapping[Path, Sequence[Finding]]) -> bool:
    """Return whether a missing field is only a consequence of another finding.

    That is: a PodSpec instead of a `template`, a field next to its empty parent, or a variable written as `- NAME:
    value`.
    """
    return missing.code == "MissingRequired" and any(
        finding.code == _EXPLAINS_MISSING_TEMPLATE
        or finding.hint == indent_hint(finding.path, missing.path)
        or (missing.path[-1] == "name" and finding.hint.startswith(VARIABLE))
        for finding in siblings.get(missing.path[:-1], ())
        if finding.severity == "error"  # With `prune` this is a warning, so keep the error.
    )


def _has_wrong_parent(path: Path, wrong: set[Path]) -> bool:
    return any(path[:length] in wrong for length in range(1, len(path) + 1))


def _value_findings(node: Node, release: str) -> Iterator[Finding]:
    """Report problems of a single value or list that jsonschema does not cover."""
    match node.shape, node.value:
        case Scalar("quantity"), _:
            yield from _quantity(node.value, node.path)
        case Scalar("time"), str() if not is_time(node.value):
            hint = "write the time like this: 2026-01-31T12:00:00Z"
            yield Finding(
                "InvalidTime", "error", f"{quote(node.value)} is not a valid RFC 3339 time", hint=hint, path=node.path
            )
        case ListOf(item), list():
            yield from _duplicates(node, item, release)
        case MapOf(), dict():
            for name in node.value:
                if not isinstance(name, str):
                    path = (*node.path, str(name))
                    yield Finding(
                        "WrongType", "error", "keys must be strings", hint=f'put quotes around it: "{name}"', path=path
                    )


def _quantity(value: Any, path: Path) -> Iterator[Finding]:
    try:
        canonical(text_or_integer(value))
    except Refused:
        return  # jsonschema reports the wrong type
    except ValueError as error:
        yield Finding("InvalidQuantity", "error", str(error), hint=suggest_amount(str(path[-1]), str(value)), path=path)


def _duplicates(node: Node, item: object, release: str) -> Iterator[Finding]:
    names = LIST_MAP_KEYS.get(node.key)
    if names is None and node.key not in SETS:
        return
    defaults = defaults_of(release).get(item.definition, {}) if isinstance(item, Struct) else {}
    first: dict[object, int] = {}
    for index, value in enumerate(node.value):
        identity = _identity(value, names, defaults)
        if identity is None:
            continue
        if identity in first:
            label = ", ".join(
                f"{name} {quote(str(part))}" for name, part in zip(names or ("item",), identity, strict=True)
            )
            message = f"{label} is in this list twice; the first is item {first[identity]}"
            yield Finding(
                "DuplicateItem", "error", message, hint="remove or rename one of them", path=(*node.path, index)
            )
        first.setdefault(identity, index)


def _identity(value: Any, names: tuple[str, ...] | None, defaults: Mapping[str, object]) -> tuple[object, ...] | None:
    """Return what identifies a list item, or None if that is unknown."""
    if names is None:
        parts: tuple[object, ...] = (value,)
    elif isinstance(value, dict):
        parts = tuple(value.get(name, defaults.get(name)) for name in names)
    else:
        return None
    return parts if all(isinstance(part, str | int | float) for part in parts) else None


def _rule_findings(root: Node, release: str) -> Iterator[Finding]:
    rules = rules_of(release)
    for node in nodes(root, release):
        if isinstance(node.shape, Struct):
            for rule in rules.get(node.shape.definition, ()):
                for finding in rule(node.value):
                    yield replace(finding, path=(*node.path, *finding.path))
