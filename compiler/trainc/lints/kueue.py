"""Lints for Kueue: the labels that it reads, the place of topology requests, and the rules of its webhook.

Source: kubernetes-sigs/kueue pkg/controller/jobframework (validation.go, tas_validation.go), apis/kueue/v1beta2
workload_types.go (MaxItems of podSets), pkg/controller/constants/constants.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise

from trainc.findings import Finding, Path, Severity, remove, suggest, write
from trainc.findings.text import correct_spelling, edit_distance
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube import names
from trainc.kube.documents import JOBS, POD_TEMPLATE, Json, read_json
from trainc.kube.kueue_versions import DEFAULT, FALSE_REFUSED, NEW_ANNOTATIONS, PARTIAL_SLICES, SLICED_GROUPS
from trainc.kube.names import is_dns1123_subdomain, is_label_key
from trainc.kube.quantity import parse_quantity, whole_number
from trainc.kube.selectors import int64
from trainc.plugins.registry import enabled
from trainc.startup.shipped import read_sections

_DOMAIN = "kueue.x-k8s.io/"
_ROWS = read_sections(__file__, "kueue.txt")["names"]
_NAMES = {kind: tuple(f"{_DOMAIN}{name}" for name in names.split()) for kind, names in _ROWS}
REQUIRED, PREFERRED, _UNCONSTRAINED, _SLICE, _SLICE_SIZE, _LEVELS, _GROUP = TOPOLOGY = _NAMES["topology"]
SPREADING = f"{_DOMAIN}podset-topology-spreading"
PLACING = (*TOPOLOGY, SPREADING)
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
_BOOLEANS = frozenset(("1", "t", "T", "TRUE", "true", "True", *_FALSE))
_PRIORITY = f"{_DOMAIN}priority-class"
_LABELS, _ANNOTATIONS = frozenset(_NAMES["labels"]), frozenset((*PLACING, *_NAMES["annotations"]))
_SINCE_0_20 = frozenset((SPREADING, f"{_DOMAIN}wait-for-pods-ready", f"{_DOMAIN}pod-group-max-not-ready-count"))
_MOST_POD_SETS = 18
_TEMPLATE_METADATA: Path = ("spec", "template", "metadata")
# What people write for the names of labels.
_SHORTER = {
    **dict.fromkeys(("queue", "queuename", "localqueue", "local-queue", "queue-names"), "queue-name"),
    **dict.fromkeys(("priority", "priorityclassname", "priority-class-name"), "priority-class"),
}


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
        path: Path = (*JOBS, index, *POD_TEMPLATE, "metadata", "annotations")
        pods = pod_set.pods
        problems = [(*problem, True) for problem in _problems(requested, pods)]
        for key, message, hint, certain in (*problems, *_problems_by_version(requested, pods, info.kueue)):
            effective: Severity = severity if certain else "warning"
            yield Finding("InvalidTopologyRequest", effective, message, hint, (*path, key), "runtime")
        if _GROUP in requested:
            groups.setdefault(requested[_GROUP], []).append((pods, requested, (*path, _GROUP)))
        if not queued and not requested.keys() & _honored(info):
            key = next(iter(requested))
            message = f"{key} has no effect: only Kueue reads it, and the job has no queue"
            hint = f"add the queue to the TrainJob: metadata: {{labels: {{{names.QUEUE_LABEL}: my-queue}}}}"
            yield Finding("TopologyWithoutQueue", "info", message, hint, (*path, key), "runtime")
    for name, members in groups.items():
        if message := _group_problem(name, members):
            hint = "use a group for a launcher with one pod and its nodes, with the same topology"
            yield Finding("InvalidTopologyRequest", severity, message, hint, members[0][2], "runtime")


def _honored(info: Info) -> set[str]:
    gangs = (p.gang for p in enabled(info.plugins) if p.gang is not None and info.gang(p.policy) is not None)
    return {gang.topology for gang in gangs}


def _problems(requested: Mapping[str, str], pods: int) -> Iterator[tuple[str, str, str]]:
    kinds = [key for key in (REQUIRED, PREFERRED, _UNCONSTRAINED) if key in requested]
    if len(kinds) > 1:
        message = f"a pod template can request only one of required, preferred and unconstrained topology; this one has {len(kinds)}"
        yield kinds[1], message, "keep one of them"
    for key in (REQUIRED, PREFERRED, _SLICE):
        if key in requested and not is_label_key(requested[key]):
            hint = "write the node label of the level, such as cloud.provider.com/topology-rack"
            yield key, f"{requested[key]!r} is not a valid label for a topology level", hint
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
        message = f"Kueue since 0.19.6 refuses several levels if {pods} pods do not divide into slices of {sizes[0]}"
        yield _LEVELS, message, hint, bool(kueue)
    elif len(sizes) == 1 and oldest not in PARTIAL_SLICES:
        message = f"Kueue before 0.19.6 places only whole slices: {pods % sizes[0]} of {pods} pods are never scheduled"
        yield sliced, message, _unless_newer(hint, "0.19.6", kueue), bool(kueue)


def _unless_newer(hint: str, version: str, kueue: str) -> str:
    return hint if kueue else f'{hint}, or, if the cluster has a newer Kueue, write kueue: "{version}" into trainc.yaml'


def _sizes(requested: Mapping[str, str]) -> list[int]:
    if _LEVELS in requested:
        return [size for _, size in _layers(requested[_LEVELS]) or ()]
    size = whole_number(requested.get(_SLICE_SIZE)) if _SLICE in requested else None
    return [] if size is None else [size]


def _layers(text: str) -> list[tuple[str, int]] | None:
    """The levels and sizes of nested slices; None if they cannot be read."""
    try:
        return [(str(level["topology"]), int(level["size"])) for level in read_json(text)]
    except (ValueError, TypeError, KeyError):
        return None


def _slice_problems(requested: Mapping[str, str], pods: int) -> Iterator[tuple[str, str, str]]:
    size = requested.get(_SLICE_SIZE)
    count = int64(size)
    if size is not None and count is None:
        yield _SLICE_SIZE, f"{size!r} is not a number of pods", "write a whole number of 1 or more"
    elif count is not None and not 1 <= count <= max(pods, 1):
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
        hint = 'write [{"topology": "cloud.com/rack", "size": 4}]'
        yield _LEVELS, "the value is not a JSON list of topology and size", hint
        return
    sizes, labels = [size for _, size in levels], [label for label, _ in levels]
    wrong = not 1 <= len(levels) <= 3 or len(set(labels)) < len(labels) or any(size < 1 for size in sizes)
    if wrong or any(outer % inner for outer, inner in pairwise(sizes)) or (sizes and sizes[0] > pods):
        message = f"the sizes {sizes} of levels {labels} do not divide {pods} pods or each other"
        yield _LEVELS, message, "list one to three levels, each with a size that divides the size before it"


def _spreading_problem(requested: Mapping[str, str]) -> str:
    if REQUIRED not in requested:
        return f"it needs {REQUIRED}"
    try:
        spreading = read_json(requested[SPREADING])
        rules, selectors = spreading["rules"], spreading.get("workloadLabelSelectors") or ()
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


def kueue(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield findings for what Kueue would refuse, ignore or wait for in vain. Runs on sized jobs."""
    queued = names.QUEUE_LABEL in job.labels or names.QUEUE_LABEL in info.labels
    pairs = {"labels": (job.labels, info.labels), "annotations": (job.annotations, info.annotations)}
    for field, (of_job, runtimes) in pairs.items():
        of_runtime = {key: value for key, value in runtimes.items() if of_job.get(key) != value}
        for values, home, about in ((of_job, ("metadata",), "trainjob"), (of_runtime, _TEMPLATE_METADATA, "runtime")):
            for key, value in values.items():
                if _concerns_kueue(field, key):
                    yield from _key(field, key, str(value), (*home, field, key), about)
                    yield from _too_new(key, (*home, field, key), about, info)
    yield from _nested(info)
    yield from topology_requests(info, queued)
    if queued:
        yield from _of_queued(job, info)


