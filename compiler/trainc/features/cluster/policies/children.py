"""The Jobs and Pods that a JobSet becomes in the cluster, as the API server has them when it asks its policies.

Source: jobset v0.12.0 pkg/controllers/jobset_controller.go (constructJob, labelAndAnnotateObject), pkg/webhooks/
pod_webhook.go; kubernetes v1.36 pkg/controller/job/job_controller.go, indexed_job_utils.go, pkg/apis/core/v1/defaults.go,
pkg/registry/batch/job/strategy.go, plugin/pkg/admission (serviceaccount, defaulttolerationseconds, priority).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import partial
from hashlib import sha1
from typing import Any

from trainc.api.documents import opening
from trainc.api.findings import Path
from trainc.api.jobs import JobSet, ReplicatedJob
from trainc.api.kube import mapping
from trainc.api.records import dataclass
from trainc.features.cluster.policies.cel import Unknown

_JOBSET = "jobset.sigs.k8s.io"
_BATCH = "batch.kubernetes.io"
_EXCLUSIVE = ("alpha.jobset.sigs.k8s.io/exclusive-topology", "alpha.jobset.sigs.k8s.io/node-selector")
UID = "00000000-0000-0000-0000-000000000000"
# Kinds whose objects the API server counts generations of.
_WITHOUT_GENERATION = ("ConfigMap", "Secret")
_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a folder


@dataclass(frozen=True, slots=True)
class Subject:
    """An object that policies are asked about.

    `label` names it in diagnostics. `home` is the path of its fields in the object that trainc writes, whose label is
    `built_by`; `sources` are the paths of its `spec` and `metadata` there.
    """

    data: Mapping[str, Any]
    label: str
    built_by: str
    sources: Mapping[str, Path]

    def source(self, path: Path) -> Path:
        """The path, in the object that trainc writes, that a path of this object comes from."""
        start = self.sources.get(str(path[0])) if path else None
        return path if start is None else (*start, *path[1:])


def as_stored(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """An object with the metadata that the API server has given it before it asks its policies."""
    metadata = {
        **manifest["metadata"],
        "uid": UID,
        "creationTimestamp": Unknown("metadata.creationTimestamp is set when the object is created"),
        "managedFields": Unknown("metadata.managedFields depends on who creates the object"),
    }
    if manifest["kind"] not in _WITHOUT_GENERATION:
        metadata["generation"] = 1
    return {**manifest, "metadata": metadata}


def children(jobset: Mapping[str, Any], label: str) -> Iterator[Subject]:
    """The Jobs of a JobSet, and Pods of each: of several that differ in their numbers only, the first and the last."""
    steps = JobSet.read(jobset)
    for replicated in steps.jobs:
        home: Path = (*replicated.path, "template")
        for replica in _ends(replicated.replicas):
            job = _job(steps, replicated, replica)
            name, namespace = job["metadata"]["name"], job["metadata"].get("namespace")
            where = f"{namespace}/" if namespace else ""
            sources = {"spec": (*home, "spec"), "metadata": (*home, "metadata")}
            yield Subject(as_stored(job), f"Job {where}{name}", label, sources)
            template: Path = (*home, "spec", "template")
            sources = {"spec": (*template, "spec"), "metadata": (*template, "metadata")}
            indexed = job["spec"]["completionMode"] == "Indexed"
            for index in _ends(job["spec"]["parallelism"]) if indexed else (0,):
                pod = _pod(job, index if indexed else None)
                yield Subject(as_stored(pod), f"Pod {where}{pod['metadata']['generateName']}", label, sources)


def _ends(count: int) -> tuple[int, ...]:
    return () if count < 1 else (0,) if count == 1 else (0, count - 1)


def _job(jobset: JobSet, step: ReplicatedJob, replica: int) -> dict[str, Any]:
    name = f"{jobset.name}-{step.name}-{replica}"
    labels, annotations = _marks(jobset, step, replica, name)
    metadata_of_template = mapping(step.template.get("metadata"))
    spec, pod_spec, pod_metadata = dict(step.job_spec), dict(step.pod_spec), step.pod_metadata
    if jobset.has_hosts:
        pod_spec["subdomain"] = jobset.service
    selector = {f"{_BATCH}/controller-uid": UID}
    controller_labels = {**selector, "controller-uid": UID, f"{_BATCH}/job-name": name, "job-name": name}
    spec["template"] = {
        "metadata": {
            **pod_metadata,
            "labels": {**(pod_metadata.get("labels") or {}), **labels, **controller_labels},
            "annotations": {**(pod_metadata.get("annotations") or {}), **annotations},
        },
        "spec": _with_pod_defaults(pod_spec),
    }
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    if completions is None and parallelism is None:
        completions = 1
    defaults = {
        "parallelism": 1 if parallelism is None else parallelism,
        **({} if completions is None else {"completions": completions}),
        "backoffLimit": 2147483647 if spec.get("backoffLimitPerIndex") is not None else 6,
        "completionMode": "NonIndexed",
        "manualSelector": False,
        "podReplacementPolicy": "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed",
        "selector": {"matchLabels": selector},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            **metadata_of_template,
            "name": name,
            **({"namespace": jobset.namespace} if jobset.namespace else {}),
            "labels": {**mapping(metadata_of_template.get("labels")), **labels},
            "annotations": {**mapping(metadata_of_template.get("annotations")), **annotations},
            "ownerReferences": [_owner("jobset.x-k8s.io/v1alpha2", "JobSet", jobset.name)],
        },
        "spec": {**defaults, **spec, "suspend": bool(jobset.spec.get("suspend", False))},
        "status": {},
    }


def _owner(version: str, kind: str, name: str) -> dict[str, Any]:
    identity = {"apiVersion": version, "kind": kind, "name": name}
    return {**identity, "uid": UID, "controller": True, "blockOwnerDeletion": True}


def _with_containers(spec: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """A pod spec with a change to all its containers."""
    kinds = [kind for kind in ("initContainers", "containers") if spec.get(kind)]
    return {**spec, **{kind: [change(container) for container in spec[kind]] for kind in kinds}}


def _marks(jobset: JobSet, step: ReplicatedJob, replica: int, name: str) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and annotations that the JobSet controller gives a Job and its Pods."""
    position, counts = step.index, [job.replicas for job in jobset.jobs]
    of_group = [job.replicas if job.group == step.group else 0 for job in jobset.jobs]
    key = sha1(f"{jobset.namespace}/{name}".encode(), usedforsecurity=False).hexdigest()
    marks = {
        "jobset-name": jobset.name,
        "jobset-uid": UID,
        "replicatedjob-name": step.name,
        "restart-attempt": "0",
        "replicatedjob-replicas": str(counts[position]),
        "global-replicas": str(sum(counts)),
        "job-index": str(replica),
        "job-key": key,
        "job-global-index": str(sum(counts[:position]) + replica),
        "group-name": step.group,
        "group-replicas": str(sum(of_group)),
        "job-group-index": str(sum(of_group[:position]) + replica),
    }
    coordinator = jobset.spec.get("coordinator")
    if coordinator:
        host = f"{coordinator['replicatedJob']}-{coordinator.get('jobIndex', 0)}-{coordinator.get('podIndex', 0)}"
        marks["coordinator"] = f"{jobset.name}-{host}.{jobset.service}"
    labels = {f"{_JOBSET}/{key}": value for key, value in marks.items()}
    own_annotations: dict[str, Any] = {
        **mapping(jobset.document["metadata"].get("annotations")),
        **mapping(mapping(step.template.get("metadata")).get("annotations")),
    }
    exclusive = {key: own_annotations[key] for key in _EXCLUSIVE if key in own_annotations}
    return labels, {**labels, **exclusive}


