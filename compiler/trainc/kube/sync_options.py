"""The sync options of Argo CD and Flux CD that manifests can have, and their effect on running jobs.

options.py validates against this table, emit/shaping writes annotations from it, and the command-line help and the
documentation print it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from trainc.startup.records import dataclass

Tool: TypeAlias = Literal["argocd", "flux"]
Scope: TypeAlias = Literal["jobset", "all"]

_ARGO = "argocd.argoproj.io/"
_FLUX = "kustomize.toolkit.fluxcd.io/"


@dataclass(frozen=True, slots=True)
class SyncOption:
    """A sync option: its name on the command line, and the annotation that sets it.

    `scope` is "jobset" if the option only concerns the immutable JobSet, and "all" if it must also apply to all objects
    that the pods need. `effect` describes what happens to a running job.
    """

    tool: Tool
    name: str
    annotation: str
    value: str
    scope: Scope
    effect: str


SYNC_OPTIONS: tuple[SyncOption, ...] = (
    SyncOption(
        "argocd",
        "ServerSideApply=true",
        f"{_ARGO}sync-options",
        "ServerSideApply=true",
        "all",
        "no effect while the manifest is unchanged; a changed manifest is rejected, and the sync fails",
    ),
    SyncOption(
        "argocd",
        "Replace=true",
        f"{_ARGO}sync-options",
        "Replace=true",
        "jobset",
        "no effect; a changed manifest is still rejected, because a PUT cannot change immutable fields either",
    ),
    SyncOption(
        "argocd",
        "Force=true",
        f"{_ARGO}sync-options",
        "Force=true",
        "jobset",
        "deletes and restarts it when its manifest changes (before JobSet 0.12 only together with Replace=true); together "
        "with Replace=true, restarts it at every sync that includes it, changed or not",
    ),
    SyncOption(
        "argocd",
        "Prune=false",
        f"{_ARGO}sync-options",
        "Prune=false",
        "all",
        "keeps it running after it is removed from git. With --name-hash this also applies to the old run of a changed job: both runs need GPUs",
    ),
    SyncOption(
        "argocd",
        "Prune=confirm",
        f"{_ARGO}sync-options",
        "Prune=confirm",
        "all",
        "keeps it running after it is removed from git, until someone confirms the deletion",
    ),
    SyncOption(
        "argocd",
        "PruneLast=true",
        f"{_ARGO}sync-options",
        "PruneLast=true",
        "all",
        "deletes it only after the rest of the sync is healthy; until then, both the old and the new run need GPUs",
    ),
    SyncOption(
        "argocd",
        "Delete=false",
        f"{_ARGO}sync-options",
        "Delete=false",
        "all",
        "keeps it running when the Application is deleted",
    ),
    SyncOption(
        "argocd",
        "Delete=confirm",
        f"{_ARGO}sync-options",
        "Delete=confirm",
        "all",
        "keeps it running when the Application is deleted, until someone confirms the deletion",
    ),
    SyncOption(
        "argocd",
        "SkipDryRunOnMissingResource=true",
        f"{_ARGO}sync-options",
        "SkipDryRunOnMissingResource=true",
        "all",
        "no effect; lets the first sync run before the JobSet and PodGroup CRDs are installed",
    ),
    SyncOption(
        "argocd",
        "Validate=false",
        f"{_ARGO}sync-options",
        "Validate=false",
        "all",
        "no effect; fields unknown to the cluster's schema are not reported",
    ),
    SyncOption(
        "argocd",
        "IgnoreExtraneous",
        f"{_ARGO}compare-options",
        "IgnoreExtraneous",
        "all",
        "no effect; an old run kept by Prune=false no longer makes the Application OutOfSync",
    ),
    SyncOption(
        "flux",
        "force=enabled",
        f"{_FLUX}force",
        "enabled",
        "jobset",
        "deletes and restarts it when its manifest changes; since JobSet 0.12 it is deleted even if the new manifest is "
        "invalid and cannot start",
    ),
    SyncOption(
        "flux",
        "prune=disabled",
        f"{_FLUX}prune",
        "disabled",
        "all",
        "keeps it running after it is removed from git. With --name-hash this also applies to the old run of a changed job: both runs need GPUs",
    ),
    SyncOption(
        "flux",
        "ssa=IfNotPresent",
        f"{_FLUX}ssa",
        "IfNotPresent",
        "all",
        "starts it once; later changes in git are ignored",
    ),
    SyncOption(
        "flux",
        "ssa=Merge",
        f"{_FLUX}ssa",
        "Merge",
        "all",
        "no effect; fields added by others are kept",
    ),
    SyncOption(
        "flux",
        "reconcile=disabled",
        f"{_FLUX}reconcile",
        "disabled",
        "all",
        "ignores it until the annotation is removed; not even the first sync creates it",
    ),
)

# Pairs that contradict each other or that kubectl rejects.
_CONFLICTS: tuple[tuple[str, str, str], ...] = (
    ("ServerSideApply=true", "Force=true", "kubectl refuses --force with --server-side"),
    ("ServerSideApply=true", "Replace=true", "Replace=true wins, so ServerSideApply=true would have no effect"),
    ("Prune=false", "Prune=confirm", "the first never prunes"),
    ("Prune=false", "PruneLast=true", "the first never prunes"),
    ("Delete=false", "Delete=confirm", "the first never deletes"),
    ("ssa=IfNotPresent", "ssa=Merge", "both use the same annotation"),
    ("ssa=IfNotPresent", "force=enabled", "an object that is never applied again cannot be forced"),
)


def sync_options_of(tool: str) -> tuple[SyncOption, ...]:
    """Return the options that a delivery tool supports; none for kubectl."""
    return tuple(option for option in SYNC_OPTIONS if option.tool == tool)


def normalize_sync_options(names: Iterable[str], tool: str) -> tuple[str, ...]:
    """Return the options in canonical spelling and table order, without duplicates: `Replace` is `Replace=true`.

    Raises ValueError if the tool does not support an option, or if two options contradict each other.
    """
    options = {option.name: option for option in sync_options_of(tool)}
    short = {name.partition("=")[0]: name for name in options if name.endswith("=true")}
    chosen = [short.get(name, name) for name in names]
    for name in chosen:
        if name not in options:
            choices = f"choose one of {', '.join(options)}" if options else "it has none"
            raise ValueError(f"unknown sync option {name!r} for {tool}; {choices}")
    for one, other, reason in _CONFLICTS:
        if one in chosen and other in chosen:
            raise ValueError(f"sync options {one} and {other} cannot be used together: {reason}")
    return tuple(name for name in options if name in chosen)
