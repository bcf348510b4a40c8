"""Snapshots and JobSets that no cluster would print: answered or refused, never an exception, whatever their size."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

import pytest
from clusters import Json, flavor, jobset, kueue, local, namespace, node, queue, topology
from hypothesis import given, settings, strategies as st

from trainc import fits
from trainc.features.cluster.fits.answer import Fits
from trainc.features.cluster.fits.forms import fits_json, fits_text

SPEC = {
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "nodeSelector": {"zone": "a"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
            }
        }
    },
}
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**31, 2**63, 1.5, "", "a", "9" * 5_000, "\ud800", "Gt", "NoSchedule", "1e30"),
    *([], {}, [None], [{}], {"a": "b"}, ["a"], [[]], {"": ""}),
)


def sound() -> tuple[list[Json], list[Json]]:
    """JobSets and a snapshot that use everything that is read."""
    cluster = [
        namespace(),
        queue("a", 16, namespaceSelector={"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}),
        local("a"),
        flavor(topologyName="racks"),
        topology(),
        node("n1", "r1"),
        {"kind": "Cohort", "metadata": {"name": "all"}, "spec": {"parentName": "root"}},
        {"kind": "LimitRange", "metadata": {"name": "l", "namespace": "team-a"}, "spec": {"limits": [{"type": "Pod"}]}},
        {"kind": "RuntimeClass", "metadata": {"name": "r"}, "overhead": {"podFixed": {"cpu": "1"}}},
    ]
    job = jobset("one")
    pod = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod.update(deepcopy(SPEC))
    return [job], cluster


def places(value: Any) -> list[tuple[Any, Any]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, item in entries:
        found.append((value, key))
        if isinstance(item, dict | list):
            found += places(item)
    return found


def requested(jobsets: list[Json], cluster: list[Json]) -> Fits:
    found = fits(jobsets, cluster)
    assert fits_text(found) or not found.alone
    assert fits_json(found)["jobs"] or not found.alone
    return found


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_any_value_in_any_place_is_answered_or_refused(seed: int) -> None:
    random = Random(seed)
    jobsets, cluster = sound()
    for _ in range(random.randint(1, 3)):
        holder, key = random.choice(places(jobsets)[1:] + places(cluster))
        holder[key] = deepcopy(random.choice(VALUES))
    requested(jobsets, cluster)


WRONG = {
    "namespaceSelector": queue("a", 16, namespaceSelector={"matchLabels": "x"}),
    "matchExpressions": queue("a", 16, namespaceSelector={"matchExpressions": ["x"]}),
    "tolerations": flavor(tolerations=[{"key": 3}]),
    "nodeTaints": flavor(nodeTaints=[{"effect": []}]),
    "levels": kueue("Topology", "t", {"levels": [{"nodeLabel": "a"}] * 17}),
}


@pytest.mark.parametrize("field", WRONG)
def test_an_object_of_another_shape_is_named_with_its_field(field: str) -> None:
    (problem, *_) = fits([], [WRONG[field]]).diagnostics
    assert (problem.code, field in problem.path) == ("SnapshotUnreadable", True)


def test_a_number_that_go_cannot_read_matches_nothing() -> None:
    huge = "9" * 5_000
    for value in (huge, f"-{huge}", "0" * 5_000 + "7"):
        job = jobset("one")
        pod = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        pod["tolerations"] = [{"key": "k", "operator": "Gt", "value": value, "effect": "NoSchedule"}]
        taint = {"key": "k", "value": huge, "effect": "NoSchedule"}
        (found,) = fits([job], [namespace(), queue("a", 16), local("a"), flavor(nodeTaints=[taint])]).alone
        assert found.verdict == "never"


def test_cohorts_above_cohorts_without_end_are_refused() -> None:
    chain = [
        {"kind": "Cohort", "metadata": {"name": f"c{i}"}, "spec": {"parentName": f"c{i + 1}"}} for i in range(5_000)
    ]
    found = requested([jobset("one")], [queue("a", 16, cohortName="c0"), local("a"), flavor(), *chain])
    assert {problem.code for problem in found.diagnostics} >= {"SnapshotUnreadable"}


def test_lists_in_lists_without_end_are_read() -> None:
    nested: Json = queue("a", 16)
    for _ in range(5_000):
        nested = {"kind": "List", "items": [nested]}
    assert requested([jobset("one")], [namespace(), nested, local("a"), flavor()]).alone[0].verdict == "fits"


@pytest.mark.parametrize("replicas", [1, 2**31 - 1])
@pytest.mark.parametrize("queued", [True, False])
def test_a_job_of_billions_of_pods_never_fits(replicas: int, queued: bool) -> None:
    job = jobset("one", pods=2**31 - 1)
    job["spec"]["replicatedJobs"][0]["replicas"] = replicas
    if not queued:
        job["metadata"]["labels"] = {}
    found = requested(
        [job], [namespace(), queue("a", 16), local("a"), flavor(topologyName="racks"), topology(), node("n1", "r1")]
    )
    assert found.alone[0].verdict == "never"
