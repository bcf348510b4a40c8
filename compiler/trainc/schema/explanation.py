"""The slow path of validation: all problems of a rejected document, with positions and hints.

Documents of Trainer and JobSet are explained by `explain`, those of trainc itself by `explain_own`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import jsonschema

from trainc.findings import TEMPLATE_HINT, Finding, Fix, Hint, Path, Severity, write
from trainc.findings.text import join_words
from trainc.kube.documents import LIST_MAP_KEYS, SETS
from trainc.kube.quantity import canonical
from trainc.schema.editor_schema import QUANTITY_FORMAT, json_schema
from trainc.schema.rules import rules_of
from trainc.schema.shapes import (
    MOST_LISTED,
    ROOTS,
    ListOf,
    MapOf,
    Refused,
    Scalar,
    Struct,
    defaults_of,
    is_time,
    quote,
    text_or_integer,
)
from trainc.schema.unknown_fields import (
    MOST_HINTS,
    SEE_THE_FIRST,
    VARIABLE,
    Node,
    indent_hint,
    is_template,
    move_out_hint,
    nodes,
    parent_hint,
    spelling_hint,
    suggest_amount,
    suggest_list,
    suggest_mapping,
    suggest_seconds,
    suggest_text,
    unknown_fields,
    without_nulls,
    without_unknown,
    without_wrong_types,
)
from trainc.startup.records import dataclass, replace

if TYPE_CHECKING:
    from trainc.schema.document_kinds import DocumentKind, Schema

# Explains jsonschema errors in plain words: types, allowed values, bounds, sizes, missing fields.


_EXPECTED = {
    "object": "a mapping",
    "array": "a list",
    "null": "nothing",
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}
# Fields whose type changed between releases.
_FIELD_HINTS: dict[Path, str] = {
    ("spec", "trainer", "numProcPerNode"): (
        "write a number of processes, or leave it out to have it counted from the resources (`auto` until Trainer 2.1)"
    )
}


@dataclass(frozen=True, slots=True)
class _Failure:
    """A jsonschema error: the value, the value of the failed keyword, its schema, and the path."""

    value: Any
    expected: Any
    schema: Any
    path: Path


def structural_findings(document: Any, kind: str, release: str) -> Iterator[Finding]:
    """Report all errors by the JSON Schema of `kind`, except for unknown fields, patterns and unique items."""
    for error in _validator(kind, release).iter_errors(document):
        explain = _EXPLANATIONS.get(str(error.validator))
        if explain is not None:
            yield from explain(_failure(error))


def _failure(error: jsonschema.ValidationError) -> _Failure:
    return _Failure(error.instance, error.validator_value, error.schema, tuple(error.absolute_path))


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
    allowed, value = failure.expected, failure.value
    if failure.schema.get("format") == QUANTITY_FORMAT:
        yield Finding("InvalidQuantity", "error", *_explain_quantity(failure.path, value), failure.path)
        return
    names = [allowed] if isinstance(allowed, str) else allowed
    expected = join_words((_EXPECTED[name] for name in names), "or")
    hint = _FIELD_HINTS.get(failure.path) or failure.schema.get("errorMessage") or _type_hint(names, value, failure)
    yield Finding("WrongType", "error", f"expected {expected}, got {describe_value(value)}", hint, failure.path)


_QUOTE = Fix("quote")
_UNQUOTED = Hint("remove the quotes", Fix("unquote"))


def _explain_quantity(path: Path, value: Any) -> tuple[str, str]:
    """Return the message and the hint for a value that is neither a string nor an integer."""
    if isinstance(value, float) and "/" in str(path[-1]):
        return f"{path[-1]} counts whole devices, and {value} is not a whole number", "write a whole number, such as 1"
    hint = 'write an amount such as "500m" or 16Gi'
    if isinstance(value, float):
        hint = Hint(f'put quotes around it: "{value}"', _QUOTE)
    return f"expected a quantity, got {describe_value(value)}", hint


def _type_hint(type_names: list[str], value: Any, failure: _Failure) -> str:
    if "string" in type_names and isinstance(value, bool | int | float):
        # Without the value, because it is already parsed: `yes` has become true, and 1.10 is 1.1.
        why = "; without them, YAML reads y, n, yes, no, on and off as true or false" if isinstance(value, bool) else ""
        return Hint(f"put quotes around it{why}", _QUOTE)
    if type_names == ["integer"]:
        if isinstance(value, str) and value.lstrip("-").isdecimal():
            return _UNQUOTED
        return suggest_seconds(str(value)) or _unless_template(value, "write a whole number, such as 4")
    if type_names == ["number"]:
        return _UNQUOTED if isinstance(value, str) and _is_number(value) else "write a number, such as 0.5"
    if type_names == ["boolean"]:
        return _unless_template(value, "write true or false, without quotes")
    if type_names == ["array"]:
        return suggest_list(failure.path, value, failure.schema.get("items", {}))
    if type_names == ["object"]:
        return suggest_mapping(failure.path, value)
    return suggest_text(value) if type_names[0] == "string" else ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unless_template(value: Any, hint: str) -> str:
    return TEMPLATE_HINT if isinstance(value, str) and is_template(value) else hint


def _enum(failure: _Failure) -> Iterator[Finding]:
    if isinstance(failure.value, str):
        allowed = " or ".join(repr(value) for value in failure.expected)
        hint = Hint(f"use {allowed}", *(Fix("set", str(value)) for value in failure.expected if value))
        yield Finding("UnsupportedValue", "error", f"{quote(failure.value)} is not supported", hint, failure.path)


def _range(failure: _Failure) -> Iterator[Finding]:
    smallest, largest = failure.schema.get("minimum"), failure.schema.get("maximum")
    hint = f"use a whole number from {smallest} to {largest}" if largest is not None else f"use {smallest} or more"
    if smallest is None:
        hint = f"use a number above {failure.expected}"
    yield Finding("OutOfRange", "error", f"{describe_value(failure.value)} is out of range", hint, failure.path)


def _too_much(failure: _Failure) -> Iterator[Finding]:
    size, most = len(failure.value), failure.expected
    code, has, hint = "TooMany", f"list has {size} items", f"remove {size - most} of them"
    if isinstance(failure.value, dict):
        has = f"mapping has {size} fields"
    elif isinstance(failure.value, str):
        code, has, hint = "TooLong", f"text has {size} characters", f"shorten it by {size - most} characters"
    yield Finding(code, "error", f"the {has}; at most {most} are allowed", hint, failure.path)


def _too_short(failure: _Failure) -> Iterator[Finding]:
    yield Finding("EmptyField", "error", "the text is empty", "write a value, or remove the field", failure.path)


def _too_few(failure: _Failure) -> Iterator[Finding]:
    noun = "item" if isinstance(failure.value, list) else "field"
    name = failure.path[-1] if failure.path else "the document"
    message = f"{'the item' if isinstance(name, int) else name} is empty; it needs at least {failure.expected} {noun}"
    hint = f"add {'an item' if noun == 'item' else 'a field'}, or remove it"
    yield Finding("EmptyField", "error", message, hint, failure.path)


def _required(failure: _Failure) -> Iterator[Finding]:
    for name in failure.expected:
        if name not in failure.value:
            path = (*failure.path, name)
            field = f"{name}: {_EXAMPLES[name]}" if name in _EXAMPLES else f"`{name}:` with a value"
            hint = _ADDITIONS.get(path) or failure.schema.get("errorMessage") or f"add {field}"
            yield Finding("MissingRequired", "error", f"{name} is missing", hint, path)


# Suggestions for fields that every document needs.
_ADDITIONS: dict[Path, str] = {
    ("spec", "runtimeRef"): write(
        "{name: torch-distributed}", "; `trainc runtimes list` shows the others", field="runtimeRef", verb="add"
    )
}
_EXAMPLES = {"containers": "[{name: node, image: ...}]", "mountPath": "/data", "topologyKey": "kubernetes.io/hostname"}


_EXPLANATIONS: dict[str, Callable[[_Failure], Iterator[Finding]]] = {
    "type": _type,
    "enum": _enum,
    "minimum": _range,
    "maximum": _range,
    "exclusiveMinimum": _range,
    "maxLength": _too_much,
    "minLength": _too_short,
    "maxItems": _too_much,
    "minItems": _too_few,
    "minProperties": _too_few,
    "maxProperties": _too_much,
    "required": _required,
}


# Explains documents of trainc's own. Their schemas use more keywords, and one code stands for all their problems.


def explain_own(kind: DocumentKind, data: Mapping[str, Any]) -> list[Finding]:
    """Return all problems of a document of trainc's own, which its schema rejects."""
    errors = jsonschema.Draft202012Validator(kind.schema).iter_errors(data)
    findings = (finding for error in errors for finding in _explain_own_error(error, kind))
    return [replace(finding, code=kind.code) for finding in dict.fromkeys(_first(findings))]