@lru_cache(maxsize=512)
def _concerns_kueue(field: str, key: str) -> bool:
    """Return whether a label or annotation is Kueue's, or may be intended as one of Kueue's."""
    if key in _LABELS or key in PLACING or key in _SINCE_0_20:
        return True
    return key not in _ANNOTATIONS and bool(_meant(key, field))


def _misspelt(message: str, hint: str, path: Path, about: str) -> Finding:
    return Finding("MisspeltKueueName", "warning", message, hint, path, about)


def _key(field: str, key: str, value: str, path: Path, about: str) -> Iterator[Finding]:
    if field == "labels" and key in _LABELS:
        yield from _value(key, value, path, about)
    elif field == "annotations" and key in PLACING:
        message = f"Kueue reads {key} only in the pod template, and it is not copied there"
        yield Finding("MisplacedTopologyRequest", "warning", message, _snippet(key, value), path, about)
    elif field == "annotations" and key in _LABELS and key not in _ANNOTATIONS:
        message = f"{key} is a label for Kueue, and this is an annotation"
        yield _misspelt(message, f"move it to metadata.labels: {{{key}: {value}}}", path, about)
    elif key not in _LABELS | _ANNOTATIONS and (meant := _meant(key, field)):
        hint = suggest(key, [meant]) if meant != "?" else f"use one of {', '.join(sorted(_LABELS)[:3])}, ..."
        yield _misspelt(f"Kueue does not know the {field[:-1]} {key!r}", hint, path, about)


