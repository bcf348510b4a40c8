"""Gangs: the PodGroups of Coscheduling and Volcano, and how pods are put into them."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, container, diagnostics_of, job, one, pod, refused, runtime, trainjob

ASKED: dict[str, Any] = {"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
JOBS = (
    job("side", None, [container("c", **ASKED)], replicas=2),
    job(containers=[container(**ASKED)], pod={"priorityClassName": "high"}),
)
JUDGE = job("judge", None, replicas=2)
READY: dict[str, Any] = {"dependsOn": [{"name": "judge", "status": "Ready"}]}
COMPLETE: dict[str, Any] = {"dependsOn": [{"name": "judge", "status": "Complete"}]}


def test_coscheduling_waits_for_all_pods_with_all_they_request() -> None:
    rt = runtime(*JOBS, policy={"numNodes": 3}, gang={"coscheduling": {"scheduleTimeoutSeconds": 90}})
    result = compiled(trainjob(), rt)
    group = one(result, "PodGroup")
    assert group["apiVersion"] == "scheduling.x-k8s.io/v1alpha1"
    assert (group["metadata"]["name"], group["metadata"]["namespace"]) == ("llm", "team-a")
    assert group["spec"] == {
        "minMember": 5,
        "minResources": {"cpu": "2500m", "memory": "5Gi"},
        "scheduleTimeoutSeconds": 90,
    }
    for name in ("side", "node"):
        assert pod(result, name)["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "llm"


@pytest.mark.parametrize(("release", "labelled"), [("2.0", True), ("2.1", False), ("2.3", False)])
def test_2_0_labels_pods_of_an_empty_gang_policy_too(release: str, labelled: bool) -> None:
    result = compiled(trainjob(), runtime(gang={}), release=release, semantics="controller")
    labels = pod(result).get("metadata", {}).get("labels", {})
    assert ("scheduling.x-k8s.io/pod-group" in labels) is labelled
    assert not [m for m in result.manifests if m["kind"] == "PodGroup"]


def test_without_a_gang_policy_no_pod_is_marked() -> None:
    result = compiled(trainjob(), runtime(*JOBS))
    assert "labels" not in pod(result, "side").get("metadata", {})
    assert "schedulerName" not in pod(result)["spec"]


def test_volcano_groups_pods_by_annotation_and_hands_them_to_its_scheduler() -> None:
    jobs = (*JOBS, job("own", None, [container("c")], pod={"schedulerName": "mine"}))
    topology = {"mode": "hard", "highestTierAllowed": 1}
    rt = runtime(*jobs, policy={"numNodes": 2}, gang={"volcano": {"networkTopology": topology}})
    result = compiled(trainjob(), rt)
    group = one(result, "PodGroup")
    assert group["apiVersion"] == "scheduling.volcano.sh/v1beta1"
    assert group["spec"] == {
        "minMember": 5,
        "minResources": {"cpu": "2", "memory": "4Gi"},
        "priorityClassName": "high",
        "networkTopology": topology,
    }
    for name, scheduler in (("side", "volcano"), ("node", "volcano"), ("own", "mine")):
        assert pod(result, name)["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "llm"
        assert pod(result, name)["spec"]["schedulerName"] == scheduler
    as_upstream = compiled(trainjob(), rt, semantics="controller")
    assert "schedulerName" not in pod(as_upstream)["spec"]


@pytest.mark.parametrize(
    ("case", "policy", "annotations", "queue"),
    [
        ("none", {}, {}, None),
        ("the annotation's", {}, {"scheduling.volcano.sh/queue-name": "a"}, "a"),
        ("the policy's comes first", {"queue": "b"}, {"scheduling.volcano.sh/queue-name": "a"}, "b"),
    ],
)
def test_the_queue(case: str, policy: dict[str, Any], annotations: dict[str, str], queue: str | None) -> None:
    rt = runtime(gang={"volcano": policy})
    rt["spec"]["template"]["metadata"] = {"annotations": annotations}
    assert one(compiled(trainjob(), rt), "PodGroup")["spec"].get("queue") == queue, case


def test_members_and_priority_that_the_policy_sets() -> None:
    rt = runtime(*JOBS, policy={"numNodes": 3}, gang={"volcano": {"minMember": 3, "priorityClassName": "low"}})
    spec = one(compiled(trainjob(), rt), "PodGroup")["spec"]
    assert (spec["minMember"], spec["priorityClassName"]) == (3, "low")
    assert spec["minResources"] == {"cpu": "1500m", "memory": "3Gi"}


def test_a_queue_without_a_name_is_refused_where_it_stands() -> None:
    (error,) = refused(trainjob(), runtime(gang={"volcano": {"queue": ""}}))
    assert (error.code, error.path) == ("EmptyQueueName", "spec.podGroupPolicy.volcano.queue")
    assert error.object == "ClusterTrainingRuntime rt"
    rt = runtime(gang={"volcano": {}})
    rt["spec"]["template"]["metadata"] = {"annotations": {"scheduling.volcano.sh/queue-name": ""}}
    (error,) = refused(trainjob(), rt)
    assert (error.code, error.path) == ("EmptyQueueName", 'spec.annotations["scheduling.volcano.sh/queue-name"]')
    assert "scheduling.volcano.sh/queue-name" in error.message


@pytest.mark.parametrize(("semantics", "severity"), [("gitops", "error"), ("controller", "warning")])
def test_two_gang_schedulers_exclude_each_other(semantics: str, severity: str) -> None:
    rt = runtime(gang={"volcano": {}, "coscheduling": {}})
    found = diagnostics_of("MutuallyExclusivePolicies", trainjob(), rt, semantics=semantics)
    assert [(d.severity, d.path, d.object) for d in found] == [
        (severity, "spec.podGroupPolicy.volcano", "ClusterTrainingRuntime rt")
    ]


def test_the_priority_of_the_last_job_that_names_one_decides() -> None:
    jobs = (
        *JOBS,
        job("z", None, [container("c")], pod={"priorityClassName": "last"}),
        job("y", None, [container("c")]),
    )
    assert (
        one(compiled(trainjob(), runtime(*jobs, gang={"volcano": {}})), "PodGroup")["spec"]["priorityClassName"]
        == "last"
    )


@pytest.mark.parametrize(
    ("jobs", "spec", "gang", "hangs"),
    [
        ((JUDGE, job(**READY)), {}, {"coscheduling": {}}, True),
        ((JUDGE, job(**READY)), {}, {"volcano": {}}, True),
        ((JUDGE, job()), {"startupPolicy": {"startupPolicyOrder": "InOrder"}}, {"coscheduling": {}}, True),
        ((JUDGE, job()), {"startupPolicy": {"startupPolicyOrder": "AnyOrder"}}, {"coscheduling": {}}, False),
        ((JUDGE, job()), {}, {"coscheduling": {}}, False),
        ((JUDGE, job(**COMPLETE)), {}, {"coscheduling": {}}, False),
        ((JUDGE, job(**READY)), {}, {"volcano": {"minMember": 2}}, False),
        ((JUDGE, job(**READY)), {}, {"volcano": {"minMember": 3}}, True),
        ((job(),), {"startupPolicy": {"startupPolicyOrder": "InOrder"}}, {"coscheduling": {}}, False),
        ((JUDGE, job(**READY)), {}, None, False),
        ((JUDGE, job(**READY, pod={"schedulerName": "gangs"})), {}, {"coscheduling": {}}, False),
        ((JUDGE, job(**READY, pod={"schedulerName": "volcano"})), {}, {"volcano": {}}, True),
    ],
)
def test_a_gang_never_waits_for_pods_that_it_keeps_from_being_created(
    jobs: Any, spec: Any, gang: Any, hangs: bool
) -> None:
    found = diagnostics_of("GangInSequence", trainjob(), runtime(*jobs, gang=gang, **spec))
    assert [d.severity for d in found] == ["error"] * hangs


@pytest.mark.parametrize(("members", "nodes", "wrong"), [(3, 2, True), (0, 2, True), (2, 2, False), (1, 2, False)])
def test_volcano_waits_for_no_more_pods_than_there_are(members: int, nodes: int, wrong: bool) -> None:
    document = runtime(policy={"torch": {}}, gang={"volcano": {"minMember": members}})
    found = diagnostics_of("GangMinMemberTooLarge", trainjob({"numNodes": nodes}), document)
    assert [d.severity for d in found] == ["error"] * wrong
    assert all(d.path == "spec.podGroupPolicy.volcano.minMember" for d in found)


def test_every_replica_of_a_job_is_a_member() -> None:
    side = job("side", None, replicas=3)
    assert (
        diagnostics_of("GangMinMemberTooLarge", trainjob(), runtime(side, job(), gang={"volcano": {"minMember": 4}}))
        == []
    )
    assert (
        diagnostics_of("GangMinMemberTooLarge", trainjob(), runtime(side, job(), gang={"volcano": {"minMember": 5}}))
        != []
    )
