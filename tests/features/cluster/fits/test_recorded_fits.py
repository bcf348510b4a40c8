"""What the queues of recorded clusters can get at most, by Kueue's own code."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trainc.features.cluster.fits.cluster import quota_tree
from trainc.features.cluster.fits.snapshot import read_cluster
from trainc.reading.cluster import Dump


def cases(vectors: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(vectors / "fits.jsonl.gz", "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def snapshot(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for kind, items in case["input"].items() if kind != "jobSets" for item in items]


def test_the_most_that_a_queue_can_get_is_as_recorded(vectors: Path) -> None:
    for case in cases(vectors):
        cluster, problems = read_cluster(Dump.of_objects(snapshot(case)))
        assert problems == []
        nodes = quota_tree(cluster)
        found: dict[str, dict[str, dict[str, int]]] = {}
        for name, queue in cluster.cluster_queues.items():
            if not cluster.faults(queue):
                found[name] = {}
                for flavor, resource in queue.quotas:
                    found[name].setdefault(flavor, {})[resource] = nodes[name].potential((flavor, resource))
        assert found == case["capacity"], case["id"]