def _too_new(key: str, path: Path, about: str, info: Info) -> Iterator[Finding]:
    if key in _SINCE_0_20 and info.kueue and info.kueue not in NEW_ANNOTATIONS:
        message = f"Kueue before 0.20 does not know the annotation {key!r}"
        yield _misspelt(message, "upgrade Kueue, or remove it", path, about)


def _meant(key: str, field: str) -> str:
    """Return the name of Kueue's of which a key is a misspelling.

    "?" if only its domain is Kueue's, empty if it has nothing to do with Kueue.
    """
    domain, slash, name = key.rpartition("/")
    plain, home = name.lower().replace("_", "-"), domain.lower()
    near_home = bool(slash) and edit_distance(home, _DOMAIN[:-1], 3) <= 3
    if near_home or home in ("kueue", "kueues") or home.startswith(("kueue.", "queue.x-k8s")):
        candidates = [k.removeprefix(_DOMAIN) for k in (_LABELS if field == "labels" else _LABELS | _ANNOTATIONS)]
        near = _SHORTER.get(plain) or correct_spelling(name, candidates, 2) or (name if name in candidates else "")
        return f"{_DOMAIN}{near}" if near else "?"
    plain_queue = not slash and plain in ("queue-name", "kueue-queue-name", "kueue-queue")
    far = bool(slash) and plain == "queue-name" and edit_distance(domain, _DOMAIN[:-1], 4) <= 4
    return names.QUEUE_LABEL if plain_queue or far else ""


def _value(key: str, value: str, path: Path, about: str) -> Iterator[Finding]:
    if key in (names.QUEUE_LABEL, _PRIORITY) and value and not is_dns1123_subdomain(value):
        noun = "queue" if key == names.QUEUE_LABEL else "priority class"
        better = value.lower().replace("_", "-").strip("-.")
        message = f"{value!r} is not a valid name of a {noun}, so Kueue refuses the job"
        hint = write(better) if is_dns1123_subdomain(better) else "use lowercase letters, digits, '-' and '.'"
        yield Finding("InvalidKueueValue", "error", message, hint, path, about)
    elif key == names.QUEUE_LABEL and not value:
        message = "the name of the queue is empty, so Kueue does not manage the job"
        hint = "write the name of the LocalQueue, or remove the label"
        yield Finding("InvalidKueueValue", "warning", message, hint, path, about)
    elif key == names.MAX_SECONDS_LABEL and not whole_number(value):
        message = f"{value!r} is not a number of seconds, so Kueue refuses the job"
        hint = 'write a number of seconds in quotes, such as "86400"'
        yield Finding("InvalidKueueValue", "error", message, hint, path, about)