def _pod(job: Mapping[str, Any], index: int | None) -> dict[str, Any]:
    template, name = job["spec"]["template"], job["metadata"]["name"]
    metadata, spec = template["metadata"], dict(template["spec"])
    labels, annotations = dict(metadata["labels"]), dict(metadata["annotations"])
    start = f"{name}-"
    if index is not None:
        start = f"{name}-{index}-"
        labels[f"{_BATCH}/job-completion-index"] = annotations[f"{_BATCH}/job-completion-index"] = str(index)
        spec["hostname"] = f"{name}-{index}"
        source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{_BATCH}/job-completion-index']"}}
        variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}
        spec = _with_containers(spec, lambda container: _with_variable(container, variable))
    labels[f"{_JOBSET}/priority"] = "0"
    if spec.get("priorityClassName"):
        priority: Any = Unknown("the priority of a class is known only to the cluster")
        labels[f"{_JOBSET}/priority"] = priority
    else:
        priority = spec.get("priority", 0)
    account = spec.get("serviceAccountName") or "default"
    defaults = {"enableServiceLinks": True, "priority": priority, "preemptionPolicy": "PreemptLowerPriority"}
    spec = {**defaults, **spec, "serviceAccountName": account, "serviceAccount": account}
    spec["tolerations"] = [*(spec.get("tolerations") or ()), *_default_tolerations(spec.get("tolerations") or ())]
    spec = _with_containers(spec, _with_requests)
    if spec.get("automountServiceAccountToken") is not False:
        _mount_token(spec)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **metadata,
            "generateName": start,
            # The API server completes the name before it asks the policies.
            "name": f"{start}00000",
            **({"namespace": job["metadata"]["namespace"]} if "namespace" in job["metadata"] else {}),
            "labels": labels,
            "annotations": annotations,
            "finalizers": [f"{_BATCH}/job-tracking"],
            "ownerReferences": [_owner("batch/v1", "Job", name)],
        },
        "spec": spec,
        "status": {"phase": "Pending", "qosClass": _quality(spec)},
    }


