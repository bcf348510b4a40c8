"""Pods that the API server refuses although it takes their Job: what each rule refuses, and its harmless twin."""

from __future__ import annotations

from typing import Any

import pytest
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


def sized(requests: Json | None = None, limits: Json | None = None) -> Json:
    return {"containers": [{**TRAINER, "resources": {"requests": requests or {}, "limits": limits or {}}}]}


def of_kind(api: str, kind: str, name: str, **fields: Any) -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **fields}


def in_team_a(kind: str, name: str, **fields: Any) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "team-a"}, **fields}


def priority_class(name: str, value: int, **fields: Any) -> Json:
    return of_kind("scheduling.k8s.io/v1", "PriorityClass", name, value=value, **fields)


def runtime_class(name: str, **fields: Any) -> Json:
    return of_kind("node.k8s.io/v1", "RuntimeClass", name, handler="h", **fields)


def limit_range(**item: Any) -> Json:
    return in_team_a("LimitRange", "caps", spec={"limits": [{"type": "Container", **item}]})


def quota(hard: Json, **spec: Any) -> Json:
    return in_team_a("ResourceQuota", "q", spec={"hard": hard, **spec})


GOLD, CALM = priority_class("gold", 1000), priority_class("calm", 100, preemptionPolicy="Never")
DEFAULT = priority_class("everyone", 500, globalDefault=True)
LOWER_DEFAULT = priority_class("most", 50, globalDefault=True, preemptionPolicy="Never")
PRIORITY, PREEMPTION = [("PriorityNotOfClass", "priority")], [("PriorityNotOfClass", "preemptionPolicy")]


@pytest.mark.parametrize(
    ("pod", "classes", "expected"),
    [
        pytest.param({"priority": 1000}, [], PRIORITY, id="a priority without a class"),
        pytest.param({"priority": 0}, [], [], id="the priority of a pod without a class"),
        pytest.param({"priority": 0}, [DEFAULT], PRIORITY, id="0 where a default class gives 500"),
        pytest.param({"priority": 500}, [DEFAULT], [], id="what the default class gives"),
        pytest.param({"priority": 500}, [DEFAULT, LOWER_DEFAULT], PRIORITY, id="the lower one of two default classes"),
        pytest.param({"priority": 5, "priorityClassName": "gold"}, [GOLD], PRIORITY, id="not that of its class"),
        pytest.param({"priority": 1000, "priorityClassName": "gold"}, [GOLD], [], id="that of its class"),
        pytest.param({"priority": 5, "priorityClassName": "gold"}, [], [], id="a class that is not known"),
        pytest.param({"priority": 5, "priorityClassName": "gold"}, [DEFAULT], [], id="not known, beside a default"),
        pytest.param({"priority": 5, "priorityClassName": "system-node-critical"}, [], PRIORITY, id="a built-in class"),
        pytest.param({"priorityClassName": "system-cluster-critical"}, [], [], id="a built-in class by name"),
        pytest.param({"preemptionPolicy": "Never"}, [], PREEMPTION, id="never preempting without a class"),
        pytest.param({"preemptionPolicy": "PreemptLowerPriority"}, [], [], id="preempting without a class"),
        pytest.param(
            {"preemptionPolicy": "Never", "priorityClassName": "gold"}, [GOLD], PREEMPTION, id="not its class"
        ),
        pytest.param({"preemptionPolicy": "Never", "priorityClassName": "calm"}, [CALM], [], id="as its class"),
        pytest.param({"preemptionPolicy": "Never"}, [LOWER_DEFAULT], [], id="as the default class"),
    ],
)
def test_priority_and_preemption_come_from_the_class(
    pod: Json, classes: list[Json], expected: list[tuple[str, str]]
) -> None:
    assert found(pod, *classes) == expected


KATA = runtime_class("kata", overhead={"podFixed": {"cpu": "250m"}}, scheduling={"nodeSelector": {"pool": "vm"}})
OVERHEAD = [("OverheadNotOfClass", "overhead")]


@pytest.mark.parametrize(
    ("pod", "classes", "expected"),
    [
        pytest.param({"overhead": {"cpu": "250m"}}, [], OVERHEAD, id="overhead without a class"),
        pytest.param({"overhead": {}}, [], [], id="an empty overhead"),
        pytest.param({"overhead": {"cpu": "1"}, "runtimeClassName": "kata"}, [], [], id="a class that is not known"),
        pytest.param({"overhead": {"cpu": "1"}, "runtimeClassName": "kata"}, [KATA], OVERHEAD, id="another overhead"),
        pytest.param({"overhead": {"cpu": 0.25}, "runtimeClassName": "kata"}, [KATA], [], id="the same amount"),
        pytest.param(
            {"overhead": {"cpu": "1"}, "runtimeClassName": "x"}, [runtime_class("x")], OVERHEAD, id="a class without"
        ),
        pytest.param({"runtimeClassName": "kata"}, [KATA], [], id="a class alone"),
        pytest.param(
            {"runtimeClassName": "kata", "nodeSelector": {"pool": "cpu"}},
            [KATA],
            [("RuntimeClassConflict", "nodeSelector.pool")],
            id="other nodes than the class",
        ),
        pytest.param(
            {"runtimeClassName": "kata", "nodeSelector": {"pool": "vm", "zone": "a"}}, [KATA], [], id="the same nodes"
        ),
    ],
)
def test_overhead_and_nodes_agree_with_the_runtime_class(
    pod: Json, classes: list[Json], expected: list[tuple[str, str]]
) -> None:
    assert found(pod, *classes) == expected


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
BEST_EFFORT = {"scopes": ["BestEffort"]}
OF_GOLD = {
    "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["gold"]}]}
}


