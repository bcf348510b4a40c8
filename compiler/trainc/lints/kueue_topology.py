"""Lints for topology requests of pod templates that Kueue's webhook refuses.

Source: kubernetes-sigs/kueue pkg/controller/jobframework/tas_validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from trainc.findings import Finding, Path, Severity, remove
from trainc.ir.entrypoints import JOBS
from trainc.ir.info import Info
from trainc.kube import names
from trainc.kube.documents import Json, read_json
from trainc.kube.kueue import DEFAULT, FALSE_REFUSED, PARTIAL_SLICES, SLICED_GROUPS
from trainc.kube.names import is_label_key
from trainc.kube.quantity import parse_quantity
from trainc.plugins.registry import enabled

_DOMAIN = "kueue.x-k8s.io/"
REQUIRED, PREFERRED, _UNCONSTRAINED, _SLICE, _SLICE_SIZE, _LEVELS, _GROUP = TOPOLOGY = tuple(
    f"{_DOMAIN}podset-{name}"
    for name in (
        *("required-topology", "preferred-topology", "unconstrained-topology", "slice-required-topology"),
        *("slice-size", "slice-required-topology-constraints", "group-name"),
    )
)
SPREADING = f"{_DOMAIN}podset-topology-spreading"
PLACING = (*TOPOLOGY, SPREADING)
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
_BOOLEANS = frozenset(("1", "t", "T", "TRUE", "true", "True", *_FALSE))


def topology_requests(info: Info, queued: bool) -> Iterator[Finding]:
    """Yield findings about the topology requests of all pod templates, and about the groups that they form."""
    severity: Severity = "error" if queued else "warning"
    groups: dict[str, list[tuple[int, Json, Path]]] = {}
    for index, (replicated, pod_set) in enumerate(
        zip(info.template.get("replicatedJobs", ()), info.pod_sets, strict=True)
    ):
        metadata = ((replicated["template"].get("spec") or {}).get("template") or {}).get("metadata") or {}
        requested = {key: str(value) for key, value in (metadata.get("annotations") or {}).items() if key in PLACING}
        if not requested:
            continue
        path: Path = (*JOBS, index, "template", "spec", "template", "metadata", "annotations")
        pods = pod_set.count * pod_set.replicas
        for key, message, hint in _problems(requested, pods):
            yield Finding("InvalidTopologyRequest", severity, message, hint=hint, path=(*path, key), about="runtime")
        for key, message, hint, certain in _problems_by_version(requested, pods, info.kueue):
            found: Severity = severity if certain else "warning"
            yield Finding("InvalidTopologyRequest", found, message, hint=hint, path=(*path, key), about="runtime")
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
        if REQUIRED not in requested and PREFERRED not in requested:
            yield _GROUP, "a group needs a required or a preferred topology", f"add {REQUIRED}"


def _problems_by_version(requested: Mapping[str, str], pods: int, kueue: str) -> Iterator[tuple[str, str, str, bool]]:
    """What only some versions of Kueue refuse or leave unscheduled; the last part says whether the job's version does."""
    sliced = next((key for key in (_SLICE, _SLICE_SIZE, _LEVELS) if key in requested), "")
    oldest = kueue or DEFAULT
    if SPREADING in requested and (message := _spreading_problem(requested)):
        hint = 'write {"rules": [{"topologyKey": "cloud.com/rack", "maxShareAllowingPlacement": "0.5"}]}'
        yield SPREADING, f"Kueue refuses it where TASTopologySpreading is on: {message}", hint, False
    if _GROUP in requested and sliced and oldest not in SLICED_GROUPS:
        message = f"Kueue before 0.20 refuses a group that is divided into slices, and {sliced} is set"
        yield _GROUP, message, _unless_newer("remove one of them", "0.20", kueue), bool(kueue)
    if requested.get(_UNCONSTRAINED) in _FALSE and (not kueue or kueue in FALSE_REFUSED):
        message = f"Kueue refuses the value {requested[_UNCONSTRAINED]!r} since 0.19.6; before, no topology has a level for it"
        yield _UNCONSTRAINED, message, remove("remove the annotation"), bool(kueue)
    sizes = _sizes(requested)
    if not sizes or sizes[0] < 1 or not pods % sizes[0] or sizes[0] > pods:
        return
    hint = f"use a multiple of {sizes[0]} pods"
    if len(sizes) > 1 and (not kueue or kueue in PARTIAL_SLICES):
        message = (
            f"Kueue since 0.19.6 refuses several levels if the {pods} pods do not divide into slices of {sizes[0]}"
        )
        yield _LEVELS, message, hint, bool(kueue)
    elif len(sizes) == 1 and oldest not in PARTIAL_SLICES:
        message = (
            f"Kueue before 0.19.6 places only whole slices: {pods % sizes[0]} of the {pods} pods are never scheduled"
        )
        yield sliced, message, _unless_newer(hint, "0.19.6", kueue), bool(kueue)


