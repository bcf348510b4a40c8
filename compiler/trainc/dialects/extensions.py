"""Fields that no Trainer release has but that `gitops` honors: extracted, validated and returned separately."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from trainc.api.documents import Json, value_at, without_path
from trainc.diagnostics import Finding, Path, has_errors
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Extended:
    """A runtime without its extensions, and the extensions by path."""

    rest: Json
    taken: tuple[tuple[Path, Any], ...] = ()
    findings: tuple[Finding, ...] = ()


Extension: TypeAlias = Callable[[Json, str, bool], Extended]

_VOLCANO: Path = ("spec", "podGroupPolicy", "volcano")
_VOLCANO_FIELDS: Mapping[str, type] = {"minMember": int, "queue": str, "priorityClassName": str}
_WORKLOAD: Path = ("spec", "podGroupPolicy", "workload")
_IMPLEMENTATION: Path = ("spec", "mlPolicy", "mpi", "mpiImplementation")
_OTHER_IMPLEMENTATIONS = ("Intel", "MPICH")


def _is_known(release: str) -> bool:
    from trainc.api.schema.known_fields import known_in

    return known_in("TrainingRuntime", _VOLCANO, release)


def volcano_fields(document: Json, release: str, older_dialect: bool) -> Extended:
    """Extract the size, queue and priority of Volcano gangs; Trainer only has networkTopology there, since 2.1."""
    policy = value_at(document, _VOLCANO)
    if not isinstance(policy, Mapping):
        return Extended(document)
    own = {name: policy[name] for name in _VOLCANO_FIELDS if policy.get(name) is not None}
    rest = document
    for name in own:
        rest = without_path(rest, (*_VOLCANO, name))
    if older_dialect and not _is_known(release):
        rest = without_path(rest, _VOLCANO)
    findings = tuple(_wrong_types(own))
    if own:
        message = f"{', '.join(own)}: Trainer has no such field; trainc adds it to the PodGroup, and the controller in a cluster would not"
        hint = "to set a queue that works with both, use the annotation scheduling.volcano.sh/queue-name"
        findings = (Finding("VolcanoFieldsNotInTrainer", "warning", message, hint=hint, path=_VOLCANO), *findings)
    taken = () if has_errors(findings) else tuple(((*_VOLCANO, name), value) for name, value in own.items())
    # An empty policy still selects Volcano.
    return Extended(rest, taken or (((_VOLCANO, {}),) if rest is not document else ()), findings)


def _wrong_types(fields: Json) -> Iterator[Finding]:
    for name, value in fields.items():
        wanted = _VOLCANO_FIELDS[name]
        if not isinstance(value, wanted) or isinstance(value, bool):
            expected = "a whole number" if wanted is int else "a string"
            hint = f"write {expected}, or leave {name} out"
            yield Finding(
                "WrongType", "error", f"expected {expected}, got {value!r}", hint=hint, path=(*_VOLCANO, name)
            )


def mpi_implementation(document: Json, release: str, older_dialect: bool) -> Extended:
    """Extract Intel MPI and MPICH, which v2alpha1 and OME support but Trainer's own API rejects."""
    chosen = value_at(document, _IMPLEMENTATION)
    if not older_dialect or chosen not in _OTHER_IMPLEMENTATIONS:
        return Extended(document)
    warning = Finding(
        "MPIImplementationNotInTrainer",
        "warning",
        f"Trainer does not support {chosen}; trainc sets up its hostfile, variables and search domain itself",
        hint="use mpiImplementation: OpenMPI if Trainer's controller has to run the runtime too",
        path=_IMPLEMENTATION,
    )
    return Extended(without_path(document, _IMPLEMENTATION), ((_IMPLEMENTATION, chosen),), (warning,))


def workload_policy(document: Json, release: str, older_dialect: bool) -> Extended:
    """Extract the policy for Kubernetes' own gang scheduling (PodGroups of scheduling.k8s.io); Trainer has none."""
    policy = value_at(document, _WORKLOAD)
    if policy is None:
        return Extended(document)
    findings = tuple(_wrong_workload(policy))
    message = "podGroupPolicy.workload: Trainer has no such policy; trainc writes the Workload, and the controller in a cluster would not"
    hint = "no action needed if trainc compiles all jobs of this runtime; otherwise compile the others with --gang workload"
    warning = Finding("WorkloadPolicyNotInTrainer", "warning", message, hint=hint, path=_WORKLOAD)
    taken = () if has_errors(findings) else ((_WORKLOAD, policy),)
    return Extended(without_path(document, _WORKLOAD), taken, (warning, *findings))


def _wrong_workload(policy: Any) -> Iterator[Finding]:
    """Report deviations from the fields of a PodGroup in scheduling.k8s.io/v1beta1."""
    if not isinstance(policy, Mapping):
        yield _wrong_type(_WORKLOAD, "a mapping", policy, "write {} to wait for all pods of the gang")
        return
    for name in policy:
        if name not in ("schedulingConstraints", "disruptionMode"):
            hint = "write schedulingConstraints or disruptionMode, as in a PodGroup; trainc counts the pods"
            yield Finding("UnknownField", "error", f"unknown field {name!r}", hint=hint, path=(*_WORKLOAD, name))
    constraints, mode = policy.get("schedulingConstraints"), policy.get("disruptionMode")
    if constraints is not None and not _is_topology(constraints):
        hint = "write {topology: [{key: topology.kubernetes.io/rack}]}: one label of the nodes"
        yield _wrong_type((*_WORKLOAD, "schedulingConstraints"), "one topology", constraints, hint)
    if mode is not None and mode not in ({"single": {}}, {"all": {}}):
        hint = "write {all: {}} if the pods may only be disrupted together, or {single: {}}"
        yield _wrong_type((*_WORKLOAD, "disruptionMode"), "one mode", mode, hint)


def _is_topology(constraints: Any) -> bool:
    from trainc.api.pods.checks import is_key

    topology = constraints.get("topology") if isinstance(constraints, Mapping) and len(constraints) == 1 else None
    if not isinstance(topology, list) or len(topology) != 1 or not isinstance(topology[0], Mapping):
        return False
    key = topology[0].get("key")
    return len(topology[0]) == 1 and isinstance(key, str) and is_key(key)


def _wrong_type(path: Path, expected: str, value: Any, hint: str) -> Finding:
    return Finding("WrongType", "error", f"expected {expected}, got {value!r}", hint=hint, path=path)


EXTENSIONS: tuple[Extension, ...] = (volcano_fields, workload_policy, mpi_implementation)
