"""The steps of a JobSet and the resources they request."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.api.documents import Manifest
from trainc.api.quantity import ZERO, Quantity, ResourceList, pod_requests
from trainc.diff.gangs import group_size
from trainc.ir.devices import is_gpu
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """A replicated job: its pod count, the requests per pod, and the steps it waits for with the required status."""

    name: str
    pods: int
    requests: ResourceList
    depends_on: tuple[tuple[str, str], ...] = ()

    @property
    def gpus(self) -> Quantity:
        """GPUs per pod."""
        found = [amount for name, amount in self.requests.items() if is_gpu(name)]
        return sum(found, start=ZERO)


@dataclass(frozen=True, slots=True)
class Totals:
    """The resources a job requests while it trains. `gang` is None without a PodGroup.

    Steps that others await with `dependsOn: Complete` do not count: they have finished by the time the others run.
    """

    nodes: int = 0
    gpus: Quantity = ZERO
    cpu: Quantity = ZERO
    memory: Quantity = ZERO
    gang: int | None = None

    def __add__(self, other: Totals) -> Totals:
        gangs = [gang for gang in (self.gang, other.gang) if gang is not None]
        return Totals(
            self.nodes + other.nodes,
            self.gpus + other.gpus,
            self.cpu + other.cpu,
            self.memory + other.memory,
            sum(gangs) if gangs else None,
        )


def steps_of(jobset: Manifest) -> tuple[Step, ...]:
    """The steps in manifest order. The manifest must have passed its schema."""
    return tuple(map(_step, jobset.get("spec", {}).get("replicatedJobs") or ()))


def _step(replicated_job: Manifest) -> Step:
    job = replicated_job.get("template", {}).get("spec", {})
    parallelism = job.get("parallelism", 1)
    pods = replicated_job.get("replicas", 1) * min(parallelism, job.get("completions", parallelism))
    awaited = tuple((other["name"], other.get("status", "Complete")) for other in replicated_job.get("dependsOn") or ())
    requests = pod_requests(job.get("template", {}).get("spec", {}), limits_count=True)
    return Step(replicated_job["name"], pods, requests, awaited)


def totals_of(steps: Sequence[Step], pod_groups: Sequence[Manifest] = ()) -> Totals:
    """The sum over the steps that run at the same time, and the gang size that the PodGroups request."""
    over = {name for step in steps for name, status in step.depends_on if status == "Complete"}
    total = Totals(gang=_gang(pod_groups))
    for step in steps:
        if step.name not in over:
            cpu, memory = (step.requests.get(name, ZERO) * step.pods for name in ("cpu", "memory"))
            total += Totals(step.pods, step.gpus * step.pods, cpu, memory)
    return total


def _gang(pod_groups: Sequence[Manifest]) -> int | None:
    known = [size for group in pod_groups if (size := group_size(group)) is not None]
    return sum(known) if known else None
