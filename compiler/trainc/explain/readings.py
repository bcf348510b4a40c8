"""What plugins read: each function names the fields behind one quantity, in the situation at hand.

They mirror the order in which the passes look: the first place that answers is the one that is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from trainc.api.field_path import FieldPath, Item
from trainc.diagnostics import Path
from trainc.explain.situation import Because, InJobSet, InRuntime, InTrainJob, Ref, Situation
from trainc.ir.podset import PodSet

Reading: TypeAlias = Callable[[Situation], Iterable[Ref]]

_TRAINER: Path = ("spec", "trainer")
_POLICY: Path = ("spec", "mlPolicy")
_AUTO = "auto"


def ml_policy(*steps: str) -> Reading:
    """A field of the runtime's mlPolicy, or the policy itself where a plugin acts because it is there."""
    return lambda _: (InRuntime((*_POLICY, *steps)),)


def gang_policy(*steps: str) -> Reading:
    """A field of the runtime's podGroupPolicy."""
    return lambda _: (InRuntime(("spec", "podGroupPolicy", *steps)),)


def because(rule: str) -> Reading:
    """A rule that no field can change."""
    return lambda _: (Because(rule),)


def job_name(s: Situation) -> Iterator[Ref]:
    """The TrainJob's name, with the hash of its content where one is asked for."""
    yield InTrainJob(("metadata", "name"))
    if s.job.name_hash:
        yield Because(f"--name-hash adds {s.job.name_hash}")


def namespace(_: Situation) -> Iterator[Ref]:
    """The TrainJob's namespace."""
    yield InTrainJob(("metadata", "namespace"))


def host_domain(s: Situation) -> Iterator[Ref]:
    """What the DNS names of pods end in: the JobSet's subdomain, else the job's name."""
    yield from job_name(s)
    yield InJobSet(("spec", "network", "subdomain"))


def master(s: Situation) -> Iterator[Ref]:
    """The address of rank 0. The controller writes job `node` and the job's name, whatever they are."""
    if not s.info.gitops or s.info.trainer is None:
        yield from job_name(s)
        return
    yield from host_domain(s)
    yield InJobSet(replicated_job(s.info.trainer, "name"))


def nodes(s: Situation) -> Iterator[Ref]:
    """How many nodes train: the TrainJob's number, else the runtime's, else one."""
    if s.job.trainer is not None and s.job.trainer.num_nodes is not None:
        yield InTrainJob((*_TRAINER, "numNodes"))
    elif "numNodes" in (s.info.ml_policy or {}):
        yield InRuntime((*_POLICY, "numNodes"))
    else:
        yield Because("one node, where numNodes is set nowhere")


def elastic(*bounds: str) -> Reading:
    """The elastic policy's fields that are there; without any of them the job has the size it would have anyway."""

    def read(s: Situation) -> Iterator[Ref]:
        policy = (s.info.policy("torch") or {}).get("elasticPolicy") or {}
        found = [InRuntime((*_POLICY, "torch", "elasticPolicy", bound)) for bound in bounds if bound in policy]
        yield from found or nodes(s)

    return read


def is_elastic(s: Situation) -> bool:
    """Whether the job runs on a range of nodes."""
    return s.info.gitops and (s.info.policy("torch") or {}).get("elasticPolicy") is not None


def torch_nodes(s: Situation) -> Iterator[Ref]:
    """The size that torchrun is told: a range, or a number."""
    yield from elastic("minNodes", "maxNodes")(s) if is_elastic(s) else trainer_nodes(s)


def torch_pods(s: Situation) -> Iterator[Ref]:
    """How many pods a torch job starts with: numNodes, else the smallest size of an elastic job."""
    asked = s.job.trainer is not None and s.job.trainer.num_nodes is not None
    if not is_elastic(s) or asked or "numNodes" in (s.info.ml_policy or {}):
        yield from nodes(s)
        return
    policy = (s.info.policy("torch") or {}).get("elasticPolicy") or {}
    yield from elastic("minNodes" if "minNodes" in policy else "maxNodes")(s)


def trainer_nodes(s: Situation) -> Iterator[Ref]:
    """As `nodes`; without a job labelled as trainer nobody can be sized, and it is one."""
    if s.info.trainer is None:
        yield Because("one node, where no job is labelled as trainer")
    else:
        yield from nodes(s)


def replicated_job(pod_set: PodSet, *rest: str | int) -> FieldPath:
    """The path of a field of a replicated job in the JobSet."""
    return ("spec", "replicatedJobs", Item(pod_set.name), *rest)


def pods_of(pod_set: PodSet) -> tuple[Ref, ...]:
    """How many pods a job has, and how many replicas."""
    return (
        InJobSet(replicated_job(pod_set, "template", "spec", "parallelism")),
        InJobSet(replicated_job(pod_set, "replicas")),
    )
