"""Compare what a cluster has with what compiled jobs need, row by row with hints; as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trainc.api.kube import Json
from trainc.api.records import dataclass
from trainc.features.doctor.cluster import (
    Component,
    components,
    kubernetes,
    lists_any,
    local_queues,
    minor_of,
    number_of,
    serves_workloads,
)

VERSION = 1
Status: TypeAlias = Literal["OK", "differs", "not found", "not running", "unknown"]
_WORKLOADS = "scheduling.k8s.io"
# The API group of a PodGroup -> the component that schedules it, and its origin.
_GANGS = {
    "scheduling.x-k8s.io": ("coscheduling", "sigs.k8s.io/scheduler-plugins"),
    "scheduling.volcano.sh": ("Volcano", "volcano.sh"),
}
_MOST_QUEUES = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """The requirements of the jobs: `jobsets` and `kueues` map each Trainer minor to the minors it goes with.

    `kubernetes` are the minors that Trainer tests `release` with, oldest first; `gangs` are the API groups of the
    PodGroups, and `queues` are (namespace, name) of the jobs' LocalQueues. `meant` is the Kubernetes minor that the
    jobs are compiled for, None if unspecified. `uses_trainer` says whether Trainer's controller runs the jobs, as under
    `controller` semantics.
    """

    release: str
    jobsets: Mapping[str, str]
    kueues: tuple[str, ...]
    kubernetes: tuple[str, ...]
    gangs: frozenset[str] = frozenset()
    queues: frozenset[tuple[str, str]] = frozenset()
    uses_trainer: bool = False
    meant: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One requirement: its name, what is wanted and what was found, and a hint if there is something to do.

    `needed` says whether the jobs depend on it; other rows never cause a failure. A row that is not `visible` is about
    something of which no answer shows anything.
    """

    name: str
    wanted: str
    found: str
    status: Status
    hint: str = ""
    needed: bool = True
    visible: bool = True

    @property
    def is_fine(self) -> bool:
        """Whether the jobs can run with it, as far as the answers show; an unknown version counts as fine."""
        return not self.needed or self.status == "OK" or (self.status == "unknown" and self.visible)


def compare(
    documents: Sequence[Json], wanted: Wanted, unanswered: Mapping[str, str], *, live: bool = False
) -> list[Row]:
    """A row for each component, then for each missing queue.

    `unanswered` are questions without an answer. Answers of a `live` cluster are complete; files may lack a kind.
    """
    found = components(documents, all_deployments=live and "deployments" not in unanswered)
    # If neither CRDs nor Deployments could be listed, nothing can be known to be missing.
    blind = {"custom resource definitions", "deployments"} <= set(unanswered) if live else not lists_any(documents)
    rows = [
        _kubernetes(kubernetes(documents), wanted),
        _jobset(found.get("JobSet"), wanted, blind),
        _trainer(found.get("Trainer"), wanted, blind),
        _kueue(found.get("Kueue"), wanted, blind),
        *(_gang(group, found, wanted, blind) for group in _GANGS),
    ]
    if _WORKLOADS in wanted.gangs:
        rows.append(_workloads(serves_workloads(documents)))
    if "Kueue" in found and "local queues" not in unanswered:
        rows += _missing_queues(local_queues(documents), wanted)
    return rows


def _kubernetes(server: Component | None, wanted: Wanted) -> Row:
    tested = wanted.kubernetes
    span = wanted.meant or f"{tested[0]} to {tested[-1]}"
    if server is None:
        hint = "save `kubectl version -o yaml` with the other files"
        return Row("Kubernetes", span, "", "unknown", hint)
    if wanted.meant is not None and minor_of(server.version) != wanted.meant:
        older = number_of(server.version) < number_of(wanted.meant)
        hint = f"compile with --kubernetes {minor_of(server.version)}"
        return Row("Kubernetes", span, server.version, "differs" if older else "OK", hint)
    if number_of(server.version) < number_of(tested[0]):
        hint = f"Trainer {wanted.release} is not tested with it: upgrade the cluster, or compile for an older release"
        return Row("Kubernetes", span, server.version, "differs", hint)
    newer = number_of(server.version) > number_of(tested[-1])
    return Row(
        "Kubernetes", span, server.version, "OK", "newer than the versions that Trainer is tested with" if newer else ""
    )


def _jobset(jobset: Component | None, wanted: Wanted, blind: bool) -> Row:
    minor = wanted.jobsets[wanted.release]
    if jobset is None:
        return _absent("JobSet", minor, blind, "install JobSet: without it, the cluster accepts no compiled job")
    if jobset.runs is False:
        return _stopped(jobset, minor)
    if not jobset.minor:
        return Row("JobSet", minor, _shown(jobset), "unknown", "check the version of its controller's image")
    if jobset.minor == minor:
        return _running(jobset, minor)
    release = next((trainer for trainer, other in wanted.jobsets.items() if other == jobset.minor), None)
    if number_of(jobset.version) > number_of(minor):
        uses = f"; --release {release} uses it" if release else ""
        return _running(jobset, minor, f"newer, which usually works{uses}")
    other = f"compile with --release {release}, which uses it, or " if release else ""
    return Row("JobSet", minor, _shown(jobset), "differs", f"{other}install JobSet {minor}")


