"""The rows with which a plugin tells `explain` where its fields come from, and the references to inputs that they yield.

A plugin's `explain` module has ROWS, a list of rows for each extension point. The first row whose pattern matches a leaf
explains it. Tests check the rows against the passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from trainc.findings import Path
from trainc.ir import info as gang
from trainc.ir.devices import is_gpu
from trainc.ir.info import Container, Info, PodSet, Size
from trainc.ir.trainjob import TrainJob, subdomain
from trainc.kube import names
from trainc.kube.documents import POD_SPEC, POD_TEMPLATE, FieldPath, Item, value_at
from trainc.kube.quantity import container_requests, parse_quantity
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class TrainJobField:
    """A field of the TrainJob."""

    path: Path


@dataclass(frozen=True, slots=True)
class RuntimeField:
    """A field of the runtime's document."""

    path: Path


@dataclass(frozen=True, slots=True)
class JobSetField:
    """A field of the JobSet at that step, which stands for the inputs of that field."""

    path: FieldPath


@dataclass(frozen=True, slots=True)
class TemplateField:
    """A field of the JobSet as the runtime and its patches set it, before the TrainJob replaced it."""

    path: FieldPath


@dataclass(frozen=True, slots=True)
class FixedRule:
    """The rule that decides a value that no document sets."""

    rule: str


Ref: TypeAlias = TrainJobField | RuntimeField | JobSetField | TemplateField | FixedRule


@dataclass(frozen=True, slots=True)
class Situation:
    """The state before a step, and the leaf that the step set: `path` and `value`, in the named object.

    `is_set` says whether the JobSet has a field at that step.
    """

    job: TrainJob
    info: Info
    is_set: Callable[[FieldPath], bool]
    path: FieldPath = ()
    value: object = None
    object: str = ""

    @property
    def pod_set(self) -> PodSet | None:
        """The pod set of the replicated job that contains the leaf."""
        inside = len(self.path) > 2 and self.path[1] == "replicatedJobs"
        return self.info.pod_set(str(self.path[2])) if inside else None


Reading: TypeAlias = Callable[[Situation], Iterable[Ref]]


@dataclass(frozen=True, slots=True)
class Row:
    """A row: the leaves that it explains, the inputs read for them, and the deviation that affects them.

    `pattern` is a field expression as `trainc explain` accepts it, and matches everything below that field. `verbatim`
    is true if the TrainJob's value is carried over unchanged.
    """

    pattern: str
    readings: tuple[Reading, ...]
    deviation: Callable[[Situation], str] = lambda _: ""
    verbatim: bool = False

    def refs(self, s: Situation) -> Iterable[Ref]:
        """Return the inputs that were read."""
        return (ref for reading in self.readings for ref in reading(s))


Rows: TypeAlias = Mapping[str, tuple[Row, ...]]


def when(condition: Callable[[Situation], bool], deviation: str) -> Callable[[Situation], str]:
    """Return a function that returns `deviation` if the condition is true, and none under `controller` semantics."""
    return lambda s: deviation if s.info.gitops and condition(s) else ""


# The inputs that plugins read: each function yields the fields that decide one value in a given situation.
#
# The functions follow the order in which the passes look values up, and yield the first field that is set.


_TRAINER: Path = ("spec", "trainer")
_POLICY: Path = ("spec", "mlPolicy")


def ml_policy(*steps: str | int) -> Reading:
    """Read a field of the runtime's mlPolicy, or the policy itself if its presence alone makes a plugin act."""
    return lambda _: (RuntimeField((*_POLICY, *steps)),)


def gang_policy(*steps: str | int) -> Reading:
    """Read a field of the runtime's podGroupPolicy."""
    return lambda _: (RuntimeField(("spec", "podGroupPolicy", *steps)),)


def trainjob(*path: str | int) -> Reading:
    """Read a field of the TrainJob."""
    return lambda _: (TrainJobField(path),)


def jobset(*path: str | int) -> Reading:
    """Read a field of the JobSet."""
    return lambda _: (JobSetField(path),)


def set_in_gang_policy(*steps: str, otherwise: Reading) -> Reading:
    """Read a field of the runtime's podGroupPolicy if it is set, and `otherwise` if it is not."""
    policy_field = gang_policy(*steps)
    return lambda s: (otherwise if value_at(s.info.pod_group_policy, steps) is None else policy_field)(s)


def fixed_rule(rule: str) -> Reading:
    """Read a rule that no field can change."""
    return lambda _: (FixedRule(rule),)


