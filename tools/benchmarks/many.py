"""`python -m benchmarks.many [JOBS]`: time `compile_many` here, and on two worker processes of a dask LocalCluster.

Needs the extra `dask`. The start of the cluster is not counted, nor the first jobs, for which the workers import trainc.
What travels back is a digest. Here and there take turns, and must give the same digests. Prints the seconds of each, and
the processor time of this process, as JSON.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from statistics import median
from typing import Any

from trainc import JobResult, Options, compile_many

JOBS, ROUNDS, WARM_UP, WORKERS = 20_000, 5, 1_000, 2
HERE, THERE = "in one process", f"on {WORKERS} workers of a dask LocalCluster"
_POD = {"containers": [{"name": "node", "image": "registry.example.com/pretrain:1.4.2"}]}
_NODE = {
    "name": "node",
    "template": {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"spec": _POD}},
    },
}
RUNTIME = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "torch", "labels": {"trainer.kubeflow.org/framework": "torch"}},
    "spec": {"mlPolicy": {"numNodes": 2, "torch": {}}, "template": {"spec": {"replicatedJobs": [_NODE]}}},
}


def sweep(count: int) -> Iterator[dict[str, Any]]:
    """As many jobs, each with another argument."""
    for number in range(count):
        yield {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": f"sweep-{number}", "namespace": "team-a"},
            "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"args": [f"--seed={number}"]}},
        }


def digest(result: JobResult) -> bytes:
    """What travels back of a job."""
    return hashlib.sha256(result.get().to_yaml().encode()).digest()


def timed(count: int, executor: Executor | None) -> tuple[float, float, str]:
    """Seconds, processor time of this process, and a digest of all jobs in their order."""
    wall, cpu, whole = time.perf_counter(), time.process_time(), hashlib.sha256()
    options = Options(release="2.3")
    for one in compile_many(sweep(count), runtimes=[RUNTIME], options=options, executor=executor, result=digest):
        whole.update(one)
    return time.perf_counter() - wall, time.process_time() - cpu, whole.hexdigest()


def main() -> None:
    """Measure, in turn."""
    from distributed import Client, LocalCluster

    count = int(sys.argv[1]) if len(sys.argv) > 1 else JOBS
    runs: dict[str, list[tuple[float, float, str]]] = {HERE: [], THERE: []}
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        executor = client.get_executor()
        timed(WARM_UP, executor)
        for _ in range(ROUNDS):
            runs[HERE].append(timed(count, None))
            runs[THERE].append(timed(count, executor))
    assert len({digest for each in runs.values() for _, _, digest in each}) == 1
    medians = {
        name: [median(wall for wall, _, _ in each), median(cpu for _, cpu, _ in each)] for name, each in runs.items()
    }
    print(json.dumps({"jobs": count, "seconds": medians}))


if __name__ == "__main__":
    main()
