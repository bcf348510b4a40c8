"""Go's empty placeholders, dropped: they mean nothing and come back as noise in every diff."""

from __future__ import annotations

from typing import Any

from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.target.shaping.shape import Manifest, Shape, Shaped

_PLACEHOLDERS = ("metadata", "resources", "status")


def drop_placeholders(job: TrainJob, info: Info, manifests: list[Manifest]) -> Shaped:
    """Empty objects that say something, as `emptyDir: {}` does, stay."""
    return [_without_placeholders(manifest) for manifest in manifests], []


def _without_placeholders(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_placeholders(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_placeholders(item) for key, item in value.items() if not _is_placeholder(key, item)}
    return {key: item for key, item in kept.items() if not _is_placeholder(key, item)}


def _is_placeholder(key: str, value: Any) -> bool:
    # What Go's encoder writes for a time that was never set.
    return (key in _PLACEHOLDERS and value == {}) or (key == "creationTimestamp" and value is None)


PLACEHOLDERS = Shape("no-empty-placeholders", drop_placeholders)
