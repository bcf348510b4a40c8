"""What a picture of a job shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from trainc.api.devices import accelerator
from trainc.api.quantity import Quantity
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Dependency:
    """The step of that name must be `status`, Ready or Complete, before this one starts."""

    step: str
    status: str


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of a step's pods; `source` is its kind and what it refers to: `secret hf-token`."""

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """Where pods meet: the address, and the variable or file that tells them."""

    address: str
    source: str


@dataclass(frozen=True, slots=True)
class Step:
    """A replicated job. `pods` are those of one replica; `requests` what one pod asks for, by resource name.

    `runs` says which processes start in it. `role` is the ancestor step or the part in an MPI job, empty where it has
    none; `hosts` the DNS names of all pods as a pattern with ranges, empty where pods have no names; `gang` the name of
    the gang that its pods join, if any.
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
        """Devices of one pod that compute, by resource name."""
        return {name: amount.units for name, amount in self.requests if accelerator(name)}

    @property
    def accelerators(self) -> Counter[str]:
        """Devices of one pod that compute, by what they are called: GPU, TPU."""
        found: Counter[str] = Counter()
        for name, amount in self.requests:
            if noun := accelerator(name):
                found[noun] += amount.units
        return found


@dataclass(frozen=True, slots=True)
class Gang:
    """The pods that a scheduler starts together or not at all; `members` is how many it waits for."""

    name: str
    scheduler: str
    members: int


@dataclass(frozen=True, slots=True)
class Graph:
    """The steps of one JobSet in order of its replicated jobs, and its gangs: one, if any, or one for each step."""

    namespace: str
    name: str
    steps: tuple[Step, ...]
    gangs: tuple[Gang, ...]
    suspended: bool

    @property
    def gang(self) -> Gang | None:
        """The one gang of the job; None where it has none or several."""
        return self.gangs[0] if len(self.gangs) == 1 else None

    def members(self, gang: Gang) -> list[Step]:
        """The steps whose pods are in a gang."""
        return [step for step in self.steps if step.gang == gang.name]

    @property
    def pods(self) -> int:
        """Pods of all steps."""
        return sum(step.all_pods for step in self.steps)

    @property
    def gpus(self) -> int:
        """Devices of all pods that compute."""
        return sum(step.all_pods * count for step in self.steps for count in step.gpus.values())

    @property
    def accelerators(self) -> Counter[str]:
        """Devices of all pods that compute, by what they are called."""
        found: Counter[str] = Counter()
        for step in self.steps:
            found.update({noun: count * step.all_pods for noun, count in step.accelerators.items()})
        return found


# What is said about a step in the same words in every form of the picture.


_TIMES = " \N{MULTIPLICATION SIGN} "


def counted(count: int, noun: str) -> str:
    """`1 pod`, `2,000 pods`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def total(graph: Graph) -> str:
    """Pods and devices of the whole job."""
    return ", ".join((counted(graph.pods, "pod"), *_devices(graph.accelerators)))


def size(step: Step) -> str:
    """Replicas where there are several, pods of one, and devices of each where it has some, multiplied."""
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
    """All that one pod asks for."""
    return ", ".join(filter(None, (devices(step), cpu_and_memory(step))))


_HOST = {"cpu": "CPU", "memory": "memory", "ephemeral-storage": "disk"}


def gang(found: Gang) -> str:
    """`gang llm: 4 pods together (coscheduling)`."""
    return f"gang {found.name}: {counted(found.members, 'pod')} together ({found.scheduler})"


# The steps in layers: each behind all that it waits for, and near them inside its layer.


def layers(graph: Graph) -> list[list[Step]]:
    """Steps that wait for nothing, then those that wait for them, and so on; in a circle, all in one layer."""
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
    """The mean height of what a step waits for, so that lines cross little."""
    heights = [place[d.step] for d in step.depends_on if d.step in place]
    return sum(heights) / len(heights) if heights else 0.0
