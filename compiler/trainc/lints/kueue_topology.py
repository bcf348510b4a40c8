"""Lints for topology requests of pod templates that Kueue's webhook refuses.

Source: kubernetes-sigs/kueue pkg/controller/jobframework/tas_validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from trainc.findings import Finding, Path, Severity
from trainc.ir.entrypoints import JOBS
from trainc.ir.info import Info
from trainc.kube import names
from trainc.kube.documents import Json
from trainc.kube.names import is_label_key
from trainc.plugins.registry import enabled

_DOMAIN = "kueue.x-k8s.io/"
REQUIRED, PREFERRED, _UNCONSTRAINED, _SLICE, _SLICE_SIZE, _LEVELS, _GROUP = TOPOLOGY = tuple(
    f"{_DOMAIN}podset-{name}"
    for name in (
        *("required-topology", "preferred-topology", "unconstrained-topology", "slice-required-topology"),
        *("slice-size", "slice-required-topology-constraints", "group-name"),
    )
)
_BOOLEANS = frozenset(("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"))


def topology_requests(info: Info, queued: bool) -> Iterator[Finding]:
    """Yield findings about the topology requests of all pod templates, and about the groups that they form."""
    severity: Severity = "error" if queued else "warning"
    groups: dict[str, list[tuple[int, Json, Path]]] = {}
    for index, (replicated, pod_set) in enumerate(
        zip(info.template.get("replicatedJobs", ()), info.pod_sets, strict=True)
    ):
        metadata = ((replicated["template"].get("spec") or {}).get("template") or {}).get("metadata") or {}
        requested = {key: str(value) for key, value in (metadata.get("annotations") or {}).items() if key in TOPOLOGY}
        if not requested:
            continue
        path: Path = (*JOBS, index, "template", "spec", "template", "metadata", "annotations")
        pods = pod_set.count * pod_set.replicas
        for key, message, hint in _problems(requested, pods):
            yield Finding("InvalidTopologyRequest", severity, message, hint=hint, path=(*path, key), about="runtime")
        if _GROUP in requested:
            groups.setdefault(requested[_GROUP], []).append((pods, requested, (*path, _GROUP)))
        if not queued and not requested.keys() & _honored(info):
            key = next(iter(requested))
            message = f"{key} has no effect: only Kueue reads it, and the job has no queue"
            yield Finding(
                "TopologyWithoutQueue",
                "info",
                message,
                hint=f"add the queue to the TrainJob: metadata: {{labels: {{{names.QUEUE_LABEL}: my-queue}}}}",
                path=(*path, key),
                about="runtime",
            )
    for name, members in groups.items():
        if message := _group_problem(name, members):
            hint = "use a group for a launcher with one pod and its nodes, with the same topology"
            yield Finding("InvalidTopologyRequest", severity, message, hint=hint, path=members[0][2], about="runtime")


def _honored(info: Info) -> set[str]:
    """Return the annotations that the job's gang scheduler reads."""
    gangs = (p.gang for p in enabled(info.plugins) if p.gang is not None and info.gang(p.policy) is not None)
    return {gang.topology for gang in gangs}


def _problems(requested: Mapping[str, str], pods: int) -> Iterator[tuple[str, str, str]]:
    kinds = [key for key in (REQUIRED, PREFERRED, _UNCONSTRAINED) if key in requested]
    if len(kinds) > 1:
        yield (
            kinds[1],
            f"a pod template can request only one of required, preferred and unconstrained topology; this one has {len(kinds)}",
            "keep one of them",
        )
    for key in (REQUIRED, PREFERRED, _SLICE):
        if key in requested and not is_label_key(requested[key]):
            yield (
                key,
                f"{requested[key]!r} is not a valid label for a topology level",
                "write the node label of the level, such as cloud.provider.com/topology-rack",
            )
    if _UNCONSTRAINED in requested and requested[_UNCONSTRAINED] not in _BOOLEANS:
        yield _UNCONSTRAINED, f"{requested[_UNCONSTRAINED]!r} is not true or false", 'write "true"'
    yield from _slice_problems(requested, pods)
    if _GROUP in requested:
        if requested[_GROUP].isdecimal():
            yield _GROUP, "the name of a group cannot be a number", "start it with a letter"
        for key in (_SLICE, _SLICE_SIZE, _LEVELS):
            if key in requested:
                yield _GROUP, f"a group cannot be divided into slices, and {key} is set", "remove one of them"
                break
        if REQUIRED not in requested and PREFERRED not in requested:
            yield _GROUP, "a group needs a required or a preferred topology", f"add {REQUIRED}"


def _slice_problems(requested: Mapping[str, str], pods: int) -> Iterator[tuple[str, str, str]]:
    size = requested.get(_SLICE_SIZE)
    if size is not None and not (size.lstrip("+-").isdecimal() and size.isascii()):
        yield _SLICE_SIZE, f"{size!r} is not a number of pods", "write a whole number of 1 or more"
    elif size is not None and not 1 <= int(size) <= max(pods, 1):
        yield _SLICE_SIZE, f"{pods} pods cannot be divided into slices of {size}", f"write a number from 1 to {pods}"
    if (_SLICE in requested) != (size is not None):
        missing, there = (_SLICE_SIZE, _SLICE) if _SLICE in requested else (_SLICE, _SLICE_SIZE)
        yield there, f"{there} has no effect without {missing}", f"add {missing}, or remove this annotation"
    if _LEVELS in requested:
        yield from _level_problems(requested, pods)


def _level_problems(requested: Mapping[str, str], pods: int) -> Iterator[tuple[str, str, str]]:
    import json

    if _SLICE in requested or _SLICE_SIZE in requested:
        yield _LEVELS, f"it cannot be used together with {_SLICE} and {_SLICE_SIZE}", "keep one of the two forms"
    try:
        levels = json.loads(requested[_LEVELS])
        sizes = [int(level["size"]) for level in levels]
        labels = [str(level["topology"]) for level in levels]
    except (ValueError, TypeError, KeyError):
        yield (
            _LEVELS,
            "the value is not a JSON list of topology and size",
            'write [{"topology": "cloud.com/rack", "size": 4}]',
        )
        return
    wrong = not 1 <= len(levels) <= 3 or len(set(labels)) < len(labels) or any(size < 1 for size in sizes)
    if wrong or any(outer % inner for outer, inner in pairwise(sizes)) or (sizes and sizes[0] > pods):
        message = f"the sizes {sizes} of levels {labels} do not divide {pods} pods or each other"
        yield _LEVELS, message, "list one to three levels, each with a size that divides the size before it"


def _group_problem(name: str, members: list[tuple[int, Json, Path]]) -> str:
    if len(members) != 2:
        return f"the group {name!r} has {len(members)} pod sets, and Kueue places groups of exactly 2"
    if all(pods != 1 for pods, _, _ in members):
        return f"one of the two pod sets of group {name!r} must have one pod"
    first, second = ({key: requested.get(key) for key in (REQUIRED, PREFERRED)} for _, requested, _ in members)
    return "" if first == second else f"the pod sets of group {name!r} request different topologies"