def _with_variable(container: Mapping[str, Any], variable: Mapping[str, Any]) -> dict[str, Any]:
    variables = container.get("env") or ()
    if any(existing.get("name") == variable["name"] for existing in variables):
        return dict(container)
    return {**container, "env": [*variables, variable]}


def _with_requests(container: Mapping[str, Any]) -> dict[str, Any]:
    """A limit without a request is the request, too."""
    resources = container.get("resources") or {}
    limits = resources.get("limits") or {}
    if not limits:
        return dict(container)
    return {**container, "resources": {**resources, "requests": {**limits, **(resources.get("requests") or {})}}}


def _default_tolerations(tolerations: Any) -> list[dict[str, Any]]:
    """Five minutes on a node that is not ready or unreachable, unless the pod says something about such nodes."""
    return [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        if not any(t.get("key") in (key, None, "") and t.get("effect") in ("NoExecute", None, "") for t in tolerations)
    ]


def _mount_token(spec: dict[str, Any]) -> None:
    name, mounted = "kube-api-access-00000", False
    for kind in ("initContainers", "containers"):
        for i, container in enumerate(spec.get(kind) or ()):
            mounts = container.get("volumeMounts") or ()
            if not any(mount.get("mountPath") == _TOKEN for mount in mounts):
                mount = {"name": name, "readOnly": True, "mountPath": _TOKEN}
                spec[kind][i] = {**container, "volumeMounts": [*mounts, mount]}
                mounted = True
    if mounted:
        volume = {"name": name, "projected": deepcopy(_DATA["token"])}
        spec["volumes"] = [*(spec.get("volumes") or ()), volume]


def _quality(spec: Mapping[str, Any]) -> str:
    """The quality of service: guaranteed if each container's requests of CPU and memory are its limits."""
    pairs = [
        tuple(mapping(mapping(container.get("resources")).get(side)).get(name) for side in ("requests", "limits"))
        for kind in ("initContainers", "containers")
        for container in spec.get(kind) or ()
        for name in ("cpu", "memory")
    ]
    if not any(map(any, pairs)):
        return "BestEffort"
    return "Guaranteed" if all(request and request == limit for request, limit in pairs) else "Burstable"


# What the API server fills in, in the shape of a pod spec; a default of a part counts where the part is there.
_DATA = opening.read_data(__file__, "pods.json")
_POD = {**_DATA["pod"], "initContainers": [_DATA["container"]], "containers": [_DATA["container"]]}


def _fill_defaults(value: Any, defaults: Any) -> Any:
    if isinstance(value, list):
        return [_fill_defaults(item, defaults[0]) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {key for key, default in defaults.items() if default and isinstance(default, dict | list)}
    parts = {key: _fill_defaults(part, defaults[key]) if key in inner else part for key, part in value.items()}
    # Each object has maps of its own, because a denial points to the map that was read.
    return {**{key: deepcopy(default) for key, default in defaults.items() if key not in inner}, **parts}


def _with_pod_defaults(spec: dict[str, Any]) -> dict[str, Any]:
    completed: dict[str, Any] = _fill_defaults(spec, _POD)
    host_network = bool(spec.get("hostNetwork"))
    completed = _with_containers(completed, partial(_with_container_defaults, host_network=host_network))
    if completed.get("volumes"):
        volumes = completed["volumes"]
        completed["volumes"] = [v if v.keys() - {"name"} else {**v, "emptyDir": {}} for v in volumes]
    return completed


def _with_container_defaults(container: Mapping[str, Any], *, host_network: bool) -> dict[str, Any]:
    image = str(container.get("image", ""))
    latest = "@" not in image and image.rpartition("/")[2].partition(":")[2] in ("", "latest")
    completed = {"imagePullPolicy": "Always" if latest else "IfNotPresent", **container}
    if host_network and completed.get("ports"):
        completed["ports"] = [{"hostPort": port["containerPort"], **port} for port in completed["ports"]]
    return completed