def _explain_own_error(error: jsonschema.ValidationError, kind: DocumentKind) -> Iterator[Finding]:
    failure, keyword = _failure(error), str(error.validator)
    explain = _EXPLANATIONS.get(keyword)
    if keyword == "additionalProperties":
        yield from _unknown_own_fields(failure, kind)
    elif keyword in ("anyOf", "oneOf"):
        yield from _explain_choices(error, failure, kind)
    elif keyword == "const":
        message = f"{describe_value(failure.value)} is not supported"
        hint = Hint(
            failure.schema.get("errorMessage") or f"write {failure.expected}", Fix("set", str(failure.expected))
        )
        yield Finding("UnsupportedValue", "error", message, hint, failure.path)
    elif keyword == "pattern" and (hint := failure.schema.get("errorMessage")):
        yield Finding("UnsupportedValue", "error", f"{describe_value(failure.value)} is not valid", hint, failure.path)
    elif explain is not None:
        yield from explain(failure)


def _explain_choices(error: jsonschema.ValidationError, failure: _Failure, kind: DocumentKind) -> Iterator[Finding]:
    """Explain that a value fits none of several schemas: forms of different types, or fields of which one is required."""
    choices: list[Schema] = failure.expected
    if all(choice.keys() == {"required"} for choice in choices):
        if not isinstance(failure.value, Mapping):
            return  # Of another type, which is reported.
        names = [name for choice in choices for name in choice["required"]]
        present = [name for name in names if name in failure.value]
        message = (
            f"{join_words(present, 'and')} cannot be used together"
            if present
            else f"{join_words(names, 'or')} is missing"
        )
        hint = failure.schema.get("errorMessage") or ("remove one of them" if present else "add one of them")
        yield Finding("MissingRequired", "error", message, hint, failure.path)
        return
    inside: dict[int, list[jsonschema.ValidationError]] = {}
    for inner in error.context or ():
        inside.setdefault(int(inner.relative_schema_path[0]), []).append(inner)
    of_the_type = [
        inner for inner in inside.values() if not any(e.validator == "type" and not e.relative_path for e in inner)
    ]
    if of_the_type:
        for inner in of_the_type[0]:
            yield from _explain_own_error(inner, kind)
    else:
        yield from _type(replace(failure, expected=[choice["type"] for choice in choices]))


