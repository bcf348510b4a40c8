"""Recorded verdicts of Kueue's own code: each job alone on the idle cluster, and all of them together."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trainc import Fit, fits
from trainc.features.cluster.fits.cluster import quota_tree
from trainc.features.cluster.fits.snapshot import read_cluster
from trainc.reading.cluster import Dump


def cases(vectors: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(vectors / "fits.jsonl.gz", "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def snapshot(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for kind, items in case["input"].items() if kind != "jobSets" for item in items]


def plain(fit: Fit, wanted: dict[str, Any]) -> dict[str, Any]:
    """What an answer says of the fields that were recorded."""
    placement = {name: [f"{domain}={count}" for domain, count in places.items()] for name, places in fit.places.items()}
    reported = {
        "job": fit.job,
        "verdict": fit.verdict,
        "cause": fit.cause,
        "flavors": fit.flavors,
        "borrows": fit.borrows,
        "topology": fit.topology,
        "placement": placement,
        "pods": fit.pods,
        "requests": fit.requests,
    }
    # Of jobs that are not admitted together with others, it was not recorded what topology had to do with it.
    silent = {"topology"} if wanted["verdict"] == "never" and "requests" not in wanted else set()
    return {key: value for key, value in reported.items() if key in wanted and key not in silent}


@pytest.mark.parametrize("part", ["alone", "together"])
def test_every_recorded_job_gets_the_recorded_answer(part: str, vectors: Path) -> None:
    different = []
    for case in cases(vectors):
        found = getattr(fits(case["input"]["jobSets"], snapshot(case)), part)
        for fit, wanted in zip(found, case[part], strict=True):
            reported = plain(fit, wanted)
            if reported != {key: wanted[key] for key in reported}:
                different.append((case["id"], fit.job, reported))
    assert different == []


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
