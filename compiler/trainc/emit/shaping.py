"""GitOps shaping: moves settings that only the TrainJob has to the objects, because it is not in the cluster itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from trainc.findings import Finding, remove
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob, carried
from trainc.kube import names
from trainc.kube.documents import Manifest
from trainc.startup.records import dataclass

Shaped: TypeAlias = tuple[list[Manifest], list[Finding]]


@dataclass(frozen=True, slots=True)
class Shape:
    """A deviation that changes objects, by its id in `ir.deviations`. `apply` returns new objects."""

    id: str
    apply: Callable[[TrainJob, Info, list[Manifest]], Shaped]


def on_jobset(manifests: list[Manifest], change: Callable[[Manifest], Manifest]) -> list[Manifest]:
    """Return the objects with `change` applied to the JobSet."""
    return [change(manifest) if manifest["kind"] == "JobSet" else manifest for manifest in manifests]


def with_spec(jobset: Manifest, **fields: Any) -> Manifest:
    """Return the JobSet with fields of its spec set."""
    return {**jobset, "spec": {**jobset["spec"], **fields}}


# The TrainJob's labels and annotations, such as Kueue's queue, are moved to the JobSet.
#
# In a cluster Kueue reads them from the TrainJob, and the controller does not copy them to the JobSet: kubeflow/trainer
# pkg/runtime/core/trainingruntime.go builds the JobSet's metadata only from the template and patches.


def move_metadata(job: TrainJob, info: Info, manifests: list[Manifest]) -> Shaped:
    """Move the TrainJob's metadata, which overrides the runtime's template but not the TrainJob's own patches."""
    findings: list[Finding] = []
    for field, own in (("labels", job.labels), ("annotations", job.annotations)):
        if not own:
            continue
        kept = _patched_keys(job, field)
        moved = {key: value for key, value in carried(own).items() if key not in kept}
        before: Mapping[str, str] = info.labels if field == "labels" else info.annotations
        findings.extend(_overridden(field, moved, before))
        findings.extend(_left_behind(field, carried(own), before, kept))
        if moved:
            manifests = on_jobset(manifests, partial(_with_metadata, field, moved))
    return manifests, findings


def _patched_keys(job: TrainJob, field: str) -> set[str]:
    """Return the keys that the TrainJob itself sets on the JobSet, in its spec or in a patch."""
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
                f"the TrainJob's {value!r} replaces {before[key]!r} from the runtime's template",
                hint="remove one of the two, unless the TrainJob should override the runtime",
                path=("metadata", field, key),
            )


def _left_behind(field: str, own: Mapping[str, str], before: Mapping[str, str], kept: set[str]) -> Iterator[Finding]:
    for key in sorted(kept & own.keys()):
        if before.get(key, own[key]) != own[key]:
            yield Finding(
                "LabelOverridden",
                "info",
                f"the JobSet gets {before[key]!r}, which the TrainJob's spec sets, instead of this {own[key]!r}",
                hint="remove one of the two",
                path=("metadata", field, key),
            )


METADATA = Shape("metadata-moves-to-jobset", move_metadata)


# `managedBy` for MultiKueue is moved to the JobSet, which is the object that MultiKueue dispatches to another cluster.


def move_managed_by(job: TrainJob, info: Info, manifests: list[Manifest]) -> Shaped:
    """Move `managedBy` if it is MultiKueue's. Trainer's own controller is not a valid value for a JobSet."""
    if job.managed_by != names.MULTIKUEUE_MANAGED_BY:
        return manifests, []
    return on_jobset(manifests, lambda jobset: with_spec(jobset, managedBy=job.managed_by)), []


MANAGED_BY = Shape("managed-by-moves-to-jobset", move_managed_by)


# `activeDeadlineSeconds` is moved to the trainer's Job, because Trainer's controller, which enforces it, does not run.
#
# Source: kubeflow/trainer pkg/controller/trainjob_controller.go v2.3.0 (the TrainJob's deadline).


_PATH = ("spec", "activeDeadlineSeconds")


def move_deadline(job: TrainJob, info: Info, manifests: list[Manifest]) -> Shaped:
    """Set the deadline on the trainer's Job, in place of the template's."""
    seconds = job.active_deadline_seconds
    if not seconds:
        return manifests, []
    if info.trainer is None:
        return manifests, [_DROPPED]
    name = info.trainer.name
    return on_jobset(manifests, lambda jobset: _with_deadline(jobset, name, seconds)), [_moved(name)]


def _with_deadline(jobset: Manifest, trainer: str, seconds: int) -> Manifest:
    jobs = [_limited(j, seconds) if j["name"] == trainer else j for j in jobset["spec"]["replicatedJobs"]]
    return with_spec(jobset, replicatedJobs=jobs)


def _limited(replicated_job: Manifest, seconds: int) -> Manifest:
    template = replicated_job["template"]
    spec = {**template["spec"], "activeDeadlineSeconds": seconds}
    return {**replicated_job, "template": {**template, "spec": spec}}


def _moved(trainer: str) -> Finding:
    return Finding(
        "DeadlineMoved",
        "info",
        f"the deadline now applies to the Job {trainer!r}: initializers do not count, and a restart resets it",
        hint="allow for the difference, or set activeDeadlineSeconds in the runtime's Job templates instead",
        path=_PATH,
    )


_DROPPED = Finding(
    "DeadlineDropped",
    "warning",
    "no job is the trainer, so the deadline is lost",
    hint="add the ancestor label to the job that trains, or set activeDeadlineSeconds in the runtime's Job template",
    path=_PATH,
)

DEADLINE = Shape("deadline-moves-to-trainer", move_deadline)


# `suspend` is removed if there is a Kueue queue label: Kueue sets the field itself, and git would reset it.


def leave_suspend_to_kueue(job: TrainJob, info: Info, manifests: list[Manifest]) -> Shaped:
    """Remove `suspend` from a queued JobSet, and report it if the TrainJob sets the field."""
    queued = any(names.QUEUE_LABEL in _labels(m) for m in manifests if m["kind"] == "JobSet")
    if not queued:
        return manifests, []
    return on_jobset(manifests, _without_suspend), [_FIGHTS_KUEUE] if job.suspend else []


def _labels(manifest: Manifest) -> dict[str, str]:
    labels: dict[str, str] = manifest["metadata"].get("labels", {})
    return labels


def _without_suspend(jobset: Manifest) -> Manifest:
    return {**jobset, "spec": {key: value for key, value in jobset["spec"].items() if key != "suspend"}}


_FIGHTS_KUEUE = Finding(
    "SuspendFightsKueue",
    "warning",
    f"suspend is not in the output: with the label {names.QUEUE_LABEL}, Kueue suspends and resumes the job",
    hint=remove(
        "remove suspend; to hold the job back, stop the queue (spec.stopPolicy of the LocalQueue) or remove the label"
    ),
    path=("spec", "suspend"),
)

SUSPEND = Shape("no-suspend-beside-queue", leave_suspend_to_kueue)


# METADATA must come before SUSPEND, which depends on the queue label.
SHAPES: tuple[Shape, ...] = (METADATA, MANAGED_BY, DEADLINE, SUSPEND)
