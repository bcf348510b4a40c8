"""What a shape is: one deviation of `gitops` as a pure function over a job's objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from trainc.diagnostics import Finding
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.startup.records import dataclass

Manifest: TypeAlias = dict[str, Any]
Shaped: TypeAlias = tuple[list[Manifest], list[Finding]]


@dataclass(frozen=True, slots=True)
class Shape:
    """`id` is the deviation's (ir.deviations); `apply` returns new objects and changes none it was given."""

    id: str
    apply: Callable[[TrainJob, Info, list[Manifest]], Shaped]


def on_jobset(manifests: list[Manifest], change: Callable[[Manifest], Manifest]) -> list[Manifest]:
    """The objects with `change` applied to the JobSet."""
    return [change(manifest) if manifest["kind"] == "JobSet" else manifest for manifest in manifests]


def with_spec(jobset: Manifest, **fields: Any) -> Manifest:
    """The JobSet with fields of its spec set."""
    return {**jobset, "spec": {**jobset["spec"], **fields}}
