"""Pods that the API server refuses although it takes their Job: what each rule refuses, and its harmless twin."""

from __future__ import annotations

from typing import Any

from tables import cases

from trainc.findings import format_path
from trainc.pods.admission_plugins import cluster_objects, count_refusals, refusals_of_pods

Json = dict[str, Any]
TRAINER = {"name": "node", "image": "example.com/train:1"}


def found(pod: Json, *objects: Json) -> list[tuple[str, str]]:
    """Code and path of each finding about a pod in namespace team-a."""
    spec = {"containers": [TRAINER], **pod}
    refused = refusals_of_pods(spec, ("spec",), "team-a", cluster_objects(objects))
    return [(finding.code, format_path(finding.path).removeprefix("spec.")) for finding in refused]


def of_kind(api: str, kind: str, name: str, **fields: Any) -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **fields}


def in_team_a(kind: str, name: str, **fields: Any) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "team-a"}, **fields}


def priority_class(name: str, value: int, **fields: Any) -> Json:
    return of_kind("scheduling.k8s.io/v1", "PriorityClass", name, value=value, **fields)


def limit_range(**item: Any) -> Json:
    return in_team_a("LimitRange", "caps", spec={"limits": [{"type": "Container", **item}]})


def quota(hard: Json, **spec: Any) -> Json:
    return in_team_a("ResourceQuota", "q", spec={"hard": hard, **spec})


GOLD, CALM = priority_class("gold", 1000), priority_class("calm", 100, preemptionPolicy="Never")
PRIORITY, PREEMPTION = [("PriorityNotOfClass", "priority")], [("PriorityNotOfClass", "preemptionPolicy")]


@cases("pod", "classes", "expected")
def test_priority_and_preemption_come_from_the_class(
    pod: Json, classes: list[Json], expected: list[tuple[str, str]]
) -> None:
    assert found(pod, *classes) == [tuple(each) for each in expected]


@cases("pod", "classes", "expected")
def test_overhead_and_nodes_agree_with_the_runtime_class(
    pod: Json, classes: list[Json], expected: list[tuple[str, str]]
) -> None:
    assert found(pod, *classes) == [tuple(each) for each in expected]


@cases("pod", "accounts", "expected")
def test_an_account_may_restrict_the_secrets_of_its_pods(
    pod: Json, accounts: list[Json], expected: list[tuple[str, str]]
) -> None:
    assert found(pod, *accounts) == [tuple(each) for each in expected]


@cases("pod", "expected")
def test_some_rules_are_not_applied_to_templates(pod: Json, expected: list[tuple[str, str]]) -> None:
    assert found(pod) == [tuple(each) for each in expected]


LIMITS, REQUESTS = "containers[0].resources.limits", "containers[0].resources.requests"


@cases("pod", "item", "expected")
def test_a_limit_range_of_containers(pod: Json, item: Json, expected: list[tuple[str, str]]) -> None:
    assert found(pod, limit_range(**item)) == [tuple(each) for each in expected]


def of_pods(**item: Any) -> Json:
    return limit_range(**{**item, "type": "Pod"})


@cases("pod", "item", "expected")
def test_a_limit_range_of_pods(pod: Json, item: Json, expected: list[tuple[str, str]]) -> None:
    assert found(pod, of_pods(**item)) == [tuple(each) for each in expected]


NEEDS, EXCEEDS = "QuotaNeedsResources", "ExceedsQuota"


@cases("pod", "objects", "expected")
def test_a_resource_quota(pod: Json, objects: list[Json], expected: list[tuple[str, str]]) -> None:
    assert [(code, "" if path == "spec" else path) for code, path in found(pod, *objects)] == [
        tuple(each) for each in expected
    ]


def test_a_quota_for_pods_that_look_into_other_namespaces() -> None:
    only_those = quota({"pods": 0}, scopes=["CrossNamespacePodAffinity"])
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    term = {"topologyKey": "zone", "labelSelector": {}}
    inside = {"affinity": {"podAffinity": {required: [term]}}}
    across = {"affinity": {"podAntiAffinity": {required: [{**term, "namespaces": ["b"]}]}}}
    assert found(inside, only_those) == []
    assert found(across, only_those) == [(EXCEEDS, "spec")]


def test_objects_of_other_namespaces_and_groups_do_not_count() -> None:
    elsewhere = {**quota({"pods": 0}), "metadata": {"name": "q", "namespace": "team-b"}}
    foreign = {**priority_class("gold", 7), "apiVersion": "example.com/v1"}
    assert found({"priority": 5, "priorityClassName": "gold"}, elsewhere, foreign) == []


def test_lists_are_expanded() -> None:
    printed = {"apiVersion": "v1", "kind": "List", "items": [quota({"pods": 0})]}
    assert found({}, printed) == [(EXCEEDS, "spec")]


def test_a_quota_of_jobs_is_compared_with_all_of_them() -> None:
    jobs = {"count/jobs.batch": 3}
    assert not list(count_refusals(jobs, ("spec",), [quota({"count/jobs.batch": 3}), quota({"pods": 0})]))
    assert not list(count_refusals(jobs, ("spec",), [quota({"count/jobs.batch": 2}, scopes=["BestEffort"])]))
    (refused,) = count_refusals(jobs, ("spec",), [quota({"count/jobs.batch": 2})])
    assert refused.message == "the job needs 3 count/jobs.batch; ResourceQuota q allows 2 for the whole namespace"
