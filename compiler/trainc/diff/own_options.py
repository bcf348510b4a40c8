"""What an object's own annotations tell Argo CD and Flux: they win over how everything else is delivered.

Sources: argoproj/argo-cd gitops-engine pkg/sync/sync_context.go (applyObject); fluxcd/pkg ssa/manager_apply.go.
"""

from __future__ import annotations

from trainc.diff.normal import Manifest
from trainc.diff.ways import Way
from trainc.startup.records import replace

_ARGO = "argocd.argoproj.io/sync-options"
_FLUX = "kustomize.toolkit.fluxcd.io/"


def own_way(way: Way, live: Manifest | None, manifest: Manifest | None) -> Way:
    """`way` as it goes for one object, of which the cluster has `live` and git has `manifest`."""
    if way.tool == "argocd":
        return _argocd(way, live, manifest)
    if way.tool == "flux":
        told = {**_metadata(live), **_metadata(manifest)}
        force = "if refused" if told.get(f"{_FLUX}force") == "enabled" else way.force
        return replace(way, force=force, prunes=_metadata(live).get(f"{_FLUX}prune") != "disabled")
    return way


def is_left_alone(way: Way, live: Manifest, manifest: Manifest) -> bool:
    """Whether the tool never touches the object once it exists."""
    if way.tool != "flux":
        return False
    wanted, told = _metadata(manifest), {**_metadata(live), **_metadata(manifest)}
    disabled = told.get(f"{_FLUX}reconcile") == "disabled" or told.get(f"{_FLUX}ssa") == "Ignore"
    return disabled or wanted.get(f"{_FLUX}ssa") == "IfNotPresent"


def _argocd(way: Way, live: Manifest | None, manifest: Manifest | None) -> Way:
    wanted, either = _argo_options(manifest), _argo_options(live) | _argo_options(manifest)
    # The way's own Force+Replace is an annotation of the JobSet, and of nothing else that belongs to a job.
    if way.force == "always" and _kind(live or manifest) != "JobSet":
        way = replace(way, apply="client", force="never")
    if "Replace=true" in either:
        way = replace(way, apply="replace", force="always" if "Force=true" in either else way.force)
    elif way.apply != "replace":
        if "ServerSideApply=true" in wanted:
            way = replace(way, apply="server")
        elif "ServerSideApply=false" in wanted:
            way = replace(way, apply="client")
        if "Force=true" in either and way.apply == "client":
            way = replace(way, force="if refused")
    return replace(way, prunes=not {"Prune=false", "Prune=confirm"} & _argo_options(live))


def _argo_options(manifest: Manifest | None) -> set[str]:
    return {option.strip() for option in str(_own(manifest, "annotations").get(_ARGO, "")).split(",")}


def _metadata(manifest: Manifest | None) -> dict[str, str]:
    """Labels and annotations as one, for Flux reads either."""
    return {**_own(manifest, "labels"), **_own(manifest, "annotations")}


def _own(manifest: Manifest | None, field: str) -> dict[str, str]:
    found = (manifest or {}).get("metadata", {}).get(field)
    return found if isinstance(found, dict) else {}


def _kind(manifest: Manifest | None) -> str:
    return str((manifest or {}).get("kind", ""))
