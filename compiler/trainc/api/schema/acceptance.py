"""The fast path of the schema check: closures that validate and normalise a document in one walk, or refuse it.

A closure takes a value and returns it as the API server stores it and the release's Go types marshal it; None means
that the field disappears. They are compiled when a document first uses a field, say nothing about what is wrong, and
refuse exactly what explanation.py explains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from trainc.api.schema.accept_scalars import accept_scalar
from trainc.api.schema.accept_values import Accept, accept_list, accept_map, accept_sized, omit_if_empty
from trainc.api.schema.defaults import Default
from trainc.api.schema.limits import limits
from trainc.api.schema.scalars import Refused
from trainc.api.schema.shapes import Definition, ListOf, MapOf, Scalar, Shape, Struct, definition
from trainc.api.schema.tables import defaults_of, rules_of
from trainc.api.schema.zero_values import (
    ALWAYS_WRITTEN,
    EMPTY,
    EMPTY_STRUCT_DROPPED,
    KEEPS_ZERO,
    NEVER_MARSHALLED,
)
from trainc.startup.records import dataclass

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Site:
    """A field that is being compiled: "group.Definition.field", and whether its zero value survives."""

    release: str
    key: str
    marshalled: bool
    keeps_zero: bool


@cache
def acceptor(release: str, name: str, marshalled: bool = True) -> Accept:
    """The check of the definition `name` ("core.Container"). What is not `marshalled` keeps all zero values."""
    known = definition(release, name)
    complete = _completion(release, name, marshalled)

    required = known.required
    fields: dict[str, Accept] = {}  # Filled as documents have them.

    def accept(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Refused
        stored = {}
        for field, item in value.items():
            try:
                accept_item = fields[field]
            except KeyError:
                accept_item = fields[field] = _accept_field(known, field, release, marshalled)
            if item is not None and (item := accept_item(item)) is not None:
                stored[field] = item
        for field in required:
            if field not in stored:
                raise Refused
        if complete is not None:
            complete(value, stored)
        return stored

    return accept


def _completion(release: str, name: str, marshalled: bool) -> Callable[[Json, dict[str, Any]], None] | None:
    """What is left to do once a struct's fields are accepted: its defaults and its rules. None if there are none."""
    added = _added(release, name, marshalled)
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


def _added(release: str, name: str, marshalled: bool) -> tuple[tuple[str, Default | object], ...]:
    """What a struct gets where the document is silent: CRD defaults, less the zero values that Go drops again."""
    known = definition(release, name).fields
    defaults = {field: value for field, value in defaults_of(release).get(name, {}).items() if field in known}
    if not marshalled:
        return tuple(defaults.items())
    kept = {field: value for field, value in defaults.items() if value or f"{name}.{field}" in KEEPS_ZERO}
    written = {key.rpartition(".")[2]: value for key, value in ALWAYS_WRITTEN.items() if key.startswith(f"{name}.")}
    return tuple({**kept, **written}.items())


def _accept_field(owner: Definition, field: str, release: str, marshalled: bool) -> Accept:
    shape = owner.fields.get(field)
    if shape is None:
        raise Refused
    key = f"{owner.name}.{field}"
    marshalled = marshalled and key not in NEVER_MARSHALLED
    keeps_zero = not marshalled or field in owner.required or key in KEEPS_ZERO
    accept = _accept_shape(shape, _Site(release, key, marshalled, keeps_zero))
    if fewest := limits(release).min_properties.get(key):
        accept = accept_sized(accept, fewest)
    if isinstance(shape, Struct) and field in EMPTY_STRUCT_DROPPED and not keeps_zero:
        accept = omit_if_empty(accept)
    return accept


def _accept_shape(shape: Shape, site: _Site) -> Accept:
    match shape:
        case Scalar(kind):
            return accept_scalar(kind, site.key, site.release, site.keeps_zero)
        case Struct(name):
            return acceptor(site.release, name, site.marshalled)
        case ListOf(item):
            inner = _accept_shape(item, _Site(site.release, f"{site.key}[]", site.marshalled, True))
            return accept_list(inner, site.key, site.release, site.keeps_zero)
        case MapOf(value):
            inner = _accept_shape(value, _Site(site.release, f"{site.key}{{}}", site.marshalled, True))
            return accept_map(inner, site.keeps_zero)