@pytest.mark.parametrize(
    ("pod", "objects", "expected"),
    [
        pytest.param({}, [quota({"limits.memory": "9Gi"})], [(NEEDS, "containers[0].resources")], id="no limit"),
        pytest.param({}, [quota({"cpu": "9"})], [(NEEDS, "containers[0].resources")], id="no request"),
        pytest.param(sized(limits={"cpu": 1}), [quota({"cpu": "9"})], [], id="a request from its limit"),
        pytest.param({}, [quota({"limits.memory": "9Gi"}), limit_range(default={"memory": "1Gi"})], [], id="a default"),
        pytest.param({}, [quota({"requests.nvidia.com/gpu": 4})], [], id="devices need not be requested"),
        pytest.param({}, [quota({"requests.ephemeral-storage": "1Gi"})], [], id="nor does disk"),
        pytest.param(
            {"resources": {"limits": {"cpu": 2}}}, [quota({"limits.memory": "9Gi"})], [], id="the pod has resources"
        ),
        pytest.param(
            {"initContainers": [{"name": "i"}], **sized({"cpu": 1})},
            [quota({"requests.cpu": 9})],
            [(NEEDS, "initContainers[0].resources")],
            id="an init container needs them, too",
        ),
        pytest.param(
            sized(limits={"nvidia.com/gpu": 8}),
            [quota({"requests.nvidia.com/gpu": 4})],
            [(EXCEEDS, f'{LIMITS}["nvidia.com/gpu"]')],
            id="more devices than the quota",
        ),
        pytest.param(sized(limits={"nvidia.com/gpu": 4}), [quota({"requests.nvidia.com/gpu": 4})], [], id="as many"),
        pytest.param(
            sized({"memory": "1Gi"}), [quota({"memory": "512Mi"})], [(EXCEEDS, f"{REQUESTS}.memory")], id="memory"
        ),
        pytest.param({}, [quota({"pods": 0})], [(EXCEEDS, "")], id="no pods"),
        pytest.param({}, [quota({"pods": 1})], [], id="one pod"),
        pytest.param({}, [quota({"services": 0, "count/jobs.batch": 0})], [], id="other objects than pods"),
        pytest.param({}, [quota({"pods": 0}, **BEST_EFFORT)], [(EXCEEDS, "")], id="best effort"),
        pytest.param(sized({"cpu": 1}), [quota({"pods": 0}, **BEST_EFFORT)], [], id="not best effort"),
        pytest.param({}, [quota({"pods": 0}, scopes=["NotBestEffort"])], [], id="best effort, outside the scope"),
        pytest.param({}, [quota({"pods": 0}, scopes=["Terminating"])], [], id="without a deadline"),
        pytest.param(
            {"activeDeadlineSeconds": 9},
            [quota({"pods": 0}, scopes=["Terminating"])],
            [(EXCEEDS, "")],
            id="with a deadline",
        ),
        pytest.param({"priorityClassName": "gold"}, [quota({"pods": 0}, **OF_GOLD)], [(EXCEEDS, "")], id="its class"),
        pytest.param({"priorityClassName": "calm"}, [quota({"pods": 0}, **OF_GOLD)], [], id="another class"),
        pytest.param({}, [quota({"pods": 0}, **OF_GOLD)], [], id="no class"),
        pytest.param(
            {},
            [quota({"pods": 0}, **OF_GOLD), priority_class("gold", 9, globalDefault=True)],
            [(EXCEEDS, "")],
            id="default",
        ),
        pytest.param(
            {"overhead": {"cpu": "250m"}, "runtimeClassName": "kata", **sized({"cpu": 1})},
            [quota({"cpu": 1}), runtime_class("kata", overhead={"podFixed": {"cpu": "250m"}})],
            [(EXCEEDS, f"{REQUESTS}.cpu")],
            id="overhead counts",
        ),
        pytest.param(
            {"runtimeClassName": "kata", **sized({"cpu": 1})},
            [quota({"cpu": 1}), runtime_class("kata", overhead={"podFixed": {"cpu": "250m"}})],
            [(EXCEEDS, f"{REQUESTS}.cpu")],
            id="also the overhead that the class adds",
        ),
        pytest.param(
            {"runtimeClassName": "plain", **sized({"cpu": 1})},
            [quota({"cpu": 1}), runtime_class("plain")],
            [],
            id="or not",
        ),
    ],
)
def test_a_resource_quota(pod: Json, objects: list[Json], expected: list[tuple[str, str]]) -> None:
    assert [(code, "" if path == "spec" else path) for code, path in found(pod, *objects)] == expected


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
