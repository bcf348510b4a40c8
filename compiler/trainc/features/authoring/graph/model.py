"""The data model of a picture of a job."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from trainc.api.findings import counted
from trainc.api.jobs import Dependency, JobSet, Processes, Ranks, ReplicatedJob
from trainc.api.kube import Json, devices, value_at
from trainc.api.plugins import Plugin, enabled
from trainc.api.records import dataclass


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
    """A replicated job in the picture.

    `depends_on` is what it waits for, `runs` describes the processes it starts. `hosts` is a pattern with ranges for the
    DNS names of all pods, empty if the pods have none. `gang` is the name of the gang that the pods join, if any.
    """

    job: ReplicatedJob
    depends_on: tuple[Dependency, ...] = ()
    volumes: tuple[Volume, ...] = ()
    hosts: str = ""
    rendezvous: tuple[Rendezvous, ...] = ()
    gang: str = ""
    runs: str = ""

    @property
    def name(self) -> str:
        """The name of the replicated job."""
        return self.job.name

    @property
    def accelerators(self) -> Counter[str]:
        """Compute devices per pod, by display name: GPU, TPU."""
        counts: Counter[str] = Counter()
        for name, count in self.job.devices.items():
            counts[devices.accelerator(name)] += count
        return counts


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
        return sum(step.job.pods for step in self.steps)

    @property
    def gpus(self) -> int:
        """Compute devices of all pods."""
        return sum(step.job.pods * count for step in self.steps for count in step.job.devices.values())

    @property
    def accelerators(self) -> Counter[str]:
        """Compute devices of all pods, by display name."""
        counts: Counter[str] = Counter()
        for step in self.steps:
            counts.update({noun: count * step.job.pods for noun, count in step.accelerators.items()})
        return counts


# Phrases about a step that every output format shares.


_TIMES = " \N{MULTIPLICATION SIGN} "


def total(graph: Graph) -> str:
    """The pods and devices of the whole job, and whether it is suspended."""
    suspended = ["suspended"] if graph.suspended else []
    return ", ".join((counted(graph.pods, "pod"), *_devices(graph.accelerators), *suspended))


def size(step: Step) -> str:
    """Replicas if there are several, pods per replica, and devices per pod if there are any, as a product."""
    factors = [f"{step.job.replicas:,}"] if step.job.replicas != 1 else []
    factors.append(counted(step.job.pods_at_once, "pod"))
    if device_counts := _devices(step.accelerators):
        factors.append(" + ".join(device_counts))
    return _TIMES.join(factors)


def _devices(counts: Counter[str]) -> list[str]:
    return [counted(count, noun) for noun, count in counts.items() if count]


def gang(group: Gang) -> str:
    """`gang llm: 4 pods together (coscheduling)`."""
    return f"gang {group.name}: {counted(group.members, 'pod')} together ({group.scheduler})"


# Assign the steps to layers: each after all of its dependencies, and close to them within its layer.


def layers(graph: Graph) -> list[list[Step]]:
    """Steps without dependencies, then their dependents, and so on; steps in a cycle form a single layer."""
    steps = {step.name: step for step in graph.steps}
    sorter = TopologicalSorter({s.name: [d.step for d in s.depends_on if d.step in steps] for s in graph.steps})
    try:
        sorter.prepare()
    except CycleError:
        return [list(graph.steps)]
    result: list[list[Step]] = []
    positions: dict[str, int] = {}

    def height(step: Step) -> float:
        """The mean position of a step's dependencies, used to reduce line crossings."""
        heights = [positions[d.step] for d in step.depends_on if d.step in positions]
        return sum(heights) / len(heights) if heights else 0.0

    while sorter.is_active():
        ready = sorter.get_ready()
        layer = sorted((step for step in graph.steps if step.name in ready), key=height)
        positions |= {step.name: i for i, step in enumerate(layer)}
        result.append(layer)
        sorter.done(*ready)
    return result


def summary_of(manifests: Sequence[Json]) -> str:
    """Return what the pods of a job run, in a line; nothing if no step is known to train."""
    return summary(read_graph(manifests).steps)


def headline_of(manifests: Sequence[Json]) -> str:
    """Return what the pods of a job run, or else how many there are, in a line."""
    graph = read_graph(manifests)
    return summary(graph.steps) or total(graph)


def summary(steps: Sequence[Step]) -> str:
    """Describe the training step: `4 pods x 8 GPUs, torchrun, 8 processes per pod, 32 ranks, rendezvous at ...`."""
    step = next((step for step in steps if step.runs), None)
    if step is None:
        return ""
    meeting = [f"rendezvous at {step.rendezvous[0].address}"] if step.rendezvous else []
    return ", ".join([size(step).replace("\N{MULTIPLICATION SIGN}", "x"), step.runs, *meeting])


