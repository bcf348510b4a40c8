"""The Workload that Kueue creates for a JobSet: its pod sets and their topology requests.

Source: kubernetes-sigs/kueue pkg/controller/jobs/jobset/jobset_controller.go (PodSets), pkg/controller/jobframework/tas.go,
pkg/workload/workload.go (totalRequestsFromPodSets, computeSchedulingHash).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from trainc.api.kube import Json, canonical, identity_of, mapping, names, read_json
from trainc.api.records import dataclass, field, replace
from trainc.features.fits.cluster import Cluster
from trainc.features.fits.pods import Amounts, charged_pod, pod_amounts
from trainc.kube.kueue import CONTAINERS_COUNT, LIMITS_FIRST

PREFIX = "kueue.x-k8s.io/"
QUEUE = names.QUEUE_LABEL
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
        """Whether the pod set requests any topology."""
        requested = (self.required, self.preferred, self.unconstrained)
        return bool(self.slices) or any(one is not None for one in requested)


@dataclass(frozen=True, slots=True)
class PodSet:
    """The pods of one replicated job.

    `spec` is the pod spec as written, `pod` as Kueue charges it; `one` are the charged requests per pod, `total` those of
    all pods, and `scheduled` what kube-scheduler sees of one pod. `awaited` means that another pod set starts when these
    pods have completed. `step` is its role in the TrainJob that it was compiled from, `index` its index in the JobSet, and
    `annotations` are those of its pods.
    """

    name: str
    count: int
    spec: Json
    pod: Json
    one: Amounts
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
    """A queued job. The scheduler treats two jobs of the same `shape` in one queue alike."""

    namespace: str
    name: str
    queue: str
    pod_sets: tuple[PodSet, ...]
    shape: str

    @property
    def job(self) -> str:
        """The name of the job in answers."""
        return job_name(self.namespace, self.name)


def with_size(workload: Workload, name: str, count: int, one: Amounts | None = None) -> Workload:
    """A copy of the job with a different number of pods in one pod set, and with other requests of each if given."""

    def changed(pods: PodSet) -> PodSet:
        each = pods.one if one is None else one
        total = {resource: amount * count for resource, amount in each.items()}
        scheduled = pods.scheduled if one is None else one
        return replace(pods, count=count, one=each, total=total, scheduled=scheduled)

    return _changed(workload, name, changed)


def with_topology(workload: Workload, name: str, requested: TopologyRequest) -> Workload:
    """A copy of the job with a different topology request for one pod set and the others in its group."""
    group = next((one.topology.group for one in workload.pod_sets if one.name == name), None)
    names = {one.name for one in workload.pod_sets if one.name == name or (group and one.topology.group == group)}
    for each in names:
        workload = _changed(workload, each, lambda one: replace(one, topology=requested))
    return workload


def with_tolerations(workload: Workload, added: Iterable[Mapping[str, Any]]) -> Workload:
    """A copy of the job with tolerations added to all pods."""
    more = list(added)
    pod_sets = tuple(
        replace(one, pod={**one.pod, "tolerations": [*(one.pod.get("tolerations") or ()), *more]})
        for one in workload.pod_sets
    )
    return replace(workload, pod_sets=pod_sets, shape=f"{workload.shape} {more}")


def _changed(workload: Workload, name: str, change: Callable[[PodSet], PodSet]) -> Workload:
    pod_sets = tuple(change(one) if one.name == name else one for one in workload.pod_sets)
    changed = [(one.count, one.topology, one.one) for one in pod_sets]
    return replace(workload, pod_sets=pod_sets, shape=f"{workload.shape} {changed}")


def job_name(namespace: str, name: str) -> str:
    """The name of a job in answers: `team-a/llm`, or just `llm` without a namespace."""
    return f"{namespace}/{name}" if namespace else name


def place(jobset: Json) -> tuple[str, str]:
    """The namespace and name of a JobSet; `llm-*` for one whose name the API server generates."""
    namespace, name = identity_of(jobset)
    return namespace, name or f"{mapping(jobset.get('metadata')).get('generateName') or ''}*"


def queue_of(jobset: Json, cluster: Cluster) -> str:
    """The LocalQueue of a JobSet; empty if Kueue does not manage it.

    Without the label, it is the namespace's LocalQueue `default` if that exists and is not stopped.
    """
    written = ((jobset.get("metadata") or {}).get("labels") or {}).get(QUEUE)
    if written:
        return str(written)
    queue = cluster.local_queues.get((place(jobset)[0], DEFAULT_QUEUE))
    return DEFAULT_QUEUE if queue and not queue.stopped else ""


def replicated_jobs(jobset: Json) -> list[Json]:
    """The replicated jobs of a JobSet."""
    return list((jobset.get("spec") or {}).get("replicatedJobs") or ())


def pod_count(replicated_job: Json) -> int:
    """The number of concurrent pods of a replicated job."""
    job = (replicated_job.get("template") or {}).get("spec") or {}
    parallelism = _number(job.get("parallelism"), 1)
    return _number(replicated_job.get("replicas"), 1) * min(parallelism, _number(job.get("completions"), parallelism))


def _number(value: Any, default: int) -> int:
    return default if value is None else int(value)


def pod_template(replicated_job: Json) -> Json:
    """The pod template of a replicated job."""
    job = (replicated_job.get("template") or {}).get("spec") or {}
    template: Json = job.get("template") or {}
    return template


def pod_annotations(replicated_job: Json) -> Mapping[str, str]:
    """The pod annotations of a replicated job."""
    return (pod_template(replicated_job).get("metadata") or {}).get("annotations") or {}


def workload_of(jobset: Json, queue: str, cluster: Cluster) -> Workload:
    """The Workload that Kueue creates for a JobSet accepted by its webhooks, with the charged requests."""
    namespace, name = place(jobset)
    jobs = replicated_jobs(jobset)
    waits = [one for job in jobs for one in job.get("dependsOn") or () if one.get("status") == "Complete"]
    awaited = {str(one.get("name")) for one in waits}
    pod_sets = tuple(_pod_set(one, i, namespace, cluster, awaited) for i, one in enumerate(jobs))
    return Workload(namespace, name, queue, pod_sets, _shape(pod_sets))


def _pod_set(replicated_job: Json, index: int, namespace: str, cluster: Cluster, awaited: Collection[str]) -> PodSet:
    written = pod_template(replicated_job).get("spec") or {}
    limits = cluster.limits.get(namespace, {})
    pod = charged_pod(written, limits, cluster.overheads, limits_first=cluster.kueue in LIMITS_FIRST)
    count, one = pod_count(replicated_job), pod_amounts(pod, containers_count=cluster.kueue in CONTAINERS_COUNT)
    stored = charged_pod(written, limits, cluster.overheads, limits_first=True) if limits else pod
    labels = ((replicated_job.get("template") or {}).get("metadata") or {}).get("labels") or {}
    return PodSet(
        str(replicated_job.get("name")),
        count,
        written,
        pod,
        one,
        {name: amount * count for name, amount in one.items()},
        topology_request(pod_annotations(replicated_job)),
        pod_amounts(stored) if limits else one,
        _number(replicated_job.get("replicas"), 1),
        replicated_job.get("name") in awaited,
        str(labels.get(names.ANCESTOR_LABEL) or ""),
        index,
        pod_annotations(replicated_job),
    )


def topology_request(written: Mapping[str, str]) -> TopologyRequest:
    """Parse the topology annotations of a pod template. Raises ValueError if they are malformed."""
    required, preferred, unconstrained = (written.get(key) for key in (REQUIRED, PREFERRED, UNCONSTRAINED))
    if required is not None:
        preferred = unconstrained = None
    elif preferred is not None:
        unconstrained = None
    elif unconstrained is not None and unconstrained not in BOOLEANS:
        raise ValueError(f"{UNCONSTRAINED} is not a boolean")
    constrained = required is not None or preferred is not None
    return TopologyRequest(
        required,
        preferred,
        None if unconstrained is None else BOOLEANS[unconstrained],
        _slices(written),
        written.get(GROUP) if constrained else None,
    )


def _slices(written: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    if SLICE_LAYERS in written:
        return tuple(slice_layers(written[SLICE_LAYERS]))
    if SLICE_LEVEL in written and SLICE_SIZE in written:
        return ((written[SLICE_LEVEL], int(written[SLICE_SIZE])),)
    return ()


def slice_layers(text: str) -> list[tuple[str, int]]:
    """Parse the annotation for nested slices into levels and sizes. Raises ValueError where Go would fail."""
    layers = read_json(text)
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
    if (
        not isinstance(level, str)
        or isinstance(size, bool)
        or not isinstance(size, int)
        or not -(2**31) <= size < 2**31
    ):
        raise ValueError("an entry needs a topology (a string) and a size (an integer)")
    return level, size


def _shape(pod_sets: tuple[PodSet, ...]) -> str:
    """A key of everything by which the scheduler can distinguish two workloads of a queue."""
    return json.dumps([_pod_set_shape(one) for one in pod_sets], sort_keys=True)


def _pod_set_shape(one: PodSet) -> list[Any]:
    requested = one.topology
    pod = one.pod
    spec = [pod.get(key) for key in _SHAPED]
    containers = [
        [[_canonical((box.get("resources") or {}).get("requests")), box.get("ports")] for box in pod.get(kind) or ()]
        for kind in ("initContainers", "containers")
    ]
    own = _canonical((pod.get("resources") or {}).get("requests"))
    topology = [requested.required, requested.preferred, requested.unconstrained, requested.slices, requested.group]
    return [
        one.name,
        spec,
        containers,
        own,
        _canonical(pod.get("overhead")),
        one.count,
        one.total,
        topology,
        one.replicas,
    ]


_SHAPED = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "runtimeClassName",
    "priority",
    "topologySpreadConstraints",
    "resourceClaims",
)


def _canonical(written: Mapping[str, str | float] | None) -> dict[str, str]:
    return {name: canonical(value) for name, value in (written or {}).items()}
