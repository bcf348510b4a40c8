"""A small JobSet that every JobSet minor admits, and a way to bend it."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

Bend = Callable[..., dict[str, Any]]


def _job(name: str, **fields: Any) -> dict[str, Any]:
    container = {"name": name, "image": "busybox"}
    pod = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container]}}
    return {"name": name, "template": {"spec": {"completions": 1, "parallelism": 1, "template": pod}}, **fields}


BASE = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "job", "namespace": "team"},
    "spec": {"replicatedJobs": [_job("prepare"), _job("node", dependsOn=[{"name": "prepare", "status": "Complete"}])]},
}


@pytest.fixture
def bend() -> Bend:
    """`bend({"spec.replicatedJobs[1].replicas": 2}, name="other")` is the base JobSet with those values; None removes."""
    return _bent


def _bent(edits: Mapping[str, Any] | None = None, *, name: str = "job") -> dict[str, Any]:
    jobset: Any = copy.deepcopy(BASE)
    jobset["metadata"]["name"] = name
    for path, value in (edits or {}).items():
        *parents, last = (int(step) if step.isdecimal() else step for step in re.findall(r"[^.\[\]]+", path))
        owner = jobset
        for step in parents:
            owner = owner[step] if isinstance(step, int) else owner.setdefault(step, {})
        if value is None:
            owner.pop(last, None)
        elif isinstance(last, int) and last == len(owner):
            owner.append(value)
        else:
            owner[last] = copy.deepcopy(value)
    result: dict[str, Any] = jobset
    return result