def _unless_newer(hint: str, version: str, kueue: str) -> str:
    return hint if kueue else f'{hint}, or, if the cluster has a newer Kueue, write kueue: "{version}" into trainc.yaml'


def _sizes(requested: Mapping[str, str]) -> list[int]:
    """The sizes of the slices from the outermost inwards; none if they cannot be read."""
    if _LEVELS in requested:
        return [size for _, size in _layers(requested[_LEVELS]) or ()]
    size = requested.get(_SLICE_SIZE, "") if _SLICE in requested else ""
    return [int(size)] if size.isascii() and size.isdecimal() else []


def _layers(text: str) -> list[tuple[str, int]] | None:
    """The levels and sizes of nested slices; None if they cannot be read."""
    try:
        return [(str(level["topology"]), int(level["size"])) for level in read_json(text)]
    except (ValueError, TypeError, KeyError):
        return None


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
    if _SLICE in requested or _SLICE_SIZE in requested:
        yield _LEVELS, f"it cannot be used together with {_SLICE} and {_SLICE_SIZE}", "keep one of the two forms"
    levels = _layers(requested[_LEVELS])
    if levels is None:
        yield (
            _LEVELS,
            "the value is not a JSON list of topology and size",
            'write [{"topology": "cloud.com/rack", "size": 4}]',
        )
        return
    sizes, labels = [size for _, size in levels], [label for label, _ in levels]
    wrong = not 1 <= len(levels) <= 3 or len(set(labels)) < len(labels) or any(size < 1 for size in sizes)
    if wrong or any(outer % inner for outer, inner in pairwise(sizes)) or (sizes and sizes[0] > pods):
        message = f"the sizes {sizes} of levels {labels} do not divide {pods} pods or each other"
        yield _LEVELS, message, "list one to three levels, each with a size that divides the size before it"


def _spreading_problem(requested: Mapping[str, str]) -> str:
    """What is wrong with the rules for spreading jobs over domains; empty if nothing is."""
    if REQUIRED not in requested:
        return f"it needs {REQUIRED}"
    try:
        written = read_json(requested[SPREADING])
        rules, selectors = written["rules"], written.get("workloadLabelSelectors") or ()
        keys = [str(rule["topologyKey"]) for rule in rules]
        shares = [parse_quantity(str(rule["maxShareAllowingPlacement"])).nanos for rule in rules]
        modes = {rule.get("enforcementMode", "Required") for rule in rules}
        operators = {selector["operator"] for selector in selectors}
    except (ValueError, TypeError, KeyError, AttributeError):
        return "the value is not a JSON object with rules, each with a topologyKey and a maxShareAllowingPlacement"
    if not 1 <= len(keys) <= 2 or len(set(keys)) < len(keys) or not all(map(is_label_key, keys)):
        return "it needs one or two rules, each with another topologyKey that is a label"
    if not all(0 < share < 10**9 for share in shares):
        return "maxShareAllowingPlacement must be above 0 and below 1"
    if not modes <= {"Required", "Preferred"}:
        return "enforcementMode must be Required or Preferred"
    return "" if len(selectors) < 2 and operators <= {"In"} else "it can have one selector, with the operator In"


def _group_problem(name: str, members: list[tuple[int, Json, Path]]) -> str:
    if len(members) != 2:
        return f"the group {name!r} has {len(members)} pod sets, and Kueue places groups of exactly 2"
    if all(pods != 1 for pods, _, _ in members):
        return f"one of the two pod sets of group {name!r} must have one pod"
    first, second = ({key: requested.get(key) for key in (REQUIRED, PREFERRED)} for _, requested, _ in members)
    return "" if first == second else f"the pod sets of group {name!r} request different topologies"
