"""Selects the documents for a patch: kustomize's targets and Kubernetes' label selectors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from trainc.overlays.edited import Edited
from trainc.overlays.patterns import Pattern, literal, pattern
from trainc.startup.records import dataclass

TARGET_FIELDS = ("group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector")
_SET_BASED = re.compile(r"(?P<key>\S+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)")
_EQUALITY = re.compile(r"(?P<key>[^\s=!]+)\s*(?P<op>==|=|!=)\s*(?P<values>[^\s=!]*)")
_EXISTENCE = re.compile(r"(?P<op>!?)\s*(?P<key>[^\s=!()]+)(?P<values>)")
# Splits at commas, except inside parentheses, where they separate values.
_PARTS = re.compile(r"(?:[^,()]+|\([^()]*\)|[()])+")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition on a label or annotation. Empty `values` means that only existence counts."""

    key: str
    values: frozenset[str]
    wanted: bool

    def holds(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether it is met. As in Kubernetes, a missing key satisfies every negated condition."""
        met = self.key in metadata and (not self.values or metadata[self.key] in self.values)
        return met is self.wanted


@dataclass(frozen=True, slots=True)
class Target:
    """The conditions on a document. Patterns must match the whole text; None matches everything."""

    group: Pattern | None = None
    version: Pattern | None = None
    kind: Pattern | None = None
    name: Pattern | None = None
    namespace: Pattern | None = None
    labels: tuple[Requirement, ...] = ()
    annotations: tuple[Requirement, ...] = ()

    def fits(self, document: Edited) -> bool:
        """Return whether a document matches, by its current name or one that it had in an earlier overlay."""
        data = document.data
        group, _, version = str(data.get("apiVersion", "")).rpartition("/")
        if not (
            _fits(self.group, group) and _fits(self.version, version) and _fits(self.kind, str(data.get("kind", "")))
        ):
            return False
        if not any(_fits(self.namespace, ns) and _fits(self.name, name) for ns, name in document.identities):
            return False
        metadata = _mapping(data.get("metadata"))
        labels, annotations = _mapping(metadata.get("labels")), _mapping(metadata.get("annotations"))
        return all(r.holds(labels) for r in self.labels) and all(r.holds(annotations) for r in self.annotations)


def target_of(fields: Mapping[str, Any]) -> Target:
    """Convert a mapping with TARGET_FIELDS to a target. Raises ValueError for an invalid pattern or selector."""
    patterns = (pattern(str(fields[name])) if fields.get(name) else None for name in TARGET_FIELDS[:5])
    labels = parse_selector(str(fields.get("labelSelector") or ""))
    annotations = parse_selector(str(fields.get("annotationSelector") or ""))
    group, version, kind, name, namespace = patterns
    return Target(group, version, kind, name, namespace, labels, annotations)


def exact_target(fields: Mapping[str, Any]) -> Target:
    """Return the target for the one document that the apiVersion, kind and metadata of a patch identify."""
    group, _, version = str(fields.get("apiVersion") or "").rpartition("/")
    metadata = _mapping(fields.get("metadata"))
    return Target(
        _exactly(group),
        _exactly(version),
        _exactly(fields.get("kind")),
        _exactly(metadata.get("name")),
        _exactly(metadata.get("namespace")),
    )


def parse_selector(text: str) -> tuple[Requirement, ...]:
    """Parse a label selector: `a=b`, `a!=b`, `a in (b, c)`, `a notin (b)`, `a`, `!a`, separated by commas."""
    return tuple(_requirement(part.strip()) for part in _PARTS.findall(text) if part.strip())


def _requirement(text: str) -> Requirement:
    for form in (_SET_BASED, _EQUALITY, _EXISTENCE):
        match = form.fullmatch(text)
        if match:
            values = {value.strip() for value in match["values"].split(",")} if form is not _EXISTENCE else set()
            return Requirement(match["key"], frozenset(values), match["op"] not in ("!=", "notin", "!"))
    raise ValueError(f"{text!r} is not a valid selector requirement")


def _exactly(value: Any) -> Pattern | None:
    return literal(str(value)) if value else None


def _fits(wanted: Pattern | None, text: str) -> bool:
    return wanted is None or wanted.fits(text)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
