"""The order in which objects are applied: what provides Secrets, what pods mount, their gang, and the job itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Manifest = dict[str, Any]
_KINDS = (
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "Job",
    "SSHKey",
    "SealedSecret",
    "ExternalSecret",
    "ConfigMap",
    "PodGroup",
    "JobSet",
)
_RANK = {kind: rank for rank, kind in enumerate(_KINDS)}


def in_apply_order(manifests: Iterable[Manifest]) -> list[Manifest]:
    """By kind, then by API group and name."""
    return sorted(manifests, key=lambda m: (_RANK.get(m["kind"], len(_KINDS)), m["apiVersion"], m["metadata"]["name"]))
