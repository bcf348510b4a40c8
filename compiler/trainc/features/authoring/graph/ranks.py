"""How the ranks of a job are shown: which pod and device each one is on, and in which groups it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api.findings import counted
from trainc.api.jobs import Ranks
from trainc.api.kube import Json

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
