"""Notes on consequences that no single field or outcome shows, as full sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.api.documents import Manifest
from trainc.api.field_path import format_field
from trainc.diff.changes import Change
from trainc.diff.claims import claims_that_go, lasting_claims
from trainc.diff.delivery import ARGOCD_REPLACE, KUBECTL, DeliveryMethod
from trainc.diff.gangs import is_size
from trainc.diff.model import JobDiff, ObjectDiff
from trainc.diff.objects import JobPairs
from trainc.diff.rules import ClusterRules
from trainc.startup.records import replace

_REFUSED = ("needs-suspend", "immutable", "invalid")
_ENDED = ("deleted", "re-created", "lost")


def add_notes(job: JobDiff, group: JobPairs, deliveries: Sequence[DeliveryMethod]) -> JobDiff:
    """`job` with the notes that apply to these delivery methods, most urgent first."""
    notes = [
        *_lost_job(job, group, deliveries),
        *_data(job, group, deliveries),
        *_gang_apart_from_pods(job, deliveries),
        *_suspended(job),
        *_time_to_live(job),
        *_left_running(job, deliveries),
        *_live_gang(job, deliveries),
        *_mounted_files(job),
        *_order(job, deliveries),
        *_queue(job, deliveries),
    ]
    return replace(job, notes=tuple(notes))


def overall_notes(
    groups: Sequence[JobPairs], jobs: Sequence[JobDiff], rules: ClusterRules, deliveries: Sequence[DeliveryMethod]
) -> tuple[str, ...]:
    """Notes on unchanged jobs, which an unrelated sync may affect too."""
    if all(job.status == "unchanged" for job in jobs):
        return ()
    notes = []
    same = [g for g, job in zip(groups, jobs, strict=True) if g.jobset and g.jobset.after and not job.objects]
    if same and ARGOCD_REPLACE in deliveries:
        notes.append(
            f"{ARGOCD_REPLACE.label} also re-creates {_jobs(len(same))} without changes in the same sync, unless the "
            "Application sets ApplyOutOfSyncOnly=true or contains only the changed job."
        )
    held = [g.name for g in same if _lasting(g)]
    if held and ARGOCD_REPLACE in deliveries:
        notes.append(
            f"Of these, {_some(held)} cannot come back: claims with whenDeleted: Retain stay, and JobSet refuses a new "
            "job of that name while they are there."
        )
    bare = [g.name for g in same if g.jobset and g.jobset.after and rules.leaves_out_defaults(g.jobset.after)]
    if bare and any(method.apply == "client" for method in deliveries):
        notes.append(
            f"{_jobs(len(bare))} without changes ({_some(bare)}) leave out fields that JobSet's webhook fills in on "
            "creation, so a client-side apply would remove them and be refused. Write the defaults into the manifests."
        )
    return tuple(notes)


def _lost_job(job: JobDiff, group: JobPairs, deliveries: Sequence[DeliveryMethod]) -> Iterator[str]:
    if "lost" not in (job.outcomes[method.id] for method in deliveries):
        return
    claims = _lasting(group)
    if claims:
        stays, them = ("stays", "it") if len(claims) == 1 else ("stay", "them")
        yield (
            f"The {_claims(claims)} {stays} when the old JobSet is deleted (whenDeleted: Retain). JobSet then refuses the "
            f"new one, in this sync and every later one, until someone deletes {them}. Compile with --name-hash, which "
            "gives each version its own claims."
        )
    else:
        yield (
            "The new JobSet is invalid. A tool that deletes before it creates, such as Flux with force, ends the "
            "training and cannot start the new one."
        )


def _lasting(group: JobPairs) -> list[str]:
    pair = group.jobset
    if pair is None or pair.before is None or pair.after is None or pair.is_renamed:
        return []
    return lasting_claims(pair.before, pair.after)


def _data(job: JobDiff, group: JobPairs, deliveries: Sequence[DeliveryMethod]) -> Iterator[str]:
    """Data that is deleted with the old JobSet: the claims it owns, and volumes with the lifetime of a pod."""
    old = group.jobset.before if group.jobset else None
    if old is None or not any(job.outcomes[method.id] in _ENDED for method in deliveries):
        return
    claims = claims_that_go(old)
    if claims:
        yield (
            f"Data is lost with the old job: it owns the {_claims(claims)}, and the cluster deletes what it owns "
            "(whenDeleted: Delete). Copy the data first, or set whenDeleted: Retain before the "
            "job is created."
        )
        if "re-created" in (job.outcomes[method.id] for method in deliveries) and not _is_renamed(group):
            yield (
                "A claim goes only when the last pod that uses it has ended: until then JobSet refuses the new job, and a "
                "later sync creates it."
            )
    volumes = _ephemeral_volumes(old)
    if volumes:
        yield f"Data is lost with the old pods: that of the ephemeral {'volume' if len(volumes) == 1 else 'volumes'} {_some(volumes)}."


def _is_renamed(group: JobPairs) -> bool:
    return group.jobset is not None and group.jobset.is_renamed


def _claims(names: Sequence[str]) -> str:
    return f"claim {names[0]}" if len(names) == 1 else f"claims {_some(names)}"


def _ephemeral_volumes(jobset: Manifest) -> list[str]:
    """Volumes whose claims are owned by a pod. An emptyDir is not listed: its users expect it to be scratch space."""
    pods = (
        replicated["template"]["spec"]["template"]["spec"]
        for replicated in jobset.get("spec", {}).get("replicatedJobs") or ()
    )
    found = (volume["name"] for pod in pods for volume in pod.get("volumes") or () if "ephemeral" in volume)
    return list(dict.fromkeys(found))


def _gang_apart_from_pods(job: JobDiff, deliveries: Sequence[DeliveryMethod]) -> Iterator[str]:
    """The PodGroup is updated but the JobSet is not."""
    jobset = _object(job, "JobSet")
    piecemeal = [method for method in deliveries if method.tool in ("kubectl", "argocd")]
    sizes = [(c.before, c.after) for d, c in _changes(job, "PodGroup") if is_size(c.path) and _is_updated(d, piecemeal)]
    if jobset is None or not any(jobset.verdicts[method.id].outcome in _REFUSED for method in piecemeal):
        return
    for before, after in sizes:
        if isinstance(before, int) and isinstance(after, int):
            waits = "a restarted pod waits for pods that never exist"
            fate = waits if after > before else "a restart no longer waits for all pods"
            yield (
                f"kubectl and Argo CD update the PodGroup before the JobSet is refused: the gang then requires {after} "
                f"pods instead of {before}, and {fate}. Flux validates all objects first and applies none."
            )


def _suspended(job: JobDiff) -> Iterator[str]:
    for _, change in _changes(job, "JobSet"):
        if change.path == ("spec", "suspend") and change.after is True:
            yield "Suspending the job deletes its running pods; when it is resumed, training continues from its last checkpoint."


def _time_to_live(job: JobDiff) -> Iterator[str]:
    for _, change in _changes(job, "JobSet"):
        if change.path == ("spec", "ttlSecondsAfterFinished") and change.after is not None:
            yield (
                f"The JobSet is deleted {change.after} s after it ends. A GitOps tool then finds it missing and creates "
                "it again, and training runs a second time."
            )


def _left_running(job: JobDiff, deliveries: Sequence[DeliveryMethod]) -> Iterator[str]:
    jobset = _object(job, "JobSet")
    if jobset and jobset.status == "removed" and KUBECTL in deliveries:
        yield "kubectl apply deletes nothing: the job keeps running until you delete it."
    if jobset and jobset.renamed:
        old, new = jobset.renamed
        yield (
            f"{new} starts while {old} is still running; the tool deletes {old} when it prunes, and {KUBECTL.label} never does. Until then "
            "both need GPUs."
        )


def _live_gang(job: JobDiff, deliveries: Sequence[DeliveryMethod]) -> Iterator[str]:
    if any(c.path[0] == "spec" and _is_updated(d, deliveries) for d, c in _changes(job, "PodGroup")):
        yield (
            "A changed PodGroup takes effect at once: running pods keep running, and pods that are scheduled from now "
            "on, such as after a restart, follow the new values."
        )


def _mounted_files(job: JobDiff) -> Iterator[str]:
    changed = sorted({diff.key.name for diff, change in _changes(job, "ConfigMap") if change.path[0] != "metadata"})
    if changed:
        yield (
            f"Running pods see the new contents of {_some(changed)} within about a minute if it is mounted as a folder, "
            "otherwise after a restart. A process that has already read the file does not read it again."
        )


def _order(job: JobDiff, deliveries: Sequence[DeliveryMethod]) -> Iterator[str]:
    for diff in job.objects:
        for move in diff.moves:
            refused = not diff.changes and any(diff.verdicts[m.id].outcome in _REFUSED for m in deliveries)
            tail = (
                ". That changes nothing, but JobSet compares lists in order and refuses the update." if refused else "."
            )
            yield f"the items of {format_field(move.path)} are in a different order{tail}"


def _queue(job: JobDiff, deliveries: Sequence[DeliveryMethod]) -> Iterator[str]:
    jobset = _object(job, "JobSet")
    met = (refusal for method in deliveries for refusal in (jobset.verdicts[method.id].refusals if jobset else ()))
    for refusal in dict.fromkeys(met):
        if refusal.code == "WebhookDefaultMissing":
            yield (
                "The new manifest leaves out fields that JobSet's webhook fills in on creation, and an apply that sends whole "
                "lists removes them: write the defaults into the manifest."
            )
            return
        if refusal.message.startswith("Kueue"):
            yield f"{refusal.message} ({format_field(refusal.path)})."


def _is_updated(diff: ObjectDiff, deliveries: Sequence[DeliveryMethod]) -> bool:
    """Whether the object is updated in place and the update is not refused."""
    return any(diff.verdicts[method.id].outcome == "in-place" for method in deliveries)


def _changes(job: JobDiff, kind: str) -> Iterator[tuple[ObjectDiff, Change]]:
    for diff in job.objects:
        if diff.key.kind == kind:
            yield from ((diff, change) for change in diff.changes)


def _object(job: JobDiff, kind: str) -> ObjectDiff | None:
    return next((diff for diff in job.objects if diff.key.kind == kind), None)


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"


def _some(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
