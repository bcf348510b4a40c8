"""What a change means beside the objects: looser settings, policies that deny, queues that cannot admit, cost of sweeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.api.findings import counted, first_of, has_errors
from trainc.api.kube import Manifest
from trainc.api.records import replace
from trainc.api.settings import describe_loosening
from trainc.features import ask
from trainc.features.gitops.diff.manifests import JobKey, ManifestSet
from trainc.features.gitops.diff.model import Review
from trainc.features.gitops.diff.sides import ReadSide

_SWEEP_CODES = ("SweepSize", "OverBudget")


def review_of(before: ReadSide, after: ReadSide) -> Review:
    """Everything there is to say about two sides that were read."""
    errors = [
        (side.label, [d for d in side.manifest_set.errors if d.code not in _SWEEP_CODES]) for side in (before, after)
    ]
    return Review(
        tuple((label, tuple(diagnostics)) for label, diagnostics in errors if diagnostics),
        tuple(describe_loosening(before.configuration, after.configuration)),
        tuple(_policies(before, after)),
        tuple(_cluster(before, after)),
        tuple(_sweeps(before, after)),
    )


def _policies(before: ReadSide, after: ReadSide) -> Iterator[str]:
    """Which jobs the policies of each side deny, by message."""
    for side in (before, after):
        if has_errors(side.policy_problems):
            reason = next(d.message for d in side.policy_problems if d.severity == "error")
            yield f"The policies of {side.label} cannot be evaluated: {reason}."
            return
    was, now = _denials(before), _denials(after)
    denials_by_status = {
        "denied": [(message, sorted(jobs - was.get(message, set()))) for message, jobs in now.items()],
        "no longer denied": [(message, sorted(jobs - now.get(message, set()))) for message, jobs in was.items()],
        "denied as before": [(message, sorted(jobs & was.get(message, set()))) for message, jobs in now.items()],
    }
    for status, denials in denials_by_status.items():
        for message, jobs in denials:
            if jobs:
                names = first_of(["/".join(filter(None, job)) for job in jobs])
                verb = "is" if len(jobs) == 1 else "are"
                yield f"{counted(len(jobs), 'job')} {verb} {status}: {message} ({names})."


def _denials(side: ReadSide) -> dict[str, set[JobKey]]:
    """The jobs that each denial is about, by its message, under the severities that the user has configured."""
    denied: dict[str, set[JobKey]] = {}
    session, sources = side.manifest_set.session, side.manifest_set.trainjobs
    if side.judge is None or session is None:
        return denied
    for key, manifests in side.manifest_set.by_job.items():
        if key in sources:
            findings = [replace(finding, about=label) for label, finding in side.judge(manifests)]
            for diagnostic in session.rules(map(sources[key].diagnose_built, findings), False):
                if diagnostic.severity == "error":
                    denied.setdefault(diagnostic.message, set()).add(key)
    return denied


def _cluster(before: ReadSide, after: ReadSide) -> Sequence[str]:
    """Changes in admission by the cluster of trainc.yaml; a side without a cluster uses that of the other."""
    snapshot = after.cluster if after.cluster is not None else before.cluster
    changes = None if snapshot is None else ask("fits", "changes")
    if changes is None:
        return []
    was = snapshot if before.cluster is None else before.cluster
    old, new = _jobsets_by_job(before.manifest_set), _jobsets_by_job(after.manifest_set)
    if was == snapshot:  # Each job is judged alone, so only those that differ can have another answer.
        old_manifests = dict(old)
        new = [(job, manifest) for job, manifest in new if old_manifests.get(job) != manifest]
        differing = {job for job, _ in new}
        old = [(job, manifest) for job, manifest in old if job in differing]
    sentences: Sequence[str] = changes((old, was), (new, snapshot)) if new or was != snapshot else []
    return sentences


def _jobsets_by_job(manifest_set: ManifestSet) -> list[tuple[str, Manifest]]:
    """The JobSets of a side, each with the namespace and name of its TrainJob as far as known."""
    jobsets = []
    for manifest in manifest_set.manifests:
        if manifest["kind"] == "JobSet":
            key = str(manifest["metadata"].get("namespace") or ""), manifest["metadata"]["name"]
            jobsets.append(("/".join(filter(None, (key[0], manifest_set.names.get(key, key[1])))), manifest))
    return jobsets


def _sweeps(before: ReadSide, after: ReadSide) -> Iterator[str]:
    """The size and cost of sweeps that are new or have changed."""
    was = {(d.source and d.source.file, d.message) for d in before.manifest_set.diagnostics if d.code in _SWEEP_CODES}
    for diagnostic in after.manifest_set.diagnostics:
        file = diagnostic.source and diagnostic.source.file
        if diagnostic.code in _SWEEP_CODES and (file, diagnostic.message) not in was:
            over = " This is over its budget." if diagnostic.code == "OverBudget" else ""
            yield f"{file or 'sweep'}: {diagnostic.message}.{over}"
