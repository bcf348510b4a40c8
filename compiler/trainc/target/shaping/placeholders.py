"""Go's empty placeholders, dropped: they mean nothing and come back as noise in every diff."""

from __future__ import annotations

from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.target.shaping.shape import Manifest, Shape, Shaped
from trainc.typing import Any

_PLACEHOLDERS = ("metadata", "resources", "status")


def drop_placeholders(job: TrainJob, info: Info, manifests: list[Manifest]) -> Shaped:
    """Empty objects that say something, as `emptyDir: {}` does, stay."""
    return [_without_placeholders(manifest) for manifest in manifests], []


def _without_placeholders(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_placeholders(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept: dict[str, Any] = {}
    for key, item in value.items():
        inner = _without_placeholders(item) if isinstance(item, (dict, list)) else item
        # A time that was never set is null in what Go's encoder writes.
        if not (key in _PLACEHOLDERS and inner == {}) and not (inner is None and key == "creationTimestamp"):
            kept[key] = inner
    return kept


PLACEHOLDERS = Shape("no-empty-placeholders", drop_placeholders)
