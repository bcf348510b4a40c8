"""The slow path of validation: all problems of a rejected document, with positions and hints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.api.merge_keys import LIST_MAP_KEYS, SETS
from trainc.api.quantity import canonical
from trainc.api.schema import advice
from trainc.api.schema.constraints import rules_of
from trainc.api.schema.defaults import defaults_of
from trainc.api.schema.scalars import Refused, is_time, quote, text_or_integer
from trainc.api.schema.shapes import ROOTS, ListOf, MapOf, Scalar, Struct
from trainc.api.schema.structure import structural_findings
from trainc.api.schema.unknown_fields import indent_hint, unknown_fields
from trainc.api.schema.walking import Node, nodes, well_typed, without_nulls, without_unknown
from trainc.diagnostics import Finding, Path, Severity
from trainc.startup.records import replace

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
        or (missing.path[-1] == "name" and finding.hint.startswith(advice.VARIABLE))
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
        yield Finding(
            "InvalidQuantity", "error", str(error), hint=advice.suggest_amount(str(path[-1]), str(value)), path=path
        )


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
