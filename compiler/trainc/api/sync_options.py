"""The sync options of Argo CD and Flux CD that an object may carry, and what each does to a running job.

One table: options.py validates against it, emit/delivery writes annotations from it, the command line's help and the
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
    """One choice: its name on the command line, and the annotation that tells the tool.

    `scope` is "jobset" where the option is about the immutable JobSet alone, "all" where everything that the pods
    need must share its fate. `effect` says what happens to a job that runs.
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
        "leaves it alone while the manifest is unchanged; a changed manifest is refused and the sync fails",
    ),
    SyncOption(
        "argocd",
        "Replace=true",
        f"{_ARGO}sync-options",
        "Replace=true",
        "jobset",
        "leaves it alone; a changed manifest is still refused, because a PUT obeys the same immutability",
    ),
    SyncOption(
        "argocd",
        "Force=true",
        f"{_ARGO}sync-options",
        "Force=true",
        "jobset",
        "with a changed manifest deletes it and starts it anew (before JobSet 0.12 only beside Replace=true); beside "
        "Replace=true does so at every sync that includes it, changed or not",
    ),
    SyncOption(
        "argocd",
        "Prune=false",
        f"{_ARGO}sync-options",
        "Prune=false",
        "all",
        "lets it run on after it has left git, as the old run does under --name-hash; both runs need their GPUs",
    ),
    SyncOption(
        "argocd",
        "Prune=confirm",
        f"{_ARGO}sync-options",
        "Prune=confirm",
        "all",
        "lets it run on after it has left git, until somebody confirms the deletion",
    ),
    SyncOption(
        "argocd",
        "PruneLast=true",
        f"{_ARGO}sync-options",
        "PruneLast=true",
        "all",
        "deletes it only after everything else of the sync is healthy; until then old and new run need their GPUs",
    ),
    SyncOption(
        "argocd",
        "Delete=false",
        f"{_ARGO}sync-options",
        "Delete=false",
        "all",
        "lets it run on when the Application is deleted",
    ),
    SyncOption(
        "argocd",
        "Delete=confirm",
        f"{_ARGO}sync-options",
        "Delete=confirm",
        "all",
        "lets it run on when the Application is deleted, until somebody confirms",
    ),
    SyncOption(
        "argocd",
        "SkipDryRunOnMissingResource=true",
        f"{_ARGO}sync-options",
        "SkipDryRunOnMissingResource=true",
        "all",
        "does nothing to it; a first sync may come before the JobSet and PodGroup kinds are installed",
    ),
    SyncOption(
        "argocd",
        "Validate=false",
        f"{_ARGO}sync-options",
        "Validate=false",
        "all",
        "does nothing to it; fields that the cluster's schema does not know are not reported",
    ),
    SyncOption(
        "argocd",
        "IgnoreExtraneous",
        f"{_ARGO}compare-options",
        "IgnoreExtraneous",
        "all",
        "does nothing to it; an old run that Prune=false keeps no longer makes the Application OutOfSync",
    ),
    SyncOption(
        "flux",
        "force=enabled",
        f"{_FLUX}force",
        "enabled",
        "jobset",
        "with a changed manifest deletes it and starts it anew; since JobSet 0.12 also with an invalid one, which then "
        "does not start",
    ),
    SyncOption(
        "flux",
        "prune=disabled",
        f"{_FLUX}prune",
        "disabled",
        "all",
        "lets it run on after it has left git, as the old run does under --name-hash; both runs need their GPUs",
    ),
    SyncOption(
        "flux",
        "ssa=IfNotPresent",
        f"{_FLUX}ssa",
        "IfNotPresent",
        "all",
        "starts it once and never touches it again, whatever changes in git",
    ),
    SyncOption(
        "flux",
        "ssa=Merge",
        f"{_FLUX}ssa",
        "Merge",
        "all",
        "leaves it alone, and keeps fields that others have added",
    ),
    SyncOption(
        "flux",
        "reconcile=disabled",
        f"{_FLUX}reconcile",
        "disabled",
        "all",
        "leaves it alone until the annotation is removed; the first sync does not create it either",
    ),
)

# Pairs that contradict each other, or that kubectl refuses together.
_CONFLICTS: tuple[tuple[str, str, str], ...] = (
    ("ServerSideApply=true", "Force=true", "kubectl refuses --force with --server-side"),
    ("ServerSideApply=true", "Replace=true", "Replace=true wins, so that ServerSideApply=true would do nothing"),
    ("Prune=false", "Prune=confirm", "the first never prunes"),
    ("Prune=false", "PruneLast=true", "the first never prunes"),
    ("Delete=false", "Delete=confirm", "the first never deletes"),
    ("ssa=IfNotPresent", "ssa=Merge", "one annotation holds one of them"),
    ("ssa=IfNotPresent", "force=enabled", "an object that is never applied again is never forced"),
)


def sync_options_of(tool: str) -> tuple[SyncOption, ...]:
    """The options that a delivery tool understands; none for kubectl."""
    return tuple(option for option in SYNC_OPTIONS if option.tool == tool)


def normalize_sync_options(names: Iterable[str], tool: str) -> tuple[str, ...]:
    """The options as the table spells them, in its order and without repetitions: `Replace` is `Replace=true`.

    ValueError for one that the tool does not understand, and for two that contradict each other.
    """
    known = {option.name: option for option in sync_options_of(tool)}
    short = {name.partition("=")[0]: name for name in known if name.endswith("=true")}
    chosen = [short.get(name, name) for name in names]
    for name in chosen:
        if name not in known:
            choices = f"choose among {', '.join(known)}" if known else "it has none"
            raise ValueError(f"unknown sync option {name!r} for {tool}; {choices}")
    for one, other, reason in _CONFLICTS:
        if one in chosen and other in chosen:
            raise ValueError(f"sync options {one} and {other} exclude each other: {reason}")
    return tuple(name for name in known if name in chosen)
