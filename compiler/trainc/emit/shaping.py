"""What `gitops` changes of the objects that the plugins build: settings that only the TrainJob has, delivery, order.

The TrainJob is not in the cluster itself, so what only the TrainJob has is moved to the objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from trainc.findings import Finding, remove
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob, carried
from trainc.kube import names
from trainc.kube.documents import Manifest
from trainc.kube.sync_options import SyncOption, sync_options_of
from trainc.options import Options
from trainc.reading.document import label_of
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, replace

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
            message = f"the TrainJob's {value!r} replaces {before[key]!r} from the runtime's template"
            hint = "remove one of the two, unless the TrainJob should override the runtime"
            yield Finding("LabelOverridden", "info", message, hint, ("metadata", field, key))


def _left_behind(field: str, own: Mapping[str, str], before: Mapping[str, str], kept: set[str]) -> Iterator[Finding]:
    for key in sorted(kept & own.keys()):
        if before.get(key, own[key]) != own[key]:
            message = f"the JobSet gets {before[key]!r}, which the TrainJob's spec sets, instead of this {own[key]!r}"
            yield Finding("LabelOverridden", "info", message, "remove one of the two", ("metadata", field, key))


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
    message = f"the deadline now applies to the Job {trainer!r}: initializers do not count, and a restart resets it"
    hint = "allow for the difference, or set activeDeadlineSeconds in the runtime's Job templates instead"
    return Finding("DeadlineMoved", "info", message, hint, _PATH)


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


# Delivery: the annotations with which a GitOps tool applies a job's objects safely and in order.


__all__ = ["deliver"]


def deliver(manifests: Sequence[Manifest], options: Options) -> tuple[list[Manifest], list[Finding]]:
    """Return a job's objects with the annotations of the delivery tool, and findings about them.

    Annotations that the user has set are kept. kubectl needs none, because it applies objects in the given order.
    """
    if options.delivery == "argocd":
        return for_argocd(manifests, options.sync_options), []
    if options.delivery == "flux":
        delivered = for_flux(manifests, options.sync_options)
        return delivered, list(substitution_findings(delivered))
    return list(manifests), []


# Annotations of a whole object, added without changing those of the user.


def annotations_of(manifest: Manifest) -> Mapping[str, str]:
    """Return the object's annotations, or an empty mapping."""
    found: Mapping[str, str] = manifest["metadata"].get("annotations") or {}
    return found


def with_annotations(manifest: Manifest, added: Mapping[str, str]) -> Manifest:
    """Return the object with annotations added. Existing ones are not changed."""
    if not added:
        return manifest
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": {**added, **annotations_of(manifest)}}}


# Argo CD: sync waves, so that the PodGroup and everything that pods mount exist first, and the chosen sync options.
#
# Inside a wave Argo CD orders objects by kind, but does not distinguish custom kinds: a PodGroup and a JobSet with the
# same name would have no order. A wave starts when the previous one is healthy (argo-cd docs/user-guide/sync-waves.md).


_WAVE = "argocd.argoproj.io/sync-wave"
_OPTIONS = "argocd.argoproj.io/sync-options"
_HOOK = "argocd.argoproj.io/hook"
# Relative to the JobSet's wave, which is 0 unless the TrainJob sets another one.
_WAVES = {
    "SSHKey": -3,
    "ExternalSecret": -2,
    "SealedSecret": -2,
    "ConfigMap": -2,
    "Workload": -2,
    "PodGroup": -1,
    "JobSet": 0,
}
_HOOK_WAVE = -5


def for_argocd(manifests: Sequence[Manifest], chosen: Sequence[str]) -> list[Manifest]:
    """Return the objects with waves and sync options."""
    base = next((_wave(m) for m in manifests if m["kind"] == "JobSet"), 0)
    options = [option for option in sync_options_of("argocd") if option.name in chosen] if chosen else []
    return [_in_waves(manifest, base, options) for manifest in manifests]


def _wave(jobset: Manifest) -> int:
    try:
        return int(annotations_of(jobset).get(_WAVE, "0"))
    except ValueError:
        return 0


