"""What `gitops` changes of the objects that the plugins build: settings that only the TrainJob has, delivery, order.

The TrainJob is not in the cluster itself, so what only the TrainJob has is moved to the objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from trainc.findings import Finding, Severity, remove
from trainc.findings.text import first_of
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob, jobset_metadata
from trainc.kube import names
from trainc.kube.documents import Manifest, walk, with_value
from trainc.kube.sync_options import SyncOption, sync_options_of
from trainc.options import Options
from trainc.reading.document import label_of
from trainc.startup.patterns import pattern
from trainc.startup.typing import TypeAlias

Shaped: TypeAlias = tuple[Manifest, list[Finding]]
# Returns a changed JobSet, or the same one, and findings.
Shape: TypeAlias = Callable[[TrainJob, Info, Manifest], Shaped]


def move_metadata(job: TrainJob, info: Info, jobset: Manifest) -> Shaped:
    """Move the TrainJob's metadata, which overrides the runtime's template but not the TrainJob's own patches.

    In a cluster Kueue reads its queue from the TrainJob, whose labels the controller does not copy to the JobSet:
    kubeflow/trainer pkg/runtime/core/trainingruntime.go builds its metadata only from the template and patches.
    """
    findings: list[Finding] = []
    for field, before in (("labels", info.labels), ("annotations", info.annotations)):
        if not getattr(job, field):
            continue
        copied, patched = jobset_metadata(getattr(job, field)), patched_keys(job, field)
        moved = {key: value for key, value in copied.items() if key not in patched}
        for key, value in moved.items():
            if before.get(key, value) != value:
                message = f"the TrainJob's {value!r} replaces {before[key]!r} from the runtime's template"
                hint = "remove one of the two, unless the TrainJob should override the runtime"
                findings.append(Finding("LabelOverridden", "info", message, hint, ("metadata", field, key)))
        for key in sorted(patched & copied.keys()):
            if before.get(key, copied[key]) != copied[key]:
                sets = f"{before[key]!r}, which the TrainJob's spec sets, instead of this {copied[key]!r}"
                hint, path = "remove one of the two", ("metadata", field, key)
                findings.append(Finding("LabelOverridden", "info", f"the JobSet gets {sets}", hint, path))
        if moved:
            jobset = with_value(jobset, ("metadata", field), {**jobset["metadata"].get(field, {}), **moved})
    return jobset, findings


def patched_keys(job: TrainJob, field: str) -> set[str]:
    """Return the keys of `labels` or `annotations` that the TrainJob's spec and its patches set for the JobSet."""
    return {*getattr(job, f"spec_{field}"), *(key for patch in job.patches for key in getattr(patch, field))}


def move_managed_by(job: TrainJob, info: Info, jobset: Manifest) -> Shaped:
    """Move `managedBy` if it is MultiKueue's, which dispatches JobSets. Trainer's own controller is no value there."""
    if job.managed_by != names.MULTIKUEUE_MANAGED_BY:
        return jobset, []
    return with_value(jobset, ("spec", "managedBy"), job.managed_by), []


def move_deadline(job: TrainJob, info: Info, jobset: Manifest) -> Shaped:
    """Set the deadline on the trainer's Job, in place of the template's.

    Trainer's controller, which enforces it, does not run. Source: kubeflow/trainer
    pkg/controller/trainjob_controller.go v2.3.0 (the TrainJob's deadline).
    """
    seconds, path = job.active_deadline_seconds, ("spec", "activeDeadlineSeconds")
    if not seconds:
        return jobset, []
    if info.trainer is None:
        message = "no job is the trainer, so the deadline is lost"
        hint = (
            "add the ancestor label to the job that trains, or set activeDeadlineSeconds in the runtime's Job template"
        )
        return jobset, [Finding("DeadlineDropped", "warning", message, hint, path)]
    name = info.trainer.name
    jobs = [
        with_value(replicated_job, ("template", *path), seconds) if replicated_job["name"] == name else replicated_job
        for replicated_job in jobset["spec"]["replicatedJobs"]
    ]
    message = f"the deadline now applies to the Job {name!r}: initializers do not count, and a restart resets it"
    hint = "allow for the difference, or set activeDeadlineSeconds in the runtime's Job templates instead"
    finding = Finding("DeadlineMoved", "info", message, hint, path)
    return with_value(jobset, ("spec", "replicatedJobs"), jobs), [finding]


