"""Go's empty placeholders, dropped: they mean nothing and come back as noise in every diff."""

from __future__ import annotations

from operator import is_not

from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.target.shaping.shape import Manifest, Shape, Shaped
from trainc.typing import Any

_PLACEHOLDERS = ("metadata", "resources", "status")


def drop_placeholders(job: TrainJob, info: Info, manifests: list[Manifest]) -> Shaped:
    """Empty objects that say something, as `emptyDir: {}` does, stay."""
    return [_mapping(manifest) for manifest in manifests], []


def _mapping(mapping: dict[str, Any]) -> dict[str, Any]:
    """`mapping` less the placeholders in it; what has none is shared, here and below."""
    kept = mapping
    for key, value in mapping.items():
        if isinstance(value, dict):
            inner: Any = _mapping(value)
            if inner == {} and key in _PLACEHOLDERS:
                kept = {name: item for name, item in kept.items() if name != key}
                continue
        elif isinstance(value, list):
            inner = _list(value)
        elif value is None and key == "creationTimestamp":  # A time that was never set, as Go's encoder writes it.
            kept = {name: item for name, item in kept.items() if name != key}
            continue
        else:
            continue
        if inner is not value:
            kept = {**kept, key: inner}
    return kept


def _list(items: list[Any]) -> list[Any]:
    less = [_mapping(i) if isinstance(i, dict) else _list(i) if isinstance(i, list) else i for i in items]
    return less if any(map(is_not, less, items)) else items


PLACEHOLDERS = Shape("no-empty-placeholders", drop_placeholders)