def _in_waves(manifest: Manifest, base: int, options: Sequence[SyncOption]) -> Manifest:
    if _HOOK in annotations_of(manifest) and manifest["kind"] != "JobSet":
        return with_annotations(manifest, {_WAVE: str(base + _HOOK_WAVE)})
    waved = with_annotations(manifest, {_WAVE: str(base + _WAVES.get(manifest["kind"], 0))})
    if manifest["kind"] == "JobSet" and names.QUEUE_LABEL in manifest["metadata"].get("labels", {}):
        # Kueue adds selectors and tolerations to the pods: a client-side apply would send the list without them, which
        # JobSet refuses.
        waved = _with_option(waved, _OPTIONS, "ServerSideApply=true")
    for option in options:
        if option.scope == "all" or manifest["kind"] == "JobSet":
            waved = _with_option(waved, option.annotation, option.value)
    return waved


def _with_option(manifest: Manifest, key: str, value: str) -> Manifest:
    """Return the object with an option added to the annotation that lists all options; the user's value is kept."""
    written = [text.strip() for text in annotations_of(manifest).get(key, "").split(",") if text.strip()]
    if value.partition("=")[0] in {text.partition("=")[0] for text in written}:
        return manifest
    metadata = manifest["metadata"]
    joined = {**annotations_of(manifest), key: ",".join([*written, value])}
    return {**manifest, "metadata": {**metadata, "annotations": joined}}


# Flux CD: it has no waves, but jobs need protection from variable substitution and forced re-creation.
#
# Flux applies a Kustomization's objects together, in its own order of kinds, and orders whole Kustomizations by
# `dependsOn` (fluxcd/kustomize-controller docs/spec/v1/kustomizations.md).


def for_flux(manifests: Sequence[Manifest], chosen: Sequence[str]) -> list[Manifest]:
    """Return the objects with the chosen options; those that contain `${VAR}` are exempted from substitution."""
    return [_exempt(manifest, chosen) for manifest in manifests]


def _exempt(manifest: Manifest, chosen: Sequence[str]) -> Manifest:
    added = {
        option.annotation: option.value
        for option in sync_options_of("flux")
        if option.name in chosen and (option.scope == "all" or manifest["kind"] == "JobSet")
    }
    if variables_of(manifest):
        added[SUBSTITUTE] = "disabled"
    return with_annotations(manifest, added)


# Flux's variable substitution: if a Kustomization substitutes anything, each unknown `${VAR}` becomes "". Training
# commands often contain such variables.


SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
# `$${VAR}` is already escaped. The name ends before a default or another operation.
_VARIABLE = pattern(r"(?<!\$)\$\{(\w+)")


def variables_of(manifest: Manifest) -> list[str]:
    """Return the names of the variables that substitution would replace, in order of occurrence."""
    return list(dict.fromkeys(name for text in _texts(manifest) for name in _VARIABLE.findall(text)))


def substitution_findings(manifests: Sequence[Manifest]) -> Iterator[Finding]:
    """Yield findings about the variables in each object: that it is exempted, or that the user's annotation is not."""
    for manifest in manifests:
        names = variables_of(manifest)
        if names:
            setting = annotations_of(manifest).get(SUBSTITUTE)
            yield replace(_finding(names, setting), about=label_of(manifest))


def _finding(names: Sequence[str], setting: str | None) -> Finding:
    from trainc.findings.text import first_of

    shown = first_of([f"${{{name}}}" for name in names], 3)
    path = ("metadata", "annotations", SUBSTITUTE)
    if setting == "disabled":
        message = f"Flux would replace {shown}, so the object is marked to be exempt from substitution"
        hint = "no action needed; if you want substitution, render the value with an overlay"
        return Finding("FluxSubstitution", "info", message, hint=hint, path=path)
    message = f"Flux replaces {shown} if its Kustomization has any postBuild substitution, with an empty string if the variable is not set"
    hint = f"remove the annotation {SUBSTITUTE}: {setting}, or write $${{...}} for variables of the pod's shell"
    return Finding("FluxSubstitution", "warning", message, hint=hint, path=path)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


# The order in which objects are applied: providers of Secrets, objects that pods mount, PodGroups, and the JobSet.


_KINDS = (
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "Job",
    "SSHKey",
    "SealedSecret",
    "ExternalSecret",
    "ConfigMap",
    "Workload",
    "PodGroup",
    "JobSet",
)
_RANK = {kind: rank for rank, kind in enumerate(_KINDS)}


def in_apply_order(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Return the objects sorted by kind, in the order of application, then by API group and name."""
    return sorted(manifests, key=lambda m: (_RANK.get(m["kind"], len(_KINDS)), m["apiVersion"], m["metadata"]["name"]))
