"""What Kueue's own webhook refuses of a JobSet that it queues, beside what JobSet's refuses.

Source: kubernetes-sigs/kueue pkg/controller/jobframework/validation.go (ValidateJobOnUpdate).
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.api.names import QUEUE_LABEL
from trainc.diagnostics import Finding
from trainc.diff.normal import Manifest

_PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
_TIME_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"


def kueue_refusals(stored: Manifest, jobset: Manifest) -> Iterator[Finding]:
    """Why Kueue would refuse `jobset` in the place of `stored`; nothing where neither names a queue."""
    before, after = _labels(stored), _labels(jobset)
    if QUEUE_LABEL not in {*before, *after}:
        return
    was_suspended, is_suspended = _suspended(stored), _suspended(jobset)
    if not is_suspended and before.get(QUEUE_LABEL) != after.get(QUEUE_LABEL):
        yield _immutable(QUEUE_LABEL, "Kueue moves a job to another queue only while it is suspended")
    if not (was_suspended and is_suspended) and before.get(_TIME_LABEL) != after.get(_TIME_LABEL):
        yield _immutable(_TIME_LABEL, "Kueue takes another time limit only while the job is suspended")
    if _PRIORITY_LABEL in after and _PRIORITY_LABEL not in before and not is_suspended:
        yield _immutable(_PRIORITY_LABEL, "Kueue gives a job its first priority class only while it is suspended")
    if _PRIORITY_LABEL in before and _PRIORITY_LABEL not in after:
        yield _immutable(_PRIORITY_LABEL, "Kueue never takes a priority class away")


def _immutable(label: str, message: str) -> Finding:
    return Finding("FieldImmutable", "error", message, "", ("metadata", "labels", label))


def _labels(jobset: Manifest) -> dict[str, str]:
    labels: dict[str, str] = jobset["metadata"].get("labels") or {}
    return labels


def _suspended(jobset: Manifest) -> bool:
    return jobset.get("spec", {}).get("suspend") is True
