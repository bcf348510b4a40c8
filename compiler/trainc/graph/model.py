"""What a picture of a job shows."""

from __future__ import annotations

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

    `role` is the ancestor step or the part in an MPI job, empty where it has none; `hosts` the DNS names of all pods
    as a pattern with ranges, empty where pods have no names.
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
