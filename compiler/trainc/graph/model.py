"""The data model of a picture of a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from trainc.api.devices import accelerator
from trainc.api.quantity import Quantity
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Dependency:
    """The named step must reach `status` (Ready or Complete) before this one starts."""

    step: str
    status: str


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of a step's pods; `source` is its kind and target, e.g. `secret hf-token`."""

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """A rendezvous address, and the variable or file that tells the pods about it."""

    address: str
    source: str


@dataclass(frozen=True, slots=True)
class Step:
    """A replicated job. `pods` counts the pods of one replica; `requests` are per pod, by resource name.

    `runs` describes the processes it starts. `role` is the ancestor step or the part in an MPI job, or empty. `hosts`
    is a pattern with ranges for the DNS names of all pods, empty if the pods have none. `gang` is the name of the gang
    that the pods join, if any.
    """

    name: str
    role: str
    image: str
    pods: int
    replicas: int
    requests: tuple[tuple[str, Quantity], ...]
    volumes: tuple[Volume, ...]
    depends_on: tuple[Dependency, ...]
    hosts: str
    rendezvous: tuple[Rendezvous, ...]
    gang: str
    runs: str = ""

    @property
    def all_pods(self) -> int:
        """Pods of all replicas."""
        return self.pods * self.replicas

    @property
    def gpus(self) -> dict[str, int]:
        """Compute devices per pod, by resource name."""
        return {name: amount.units for name, amount in self.requests if accelerator(name)}

    @property
    def accelerators(self) -> Counter[str]:
        """Compute devices per pod, by display name: GPU, TPU."""
        found: Counter[str] = Counter()
        for name, amount in self.requests:
            if noun := accelerator(name):
                found[noun] += amount.units
        return found


@dataclass(frozen=True, slots=True)
class Gang:
    """Pods that a scheduler starts all together or not at all; `members` is how many it waits for."""

    name: str
    scheduler: str
    members: int


@dataclass(frozen=True, slots=True)
class Graph:
    """The steps of one JobSet in the order of its replicated jobs, and its gangs: at most one, or one per step."""

    namespace: str
    name: str
    steps: tuple[Step, ...]
    gangs: tuple[Gang, ...]
    suspended: bool

    @property
    def gang(self) -> Gang | None:
        """The job's only gang; None if it has none or several."""
        return self.gangs[0] if len(self.gangs) == 1 else None

    def members(self, gang: Gang) -> list[Step]:
        """The steps whose pods join a gang."""
        return [step for step in self.steps if step.gang == gang.name]

    @property
    def pods(self) -> int:
        """Pods of all steps."""
        return sum(step.all_pods for step in self.steps)

    @property
    def gpus(self) -> int:
        """Compute devices of all pods."""
        return sum(step.all_pods * count for step in self.steps for count in step.gpus.values())

    @property
    def accelerators(self) -> Counter[str]:
        """Compute devices of all pods, by display name."""
        found: Counter[str] = Counter()
        for step in self.steps:
            found.update({noun: count * step.all_pods for noun, count in step.accelerators.items()})
        return found


# Phrases about a step that every output format shares.


_TIMES = " \N{MULTIPLICATION SIGN} "


def counted(count: int, noun: str) -> str:
    """`1 pod`, `2,000 pods`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def total(graph: Graph) -> str:
    """The pods and devices of the whole job."""
    return ", ".join((counted(graph.pods, "pod"), *_devices(graph.accelerators)))


def size(step: Step) -> str:
    """Replicas if there are several, pods per replica, and devices per pod if there are any, as a product."""
    factors = [f"{step.replicas:,}"] if step.replicas != 1 else []
    factors.append(counted(step.pods, "pod"))
    if found := _devices(step.accelerators):
        factors.append(" + ".join(found))
    return _TIMES.join(factors)


def _devices(found: Counter[str]) -> list[str]:
    return [counted(count, noun) for noun, count in found.items() if count]


def devices(step: Step) -> str:
    """`8 nvidia.com/gpu, 1 rdma/hca` for one pod."""
    return ", ".join(f"{amount} {name}" for name, amount in step.requests if name not in _HOST)


def cpu_and_memory(step: Step) -> str:
    """`96 CPUs, 1Ti memory` for one pod."""
    return ", ".join(f"{amount} {_HOST[name]}" for name, amount in step.requests if name in _HOST)


def per_pod(step: Step) -> str:
    """All requests of one pod."""
    return ", ".join(filter(None, (devices(step), cpu_and_memory(step))))


_HOST = {"cpu": "CPU", "memory": "memory", "ephemeral-storage": "disk"}


def gang(found: Gang) -> str:
    """`gang llm: 4 pods together (coscheduling)`."""
    return f"gang {found.name}: {counted(found.members, 'pod')} together ({found.scheduler})"


# Assign the steps to layers: each after all of its dependencies, and close to them within its layer.


def layers(graph: Graph) -> list[list[Step]]:
    """Steps without dependencies, then their dependents, and so on; steps in a cycle form a single layer."""
    steps = {step.name: step for step in graph.steps}
    sorter = TopologicalSorter({s.name: [d.step for d in s.depends_on if d.step in steps] for s in graph.steps})
    try:
        sorter.prepare()
    except CycleError:
        return [list(graph.steps)]
    found: list[list[Step]] = []
    place: dict[str, int] = {}
    while sorter.is_active():
        ready = sorter.get_ready()
        layer = sorted((step for step in graph.steps if step.name in ready), key=lambda s: _height(s, place))
        place |= {step.name: i for i, step in enumerate(layer)}
        found.append(layer)
        sorter.done(*ready)
    return found


def _height(step: Step, place: Mapping[str, int]) -> float:
    """The mean position of a step's dependencies, used to reduce line crossings."""
    heights = [place[d.step] for d in step.depends_on if d.step in place]
    return sum(heights) / len(heights) if heights else 0.0
