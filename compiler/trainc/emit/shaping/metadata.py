"""The TrainJob's labels and annotations, moved to the JobSet: Kueue's queue above all.

In a cluster Kueue reads them from the TrainJob, and the controller copies none of them to the JobSet
(kubeflow/trainer pkg/runtime/core/trainingruntime.go builds its metadata from template and patches alone).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from trainc.diagnostics import Finding
from trainc.emit.shaping.shape import Manifest, Shape, Shaped, on_jobset
from trainc.ir.carried_metadata import carried
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def move_metadata(job: TrainJob, info: Info, manifests: list[Manifest]) -> Shaped:
    """The TrainJob's metadata wins over the runtime's template; what its own patches say of the JobSet stays."""
    findings: list[Finding] = []
    for field, own in (("labels", job.labels), ("annotations", job.annotations)):
        if not own:
            continue
        kept = _patched(job, field)
        moved = {key: value for key, value in carried(own).items() if key not in kept}
        before: Mapping[str, str] = info.labels if field == "labels" else info.annotations
        findings.extend(_overridden(field, moved, before))
        if moved:
            manifests = on_jobset(manifests, partial(_with_metadata, field, moved))
    return manifests, findings


def _patched(job: TrainJob, field: str) -> set[str]:
    """Keys that the TrainJob itself has set on the JobSet, in its spec or in a patch."""
    if field == "labels":
        return {*job.spec_labels, *(key for patch in job.patches for key in patch.labels)}
    return {*job.spec_annotations, *(key for patch in job.patches for key in patch.annotations)}


def _with_metadata(field: str, values: Mapping[str, str], jobset: Manifest) -> Manifest:
    metadata = jobset["metadata"]
    return {**jobset, "metadata": {**metadata, field: {**metadata.get(field, {}), **values}}}


def _overridden(field: str, moved: Mapping[str, str], before: Mapping[str, str]) -> Iterator[Finding]:
    for key, value in moved.items():
        if before.get(key, value) != value:
            yield Finding(
                "LabelOverridden",
                "info",
                f"{value!r} takes the place of {before[key]!r}, which the runtime's template gives the JobSet",
                "drop one of the two, if they were not meant to differ",
                ("metadata", field, key),
            )


METADATA = Shape("metadata-moves-to-jobset", move_metadata)