def job_name(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of the job's name: the TrainJob's name and, with a name hash, its content."""
    yield TrainJobField(("metadata", "name"))
    if s.job.name_hash:
        yield FixedRule(f"--name-hash adds {s.job.name_hash}")


namespace = trainjob("metadata", "namespace")


def host_domain(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of the pods' DNS domain: the JobSet's subdomain, else the job's name."""
    yield from job_name(s)
    yield JobSetField(("spec", "network", "subdomain"))


def master(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of rank 0's address. The controller always uses replicated job `node` and the TrainJob's name."""
    if not s.info.gitops or s.info.trainer is None:
        yield from job_name(s)
        return
    yield from host_domain(s)
    yield JobSetField(replicated_job(s.info.trainer, "name"))


def nodes(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of the number of training nodes: the TrainJob's, else the runtime's, else a default of 1."""
    yield sized_by(s.info.nodes) or FixedRule("one node, because numNodes is not set")


def sized_by(size: Size) -> Ref | None:
    """Return the field that sets a size, or None if no document does."""
    if not size.path:
        return None
    return TrainJobField(size.path) if size.about == "trainjob" else RuntimeField(size.path)


def trainer_nodes(s: Situation) -> Iterator[Ref]:
    """Yield the same as `nodes`. Without a job labeled as trainer, numNodes sizes nothing and the number is 1."""
    if s.info.trainer is None:
        yield FixedRule("one node, because no job is labeled as the trainer")
    else:
        yield from nodes(s)


def replicated_job(pod_set: PodSet, *steps: str | int) -> FieldPath:
    """Return the path in the JobSet of a field of a replicated job."""
    return ("spec", "replicatedJobs", Item(pod_set.name), *steps)


def pods_of(pod_set: PodSet) -> tuple[Ref, ...]:
    """Return the fields with a replicated job's number of pods per replica and its replicas."""
    return (
        JobSetField(replicated_job(pod_set, "template", "spec", "parallelism")),
        JobSetField(replicated_job(pod_set, "replicas")),
    )


def jobset_path(pod_set: PodSet, container: str, *steps: str | int) -> FieldPath:
    """Return the path in the JobSet of a field of a container."""
    return replicated_job(pod_set, *POD_SPEC, "containers", Item(container), *steps)


def trainer_env(s: Situation) -> Iterator[Ref]:
    """Yield the TrainJob's variable with the same name."""
    yield from environment(s, s.job.trainer.env, (*_TRAINER, "env"))


def environment(s: Situation, variables: tuple[object, ...], path: Path) -> Iterator[Ref]:
    """Yield the field of a TrainJob's variable behind a leaf below `env[NAME]`; the last variable of a name wins."""
    at = s.path.index("env") + 1
    for i, variable in reversed(list(enumerate(variables))):
        if isinstance(variable, dict) and variable.get("name") == s.path[at]:
            yield TrainJobField((*path, i, *s.path[at + 1 :]))
            return


def pod_field(*path: str) -> Reading:
    """Read a field of the pod templates of all replicated jobs, where it is set."""

    def refs(s: Situation) -> Iterator[Ref]:
        for pod_set in s.info.pod_sets:
            field_path = replicated_job(pod_set, *POD_TEMPLATE, *path)
            if s.is_set(field_path):
                yield JobSetField(field_path)

    return refs


COUNTS = (Row("...template.spec.parallelism", (nodes,)), Row("...template.spec.completions", (nodes,)))


def _has_other_address(s: Situation) -> bool:
    """Return whether the controller's fixed address differs from the real one."""
    trainer = s.info.trainer
    return trainer is not None and (trainer.name != names.NODE or subdomain(s.job, s.info) != s.job.name)


ADDRESS = when(_has_other_address, "real-master-address")
WITHOUT_TRAINER = when(lambda s: not s.job.has_trainer, "rank-environment-without-trainer")


def address_deviation(s: Situation) -> str:
    """Return the deviation that affects rank 0's address, or an empty string."""
    return ADDRESS(s) or WITHOUT_TRAINER(s)


def counts_deviation(s: Situation) -> str:
    """Return the deviation that affects a number of processes, or an empty string."""
    requested = s.job.trainer.resources_per_node
    merged = s.info.trainer_container.resources if s.info.trainer_container else {}
    differs = s.info.gitops and requested is not None and requested != merged
    return "counts-from-merged-resources" if differs else WITHOUT_TRAINER(s)


# What `explain` says about the size of any gang and the resources that it requests.


def gang_pods(s: Situation) -> Iterator[Ref]:
    """Yield the inputs that decide how many pods each replicated job of the gang has."""
    for pod_set in gang.members(s.info):
        parallelism, replicas = pods_of(pod_set)
        yield parallelism
        if s.info.gitops:
            yield replicas


def gang_amounts(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of one resource of the gang: what each member's containers request, and the number of members."""
    resource = str(s.path[-1])
    if resource == "minResources":
        yield FixedRule("no container of the gang has resource requests")
        return
    for pod_set in gang.members(s.info):
        if resource not in pod_set.requests:
            continue
        parallelism, replicas = pods_of(pod_set)
        if pod_set.requests[resource].nanos:
            yield parallelism
            yield from (replicas,) if s.info.gitops else ()
        if pod_set.count:
            yield from _requested_in(pod_set, resource, s)


def _requested_in(pod_set: PodSet, resource: str, s: Situation) -> Iterator[Ref]:
    """Yield the fields in which the pods of one set request a resource."""
    pod = replicated_job(pod_set, *POD_SPEC)
    yield JobSetField((*pod, "overhead", resource))
    for kind, containers in (("containers", pod_set.containers), ("initContainers", pod_set.init_containers)):
        for container in containers:
            resources, ref_of = _gang_resources(container, kind, pod_set, s)
            if resource in container_requests({"resources": resources}, limits_count=s.info.gitops):
                requested = "requests" if resource in resources.get("requests", {}) else "limits"
                yield ref_of((*pod, kind, Item(container.name), "resources", requested, resource))


def _gang_resources(
    container: Container, kind: str, pod_set: PodSet, s: Situation
) -> tuple[Mapping[str, Any], Callable[[FieldPath], Ref]]:
    """Return the resources that the gang counts for a container, and the field that sets them.

    The controller replaces the template's resources while it builds, but its gang counts the template's. Since 2.2 it
    counts the TrainJob's, for the trainer of an ML policy only.
    """
    requested = s.job.trainer.resources_per_node
    replaced = kind == "containers" and container.name == pod_set.main and requested is not None
    if requested is None or not replaced or s.info.gitops or s.info.release.resources == "merge":
        return container.resources, JobSetField
    if s.info.release.gang_sees_resources and s.info.ml_policy is not None and pod_set.ancestor == names.TRAINER:
        return requested, lambda path: TrainJobField(("spec", "trainer", "resourcesPerNode", *path[-2:]))
    return container.resources, TemplateField


def gang_deviation(s: Situation) -> str:
    """Return the deviation that affects the size or the resources of the gang, or an empty string."""
    if not s.info.gitops:
        return ""
    if gang.awaited_pod_sets(s.info):
        return "gang-of-pods-that-run-together"
    if any(pod_set.replicas > 1 for pod_set in s.info.pod_sets):
        return "gang-counts-replicas"
    limits_count = s.path[-2] == "minResources" and any(
        s.path[-1] in container.resources.get("limits", {})
        and s.path[-1] not in container.resources.get("requests", {})
        for pod_set in gang.members(s.info)
        for container in pod_set.containers
    )
    return "gang-counts-limits" if limits_count else ""


# The inputs from which plugins count processes: requested numbers, and the devices and CPUs of a node.


def devices(s: Situation) -> Iterator[Ref]:
    """Yield the inputs that decide the number of GPUs per node."""
    yield from amount(s, is_gpu) or (FixedRule("no GPU is requested"),)


def cores(s: Situation) -> Iterator[Ref]:
    """Yield the inputs that decide the number of CPUs per node."""
    yield from amount(s, lambda name: name == "cpu") or (FixedRule("at least one, because no CPU is requested"),)


def processes(s: Situation, default: int | str = 1) -> Iterator[Ref]:
    """Yield the field that sets the number of processes per node: the TrainJob's, else the policy's, if any."""
    yield sized_by(s.info.processes) or FixedRule(f"numProcPerNode is not set: {default}")


def amount(s: Situation, is_counted: Callable[[str], bool]) -> tuple[Ref, ...]:
    """Return the resource amounts from which a count is taken: requests, or limits if requests have none."""
    resources, ref_of = _counted_resources(s)
    for kind in ("requests", "limits"):
        for name, amount in (resources.get(kind) or {}).items():
            if is_counted(name):
                if parse_quantity(str(amount)).units:
                    return (ref_of(kind, name),)
                break
    return ()


def _counted_resources(s: Situation) -> tuple[Mapping[str, Any], Callable[[str, str], Ref]]:
    """Return the same as `ir.devices.resources_per_node`, with a function that locates each amount."""
    requested = s.job.trainer.resources_per_node
    if not s.info.gitops and requested is not None:
        return requested, lambda kind, name: TrainJobField((*_TRAINER, "resourcesPerNode", kind, name))
    for pod_set in s.info.pod_sets:
        container = pod_set.main_container
        if container is not None and (pod_set.role == names.NODE or pod_set.ancestor == names.TRAINER):
            return container.resources, _in_container(pod_set)
    return {}, lambda kind, name: FixedRule(f"no {kind} of {name}")


def _in_container(pod_set: PodSet) -> Callable[[str, str], Ref]:
    return lambda kind, name: JobSetField(jobset_path(pod_set, pod_set.main, "resources", kind, name))
