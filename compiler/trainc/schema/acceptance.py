"""The fast path of validation: closures that validate and normalize a document in one pass, or reject it.

A closure takes a value and returns it as the API server stores it and the Go types of the release marshal it; None
means that the field is omitted. Closures are compiled when a document first uses a field. They do not report what is
wrong, and must reject exactly what explanation.py explains.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from operator import is_

from trainc.kube.documents import LIST_MAP_KEYS, SETS, Json
from trainc.kube.quantity import canonical
from trainc.schema.rules import integer_bounds, rules_of
from trainc.schema.shapes import (
    EMPTY,
    EMPTY_STRUCT_DROPPED,
    NEVER_MARSHALLED,
    Definition,
    Form,
    ListOf,
    MapOf,
    Refused,
    Scalar,
    ScalarType,
    Shape,
    Struct,
    added_values,
    as_integer,
    as_text,
    definition,
    is_time,
    keeps_zero,
    keywords,
    text_or_integer,
)
from trainc.startup.typing import Any, TypeAlias


@cache
def acceptor(release: str, name: str, form: Form = "marshalled") -> Accept:
    """Return the check for the definition `name` ("core.Container")."""
    type_definition = definition(release, name)
    complete = _completion(release, name, form != "read")

    required = type_definition.required
    fields: dict[str, Accept] = {}  # Filled on first use.

    def accept(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Refused
        stored = {}
        same = True
        for field, item in value.items():
            try:
                accept_item = fields[field]
            except KeyError:
                accept_item = fields[field] = _accept_field(type_definition, field, release, form)
            if item is not None and (accepted := accept_item(item)) is not None:
                stored[field] = accepted
                same = same and accepted is item
            else:
                same = False
        for field in required:
            if field not in stored and value.get(field) is None:
                raise Refused
        if complete is not None:
            complete(value, stored)
        # What is stored as it was written is not kept twice: of tens of thousands of jobs that is a quarter.
        return value if same and len(stored) == len(value) else stored

    return accept


def _completion(release: str, name: str, marshalled: bool) -> Callable[[Json, dict[str, Any]], None] | None:
    """Return the step that adds defaults and checks rules after the fields, or None if there are none."""
    added = added_values(release, name, marshalled)
    rules = rules_of(release).get(name, ())
    if not added and not rules:
        return None

    def complete(value: Json, stored: dict[str, Any]) -> None:
        for field, default in added:
            if value.get(field) is None:
                stored[field] = {} if default is EMPTY else default
        for rule in rules:
            for _ in rule(value):
                raise Refused

    return complete


def _accept_field(owner: Definition, field: str, release: str, form: Form) -> Accept:
    shape = owner.fields.get(field)
    if shape is None:
        raise Refused
    key = f"{owner.name}.{field}"
    if key in NEVER_MARSHALLED:
        form = "read"
    keeps = keeps_zero(key, form, required=field in owner.required, is_list=isinstance(shape, ListOf))
    accept = _accept_shape(shape, release, key, form, keeps)
    if fewest := keywords(release).get(key, {}).get("minProperties"):
        accept = accept_sized(accept, fewest)
    if isinstance(shape, Struct) and field in EMPTY_STRUCT_DROPPED and not keeps:
        accept = omit_if_empty(accept)
    return accept


def _accept_shape(shape: Shape, release: str, key: str, form: Form, keeps: bool) -> Accept:
    """Return the check for the field `key`, "group.Definition.field"; with `keeps`, its zero value is kept."""
    match shape:
        case Scalar(kind):
            return accept_scalar(kind, key, release, keeps)
        case Struct(name):
            return acceptor(release, name, form)
        case ListOf(item):
            return accept_list(_accept_shape(item, release, f"{key}[]", form, True), key, release, keeps)
        case MapOf(value):
            return accept_map(_accept_shape(value, release, f"{key}{{}}", form, True), keeps)


# Returns a value as the API server stores it and Go marshals it, or None to omit the field. Raises Refused.
Accept: TypeAlias = Callable[[Any], Any]


def accept_list(accept_item: Accept, key: str, release: str, keeps_empty: bool) -> Accept:
    """Return the check for the list in the field `key`; `accept_item` checks its items."""
    words = keywords(release).get(key, {})
    fewest, most = words.get("minItems", 0), words.get("maxItems")
    has_duplicates = _duplicates(key)

    def accept(value: Any) -> list[Any] | None:
        if not isinstance(value, list) or len(value) < fewest or (most is not None and len(value) > most):
            raise Refused
        items = list(map(accept_item, value))
        if len(items) > 1 and has_duplicates is not None and has_duplicates(items):
            raise Refused
        if not items and not keeps_empty:
            return None
        return value if all(map(is_, items, value)) else items

    return accept


def _duplicates(key: str) -> Callable[[list[Any]], bool] | None:
    if key in SETS:
        return lambda items: len(set(items)) < len(items)
    names = LIST_MAP_KEYS.get(key)
    if names is None:
        return None
    if len(names) == 1:
        (name,) = names
        return lambda items: len({item.get(name) for item in items}) < len(items)
    return lambda items: len({tuple(item.get(name) for name in names) for item in items}) < len(items)


def accept_map(accept_value: Accept, keeps_empty: bool) -> Accept:
    """Return the check for a mapping with arbitrary keys; `accept_value` checks its values."""

    def accept(value: Any) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            raise Refused
        entries = {
            name if type(name) is str else as_text(name): accept_value(item)
            for name, item in value.items()
            if item is not None
        }
        if not entries and not keeps_empty:
            return None
        return value if len(entries) == len(value) and all(entries.get(k) is v for k, v in value.items()) else entries

    return accept


def accept_sized(accept_struct: Accept, fewest: int) -> Accept:
    """Extend `accept_struct` to require at least `fewest` non-null fields."""

    def accept(value: Any) -> Any:
        if isinstance(value, dict) and sum(item is not None for item in value.values()) < fewest:
            raise Refused
        return accept_struct(value)

    return accept


def omit_if_empty(accept_struct: Accept) -> Accept:
    """Change `accept_struct` to return None instead of an empty result."""
    return lambda value: accept_struct(value) or None


def accept_scalar(kind: ScalarType, key: str, release: str, keeps_zero: bool) -> Accept:
    """Return the check for a scalar in the field `key`; without `keeps_zero` a zero value becomes None."""
    match kind:
        case "string":
            return _string(key, release, keeps_zero)
        case "integer":
            return _integer(key, release, keeps_zero)
        case "boolean":
            return _boolean(keeps_zero)
        case "quantity":
            return _quantity
        case "int-or-string":
            accept_integer = _integer(key, release, keeps_zero=True)
            return lambda value: str(value) if isinstance(value, str) else accept_integer(value)
        case "time":
            return _time
        case "any":
            return lambda value: value


def _string(key: str, release: str, keeps_zero: bool) -> Accept:
    words = keywords(release).get(key, {})
    allowed, shortest, longest = words.get("enum"), words.get("minLength", 0), words.get("maxLength")
    if allowed is not None or shortest or longest is not None:
        return _bounded_string(allowed, shortest, longest, keeps_zero)
    if keeps_zero:
        return lambda value: value if type(value) is str else as_text(value)
    return lambda value: (value if type(value) is str else as_text(value)) or None


def _bounded_string(allowed: Collection[str] | None, shortest: int, longest: int | None, keeps_zero: bool) -> Accept:
    def accept(value: Any) -> str | None:
        text = value if type(value) is str else as_text(value)
        if allowed is not None and text not in allowed:
            raise Refused
        if len(text) < shortest or (longest is not None and len(text) > longest):
            raise Refused
        return text if keeps_zero else text or None

    return accept


def _integer(key: str, release: str, keeps_zero: bool) -> Accept:
    smallest, largest = integer_bounds(key, release)

    def accept(value: Any) -> int | None:
        number = value if type(value) is int else as_integer(value)
        if not smallest <= number <= largest:
            raise Refused
        return number if keeps_zero else number or None

    return accept


def _boolean(keeps_zero: bool) -> Accept:
    def accept(value: Any) -> bool | None:
        if type(value) is not bool:
            raise Refused
        return value if keeps_zero else value or None

    return accept


def _quantity(value: Any) -> str:
    try:
        return canonical(value if type(value) is str else text_or_integer(value))
    except ValueError:
        raise Refused from None


def _time(value: Any) -> str:
    text = as_text(value)
    if not is_time(text):
        raise Refused
    return text
