"""What the pods of a compiled job start: launchers, their processes, and which rank is in which pod and group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import NamedTuple

from trainc.ir.commands.programs import Launch, program_name
from trainc.ir.commands.started import CommandLine, read_command
from trainc.ir.parallelism import AXES, Division, divisions, groups, read_arguments
from trainc.kube.documents import Json
from trainc.kube.jobset import JobSet, ReplicatedJob
from trainc.kube.quantity import whole_number
from trainc.plugins.plugin import Started
from trainc.plugins.registry import PLUGINS, programs


class Processes(NamedTuple):
    """The command of a framework in the pods of a step, with its variables."""

    line: CommandLine
    started: Started
    env: Mapping[str, str | None]
    job: ReplicatedJob

    @property
    def launch(self) -> Launch | None:
        """The last launcher, which starts the training."""
        return self.line.launches[-1] if self.line.launches else None

    @property
    def program(self) -> str:
        """What is started in each pod: the launcher, or else the program itself."""
        if self.launch is not None:
            return self.launch.launcher.name
        if starts := self.line.starts_of("python", "code", "unknown"):
            return program_name(starts[-1].argv[starts[-1].program.index])
        return "the image's own command"

    @property
    def counts(self) -> tuple[int, int]:
        """Processes per pod and ranks of the step; 0 if unspecified."""
        launch, pods, per_pod = self.launch, self.job.pods, self.started.per_pod
        if self.started.total:
            return 0, whole_number(self.env.get(self.started.total)) or 0
        if not per_pod:
            return 0, (_given_number(launch, launch.launcher.total) if launch else None) or 0
        if isinstance(per_pod, int):
            return per_pod, per_pod * pods
        if launch is None:
            return 1, 0
        per_node = _given_number(launch, launch.launcher.per_node)
        if not per_node:  # The variable may have a word that stands for the devices of the pod.
            variable = whole_number(self.env.get(per_pod))
            per_node = sum(self.job.devices.values()) if variable is None else variable
        return per_node, per_node * pods

    @classmethod
    def of(cls, job: ReplicatedJob) -> Processes | None:
        """Return what the first container of a step with variables of a framework runs, or None."""
        for container in job.pod_spec.get("containers", ()):
            env = {str(v["name"]): v.get("value") for v in container.get("env", ())}
            words = tuple(map(str, (*container.get("command", ()), *container.get("args", ()))))
            for plugin in PLUGINS if words else ():
                if plugin.started is not None and plugin.started.variable in env:
                    return cls(read_command(words, programs(plugin.policy)), plugin.started, env, job)
        return None


def _given_number(launch: Launch, names: frozenset[str]) -> int | None:
    option = launch.find_option(names)
    return whole_number(option.value) if option else None


class Split(NamedTuple):
    """An axis along which a framework divides the ranks, what it is called, and the groups of ranks along it."""

    axis: str
    name: str
    degree: int
    groups: list[list[int]]


class Layout(NamedTuple):
    """The degrees of a framework by axis, in the order in which the ranks are numbered, neighbors first."""

    framework: str
    degrees: Mapping[str, int]

    @property
    def splits(self) -> Iterator[Split]:
        """The axes that divide the ranks."""
        for axis, degree in self.degrees.items():
            if degree > 1:
                yield Split(axis, AXES[axis], degree, groups(self.degrees, tuple(self.degrees), axis))


class Ranks(NamedTuple):
    """The ranks of a step: `per_pod` of them in each pod, numbered pod by pod.

    `sorted` means that the pods get their ranks by their index, and not in the order in which they arrive.
    """

    step: str
    pods: tuple[str, ...]
    per_pod: int
    layouts: tuple[Layout, ...]
    sorted: bool

    @property
    def total(self) -> int:
        """The ranks of all pods."""
        return len(self.pods) * self.per_pod

    @classmethod
    def read(cls, manifests: Iterable[Json], most: int = 100_000) -> list[Ranks]:
        """Return the ranks of each step whose number of processes is known; not of those with more than `most`."""
        result = []
        for jobset, job in [(each, job) for each in JobSet.among(manifests) for job in each.jobs]:
            started = Processes.of(job)
            per_pod, ranks = started.counts if started is not None else (0, 0)
            if started is not None and per_pod and ranks == per_pod * job.pods and ranks <= most:
                option = started.launch and started.launch.find_option(frozenset(("rdzv-backend",)))
                backend = option.value if option else started.env.get("PET_RDZV_BACKEND", "static")
                pods, layouts = tuple(jobset.pods_of(job)), tuple(_layouts(started, ranks))
                result.append(cls(job.name, pods, per_pod, layouts, backend == "static"))
        return result


def _layouts(started: Processes, ranks: int) -> Iterator[Layout]:
    line, launch = started.line, started.launch
    start = next((start for start in reversed(line.starts) if start.launch is launch), None)
    if launch is None or start is None:
        return
    first = len(start.argv) - len(launch.program)
    words = start.argv if line.script is not None else line.argv
    of_launcher = divisions(read_arguments(start.argv[launch.index + 1 : first]), {}, launch.launcher.name)
    for division in (*divisions(read_arguments(words[first:]), {}), *of_launcher):
        degrees = _degrees(division, ranks)
        if degrees is not None:
            yield Layout(division.framework.name, degrees)


def _degrees(division: Division, ranks: int) -> dict[str, int] | None:
    """Return the degrees of all axes, the data degree worked out; None if they do not divide the ranks."""
    framework = division.framework
    degrees = {axis: division.degree(axis) or 1 for axis in framework.order}
    data_axis = framework.inferred or ("dp" if "dp" in degrees else "")
    model = prod(degrees.values())
    if data_axis and division.degree(data_axis) is None and ranks % model == 0:
        degrees[data_axis] = ranks // model
    return degrees if degrees and prod(degrees.values()) == ranks else None
