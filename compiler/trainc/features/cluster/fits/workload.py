"""The Workload that Kueue creates for a JobSet, its pod sets and their topology requests, and why Kueue refuses a JobSet.

Source: kubernetes-sigs/kueue pkg/controller/jobs/jobset/jobset_controller.go (PodSets), pkg/controller/jobframework
(tas.go, validation.go, tas_validation.go), pkg/workload/workload.go (totalRequestsFromPodSets, computeSchedulingHash),
pkg/webhooks/workload_webhook.go, apis/kueue/v1beta2/workload_types.go.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from trainc.api.cluster import kueue_versions
from trainc.api.jobs import JobSet, ReplicatedJob
from trainc.api.kube import Json, documents, identity_of, mapping, names, parse_quantity, quantity
from trainc.api.records import dataclass, field, pattern, replace
from trainc.features.cluster.fits.cluster import Cluster
from trainc.features.cluster.fits.pods import Amounts, charged_pod, pod_amounts

PREFIX = "kueue.x-k8s.io/"
QUEUE = names.QUEUE_LABEL
PRIORITY = f"{PREFIX}priority-class"
REQUIRED, PREFERRED, UNCONSTRAINED = (
    f"{PREFIX}podset-{kind}-topology" for kind in ("required", "preferred", "unconstrained")
)
SLICE_LEVEL, SLICE_SIZE = f"{PREFIX}podset-slice-required-topology", f"{PREFIX}podset-slice-size"
SLICE_LAYERS, GROUP = f"{PREFIX}podset-slice-required-topology-constraints", f"{PREFIX}podset-group-name"
DEFAULT_QUEUE = "default"

# The values that Go's strconv.ParseBool accepts.
BOOLEANS = dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "FALSE", "false", "False"), False
)


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """The topology request of a pod set: a level at which one domain must or should hold all pods, or any nodes.

    `slices` are (level, size) pairs from the outermost inwards: that many pods share one domain of that level.
    """

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    slices: tuple[tuple[str, int], ...] = ()
    group: str | None = None

    @property
    def explicit(self) -> bool:
        """Return whether the pod set requests any topology."""
        requested = (self.required, self.preferred, self.unconstrained)
        return bool(self.slices) or any(value is not None for value in requested)


@dataclass(frozen=True, slots=True)
class PodSet:
    """The pods of one replicated job.

    `spec` is the pod spec as written, `pod` as Kueue charges it; `per_pod` are the charged requests of one pod, `total`
    those of all pods, and `scheduled` what kube-scheduler sees of one pod. `awaited` means that another pod set starts when
    these pods have completed. `step` is its role in the TrainJob that it was compiled from, `index` its index in the JobSet, and
    `annotations` are those of its pods.
    """

    name: str
    count: int
    spec: Json
    pod: Json
    per_pod: Amounts
    total: Amounts
    topology: TopologyRequest
    scheduled: Amounts
    replicas: int = 1
    awaited: bool = False
    step: str = ""
    index: int = 0
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workload:
    """A queued job. The scheduler treats two jobs of the same `shape` in one queue alike.

    `created` is when it was queued, in seconds. `unknown_class` is a WorkloadPriorityClass that it names and the cluster lacks.
    """

    namespace: str
    name: str
    queue: str
    pod_sets: tuple[PodSet, ...]
    shape: str
    priority: int = 0
    created: float = 0
    unknown_class: str = ""

    @property
    def job(self) -> str:
        """The name of the job in answers."""
        return job_name(self.namespace, self.name)


def part_of(pod_set: PodSet, path: Sequence[str | int]) -> str:
    """The container that a path in a pod is about, or the pod."""
    if not path:
        return f"a pod of {pod_set.name}"
    kind, index = str(path[0]), int(path[1])
    return f"container {pod_set.pod[kind][index].get('name', index)} of {pod_set.name}"


def with_size(workload: Workload, name: str, count: int, per_pod: Amounts | None = None) -> Workload:
    """A copy of the job with a different number of pods in one pod set, and with other requests of each if given."""

    def resize(pod_set: PodSet) -> PodSet:
        requests = pod_set.per_pod if per_pod is None else per_pod
        total = {resource: amount * count for resource, amount in requests.items()}
        scheduled = pod_set.scheduled if per_pod is None else per_pod
        return replace(pod_set, count=count, per_pod=requests, total=total, scheduled=scheduled)

    return _change_pod_sets(workload, {name}, resize)


def with_topology(workload: Workload, name: str, requested: TopologyRequest) -> Workload:
    """A copy of the job with a different topology request for one pod set and the others in its group."""
    group = next((pod_set.topology.group for pod_set in workload.pod_sets if pod_set.name == name), None)
    members = {pod_set.name for pod_set in workload.pod_sets if group and pod_set.topology.group == group}
    return _change_pod_sets(workload, {name, *members}, lambda pod_set: replace(pod_set, topology=requested))


def with_tolerations(workload: Workload, added: Iterable[Mapping[str, Any]]) -> Workload:
    """A copy of the job with tolerations added to all pods."""
    tolerations = list(added)
    pod_sets = tuple(
        replace(pod_set, pod={**pod_set.pod, "tolerations": [*(pod_set.pod.get("tolerations") or ()), *tolerations]})
        for pod_set in workload.pod_sets
    )
    return replace(workload, pod_sets=pod_sets, shape=f"{workload.shape} {tolerations}")


def _change_pod_sets(workload: Workload, names: Collection[str], change: Callable[[PodSet], PodSet]) -> Workload:
    pod_sets = tuple(change(pod_set) if pod_set.name in names else pod_set for pod_set in workload.pod_sets)
    changes = [(pod_set.count, pod_set.topology, pod_set.per_pod) for pod_set in pod_sets]
    return replace(workload, pod_sets=pod_sets, shape=f"{workload.shape} {changes}")


def job_name(namespace: str, name: str) -> str:
    """The name of a job in answers: `team-a/llm`, or just `llm` without a namespace."""
    return documents.qualified(namespace, name)


def jobset_identity(jobset: Json, default: str | None = None) -> tuple[str, str]:
    """The namespace and name of a JobSet; `llm-*` for one whose name the API server generates."""
    namespace, name = identity_of(jobset, default)
    return namespace, name or f"{mapping(jobset.get('metadata')).get('generateName') or ''}*"


def queue_of(jobset: Json, cluster: Cluster) -> str:
    """The LocalQueue of a JobSet; empty if Kueue does not manage it.

    Without the label, it is the namespace's LocalQueue `default` if that exists and is not stopped.
    """
    label = ((jobset.get("metadata") or {}).get("labels") or {}).get(QUEUE)
    if label:
        return str(label)
    queue = cluster.local_queues.get((jobset_identity(jobset)[0], DEFAULT_QUEUE))
    return DEFAULT_QUEUE if queue and not queue.stopped else ""


def workload_of(jobset: Json, queue: str, cluster: Cluster) -> Workload:
    """The Workload that Kueue creates for a JobSet accepted by its webhooks, with the charged requests."""
    namespace, name = jobset_identity(jobset)
    steps = JobSet.read(jobset)
    pod_sets = tuple(_pod_set(job, namespace, cluster, steps.awaited) for job in steps.jobs)
    # Everything by which the scheduler can distinguish two workloads of a queue.
    shape = json.dumps(list(map(_shape, pod_sets)), sort_keys=True)
    return Workload(namespace, name, queue, pod_sets, shape)


def _pod_set(job: ReplicatedJob, namespace: str, cluster: Cluster, awaited: Collection[str]) -> PodSet:
    limits = cluster.limits.get(namespace, {})
    pod = charged_pod(
        job.pod_spec, limits, cluster.overheads, limits_first=cluster.kueue in kueue_versions.LIMITS_FIRST
    )
    per_pod = pod_amounts(pod, containers_count=cluster.kueue in kueue_versions.CONTAINERS_COUNT)
    stored = charged_pod(job.pod_spec, limits, cluster.overheads, limits_first=True) if limits else pod
    return PodSet(
        job.name,
        job.pods,
        job.pod_spec,
        pod,
        per_pod,
        {name: amount * job.pods for name, amount in per_pod.items()},
        topology_request(job.annotations),
        pod_amounts(stored) if limits else per_pod,
        job.replicas,
        job.name in awaited,
        job.ancestor,
        job.index,
        job.annotations,
    )


def topology_request(annotations: Mapping[str, str]) -> TopologyRequest:
    """Parse the topology annotations of a pod template. Raises ValueError if they are malformed."""
    required, preferred, unconstrained = (annotations.get(key) for key in (REQUIRED, PREFERRED, UNCONSTRAINED))
    if required is not None:
        preferred = unconstrained = None
    elif preferred is not None:
        unconstrained = None
    elif unconstrained is not None and unconstrained not in BOOLEANS:
        raise ValueError(f"{UNCONSTRAINED} is not a boolean")
    constrained = required is not None or preferred is not None
    slices: list[tuple[str, int]] = []
    if SLICE_LAYERS in annotations:
        slices = slice_layers(annotations[SLICE_LAYERS])
    elif SLICE_LEVEL in annotations and SLICE_SIZE in annotations:
        slices = [(annotations[SLICE_LEVEL], int(annotations[SLICE_SIZE]))]
    return TopologyRequest(
        required,
        preferred,
        None if unconstrained is None else BOOLEANS[unconstrained],
        tuple(slices),
        annotations.get(GROUP) if constrained else None,
    )


def slice_layers(text: str) -> list[tuple[str, int]]:
    """Parse the annotation for nested slices into levels and sizes. Raises ValueError where Go would fail."""
    layers = documents.read_json(text)
    if layers is None:
        return []
    if not isinstance(layers, list):
        raise ValueError("it is not a JSON array")  # noqa: TRY004 - a text that cannot be read
    return [_layer(layer) for layer in layers]


def _layer(layer: Any) -> tuple[str, int]:
    # Go's decoder matches field names case-insensitively and reads null as the zero value.
    if layer is None:
        return "", 0
    if not isinstance(layer, dict):
        raise ValueError("an entry is not a JSON object")  # noqa: TRY004 - as above
    fields = {key.lower(): value for key, value in layer.items()}
    level, size = fields.get("topology"), fields.get("size")
    level, size = "" if level is None else level, 0 if size is None else size
    if not isinstance(level, str) or type(size) is not int or not -(2**31) <= size < 2**31:
        raise ValueError("an entry needs a topology (a string) and a size (an integer)")
    return level, size


_SHAPED = (
    *("nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority", "topologySpreadConstraints"),
    "resourceClaims",
)


def _shape(pod_set: PodSet) -> list[Any]:
    pod, request = pod_set.pod, pod_set.topology
    containers = [
        [[_canonical((c.get("resources") or {}).get("requests")), c.get("ports")] for c in pod.get(kind) or ()]
        for kind in ("initContainers", "containers")
    ]
    pod_level = _canonical((pod.get("resources") or {}).get("requests"))
    topology = [request.required, request.preferred, request.unconstrained, request.slices, request.group]
    spec = [[pod.get(key) for key in _SHAPED], containers, pod_level, _canonical(pod.get("overhead"))]
    return [pod_set.name, spec, pod_set.count, pod_set.total, topology, pod_set.replicas]


def _canonical(resources: Mapping[str, str | float] | None) -> dict[str, str]:
    return {name: quantity.canonical(value) for name, value in (resources or {}).items()}


# What Kueue's JobSet webhook, its Workload webhook and the schema of a Workload refuse.

Annotations: TypeAlias = Mapping[str, str]
Place: TypeAlias = tuple[str | int, ...]
Refusal: TypeAlias = tuple[str, Place, str]

MOST_POD_SETS = 18
_MOST_LAYERS = 3
_LONGEST_LEVEL = 63
_PREBUILT = f"{PREFIX}prebuilt-workload-name"
_ELASTIC = f"{PREFIX}elastic-job"
_GATED = f"{PREFIX}admission-gated-by"
_INTEGER = pattern(r"[+-]?[0-9]+")
_UNSIGNED = pattern(r"[0-9]+")
_ANNOTATIONS_SIZE = 256 * 1024


def refusals(jobset: Json, queue: str, kueue: str = kueue_versions.DEFAULT) -> list[Refusal]:
    """Every reason for refusing a JobSet, as (cause, path in the JobSet, message).

    The cause is "jobset-webhook", "workload-schema" or "workload-webhook"; each stage is reported only if the previous
    ones pass. Only a JobSet with a `queue` becomes a Workload. `kueue` is a step of kube.kueue_versions.
    """
    first = _jobset_webhook(jobset, kueue)
    if reasons := [("jobset-webhook", *refusal) for refusal in first if not _is_filled_in(refusal[0], jobset, queue)]:
        return reasons
    for cause, rules in (("workload-schema", _workload_schema), ("workload-webhook", _workload_webhook)):
        if queue and (reasons := [(cause, *refusal) for refusal in rules(jobset)]):
            return reasons
    return []


def _is_filled_in(path: Place, jobset: Json, queue: str) -> bool:
    """Return whether a refusal is about an empty queue name, which Kueue replaces by `default` if that exists."""
    labels = (jobset.get("metadata") or {}).get("labels") or {}
    return bool(queue) and path == ("metadata", "labels", QUEUE) and not labels.get(QUEUE)


def _jobset_webhook(jobset: Json, kueue: str) -> Iterator[tuple[Place, str]]:
    metadata = jobset.get("metadata") or {}
    yield from _metadata(metadata.get("labels") or {}, metadata.get("annotations") or {})
    jobs = JobSet.read(jobset).jobs
    for job in jobs:
        for key, message in _topology(job.annotations, job.pods, kueue):
            yield (*_annotations(job), *((key,) if key else ())), message
    yield from _group_faults(jobs)


def _annotations(job: ReplicatedJob) -> Place:
    return (*job.job_path, "template", "metadata", "annotations")


def _metadata(labels: Annotations, annotations: Annotations) -> Iterator[tuple[Place, str]]:
    queue, seconds = labels.get(QUEUE), labels.get(names.MAX_SECONDS_LABEL)
    if queue is not None and not names.is_subdomain(str(queue)):
        yield ("metadata", "labels", QUEUE), f"{queue!r} is not a valid LocalQueue name (a lowercase DNS name)"
    if seconds is not None and not (_INTEGER.fullmatch(str(seconds)) and 0 < int(seconds) < 2**63):
        yield ("metadata", "labels", names.MAX_SECONDS_LABEL), f"{seconds!r} is not a positive number of seconds"
    kind = "annotations" if annotations.get(_PREBUILT) else "labels"
    name = (annotations if kind == "annotations" else labels).get(_PREBUILT)
    if name is not None and not names.is_subdomain(str(name)):
        yield ("metadata", kind, _PREBUILT), f"{name!r} is not a valid Workload name (a lowercase DNS name)"
    if annotations.get(_ELASTIC) == "true":
        yield ("metadata", "annotations", _ELASTIC), "Kueue does not support elastic JobSets"
    if annotations.get(_GATED):
        yield from _gates(str(annotations[_GATED]))


def _gates(value: str) -> Iterator[tuple[Place, str]]:
    gates = [gate.strip() for gate in value.split(",")] if value.strip() else []
    for gate in gates:
        domain, slash, path = gate.partition("/")
        if not (slash and names.is_subdomain(domain) and path) or len(gate) > _LONGEST_LEVEL:
            message = f"{gate!r} is not a valid gate: write domain/name, at most 63 characters"
            yield ("metadata", "annotations", _GATED), message
    if len(set(gates)) != len(gates):
        yield ("metadata", "annotations", _GATED), "the list contains a gate twice"


def _topology(annotations: Annotations, count: int, kueue: str) -> Iterator[tuple[str, str]]:
    """Problems with the topology annotations of a pod template with `count` pods, as (annotation, message)."""
    if sum(key in annotations for key in (REQUIRED, PREFERRED, UNCONSTRAINED)) > 1:
        yield "", "only one of required, preferred and unconstrained topology can be set"
    for key in (REQUIRED, PREFERRED, SLICE_LEVEL):
        if key in annotations and not names.is_label_key(annotations[key]):
            yield key, f"{annotations[key]!r} is not a valid label of a topology level"
    if UNCONSTRAINED in annotations and annotations[UNCONSTRAINED] not in BOOLEANS:
        yield UNCONSTRAINED, f"{annotations[UNCONSTRAINED]!r} is not a boolean, such as true"
    if kueue in kueue_versions.FALSE_REFUSED and not BOOLEANS.get(annotations.get(UNCONSTRAINED, "true"), True):
        yield UNCONSTRAINED, f"it cannot be {annotations[UNCONSTRAINED]!r}: leave it out instead"
    if GROUP in annotations:
        yield from _group_alone(annotations, kueue)
    yield from _slice_faults(annotations, count)
    if SLICE_LAYERS in annotations:
        yield from _layers(annotations, count, kueue)


def _group_alone(annotations: Annotations, kueue: str) -> Iterator[tuple[str, str]]:
    if _UNSIGNED.fullmatch(annotations[GROUP]) and int(annotations[GROUP]) < 2**64:
        yield GROUP, "the name of a group cannot be a number"
    for key in (SLICE_SIZE, SLICE_LEVEL, SLICE_LAYERS):
        if key in annotations and kueue not in kueue_versions.SLICED_GROUPS:
            yield GROUP, f"a group cannot have slices ({key})"
    if REQUIRED not in annotations and PREFERRED not in annotations:
        yield GROUP, f"a group needs {REQUIRED} or {PREFERRED}"


def _slice_faults(annotations: Annotations, count: int) -> Iterator[tuple[str, str]]:
    size = annotations.get(SLICE_SIZE)
    if size is not None:
        if not _INTEGER.fullmatch(size) or not -(2**31) <= int(size) < 2**31:
            yield SLICE_SIZE, f"{size!r} is not a number"
        elif int(size) < 1:
            yield SLICE_SIZE, "a slice has at least one pod"
        elif int(size) > count:
            yield SLICE_SIZE, f"a slice of {size} pods is larger than the whole pod set of {count}"
        if SLICE_LEVEL not in annotations:
            yield SLICE_SIZE, f"it needs {SLICE_LEVEL}"
    elif SLICE_LEVEL in annotations:
        yield SLICE_LEVEL, f"it needs {SLICE_SIZE}"


def _layers(annotations: Annotations, count: int, kueue: str) -> Iterator[tuple[str, str]]:
    for key in (SLICE_LEVEL, SLICE_SIZE):
        if key in annotations:
            yield SLICE_LAYERS, f"it cannot be combined with {key}"
    try:
        layers = slice_layers(annotations[SLICE_LAYERS])
    except ValueError as error:
        yield SLICE_LAYERS, f"it is not a JSON array of {{topology, size}}: {error}"
        return
    if not 1 <= len(layers) <= _MOST_LAYERS:
        yield SLICE_LAYERS, f"it needs one to three layers, not {len(layers)}"
        return
    for message in _layer_faults(layers):
        yield SLICE_LAYERS, message
    if layers[0][1] > count:
        yield SLICE_LAYERS, f"a slice of {layers[0][1]} pods is larger than the whole pod set of {count}"
    elif kueue in kueue_versions.PARTIAL_SLICES and len(layers) > 1 and layers[0][1] > 0 and count % layers[0][1]:
        yield SLICE_LAYERS, f"with several layers, the {count} pods must divide into slices of {layers[0][1]}"


def _layer_faults(layers: list[tuple[str, int]]) -> Iterator[str]:
    for level, size in layers:
        if not names.is_label_key(level):
            yield f"{level!r} is not a valid label of a topology level"
        if size < 1:
            yield f"a layer has a size of {size}: a slice has at least one pod"
    for (_, outer), (_, inner) in pairwise(layers):
        if inner > 0 and abs(outer) % inner:
            yield f"a layer of {outer} pods cannot be divided into slices of {inner}"
    if len({level for level, _ in layers}) != len(layers):
        yield "two layers have the same level"


def _group_faults(jobs: Sequence[ReplicatedJob]) -> Iterator[tuple[Place, str]]:
    groups: dict[str, list[ReplicatedJob]] = {}
    for job in jobs:
        if GROUP in job.annotations and (REQUIRED in job.annotations or PREFERRED in job.annotations):
            groups.setdefault(job.annotations[GROUP], []).append(job)
    for name, members in groups.items():
        path = (*_annotations(members[0]), GROUP)
        if len(members) != 2:
            yield path, f"group {name!r} has {len(members)} replicated jobs: it must have exactly 2"
            continue
        if all(job.pods != 1 for job in members):
            yield path, f"one of the two replicated jobs of group {name!r} must have a single pod"
        levels = {
            (annotations.get(REQUIRED), None if REQUIRED in annotations else annotations.get(PREFERRED))
            for annotations in (job.annotations for job in members)
        }
        if len(levels) > 1:
            yield path, f"both replicated jobs of group {name!r} must request the same topology"


def _workload_schema(jobset: Json) -> Iterator[tuple[Place, str]]:
    jobs = JobSet.read(jobset).jobs
    if not 1 <= len(jobs) <= MOST_POD_SETS:
        yield ("spec", "replicatedJobs"), f"{len(jobs)} replicated jobs: a Workload has 1 to {MOST_POD_SETS} pod sets"
    for job in jobs:
        requested = topology_request(job.annotations)
        levels: dict[str, list[str | None]] = {
            REQUIRED: [requested.required],
            PREFERRED: [requested.preferred],
            SLICE_LEVEL: [level for level, _ in requested.slices],
        }
        for key, level_names in levels.items():
            if any(name and len(name) > _LONGEST_LEVEL for name in level_names):
                yield (*_annotations(job), key), "a topology level has at most 63 characters"
        if requested.group and len(requested.group) > 256:
            yield (*_annotations(job), GROUP), "the name of a group has at most 256 characters"


def _workload_webhook(jobset: Json) -> Iterator[tuple[Place, str]]:
    for job in JobSet.read(jobset).jobs:
        yield from _template_metadata(job.pod_metadata, (*job.job_path, "template", "metadata"))
        for path, resources in _resource_lists(job.pod_spec):
            for name, value in resources.items():
                if name == "pods":
                    yield (*job.pod_path, *path, name), "Kueue reserves the resource name `pods`"
                if parse_quantity(str(value)).nanos < 0:
                    yield (*job.pod_path, *path, name), f"{value} is negative"


def _template_metadata(metadata: Json, path: Place) -> Iterator[tuple[Place, str]]:
    for key, value in (metadata.get("labels") or {}).items():
        if not names.is_label_key(key) or not names.is_label_value(str(value)):
            yield (*path, "labels", key), f"{key}: {value} is not a valid label"
    size = 0
    for key, value in (metadata.get("annotations") or {}).items():
        size += names.length(key) + names.length(str(value))
        if not names.is_label_key(key.lower()):
            yield (*path, "annotations", key), f"{key} is not a valid annotation name"
    if size > _ANNOTATIONS_SIZE:
        yield (*path, "annotations"), "the annotations are larger than 256 KiB"


def _resource_lists(pod: Json) -> Iterator[tuple[Place, Json]]:
    for kind in ("initContainers", "containers"):
        for i, container in enumerate(pod.get(kind) or ()):
            for part in ("requests", "limits"):
                yield (kind, i, "resources", part), (container.get("resources") or {}).get(part) or {}
    for part in ("requests", "limits"):
        yield ("resources", part), (pod.get("resources") or {}).get(part) or {}
