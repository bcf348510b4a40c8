"""What a picture of a job shows."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

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
    told_by: str


@dataclass(frozen=True, slots=True)
class Step:
    """A replicated job. `pods` are those of one replica; `gpus` the devices of one pod by resource name.

    `runs` says which processes start in it; `others` are the amounts of one pod that are not devices: "64 cpu". `role` is
    the ancestor step or the part in an MPI job, empty where it has none; `hosts` the DNS names of all pods as a pattern
    with ranges, empty where pods have no names.
    """

    name: str
    role: str
    image: str
    pods: int
    replicas: int
    gpus: tuple[tuple[str, int], ...]
    volumes: tuple[Volume, ...]
    depends_on: tuple[Dependency, ...]
    hosts: str
    rendezvous: tuple[Rendezvous, ...]
    in_gang: bool
    runs: str = ""
    others: tuple[str, ...] = ()

    @property
    def all_pods(self) -> int:
        """Pods of all replicas."""
        return self.pods * self.replicas

    @property
    def gpus_per_pod(self) -> int:
        """Devices of one pod, of whichever kind."""
        return sum(count for _, count in self.gpus)


@dataclass(frozen=True, slots=True)
class Gang:
    """The pods that a scheduler starts together or not at all; `members` is how many it waits for."""

    name: str
    scheduler: str
    members: int


@dataclass(frozen=True, slots=True)
class Graph:
    """The steps of one JobSet in order of its replicated jobs, and its gang if it has one."""

    namespace: str
    name: str
    steps: tuple[Step, ...]
    gang: Gang | None
    suspended: bool

    @property
    def pods(self) -> int:
        """Pods of all steps."""
        return sum(step.all_pods for step in self.steps)

    @property
    def gpus(self) -> int:
        """Devices of all pods of all steps."""
        return sum(step.all_pods * step.gpus_per_pod for step in self.steps)


# What is said about a step in the same words in every form of the picture.


_TIMES = " \N{MULTIPLICATION SIGN} "


def counted(count: int, noun: str) -> str:
    """`1 pod`, `2,000 pods`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def total(graph: Graph) -> str:
    """Pods and GPUs of the whole job."""
    return counted(graph.pods, "pod") + (f", {counted(graph.gpus, 'GPU')}" if graph.gpus else "")


def size(step: Step) -> str:
    """Replicas where there are several, pods of one, and GPUs of each where it has some, multiplied."""
    factors = [f"{step.replicas:,}"] if step.replicas != 1 else []
    factors.append(counted(step.pods, "pod"))
    if step.gpus_per_pod:
        factors.append(counted(step.gpus_per_pod, "GPU"))
    return _TIMES.join(factors)


def devices(step: Step) -> str:
    """`8 nvidia.com/gpu, 64 cpu` for one pod."""
    return ", ".join((*(f"{count:,} {name}" for name, count in step.gpus), *step.others))


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