def _unknown_own_fields(failure: _Failure, kind: DocumentKind) -> Iterator[Finding]:
    properties: Schema = failure.schema.get("properties", {})
    patterns = failure.schema.get("patternProperties", {})
    candidates = (str(name) for name in failure.value if name not in properties)
    unknown = [name for name in candidates if not any(re.search(pattern, name) for pattern in patterns)]
    for number, name in enumerate(unknown):
        path = (*failure.path, name)
        hint = SEE_THE_FIRST
        if number < MOST_HINTS:
            hint = (
                (kind.other_names.get(name, "") if not failure.path else "")
                or _inner_own_hint(path, properties, failure.value)
                or spelling_hint(name, properties)
                or _outer_own_hint(path, kind.schema)
                or f"choose one of {', '.join(properties)}"
            )
        yield Finding("UnknownField", "error", f"{kind.noun} has no field {name} here", hint, path)


def _inner_own_hint(path: Path, properties: Schema, siblings: Mapping[str, Any]) -> str:
    """Suggest indentation for a field next to its parent, or the field that contains it."""
    parents = [name for name, schema in properties.items() if path[-1] in schema.get("properties", {})]
    if hint := parent_hint(path, parents, siblings):
        return hint
    of_items = [
        name for name, schema in properties.items() if path[-1] in schema.get("items", {}).get("properties", {})
    ]
    return f"move it to {of_items[0]}[].{path[-1]}" if len(of_items) == 1 else ""


def _outer_own_hint(path: Path, root: Schema) -> str:
    """Suggest moving a field out to an enclosing mapping that has it."""
    parent, schema = None, root
    for length, step in enumerate(path[:-1]):
        if path[-1] in schema.get("properties", {}):
            parent = path[:length]
        inner = schema.get("items") if isinstance(step, int) else schema.get("properties", {}).get(step)
        schema = inner or schema.get("additionalProperties") or {}
    return "" if parent is None else move_out_hint((*parent, path[-1]))


# A finding that implies a missing field, which is then not reported separately.
_EXPLAINS_MISSING_TEMPLATE = "MisplacedPodSpec"


