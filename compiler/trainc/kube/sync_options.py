"""The sync options of Argo CD and Flux CD that manifests can have, and their effect on running jobs.

options.py validates against this table, emit/shaping writes annotations from it, and the command-line help and the
documentation print it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from trainc.findings.text import did_you_mean
from trainc.startup.records import dataclass
from trainc.startup.typing import Literal, TypeAlias

Scope: TypeAlias = Literal["jobset", "all"]

_ARGO = "argocd.argoproj.io/"
# What each option does to a running job.
_OF_ARGO_CD = {
    "ServerSideApply=true": "no effect while the manifest is unchanged; a changed manifest is rejected, and the sync fails",
    "Replace=true": "no effect; a changed manifest is still rejected, because a PUT cannot change immutable fields either",
    "Force=true": "deletes and restarts it when its manifest changes (before JobSet 0.12 only together with Replace=true); together with Replace=true, restarts it at every sync that includes it, changed or not",
    "Prune=false": "keeps it running after it is removed from git. With --name-hash this also applies to the old run of a changed job: both runs need GPUs",
    "Prune=confirm": "keeps it running after it is removed from git, until someone confirms the deletion",
    "PruneLast=true": "deletes it only after the rest of the sync is healthy; until then, both the old and the new run need GPUs",
    "Delete=false": "keeps it running when the Application is deleted",
    "Delete=confirm": "keeps it running when the Application is deleted, until someone confirms the deletion",
    "SkipDryRunOnMissingResource=true": "no effect; lets the first sync run before the JobSet and PodGroup CRDs are installed",
    "Validate=false": "no effect; fields unknown to the cluster's schema are not reported",
    "IgnoreExtraneous": "no effect; an old run kept by Prune=false no longer makes the Application OutOfSync",
}
_OF_FLUX = {
    "force=enabled": "deletes and restarts it when its manifest changes; since JobSet 0.12 it is deleted even if the new manifest is invalid and cannot start",
    "prune=disabled": "keeps it running after it is removed from git. With --name-hash this also applies to the old run of a changed job: both runs need GPUs",
    "ssa=IfNotPresent": "starts it once; later changes in git are ignored",
    "ssa=Merge": "no effect; fields added by others are kept",
    "reconcile=disabled": "ignores it until the annotation is removed; not even the first sync creates it",
}
# These only concern the JobSet, which is immutable; the others must also apply to all objects that its pods need.
_OF_JOBSETS = ("Replace=true", "Force=true", "force=enabled")


@dataclass(frozen=True, slots=True)
class SyncOption:
    """A sync option: its name on the command line, and what it does to a running job."""

    tool: str
    name: str
    effect: str

    @property
    def annotation(self) -> str:
        """The annotation that sets it: Flux has one for each option, Argo CD one for the whole list."""
        if self.tool == "flux":
            return f"kustomize.toolkit.fluxcd.io/{self.name.partition('=')[0]}"
        return f"{_ARGO}{'compare' if self.name == 'IgnoreExtraneous' else 'sync'}-options"

    @property
    def value(self) -> str:
        """Its value in the annotation."""
        return self.name.partition("=")[2] if self.tool == "flux" else self.name

    @property
    def scope(self) -> Scope:
        """The objects that get it."""
        return "jobset" if self.name in _OF_JOBSETS else "all"


_EFFECTS = {"argocd": _OF_ARGO_CD, "flux": _OF_FLUX}

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


@cache
def sync_options_of(tool: str) -> tuple[SyncOption, ...]:
    """Return the options that a delivery tool supports; none for kubectl."""
    return tuple(SyncOption(tool, name, effect) for name, effect in _EFFECTS.get(tool, {}).items())


def normalize_sync_options(names: Iterable[str], tool: str) -> tuple[str, ...]:
    """Return the options in canonical spelling and table order, without duplicates: `Replace` is `Replace=true`.

    Raises ValueError if the tool does not support an option, or if two options contradict each other.
    """
    options = {option.name: option for option in sync_options_of(tool)}
    short = {name.partition("=")[0]: name for name in options if name.endswith("=true")}
    chosen = [short.get(name, name) for name in names]
    for name in (name for name in chosen if name not in options):
        choices = f"choose one of {', '.join(options)}" if options else "it has none"
        raise ValueError(f"unknown sync option {name!r} for {tool}; {did_you_mean(name, options, 0.85) or choices}")
    for option, conflicting, reason in _CONFLICTS:
        if option in chosen and conflicting in chosen:
            raise ValueError(f"sync options {option} and {conflicting} cannot be used together: {reason}")
    return tuple(name for name in options if name in chosen)