# Build a graph from the manifests that will be applied, so that the picture always matches them.


_KINDS = {"persistentVolumeClaim": "PVC"}
_REFERENCES = ("name", "secretName", "claimName", "path")


def read_graph(manifests: Sequence[Json], plugins: Sequence[Plugin] = enabled(())) -> Graph:
    """Read the graph of the only JobSet among a job's manifests; `plugins` supply the rendezvous addresses."""
    jobset = next(JobSet.among(manifests))
    schedulers = {p.gang.api_group: (p.policy, p.gang.size) for p in plugins if p.gang is not None}
    gangs = []
    for manifest in (manifest for manifest in manifests if manifest["kind"] == "PodGroup"):
        group = manifest["apiVersion"].partition("/")[0]
        scheduler, size = schedulers.get(group, (group, None))
        gangs.append(Gang(manifest["metadata"]["name"], scheduler, (size and value_at(manifest, size)) or 0))
    steps = tuple(_step(job, jobset, manifests, plugins) for job in jobset.jobs)
    return Graph(jobset.namespace, jobset.name, steps, tuple(gangs), jobset.spec.get("suspend") is True)


def _step(job: ReplicatedJob, jobset: JobSet, manifests: Sequence[Json], plugins: Sequence[Plugin]) -> Step:
    gangs = (plugin.gang for plugin in plugins if plugin.gang is not None)
    hosts = first_host = ""
    if jobset.has_hosts and job.pods:
        replicas, pods = (f"[0-{count - 1}]" if count > 1 else "0" for count in (job.replicas, job.pods_at_once))
        hosts = f"{jobset.name}-{job.name}-{replicas}-{pods}.{jobset.service}"
        first_host = f"{next(jobset.pods_of(job))}.{jobset.service}"
    return Step(
        job,
        depends_on=jobset.awaits(job),
        volumes=tuple(_volumes(job, jobset)),
        hosts=hosts,
        rendezvous=tuple(_rendezvous(job.pod_spec, manifests, first_host, plugins)),
        gang=next((str(name) for gang in gangs if (name := value_at(job.pod_template, gang.joins))), ""),
        runs=_processes(job),
    )


def _processes(job: ReplicatedJob) -> str:
    """`torchrun, 8 processes per pod, 32 ranks`; empty if the step uses no known framework."""
    processes = Processes.of(job)
    if processes is None:
        return ""
    per_pod, ranks = processes.counts
    counts = [f"{per_pod:,} process{'' if per_pod == 1 else 'es'} per pod"] if per_pod else []
    counts += [counted(ranks, "rank")] if ranks else []
    return ", ".join([processes.program, *counts])


def _volumes(job: ReplicatedJob, jobset: JobSet) -> Iterator[Volume]:
    for volume in job.pod_spec.get("volumes", ()):
        nothing: tuple[str, Json] = ("", {})
        kind, source = next(((k, v) for k, v in volume.items() if k != "name"), nothing)
        refers_to = next((source[field] for field in _REFERENCES if field in source), "") if source else ""
        yield Volume(volume["name"], f"{_KINDS.get(kind, kind)} {refers_to}".strip())
    # The claims that JobSet creates for its pods, which mount them by name.
    claims = {
        name: value_at(claim, ("spec", "resources", "requests", "storage")) or ""
        for _, claim in jobset.claims
        if (name := value_at(claim, ("metadata", "name")))
    }
    mounted = {m["name"] for c in job.pod_spec.get("containers", ()) for m in c.get("volumeMounts", ())}
    for name in sorted(mounted & claims.keys()):
        yield Volume(name, f"PVC {claims[name]}".strip())


def _rendezvous(
    pod: Json, manifests: Sequence[Json], first_host: str, plugins: Sequence[Plugin]
) -> Iterator[Rendezvous]:
    for container in pod.get("containers", ()):
        env = {variable["name"]: str(variable.get("value", "")) for variable in container.get("env", ())}
        for address in (address for plugin in plugins for address in plugin.addresses):
            host, port = env.get(address.variable), env.get(address.port)
            if host:
                yield Rendezvous(host if port is None else f"{host}:{port}", address.variable)
        for argument in (argument for plugin in plugins for argument in plugin.address_arguments):
            for word in container.get("command", ()):
                if word.startswith(argument):
                    yield Rendezvous(word.removeprefix(argument), argument.rstrip("="))
    mounted = {(volume.get("configMap") or {}).get("name") for volume in pod.get("volumes", ())}
    for manifest in manifests:
        if manifest["kind"] == "ConfigMap" and manifest["metadata"]["name"] in mounted:
            for file in (file for plugin in plugins for file in plugin.files):
                source = f"{file.called or file.key} in {manifest['metadata']['name']}"
                yield from _by_file((manifest.get("data") or {}).get(file.key), file.port, source, first_host)