def _trainer(trainer: Component | None, wanted: Wanted, blind: bool) -> Row:
    needed = wanted.uses_trainer
    if trainer is None:
        return _absent("Trainer", wanted.release, blind, "compiled jobs do not need it" * (not needed), needed)
    if trainer.runs is False:
        return _stopped(trainer, wanted.release, needed)
    if trainer.minor == wanted.release:
        return _running(trainer, wanted.release, needed=needed)
    if not trainer.minor:
        return Row("Trainer", wanted.release, _shown(trainer), "unknown", needed=needed)
    known = trainer.minor in wanted.jobsets
    hint = f"compile with --release {trainer.minor} to get what this controller would create" if known else ""
    return Row("Trainer", wanted.release, _shown(trainer), "differs", hint, needed)


def _kueue(kueue: Component | None, wanted: Wanted, blind: bool) -> Row:
    oldest, newest, needed = wanted.kueues[0], wanted.kueues[-1], bool(wanted.queues)
    minors = newest if oldest == newest else f"{oldest} to {newest}"
    if kueue is None:
        hint = "install Kueue, or remove the queue label from the jobs" if needed else "no job uses a queue"
        return _absent("Kueue", minors, blind, hint, needed)
    if kueue.runs is False:
        return _stopped(kueue, minors, needed)
    if not kueue.minor:
        return Row("Kueue", minors, _shown(kueue), "unknown", needed=needed)
    if kueue.minor in wanted.kueues:
        return _running(kueue, minors, needed=needed)
    # Compiled jobs are JobSets. Kueue usually works with JobSet versions other than the one it was built with.
    hint = f"it was built for a different JobSet version than {wanted.jobsets[wanted.release]}; test with one job first"
    return Row("Kueue", minors, _shown(kueue), "differs", hint, needed=False)


def _gang(group: str, found: Mapping[str, Component], wanted: Wanted, blind: bool) -> Row:
    name, source = _GANGS[group]
    component, needed = found.get(name), group in wanted.gangs
    if component is not None and component.runs is False:
        return _stopped(component, "any" if needed else "", needed)
    if component is not None:
        return _running(component, "any" if needed else "", needed=needed)
    hint = f"install {source}, or remove the podGroupPolicy from the runtimes" if needed else "no job uses it"
    return _absent(name, "any" if needed else "", blind, hint, needed)


def _workloads(served: bool | None) -> Row:
    name, version = "Workload API", "v1beta1"
    if served is None:
        return Row(name, version, "", "unknown", f"save `kubectl get --raw /apis/{_WORKLOADS}` with the other files")
    if served:
        return Row(name, version, version, "OK")
    return Row(
        name, version, "", "not found", "Kubernetes 1.37 has it; with older versions, compile without --gang workload"
    )


def _missing_queues(known: frozenset[tuple[str, str]], wanted: Wanted) -> Iterator[Row]:
    for namespace, queue in sorted(wanted.queues - known):
        near = [name for where, name in sorted(known) if where == namespace][:_MOST_QUEUES]
        hint = f"{namespace or 'its namespace'} has {', '.join(near)}" if near else "create it, or use another queue"
        yield Row(f"LocalQueue {namespace}/{queue}", "", "", "not found", hint)


def _running(component: Component, wanted: str, hint: str = "", needed: bool = True) -> Row:
    """A component in a version that is fine, which may be defined only."""
    if component.runs is None:
        unseen = "it is defined; whether its controller runs is not known, because no Deployment was listed"
        return Row(component.name, wanted, _shown(component), "unknown", hint or unseen, needed)
    return Row(component.name, wanted, _shown(component), "OK", hint, needed)


def _stopped(component: Component, wanted: str, needed: bool = True) -> Row:
    return Row(component.name, wanted, _shown(component), "not running", component.problem, needed)


def _absent(name: str, wanted: str, blind: bool, hint: str, needed: bool = True) -> Row:
    if blind:
        hint = "list Deployments and custom resource definitions, which show it, or ask someone who may"
        return Row(name, wanted, "", "unknown", hint, needed, visible=False)
    return Row(name, wanted, "", "not found", hint, needed)


def _shown(component: Component) -> str:
    return component.version or "version unknown"


def text_of(rows: Sequence[Row], unanswered: Mapping[str, str]) -> str:
    """A table for readers, followed by what the cluster did not answer."""
    table = [
        ("", "wanted", "found", "", ""),
        *((r.name, r.wanted or "-", r.found or "-", r.status, r.hint) for r in rows),
    ]
    widths = [max(len(line[column]) for line in table) for column in range(4)]
    lines = ["  ".join((*map(str.ljust, line[:4], widths), line[4])).rstrip() for line in table]
    lines += [f"no answer: {question}: {reason}" for question, reason in unanswered.items()]
    return "".join(f"{line}\n" for line in lines)


def json_of(rows: Sequence[Row], wanted: Wanted, unanswered: Mapping[str, str]) -> dict[str, Any]:
    """Return the rows in the shape documented in docs/doctor.md."""
    listed = [
        {
            "name": row.name,
            "wanted": row.wanted,
            "found": row.found,
            "status": row.status,
            "needed": row.needed,
            "hint": row.hint,
        }
        for row in rows
    ]
    return {"version": VERSION, "release": wanted.release, "components": listed, "unanswered": dict(unanswered)}
