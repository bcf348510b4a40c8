"""The order in which objects are applied: what pods mount first, then their gang, then the job itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Manifest = dict[str, Any]
_RANK = {"Secret": 0, "ConfigMap": 1, "PodGroup": 2, "JobSet": 3}


def in_apply_order(manifests: Iterable[Manifest]) -> list[Manifest]:
    """By kind, then by API group and name."""
    return sorted(manifests, key=lambda m: (_RANK.get(m["kind"], 0), m["apiVersion"], m["metadata"]["name"]))
