"""Argo CD: sync waves, so that what pods mount and their gang are there first, and the sync options of one's choice.

Inside a wave Argo CD orders by kind, and takes all custom kinds for one: PodGroup and JobSet of one name would have no
order. The next wave starts when the last one is healthy (argo-cd docs/user-guide/sync-waves.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from trainc.api.sync_options import SyncOption, sync_options_of
from trainc.emit.delivery.annotations import Manifest, annotations_of, with_annotations

_WAVE = "argocd.argoproj.io/sync-wave"
_HOOK = "argocd.argoproj.io/hook"
# Relative to the JobSet's wave, which is 0 unless the TrainJob names another.
_WAVES = {"SSHKey": -3, "ExternalSecret": -2, "SealedSecret": -2, "ConfigMap": -2, "PodGroup": -1, "JobSet": 0}
_HOOK_WAVE = -5


def for_argocd(manifests: Sequence[Manifest], chosen: Sequence[str]) -> list[Manifest]:
    """The objects with waves and sync options."""
    base = next((_wave(m) for m in manifests if m["kind"] == "JobSet"), 0)
    options = [option for option in sync_options_of("argocd") if option.name in chosen] if chosen else []
    return [_annotated(manifest, base, options) for manifest in manifests]


def _wave(jobset: Manifest) -> int:
    try:
        return int(annotations_of(jobset).get(_WAVE, "0"))
    except ValueError:
        return 0


def _annotated(manifest: Manifest, base: int, options: Sequence[SyncOption]) -> Manifest:
    if _HOOK in annotations_of(manifest) and manifest["kind"] != "JobSet":
        return with_annotations(manifest, {_WAVE: str(base + _HOOK_WAVE)})
    waved = with_annotations(manifest, {_WAVE: str(base + _WAVES.get(manifest["kind"], 0))})
    for option in options:
        if option.scope == "all" or manifest["kind"] == "JobSet":
            waved = _with_option(waved, option.annotation, option.value)
    return waved


def _with_option(manifest: Manifest, key: str, value: str) -> Manifest:
    """One annotation holds all options; what the author says about the same one stands."""
    written = [text.strip() for text in annotations_of(manifest).get(key, "").split(",") if text.strip()]
    if value.partition("=")[0] in {text.partition("=")[0] for text in written}:
        return manifest
    metadata = manifest["metadata"]
    joined = {**annotations_of(manifest), key: ",".join([*written, value])}
    return {**manifest, "metadata": {**metadata, "annotations": joined}}