def _snippet(key: str, value: str) -> str:
    return (
        "set it in template.spec.replicatedJobs[].template.spec.template.metadata.annotations of the runtime or a "
        f"runtimePatch: {{{key}: {value!r}}}"
    )


def _nested(info: Info) -> Iterator[Finding]:
    for index, replicated in enumerate(info.template.get("replicatedJobs", ())):
        template = replicated["template"]
        job_path: Path = (*JOBS, index, "template", "metadata")
        pod_path: Path = (*JOBS, index, *POD_TEMPLATE, "metadata")
        of_job = template.get("metadata") or {}
        of_pods = ((template.get("spec") or {}).get("template") or {}).get("metadata") or {}
        for key, value in (of_job.get("annotations") or {}).items():
            if key in PLACING:
                message = f"Kueue reads {key} only in the pod template, and this is the Job template"
                path = (*job_path, "annotations", key)
                yield Finding("MisplacedTopologyRequest", "warning", message, _snippet(key, value), path, "runtime")
        for metadata, metadata_path in ((of_job, job_path), (of_pods, pod_path)):
            labels = metadata.get("labels") or {}
            for key in [key for key in (names.QUEUE_LABEL, _PRIORITY) if key in labels]:
                message = f"Kueue queues the JobSet as a whole and does not read {key} here"
                hint = f"set it in the TrainJob: metadata: {{labels: {{{key}: {labels[key]}}}}}"
                yield _misspelt(message, hint, (*metadata_path, "labels", key), "runtime")
        for key in of_pods.get("annotations") or {}:
            path = (*pod_path, "annotations", key)
            yield from _too_new(key, path, "runtime", info)
            if key not in _ANNOTATIONS and _meant(key, "annotations"):
                near = correct_spelling(key, PLACING, 3)
                hint = suggest(key, [near]) if near else f"use {REQUIRED} or {PREFERRED} to request a topology"
                yield _misspelt(f"Kueue does not know the annotation {key!r}", hint, path, "runtime")


def _of_queued(job: TrainJob, info: Info) -> Iterator[Finding]:
    by_job = names.QUEUE_LABEL in job.labels
    path: Path = (*(("metadata",) if by_job else _TEMPLATE_METADATA), "labels", names.QUEUE_LABEL)
    if (count := len(info.pod_sets)) > _MOST_POD_SETS:
        message = f"Kueue supports at most {_MOST_POD_SETS} replicated jobs in a JobSet, and this one has {count}"
        hint = "merge similar replicated jobs into one with more replicas or pods"
        yield Finding("TooManyPodSets", "error", message, hint, path, "trainjob" if by_job else "runtime")
    node = info.pod_set_in_role(names.NODE)  # Which never completes: a lint of MPI says so.
    for index, replicated in enumerate(info.template.get("replicatedJobs", ())):
        completed = (d["name"] for d in replicated.get("dependsOn") or () if d.get("status") == "Complete")
        if awaited := next((name for name in completed if not node or name != node.name), ""):
            message = f"Kueue reserves the devices of {replicated['name']!r} while {awaited!r} still runs; with waitForPodsReady it evicts the job after its timeout"
            hint = "set the timeout longer than the download takes, or run the download as a separate job"
            yield Finding("QueuedBehindInitializer", "info", message, hint, (*JOBS, index, "dependsOn"), "runtime")
