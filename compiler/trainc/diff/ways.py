"""The ways in which a manifest reaches a cluster, as a table: what each sends, and what it does when that is refused."""

from __future__ import annotations

from typing import Literal, TypeAlias

from trainc.diff.submission import Apply
from trainc.options import Options
from trainc.startup.records import dataclass

Tool: TypeAlias = Literal["kubectl", "argocd", "flux", "any"]
# When a refused or unwanted object is deleted and created again: never, when it is refused, at every sync.
Force: TypeAlias = Literal["never", "if refused", "always"]


@dataclass(frozen=True, slots=True)
class Way:
    """One way of delivery. `id` is for machines, `label` for people.

    `prunes` says whether an object that has left git is deleted, where the tool's pruning is on. Under
    `hashes_names` a job whose content changes gets a new name, whatever applies it.
    """

    id: str
    label: str
    tool: Tool
    apply: Apply
    force: Force = "never"
    prunes: bool = True
    hashes_names: bool = False


KUBECTL = Way("kubectl", "kubectl apply", "kubectl", "client", prunes=False)
ARGOCD = Way("argocd", "Argo CD, client-side", "argocd", "client")
ARGOCD_SERVER_SIDE = Way("argocd-server-side", "Argo CD, server-side", "argocd", "server")
ARGOCD_REPLACE = Way("argocd-force-replace", "Argo CD, Force+Replace", "argocd", "replace", "always")
FLUX = Way("flux", "Flux", "flux", "server")
FLUX_FORCE = Way("flux-force", "Flux, force", "flux", "server", "if refused")
NAME_HASH = Way("name-hash", "name hash", "any", "server", hashes_names=True)

WAYS: tuple[Way, ...] = (KUBECTL, ARGOCD, ARGOCD_SERVER_SIDE, ARGOCD_REPLACE, FLUX, FLUX_FORCE, NAME_HASH)


def chosen_way(options: Options) -> Way:
    """The way that the options of a compilation choose."""
    told = options.sync_options
    if options.name_hash:
        return NAME_HASH
    if options.delivery == "kubectl":
        return KUBECTL
    if options.delivery == "flux":
        return FLUX_FORCE if "force=enabled" in told else FLUX
    if {"Force=true", "Replace=true"} <= {*told}:
        return ARGOCD_REPLACE
    return ARGOCD_SERVER_SIDE if "ServerSideApply=true" in told else ARGOCD
