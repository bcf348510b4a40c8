"""GitOps shaping: what the TrainJob alone carries moves to the objects that will exist in the cluster without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from trainc.diagnostics import Finding
from trainc.emit.shaping.deadline import DEADLINE
from trainc.emit.shaping.managed_by import MANAGED_BY
from trainc.emit.shaping.metadata import METADATA
from trainc.emit.shaping.shape import Manifest, Shape
from trainc.emit.shaping.suspend import SUSPEND
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob

# Order matters once: a queue label has to reach the JobSet before `suspend` is judged by it.
SHAPES: tuple[Shape, ...] = (METADATA, MANAGED_BY, DEADLINE, SUSPEND)

Observer: TypeAlias = Callable[[str, list[Manifest]], None]


def shape(
    job: TrainJob, info: Info, manifests: Sequence[Manifest], observe: Observer | None = None
) -> tuple[list[Manifest], list[Finding]]:
    """The objects of a job with every deviation of `gitops` that concerns objects applied, and what there is to say.

    `observe(deviation, objects)` is told of each one that changed something.
    """
    shaped = list(manifests)
    findings: list[Finding] = []
    for deviation in SHAPES:
        after, found = deviation.apply(job, info, shaped)
        findings.extend(found)
        if observe is not None and after != shaped:
            observe(deviation.id, after)
        shaped = after
    return shaped, findings
