"""Delivery: the annotations with which a GitOps tool applies a job's objects safely and in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.findings import Finding
from trainc.kube import names
from trainc.kube.documents import Manifest
from trainc.kube.sync_options import SyncOption, sync_options_of
from trainc.options import Options
from trainc.reading.document import label_of
from trainc.startup.patterns import pattern
from trainc.startup.records import replace

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