def _by_file(text: str | None, pattern: str, source: str, first_host: str) -> Iterator[Rendezvous]:
    """What programs read from a file: all hosts, or the port of rank 0."""
    if text is not None and not pattern:
        yield Rendezvous(counted(text.count("\n"), "host"), source)
    port = re.search(pattern, text or "") if pattern else None
    if port is not None and first_host:
        yield Rendezvous(f"{first_host}:{port[1]}", source)


# What is shown of long lists.
_MOST_PODS, _MOST_GROUPS, _MOST_RANKS = 16, 6, 16


def ranks_of_pod(manifests: Sequence[Json], step: str, replica: int, index: int) -> str:
    """Return the ranks in one pod as text: `ranks 24 to 31 of 32`; empty if they are not known before the job runs."""
    for ranks in Ranks.read(manifests):
        if ranks.step == step and ranks.sorted:
            number = next((i for i, pod in enumerate(ranks.pods) if pod.endswith(f"-{step}-{replica}-{index}")), None)
            if number is not None:
                first, last = number * ranks.per_pod, (number + 1) * ranks.per_pod - 1
                numbers = f"rank {first}" if first == last else f"ranks {first} to {last}"
                return f"{numbers} of {ranks.total}"
    return ""


def ranks_json(steps: Sequence[Ranks]) -> list[dict[str, Any]]:
    """Return the ranks for the key `ranks` of the picture as JSON."""
    return [
        {
            "step": step.step,
            "pods": list(step.pods),
            "processes": step.per_pod,
            "ranks": step.total,
            "frameworks": [
                {
                    "name": layout.framework,
                    "degrees": dict(layout.degrees),
                    "groups": {split.axis: split.groups for split in layout.splits},
                }
                for layout in step.layouts
            ],
        }
        for step in steps
    ]


def ranks_text(steps: Sequence[Ranks]) -> str:
    """Return a table of each step's ranks by pod and device, and the groups of each axis."""
    if not steps:
        return "no step whose ranks can be listed: the number of processes is unknown or above 100,000\n"
    return "\n".join(line for step in steps for line in (*_table(step), *_groups(step), ""))


def _table(step: Ranks) -> Iterator[str]:
    yield f"{step.step}: {counted(step.total, 'rank')}, {counted(len(step.pods), 'pod')} x {step.per_pod} per pod"
    if not step.sorted:
        yield "the pods get their ranks in the order in which they arrive; this is one order of many"
    width, name = len(str(step.total)) + 2, max(map(len, step.pods))
    devices = range(min(step.per_pod, _MOST_RANKS))
    more = " ..." if len(devices) < step.per_pod else ""
    yield f"{'device':>{name}}" + "".join(f"{device:>{width}}" for device in devices) + more
    last = len(step.pods) - 1
    for index, pod in enumerate(step.pods):
        if index < _MOST_PODS - 1 or index == last:
            yield f"{pod:>{name}}" + "".join(f"{index * step.per_pod + device:>{width}}" for device in devices) + more
        elif index == last - 1:
            yield f"{'...':>{name}}"


def _groups(step: Ranks) -> Iterator[str]:
    for layout in step.layouts:
        splits = list(layout.splits)
        yield f"{layout.framework}: {' x '.join(f'{s.name} {s.degree}' for s in splits) or 'no parallelism'}"
        widest = max((len(split.name) for split in splits), default=0)
        for split in splits:
            apart = any(len({rank // step.per_pod for rank in group}) > 1 for group in split.groups)
            more = ", ..." if len(split.groups) > _MOST_GROUPS else ""
            text = ", ".join(map(_group_text, split.groups[:_MOST_GROUPS])) + more
            where = "across pods" if apart else "each in one pod"
            yield f"  {split.name:<{widest}}  {counted(len(split.groups), 'group')} of {split.degree}, {where}: {text}"


def _group_text(group: list[int]) -> str:
    if len(group) > 1 and group == list(range(group[0], group[-1] + 1)):
        return f"{group[0]}-{group[-1]}"
    return " ".join(map(str, group[:_MOST_GROUPS])) + (" ..." if len(group) > _MOST_GROUPS else "")