def leave_suspend_to_kueue(job: TrainJob, info: Info, jobset: Manifest) -> Shaped:
    """Remove `suspend` from a queued JobSet, which Kueue sets itself, and report it if the TrainJob sets the field."""
    if names.QUEUE_LABEL not in jobset["metadata"].get("labels", {}):
        return jobset, []
    spec = {key: value for key, value in jobset["spec"].items() if key != "suspend"}
    return {**jobset, "spec": spec}, [_FIGHTS_KUEUE] if job.suspend else []


_FIGHTS_KUEUE = Finding(
    "SuspendFightsKueue",
    "warning",
    f"suspend is not in the output: with the label {names.QUEUE_LABEL}, Kueue suspends and resumes the job",
    remove(
        "remove suspend; to hold the job back, stop the queue (spec.stopPolicy of the LocalQueue) or remove the label"
    ),
    ("spec", "suspend"),
)

# The deviations that change the JobSet, by their ids in `ir.deviations`. The last one needs the queue label.
SHAPES: Mapping[str, Shape] = {
    "metadata-moves-to-jobset": move_metadata,
    "managed-by-moves-to-jobset": move_managed_by,
    "deadline-moves-to-trainer": move_deadline,
    "no-suspend-beside-queue": leave_suspend_to_kueue,
}


# Delivery: the annotations with which a GitOps tool applies a job's objects safely and in order.


def deliver(manifests: Sequence[Manifest], options: Options) -> tuple[list[Manifest], list[Finding]]:
    """Return a job's objects with the annotations of the delivery tool, and findings about them.

    Annotations that the user has set are kept. kubectl needs none, because it applies objects in the given order.
    """
    if options.delivery == "argocd":
        return for_argocd(manifests, options.sync_options), []
    if options.delivery != "flux":
        queued = any(names.QUEUE_LABEL in manifest["metadata"].get("labels", {}) for manifest in manifests)
        return list(manifests), [_CLIENT_SIDE] if queued else []
    chosen = [option for option in sync_options_of("flux") if option.name in options.sync_options]
    delivered = []
    for manifest in manifests:
        scopes = ("all", "jobset") if manifest["kind"] == "JobSet" else ("all",)
        added = {option.annotation: option.value for option in chosen if option.scope in scopes}
        # One that contains `${VAR}` is exempted from substitution.
        added |= {SUBSTITUTE: "disabled"} if variables_of(manifest) else {}
        delivered.append(with_annotations(manifest, added))
    return delivered, list(substitution_findings(delivered))


def annotations_of(manifest: Manifest) -> Mapping[str, str]:
    """Return the object's annotations, or an empty mapping."""
    annotations: Mapping[str, str] = manifest["metadata"].get("annotations") or {}
    return annotations


def with_annotations(manifest: Manifest, added: Mapping[str, str]) -> Manifest:
    """Return the object with annotations added. Existing ones are not changed."""
    if not added:
        return manifest
    return with_value(manifest, ("metadata", "annotations"), {**added, **annotations_of(manifest)})


_CLIENT_SIDE = Finding(
    "ClientSideApply",
    "info",
    "once Kueue has admitted the job, `kubectl apply` of the unchanged file is refused: it removes what Kueue wrote",
    "use `kubectl apply --server-side`",
    ("metadata", "labels", names.QUEUE_LABEL),
)


# Argo CD: sync waves, so that the PodGroup and everything that pods mount exist first, and the chosen sync options.
#
# Inside a wave Argo CD orders objects by kind, but does not distinguish custom kinds: a PodGroup and a JobSet with the
# same name would have no order. A wave starts when the previous one is healthy (argo-cd docs/user-guide/sync-waves.md).