def explain(
    document: Mapping[str, Any], kind: str, release: str, *, prune: bool
) -> tuple[list[Finding], dict[str, Any]]:
    """Return all problems, and the document without nulls and, with `prune`, without unknown fields."""
    shape = Struct(ROOTS[kind])
    severity: Severity = "warning" if prune else "error"
    findings = _first(unknown_fields(Node(dict(document), shape, (), kind), release, severity))
    remaining = without_nulls(dict(document), shape, release)
    if prune:
        remaining = without_unknown(remaining, shape, release)
    elif len(findings) >= MOST_LISTED:
        return findings, remaining
    root = Node(remaining, shape, (), kind)
    values = _first(finding for node in nodes(root, release) for finding in _value_findings(node, release))
    if len(values) >= MOST_LISTED:
        return [*findings, *values], remaining
    structure = _first(structural_findings(remaining, kind, release))
    siblings: dict[Path, list[Finding]] = {}
    for finding in findings:
        siblings.setdefault(finding.path[:-1], []).append(finding)
    findings += [finding for finding in dict.fromkeys(structure) if not _is_consequence(finding, siblings)]
    findings += values
    if len(structure) >= MOST_LISTED:
        return findings, remaining
    typed = Node(without_wrong_types(remaining, shape, release), shape, (), kind)
    wrong = {finding.path for finding in findings}
    of_rules = (
        finding
        for finding in _rule_findings(typed, release)
        if wrong.isdisjoint(finding.path[:length] for length in range(1, len(finding.path) + 1))
    )
    return [*findings, *_first(of_rules)], remaining


def _first(findings: Iterator[Finding]) -> list[Finding]:
    """Return as many problems as anybody fixes at once; the last of them says if there are more."""
    first = list(islice(findings, MOST_LISTED))
    if len(first) == MOST_LISTED and next(findings, None) is not None:
        first[-1] = replace(first[-1], hint=f"{first[-1].hint}; fix these first: the document has more problems")
    return first


def _is_consequence(missing: Finding, siblings: Mapping[Path, Sequence[Finding]]) -> bool:
    """Return whether a missing field is only a consequence of another finding.

    That is: a PodSpec instead of a `template`, a field next to its empty parent or misspelt, or a variable as `- NAME: value`.
    """
    return missing.code == "MissingRequired" and any(
        finding.code == _EXPLAINS_MISSING_TEMPLATE
        or finding.hint == indent_hint(finding.path, missing.path)
        or (missing.path[-1] == "name" and finding.hint.startswith(VARIABLE))
        or missing.path[-1] in {fix.text for fix in getattr(finding.hint, "fixes", ())}
        for finding in siblings.get(missing.path[:-1], ())
        if finding.severity == "error"  # With `prune` this is a warning, so keep the error.
    )


def _value_findings(node: Node, release: str) -> Iterator[Finding]:
    """Report problems of a single value or list that jsonschema does not cover."""
    match node.shape, node.value:
        case Scalar("quantity"), _:
            yield from _quantity(node.value, node.path)
        case Scalar("time"), str() if not is_time(node.value):
            hint = "write the time like this: 2026-01-31T12:00:00Z"
            yield Finding("InvalidTime", "error", f"{quote(node.value)} is not a valid RFC 3339 time", hint, node.path)
        case ListOf(item), list():
            yield from _duplicates(node, item, release)
        case MapOf(), dict():
            for name in node.value:
                if not isinstance(name, str):
                    path = (*node.path, str(name))
                    yield Finding("WrongType", "error", "keys must be strings", f'put quotes around it: "{name}"', path)


def _quantity(value: Any, path: Path) -> Iterator[Finding]:
    try:
        canonical(text_or_integer(value))
    except Refused:
        return  # jsonschema reports the wrong type
    except ValueError as error:
        yield Finding("InvalidQuantity", "error", str(error), suggest_amount(str(path[-1]), str(value)), path)


def _duplicates(node: Node, item: object, release: str) -> Iterator[Finding]:
    names = LIST_MAP_KEYS.get(node.key)
    if names is None and node.key not in SETS:
        return
    defaults = defaults_of(release).get(item.definition, {}) if isinstance(item, Struct) else {}
    known: set[object] = set()
    for index, value in enumerate(node.value):
        identity = _identity(value, names, defaults)
        if identity is None:
            continue
        if identity in known:
            label = ", ".join(
                f"{name} {quote(str(part))}" for name, part in zip(names or ("item",), identity, strict=True)
            )
            message = f"{label} is in this list twice"
            hint = "remove or rename one of them"
            if node.path[-1:] == ("volumeMounts",):
                hint += "; to mount a claim at two paths in a patch, give it a second volume with another name"
            yield Finding("DuplicateItem", "error", message, hint, (*node.path, index))
        known.add(identity)


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
