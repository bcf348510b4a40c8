"""The ranks of a job: which pod and device each one is on, and in which groups it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from trainc.api.findings import counted
from trainc.api.kube import Json
from trainc.features.authoring.graph.model import Launched, launched_in, process_counts, read_graph
from trainc.ir.parallelism import AXES, Division, divisions, groups, read_arguments

# What is shown of long lists.
_MOST_PODS, _MOST_GROUPS, _MOST_RANKS = 16, 6, 16
# Steps with more ranks are not listed.
_MOST_LISTED = 100_000


class Layout(NamedTuple):
    """The degrees of a framework by axis, in the order in which the ranks are numbered, neighbors first."""

    framework: str
    degrees: Mapping[str, int]


class Ranks(NamedTuple):
    """The ranks of a step: `per_pod` of them in each pod, numbered pod by pod.

    `sorted` means that the pods get their ranks by their index, and not in the order in which they arrive.
    """

    step: str
    pods: tuple[str, ...]
    per_pod: int
    layouts: tuple[Layout, ...]
    sorted: bool


def read_ranks(manifests: Sequence[Json]) -> list[Ranks]:
    """Return the ranks of each step whose number of processes is known, and not too large for a list."""
    jobset = next(manifest for manifest in manifests if manifest["kind"] == "JobSet")
    steps = {step.name: step for step in read_graph(manifests).steps}
    result = []
    for job in jobset["spec"].get("replicatedJobs", ()):
        step = steps[job["name"]]
        started = launched_in(job["template"].get("spec", {}).get("template", {}).get("spec", {}))
        if started is None:
            continue
        per_pod, ranks = process_counts(started, step.all_pods, sum(step.gpus.values()))
        if per_pod and ranks == per_pod * step.all_pods and ranks <= _MOST_LISTED:
            indexes = ((replica, pod) for replica in range(step.replicas) for pod in range(step.pods))
            pods = tuple(f"{jobset['metadata']['name']}-{step.name}-{replica}-{pod}" for replica, pod in indexes)
            launch = started.launch
            option = launch.find_option(frozenset(("rdzv-backend",))) if launch is not None else None
            backend = option.value if option is not None else started.env.get("PET_RDZV_BACKEND", "static")
            result.append(Ranks(step.name, pods, per_pod, tuple(_layouts(started, ranks)), backend == "static"))
    return result


def ranks_of_pod(manifests: Sequence[Json], step: str, replica: int, index: int) -> str:
    """Return the ranks in one pod as text: `ranks 24 to 31 of 32`; empty if they are not known before the job runs."""
    for ranks in read_ranks(manifests):
        if ranks.step == step and ranks.sorted:
            number = next((i for i, pod in enumerate(ranks.pods) if pod.endswith(f"-{step}-{replica}-{index}")), None)
            if number is not None:
                first, last = number * ranks.per_pod, (number + 1) * ranks.per_pod - 1
                numbers = f"rank {first}" if first == last else f"ranks {first} to {last}"
                return f"{numbers} of {len(ranks.pods) * ranks.per_pod}"
    return ""


def _layouts(started: Launched, ranks: int) -> Iterator[Layout]:
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


def ranks_json(steps: Sequence[Ranks]) -> list[dict[str, Any]]:
    """Return the ranks for the key `ranks` of the picture as JSON."""
    return [
        {
            "step": step.step,
            "pods": list(step.pods),
            "processes": step.per_pod,
            "ranks": step.per_pod * len(step.pods),
            "frameworks": [
                {
                    "name": layout.framework,
                    "degrees": dict(layout.degrees),
                    "groups": {
                        axis: groups(layout.degrees, tuple(layout.degrees), axis)
                        for axis, degree in layout.degrees.items()
                        if degree > 1
                    },
                }
                for layout in step.layouts
            ],
        }
        for step in steps
    ]


def ranks_text(steps: Sequence[Ranks]) -> str:
    """Return a table of each step's ranks by pod and device, and the groups of each axis."""
    if not steps:
        return f"no step whose ranks can be listed: the number of processes is unknown or above {_MOST_LISTED:,}\n"
    return "\n".join(line for step in steps for line in (*_table(step), *_groups(step), ""))


def _table(step: Ranks) -> Iterator[str]:
    ranks = step.per_pod * len(step.pods)
    yield f"{step.step}: {counted(ranks, 'rank')}, {counted(len(step.pods), 'pod')} x {step.per_pod} per pod"
    if not step.sorted:
        yield "the pods get their ranks in the order in which they arrive; this is one order of many"
    width, name = len(str(ranks)) + 2, max(map(len, step.pods))
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
        degrees = [f"{AXES[axis]} {degree}" for axis, degree in layout.degrees.items() if degree > 1]
        yield f"{layout.framework}: {' x '.join(degrees) or 'no parallelism'}"
        widest = max(len(AXES[axis]) for axis in layout.degrees)
        for axis, degree in layout.degrees.items():
            if degree > 1:
                rank_groups = groups(layout.degrees, tuple(layout.degrees), axis)
                apart = any(len({rank // step.per_pod for rank in group}) > 1 for group in rank_groups)
                more = ", ..." if len(rank_groups) > _MOST_GROUPS else ""
                text = ", ".join(map(_group_text, rank_groups[:_MOST_GROUPS])) + more
                where = "across pods" if apart else "each in one pod"
                yield f"  {AXES[axis]:<{widest}}  {counted(len(rank_groups), 'group')} of {degree}, {where}: {text}"


def _group_text(group: list[int]) -> str:
    if len(group) > 1 and group == list(range(group[0], group[-1] + 1)):
        return f"{group[0]}-{group[-1]}"
    return " ".join(map(str, group[:_MOST_GROUPS])) + (" ..." if len(group) > _MOST_GROUPS else "")
