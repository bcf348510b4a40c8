"""Gangs that Kubernetes 1.37 schedules itself: which groups there are, what each asks for, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Json, compiled, container, diagnostics_of, job, one, pod, runtime, trainjob
from hypothesis import example, given, settings, strategies as st
from kubernetes_schemas import refusals
from tables import cases

from trainc import Compilation, Options

MODERN: Json = {"gang": "workload", "kubernetes": "1.37"}
READY: Json = {"dependsOn": [{"name": "judge", "status": "Ready"}]}
COMPLETE: Json = {"dependsOn": [{"name": "judge", "status": "Complete"}]}
JUDGE = job("judge", None, replicas=2, spec={"parallelism": 3})
TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
PRIORITY = {"priorityClassName": "high"}
RUNTIME = "ClusterTrainingRuntime rt"
QUEUE = {"kueue.x-k8s.io/queue-name": "q"}


def groups(result: Compilation) -> dict[str, Json]:
    return {m["metadata"]["name"]: m["spec"] for m in result.manifests if m["kind"] == "PodGroup"}


def with_annotation(replicated_job: Json, key: str, value: str) -> Json:
    replicated_job["template"]["spec"]["template"]["metadata"] = {"annotations": {key: value}}
    return replicated_job


def test_jobs_that_start_together_are_one_group_of_all_their_pods() -> None:
    result = compiled(trainjob({"numNodes": 4}), runtime(JUDGE, job(), policy={}, gang={"coscheduling": {}}), **MODERN)
    assert {name: spec["schedulingPolicy"] for name, spec in groups(result).items()} == {
        "llm": {"gang": {"minCount": 10}}
    }
    assert (
        pod(result)["spec"]["schedulingGroup"]
        == pod(result, "judge")["spec"]["schedulingGroup"]
        == {"podGroupName": "llm"}
    )
    assert "labels" not in pod(result, "judge").get("metadata", {})


@pytest.mark.parametrize(
    ("jobs", "spec"),
    [((JUDGE, job(**READY)), {}), ((JUDGE, job()), {"startupPolicy": {"startupPolicyOrder": "InOrder"}})],
    ids=["dependsOn Ready", "InOrder"],
)
def test_jobs_that_start_one_after_another_are_a_group_each(jobs: Any, spec: Any) -> None:
    result = compiled(trainjob({"numNodes": 4}), runtime(*jobs, policy={}, gang={"volcano": {}}, **spec), **MODERN)
    assert {name: group["schedulingPolicy"]["gang"]["minCount"] for name, group in groups(result).items()} == {
        "llm.judge": 6,
        "llm.node": 4,
    }
    templates = one(result, "Workload")["spec"]["podGroupTemplates"]
    assert [template["name"] for template in templates] == ["judge", "node"]
    assert pod(result)["spec"]["schedulingGroup"] == {"podGroupName": "llm.node"}


def test_a_job_that_others_await_to_be_complete_is_in_no_group() -> None:
    result = compiled(
        trainjob({"numNodes": 4}), runtime(JUDGE, job(**COMPLETE), policy={}, gang={"volcano": {}}), **MODERN
    )
    assert [spec["schedulingPolicy"]["gang"]["minCount"] for spec in groups(result).values()] == [4]
    assert "schedulingGroup" not in pod(result, "judge")["spec"]


def test_a_group_is_as_its_template_and_leads_back_to_the_jobset() -> None:
    policy = {"workload": {"schedulingConstraints": {"topology": [{"key": "rack"}]}, "disruptionMode": {"all": {}}}}
    node = job(pod=PRIORITY)
    result = compiled(trainjob(), runtime(node, gang=policy), **MODERN)
    workload, group = one(result, "Workload")["spec"], groups(result)["llm"]
    assert workload["controllerRef"] == {"apiGroup": "jobset.x-k8s.io", "kind": "JobSet", "name": "llm"}
    assert group.pop("workloadRef") == {"workloadName": "llm", "templateName": "llm"}
    assert workload["podGroupTemplates"] == [{"name": "llm", **group}]
    assert group == {
        "schedulingPolicy": {"gang": {"minCount": 1}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "disruptionMode": {"all": {}},
        "priorityClassName": "high",
    }


def test_the_topology_that_a_pod_template_requires_is_asked_of_the_scheduler_unless_kueue_places_the_pods() -> None:
    rt = runtime(with_annotation(job(), TOPOLOGY, "rack"), gang={"coscheduling": {}})
    document = trainjob()
    result = compiled(document, rt, **MODERN)
    assert groups(result)["llm"]["schedulingConstraints"] == {"topology": [{"key": "rack"}]}
    assert not diagnostics_of("TopologyWithoutQueue", document, rt, **MODERN)
    assert diagnostics_of("TopologyWithoutQueue", document, rt)
    document["metadata"]["labels"] = QUEUE
    assert "schedulingConstraints" not in groups(compiled(document, rt, **MODERN))["llm"]
    rt["spec"]["template"]["metadata"] = {"labels": QUEUE}
    assert "schedulingConstraints" not in groups(compiled(trainjob(), rt, **MODERN))["llm"]


def test_topologies_that_differ_are_kueues_to_judge_where_it_places_the_pods() -> None:
    side = with_annotation(job("side", None), TOPOLOGY, "rack")
    document = trainjob()
    assert diagnostics_of("GangNotPossible", document, runtime(job(), side, gang={"coscheduling": {}}), **MODERN)
    document["metadata"]["labels"] = QUEUE
    assert not diagnostics_of("GangNotPossible", document, runtime(job(), side, gang={"coscheduling": {}}), **MODERN)


def test_a_runtime_chooses_it_with_a_policy_of_its_own_and_needs_no_flag() -> None:
    rt = runtime(job(), gang={"workload": {}})
    assert set(groups(compiled(trainjob(), rt, kubernetes="1.37"))) == {"llm"}
    assert diagnostics_of("WorkloadPolicyNotInTrainer", trainjob(), rt, kubernetes="1.37")
    assert diagnostics_of("WorkloadAPIMissing", trainjob(), rt)


def test_without_a_policy_there_is_no_gang_and_a_note_where_several_pods_train() -> None:
    for nodes, notes in ((1, 0), (4, 1)):
        document = trainjob({"numNodes": nodes})
        assert len(diagnostics_of("NoGangPolicy", document, runtime(job(), policy={}), **MODERN)) == notes
        assert not groups(compiled(document, runtime(job(), policy={}), **MODERN))


def test_as_many_pods_as_volcano_was_to_wait_for() -> None:
    rt = runtime(job(), policy={}, gang={"volcano": {"minMember": 2}})
    assert groups(compiled(trainjob({"numNodes": 4}), rt, **MODERN))["llm"]["schedulingPolicy"]["gang"]["minCount"] == 2
    assert diagnostics_of("GangMinMemberTooLarge", trainjob({"numNodes": 1}), rt, **MODERN)


def test_what_the_controller_would_create_stays_as_it_is() -> None:
    rt = runtime(job(), gang={"coscheduling": {}})
    as_before = compiled(trainjob(), rt, semantics="controller")
    result = compiled(trainjob(), rt, semantics="controller", **MODERN)
    assert result.manifests == as_before.manifests
    assert any(d.code == "OptionWithoutEffect" for d in result.diagnostics)


NINE = [
    job(f"j{i}", None, **({"dependsOn": [{"name": f"j{i - 1}", "status": "Ready"}]} if i else {})) for i in range(9)
]
REFUSED = {
    "a queue of Volcano": (runtime(job(), gang={"volcano": {"queue": "q"}}), "queue"),
    "tiers of a network": (runtime(job(), gang={"volcano": {"networkTopology": {"mode": "hard"}}}), "networkTopology"),
    "a priority that the pods lack": (runtime(job(), gang={"volcano": PRIORITY}), "priorityClassName"),
    "more than 8 groups": (runtime(*NINE, gang={"volcano": {}}), "podGroupPolicy"),
    "several schedulers": (
        runtime(job(), job("side", None, pod={"schedulerName": "other"}), gang={"coscheduling": {}}),
        "schedulerName",
    ),
    "several priorities": (
        runtime(job(), job("side", None, pod=PRIORITY), gang={"coscheduling": {}}),
        "priorityClassName",
    ),
    "a group of one's own": (
        runtime(job(pod={"schedulingGroup": {"podGroupName": "mine"}}), gang={"coscheduling": {}}),
        "schedulingGroup",
    ),
    "several topologies": (
        runtime(job(), with_annotation(job("side", None), TOPOLOGY, "rack"), gang={"coscheduling": {}}),
        TOPOLOGY,
    ),
    "a size across groups": (runtime(JUDGE, job(**READY), gang={"volcano": {"minMember": 2}}), "minMember"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_group_cannot_say_is_refused_where_it_is_written(case: str) -> None:
    rt, field = REFUSED[case]
    (refusal,) = diagnostics_of("GangNotPossible", trainjob(), rt, **MODERN)
    assert (refusal.severity, refusal.object) == ("error", RUNTIME)
    assert field in refusal.path


def test_a_default_scheduler_is_the_same_with_and_without_its_name() -> None:
    side = job("side", None, pod={"schedulerName": "default-scheduler"})
    assert groups(compiled(trainjob(), runtime(job(), side, gang={"coscheduling": {}}), **MODERN))


@pytest.mark.parametrize(
    ("gang", "lost"),
    [
        ({"coscheduling": {"scheduleTimeoutSeconds": 300}}, 1),
        ({"coscheduling": {"scheduleTimeoutSeconds": 60}}, 0),
        ({"volcano": {"networkTopology": {"mode": "soft"}}}, 1),
    ],
)
def test_what_is_lost_without_harm_is_a_warning(gang: Json, lost: int) -> None:
    assert [d.severity for d in diagnostics_of("GangSettingLost", trainjob(), runtime(job(), gang=gang), **MODERN)] == [
        "warning"
    ] * lost


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"gang": "workload"}, "Kubernetes 1.36"),
        ({"gang": "workload", "kubernetes": "1.32"}, "Kubernetes 1.32"),
        ({**MODERN, "release": "2.2"}, "JobSet 0.11"),
    ],
)
def test_a_cluster_that_lacks_the_api_is_an_error_that_says_which_has_it(options: Json, what: str) -> None:
    (missing,) = diagnostics_of("WorkloadAPIMissing", trainjob(), runtime(job(), gang={"coscheduling": {}}), **options)
    assert what in missing.message
    assert (missing.object, missing.path) == (RUNTIME, "spec.podGroupPolicy")
    assert "1.37" in missing.hint or "2.3" in missing.hint


@cases("policy", "code")
def test_a_policy_that_no_group_could_have_is_refused(policy: Any, code: str) -> None:
    assert [
        d.severity for d in diagnostics_of(code, trainjob(), runtime(job(), gang={"workload": policy}), **MODERN)
    ] == ["error"]


def test_two_schedulers_are_one_too_many_unless_one_replaces_the_other() -> None:
    rt = runtime(job(), gang={"workload": {}, "coscheduling": {}})
    (refusal,) = diagnostics_of("MutuallyExclusivePolicies", trainjob(), rt, kubernetes="1.37")
    assert (refusal.severity, refusal.object, refusal.path) == ("error", RUNTIME, "spec.podGroupPolicy.coscheduling")
    assert set(groups(compiled(trainjob(), rt, **MODERN))) == {"llm"}


POLICIES_WITH_TOPOLOGY = {"workload": {"schedulingConstraints": {"topology": [{"key": "rack"}]}}}
SIZES = st.integers(1, 9)
JOBS = st.lists(st.tuples(SIZES, SIZES), min_size=1, max_size=8)
POLICIES = st.sampled_from(
    [
        {"coscheduling": {}},
        {"volcano": {}},
        {"workload": {}},
        {"workload": {"disruptionMode": {"single": {}}}},
        {
            "workload": {
                "disruptionMode": {"all": {}},
                "schedulingConstraints": {"topology": [{"key": "example.com/block"}]},
            }
        },
    ]
)
WAITS = st.sampled_from(["", "Ready", "Complete", "InOrder"])
ARGUMENTS = (JOBS, POLICIES, WAITS, st.booleans(), st.sampled_from(["argocd", "flux", "kubectl"]), st.booleans())


@given(*ARGUMENTS)
@example([(1, 1)] * 8, {"coscheduling": {}}, "InOrder", True, "argocd", True)
@settings(max_examples=40)
def test_every_object_of_a_drawn_gang_is_valid_under_the_strict_schemas_of_kubernetes_1_37(
    shapes: list[tuple[int, int]], gang: Json, waits: str, priority: bool, delivery: Any, name_hash: bool
) -> None:
    result = compiled(
        trainjob(), drawn(shapes, gang, waits, priority), delivery=delivery, name_hash=name_hash, **MODERN
    )
    assert [refusal for manifest in result.manifests for refusal in refusals(manifest)] == []
    name = one(result, "JobSet")["metadata"]["name"]
    workload = one(result, "Workload")
    assert workload["metadata"]["name"] == workload["spec"]["controllerRef"]["name"] == name
    found, templates = groups(result), {t["name"] for t in workload["spec"]["podGroupTemplates"]}
    assert 1 <= len(found) == len(templates) <= 8
    assert {spec["workloadRef"]["templateName"] for spec in found.values()} == templates
    assert sizes_by_group(result) == {
        name: spec["schedulingPolicy"]["gang"]["minCount"] for name, spec in found.items()
    }


def drawn(shapes: list[tuple[int, int]], gang: Json, waits: str, priority: bool) -> Json:
    """A runtime with a job per shape: replicas and parallelism. The last waits for the first, or all in order."""
    jobs = [
        job(
            f"j{i}",
            None,
            [container()],
            replicas=replicas,
            spec={"parallelism": parallelism, "completions": parallelism},
            pod=PRIORITY if priority else {},
        )
        for i, (replicas, parallelism) in enumerate(shapes)
    ]
    if waits in ("Ready", "Complete") and len(jobs) > 1:
        jobs[-1]["dependsOn"] = [{"name": "j0", "status": waits}]
    spec: dict[str, Any] = {"startupPolicy": {"startupPolicyOrder": "InOrder"}} if waits == "InOrder" else {}
    return runtime(*jobs, gang=gang, **spec)


def sizes_by_group(result: Compilation) -> dict[str, int]:
    """The pods that name each group, counted in the JobSet alone."""
    found: dict[str, int] = {}
    for each in one(result, "JobSet")["spec"]["replicatedJobs"]:
        spec = each["template"]["spec"]
        if group := spec["template"]["spec"].get("schedulingGroup"):
            found[group["podGroupName"]] = found.get(group["podGroupName"], 0) + each["replicas"] * spec["parallelism"]
    return found


def test_the_schemas_see_what_is_wrong() -> None:
    result = compiled(trainjob(), runtime(job(), gang={"coscheduling": {}}), **MODERN)
    group = one(result, "PodGroup")
    assert refusals(group) == []
    assert refusals({**group, "spec": {**group["spec"], "minMember": 1}})
    assert refusals({**group, "spec": {}})
    assert Options().gang == "runtime"


def test_a_topology_comes_with_a_note_on_its_gate() -> None:
    for policy, notes in ((POLICIES_WITH_TOPOLOGY, 1), ({"workload": {}}, 0), ({"coscheduling": {}}, 0)):
        rt = runtime(job(), gang=policy)
        assert len(diagnostics_of("TopologyNeedsGate", trainjob(), rt, **MODERN)) == notes


def test_a_policy_that_no_release_has_is_unknown_to_the_controller() -> None:
    rt = runtime(job(), gang={"workload": {}})
    assert [d.severity for d in diagnostics_of("UnknownField", trainjob(), rt, semantics="controller", **MODERN)] == [
        "error"
    ]


def test_a_job_that_others_await_while_it_runs_is_never_held_back_by_those_who_come_later() -> None:
    """`fetch` needs `judge` to run, and `node` needs `fetch` to be over: one group of judge and node would never start."""
    fetch = job("fetch", None, **READY)
    node = job(dependsOn=[{"name": "fetch", "status": "Complete"}])
    result = compiled(trainjob(), runtime(JUDGE, fetch, node, gang={"coscheduling": {}}), **MODERN)
    assert set(groups(result)) == {"llm.judge", "llm.node"}
    assert "schedulingGroup" not in pod(result, "fetch")["spec"]


@pytest.mark.parametrize(
    ("schedulers", "code"),
    [(("volcano",) * 2, "SchedulerIgnoresGang"), (("batch-profile",) * 2, ""), (("default-scheduler", None), "")],
)
def test_only_a_scheduler_of_another_kind_of_gang_is_warned_of(schedulers: Any, code: str) -> None:
    jobs = [job(f"j{i}", None, pod={"schedulerName": name} if name else {}) for i, name in enumerate(schedulers)]
    found = diagnostics_of("SchedulerIgnoresGang", trainjob(), runtime(*jobs, gang={"volcano": {}}), **MODERN)
    assert [(d.severity, d.object) for d in found] == [("warning", RUNTIME)] * (2 if code else 0)


def test_a_lost_setting_is_reported_where_it_is_written() -> None:
    cases: dict[str, Json] = {
        "coscheduling.scheduleTimeoutSeconds": {"coscheduling": {"scheduleTimeoutSeconds": 5}},
        "volcano.networkTopology": {"volcano": {"networkTopology": {"mode": "soft"}}},
    }
    for path, gang in cases.items():
        (lost,) = diagnostics_of("GangSettingLost", trainjob(), runtime(job(), gang=gang), **MODERN)
        assert (lost.object, lost.path) == (RUNTIME, f"spec.podGroupPolicy.{path}")


def test_an_elastic_gang_waits_for_as_many_pods_as_it_can_start_with() -> None:
    policy = {"torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 5}}}
    result = compiled(trainjob(), runtime(job(), policy=policy, gang={"coscheduling": {}}), **MODERN)
    assert groups(result)["llm"]["schedulingPolicy"] == {"gang": {"minCount": 2}}


def test_a_gang_without_pods_is_no_object() -> None:
    result = compiled(trainjob({"numNodes": 0}), runtime(job(), policy={}, gang={"coscheduling": {}}), **MODERN)
    assert {m["kind"] for m in result.manifests} == {"JobSet"}


def test_a_hash_in_the_name_reaches_every_object_and_reference() -> None:
    result = compiled(trainjob(), runtime(JUDGE, job(**READY), gang={"coscheduling": {}}), name_hash=True, **MODERN)
    name = one(result, "JobSet")["metadata"]["name"]
    assert name != "llm"
    assert set(groups(result)) == {f"{name}.judge", f"{name}.node"}
    assert {spec["workloadRef"]["workloadName"] for spec in groups(result).values()} == {name}
    assert pod(result)["spec"]["schedulingGroup"] == {"podGroupName": f"{name}.node"}
