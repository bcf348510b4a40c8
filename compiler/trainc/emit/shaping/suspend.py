"""No `suspend` beside a Kueue queue label: Kueue sets the field itself, and git would set it back."""

from __future__ import annotations

from trainc.api import names
from trainc.diagnostics import Finding
from trainc.emit.shaping.shape import Manifest, Shape, Shaped, on_jobset
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def leave_suspend_to_kueue(job: TrainJob, info: Info, manifests: list[Manifest]) -> Shaped:
    """A TrainJob that asks to be suspended is told that the queue decides."""
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
    f"suspend is left out: with the label {names.QUEUE_LABEL} Kueue suspends and resumes the job",
    "drop suspend; to hold the job back, stop the queue (spec.stopPolicy of the LocalQueue) or drop the label",
    ("spec", "suspend"),
)

SUSPEND = Shape("no-suspend-beside-queue", leave_suspend_to_kueue)
