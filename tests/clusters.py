"""Clusters and jobs for tests, as a person would write them."""

from __future__ import annotations

from typing import Any

from trainc import Fit, Fits, fits

Json = dict[str, Any]
KUEUE = "kueue.x-k8s.io/v1beta2"
GPU = "nvidia.com/gpu"
RACK, HOST = "cloud.provider.com/topology-rack", "kubernetes.io/hostname"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"


def kueue(kind: str, name: str, spec: Json, **metadata: str) -> Json:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def queue(name: str, quota: Json | int, *, flavors: tuple[str, ...] = ("h100",), **spec: Any) -> Json:
    """A ClusterQueue of GPUs: `quota` is the nominal quota, or what it and its limits are, of each flavor."""
    amounts = quota if isinstance(quota, dict) else {"nominalQuota": quota}
    listed = [{"name": flavor, "resources": [{"name": GPU, **amounts}]} for flavor in flavors]
    groups = [{"coveredResources": [GPU], "flavors": listed}]
    return kueue("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": groups, **spec})


def local(name: str) -> Json:
    return kueue("LocalQueue", name, {"clusterQueue": name}, namespace="team-a")


def flavor(name: str = "h100", **spec: Any) -> Json:
    return kueue("ResourceFlavor", name, spec)


def namespace(**labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "labels": labels}}


def node(name: str, rack: str, gpus: int = 8, **labels: str) -> Json:
    status = {"allocatable": {GPU: gpus, "pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]}
    known = {"labels": {RACK: rack, HOST: name, **labels}, "name": name}
    return {"apiVersion": "v1", "kind": "Node", "metadata": known, "status": status}


def topology() -> Json:
    return kueue("Topology", "racks", {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOST}]})


def jobset(name: str = "llm", pods: int = 1, gpus: int = 8, *, to: str | None = "a", **template: Any) -> Json:
    """A JobSet as trainc compiles one of `torch`: its nodes are the TrainJob's."""
    container = {"name": "node", "image": "train", "resources": {"limits": {GPU: gpus}}}
    pod = {"spec": {"containers": [container], **template.pop("spec", {})}, "metadata": template}
    step = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    job = {"metadata": step, "spec": {"parallelism": pods, "completions": pods, "template": pod}}
    labels = {} if to is None else {"kueue.x-k8s.io/queue-name": to}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "team-a", "labels": labels},
        "spec": {"replicatedJobs": [{"name": "node", "replicas": 1, "template": job}]},
    }


def requested(*jobs: Json, of: list[Json]) -> Fits:
    """The answers of a cluster that has the namespace and the flavor h100 besides what is given."""
    kinds = {(one["kind"], one["metadata"]["name"]) for one in of}
    basics = [one for one in (namespace(), flavor()) if (one["kind"], one["metadata"]["name"]) not in kinds]
    return fits(list(jobs), [*basics, *of])


def alone(job: Json, of: list[Json]) -> Fit:
    return requested(job, of=of).alone[0]


def why(job: Json, of: list[Json]) -> str:
    """The message about a job that can never run, and behind it the hint."""
    (found,) = alone(job, of).diagnostics
    return f"{found.message}\nhelp: {found.hint}"