_WAVE = "argocd.argoproj.io/sync-wave"
_OPTIONS = "argocd.argoproj.io/sync-options"
_HOOK = "argocd.argoproj.io/hook"
# Relative to the JobSet's wave, which is 0 unless the TrainJob sets another one.
_WAVES = {"SSHKey": -3, "ExternalSecret": -2, "SealedSecret": -2, "ConfigMap": -2, "Workload": -2, "PodGroup": -1}
_HOOK_WAVE = -5


def for_argocd(manifests: Sequence[Manifest], chosen: Sequence[str]) -> list[Manifest]:
    """Return the objects with waves and sync options."""
    base = 0
    for manifest in manifests:
        if manifest["kind"] == "JobSet":
            try:
                base = int(annotations_of(manifest).get(_WAVE, "0"))
            except ValueError:
                break
    options = [option for option in sync_options_of("argocd") if option.name in chosen] if chosen else []
    return [_in_waves(manifest, base, options) for manifest in manifests]


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
    options = [text.strip() for text in annotations_of(manifest).get(key, "").split(",") if text.strip()]
    if value.partition("=")[0] in {text.partition("=")[0] for text in options}:
        return manifest
    annotations = {**annotations_of(manifest), key: ",".join([*options, value])}
    return with_value(manifest, ("metadata", "annotations"), annotations)


# Flux CD: it has no waves, but jobs need protection from variable substitution and forced re-creation.
#
# Flux applies a Kustomization's objects together, in its own order of kinds, and orders whole Kustomizations by
# `dependsOn` (fluxcd/kustomize-controller docs/spec/v1/kustomizations.md).


# Flux's variable substitution: if a Kustomization substitutes anything, each unknown `${VAR}` becomes "". Training
# commands often contain such variables.


SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
# `$${VAR}` is already escaped. The name ends before a default or another operation.
_VARIABLE = pattern(r"(?<!\$)\$\{(\w+)")


def variables_of(manifest: Manifest) -> list[str]:
    """Return the names of the variables that substitution would replace, in order of occurrence."""
    texts = (value for _, value in walk(manifest) if isinstance(value, str))
    return list(dict.fromkeys(name for text in texts for name in _VARIABLE.findall(text)))


def substitution_findings(manifests: Sequence[Manifest]) -> Iterator[Finding]:
    """Yield findings about the variables in each object: that it is exempted, or that the user's annotation is not."""
    for manifest in manifests:
        if not (names := variables_of(manifest)):
            continue
        variables = first_of([f"${{{name}}}" for name in names], 3)
        setting = annotations_of(manifest).get(SUBSTITUTE)
        severity: Severity = "info" if setting == "disabled" else "warning"
        if setting == "disabled":
            message = f"Flux would replace {variables}, so the object is marked to be exempt from substitution"
            hint = "no action needed; if you want substitution, render the value with an overlay"
        else:
            message = f"Flux replaces {variables} if its Kustomization has any postBuild substitution, with an empty string if the variable is not set"
            hint = f"remove the annotation {SUBSTITUTE}: {setting}, or write $${{...}} for variables of the pod's shell"
        path = ("metadata", "annotations", SUBSTITUTE)
        yield Finding("FluxSubstitution", severity, message, hint, path, label_of(manifest))


# The order in which objects are applied: providers of Secrets, objects that pods mount, PodGroups, and the JobSet.


_KINDS = tuple(
    "ServiceAccount Role RoleBinding Job SSHKey SealedSecret ExternalSecret ConfigMap Workload PodGroup JobSet".split()
)
_RANK = {kind: rank for rank, kind in enumerate(_KINDS)}


def in_apply_order(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Return the objects sorted by kind, in the order of application, then by API group and name."""
    return sorted(manifests, key=lambda m: (_RANK.get(m["kind"], len(_KINDS)), m["apiVersion"], m["metadata"]["name"]))
