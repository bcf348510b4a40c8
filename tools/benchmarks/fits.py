"""Measure `trainc.features.cluster.fits` and how its time grows: python -m benchmarks.fits.

Uses 1,000 jobs, 50 ClusterQueues (half of them StrictFIFO) in ten cohorts, 500 nodes with three topology levels, and two
ResourceQuotas; then a half and a quarter of each. Half of the jobs are placed on racks, and one in ten can never be
admitted.
"""

from __future__ import annotations

import time
from typing import Any

import trainc

Json = dict[str, Any]
KUEUE = "kueue.x-k8s.io/v1beta2"
BLOCK, RACK, HOST = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack", "kubernetes.io/hostname"
NODES_IN_RACK, RACKS_IN_BLOCK, GPUS = 10, 5, 8
_QUEUES_IN_COHORT = 5


def cluster(queues: int, nodes: int) -> list[Json]:
    """The objects of a cluster of that size."""
    flavor = {"nodeLabels": {"pool": "gpu"}, "topologyName": "racks"}
    levels = [{"nodeLabel": label} for label in (BLOCK, RACK, HOST)]
    found = [
        _object("ResourceFlavor", "gpu", flavor),
        _object("ResourceFlavor", "cpu", {}),
        _object("Topology", "racks", {"levels": levels}),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
    ]
    found += [_quota("devices", {"requests.nvidia.com/gpu": 4_000}), _quota("compute", {"cpu": 5_000, "pods": 5_000})]
    found += [_node(number) for number in range(nodes)]
    share = nodes * GPUS // queues
    for number in range(queues):
        found.append(_object("ClusterQueue", f"q{number}", _queue(number, share)))
        found.append(_object("LocalQueue", f"q{number}", {"clusterQueue": f"q{number}"}, namespace="team"))
    return found


def _object(kind: str, name: str, spec: Json, **metadata: str) -> Json:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def _quota(name: str, hard: Json) -> Json:
    metadata = {"name": name, "namespace": "team"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}}


def _node(number: int) -> Json:
    rack = number // NODES_IN_RACK
    labels = {"pool": "gpu", BLOCK: f"b{rack // RACKS_IN_BLOCK}", RACK: f"r{rack}", HOST: f"n{number}"}
    room = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": str(GPUS)}
    status = {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}", "labels": labels}, "status": status}


def _queue(number: int, share: int) -> Json:
    quota = [("nvidia.com/gpu", share), ("cpu", share * 12), ("memory", f"{share * 128}Gi")]
    resources = [{"name": name, "nominalQuota": str(amount)} for name, amount in quota]
    covered = [name for name, _ in quota]
    return {
        "cohortName": f"c{number // _QUEUES_IN_COHORT}",
        "namespaceSelector": {},
        "queueingStrategy": "StrictFIFO" if number % 2 else "BestEffortFIFO",
        "resourceGroups": [{"coveredResources": covered, "flavors": [{"name": "gpu", "resources": resources}]}],
    }


def jobs(count: int, queues: int) -> list[Json]:
    """The given number of distinct JobSets."""
    return [_job(number, number % queues) for number in range(count)]


def _job(number: int, queue: int) -> Json:
    pods = 1_000 if number % 10 == 9 else 1 + number % 4
    annotations = {"kueue.x-k8s.io/podset-required-topology": RACK} if number % 2 else {}
    requests = {"cpu": f"{1000 + number}m", "memory": "64Gi", "nvidia.com/gpu": "8"}
    pod = {"containers": [{"name": "node", "image": "train", "resources": {"requests": requests}}]}
    job = {
        "parallelism": pods,
        "completions": pods,
        "template": {"metadata": {"annotations": annotations}, "spec": pod},
    }
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": f"j{number}", "namespace": "team", "labels": {"kueue.x-k8s.io/queue-name": f"q{queue}"}},
        "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": job}}]},
    }


def main() -> None:
    """Print the processor time of each size."""
    print("jobs  queues  nodes  seconds")
    for part in (4, 2, 1):
        size, queues, nodes = 1_000 // part, 50 // part, 500 // part
        snapshot, submitted = cluster(queues, nodes), jobs(size, queues)
        before = time.process_time()
        trainc.fits(submitted, snapshot)
        print(f"{size:4}  {queues:6}  {nodes:5}  {time.process_time() - before:7.2f}")


if __name__ == "__main__":
    main()
