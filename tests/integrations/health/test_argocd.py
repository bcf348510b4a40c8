"""The Lua health checks under a Lua 5.1 with as few libraries as Argo CD gives them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from tables import cases

from trainc.features.gitops.argocd.health import argocd_health_checks

KEY = "resource.customizations.health."
JOBSET = KEY + "jobset.x-k8s.io_JobSet"
OWN_GROUPS = KEY + "scheduling.k8s.io_PodGroup"
POD_GROUPS = (KEY + "scheduling.x-k8s.io_PodGroup", KEY + "scheduling.volcano.sh_PodGroup")


def run(key: str, resource: Any) -> tuple[str, str]:
    """The status and message that a health check returns for a Kubernetes object."""
    lua = import_module("lupa.lua51").LuaRuntime(register_eval=False)
    for library in ("string", "math", "io", "debug", "coroutine", "require", "dofile", "loadfile"):
        lua.globals()[library] = None
    lua.globals()["obj"] = to_lua(lua, resource)
    health = lua.execute(argocd_health_checks()[key])
    return health["status"], health["message"]


def to_lua(lua: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return lua.table_from({key: to_lua(lua, item) for key, item in value.items()})
    if isinstance(value, list):
        return lua.table_from([to_lua(lua, item) for item in value])
    return value


def jobset(conditions: Any = (), *, suspend: bool | None = None, jobs_status: Any = ()) -> dict[str, Any]:
    fields = ("type", "status", "reason", "message")
    spec = {"replicatedJobs": [{"name": "init", "replicas": 1}, {"name": "node", "replicas": 3}]}
    status = {
        "conditions": [dict(zip(fields, c, strict=False)) for c in conditions],
        "replicatedJobsStatus": list(jobs_status),
    }
    return {"spec": spec if suspend is None else {**spec, "suspend": suspend}, "status": status}


def test_every_compiled_kind_that_argo_cd_does_not_know_has_a_check() -> None:
    assert tuple(argocd_health_checks()) == tuple(sorted((JOBSET, OWN_GROUPS, *POD_GROUPS)))


def test_a_jobset_that_no_controller_has_seen_is_progressing() -> None:
    assert run(JOBSET, {"spec": {"replicatedJobs": [{"name": "node"}]}}) == (
        "Progressing",
        "0 of 1 jobs ready, 0 succeeded",
    )


def test_a_running_jobset_says_how_many_jobs_are_ready() -> None:
    status = [{"name": "init", "ready": 0, "succeeded": 1}, {"name": "node", "ready": 2, "succeeded": 0}]
    assert run(JOBSET, jobset(jobs_status=status)) == ("Progressing", "2 of 4 jobs ready, 1 succeeded")


@cases("conditions", "suspend", "expected")
def test_a_condition_that_holds_decides(conditions: Any, suspend: bool | None, expected: Any) -> None:
    assert run(JOBSET, jobset([tuple(each) for each in conditions], suspend=suspend)) == tuple(expected)


@pytest.mark.parametrize(
    "conditions",
    [
        [("Suspended", "False", "ResumeJobs", "resumed")],
        [("RestartingJobSet", "False", "Restarted", "restarted")],
        [("StartupPolicyInProgress", "True", "InProgress", "starting")],
        [("StartupPolicyInProgress", "False"), ("StartupPolicyCompleted", "True", "Completed", "started")],
        [("Completed", "False"), ("Failed", "False")],
    ],
)
def test_conditions_that_have_ended_or_are_about_the_start_leave_it_progressing(conditions: Any) -> None:
    assert run(JOBSET, jobset(conditions, suspend=False))[0] == "Progressing"


@pytest.mark.parametrize(
    ("final", "expected"),
    [("Failed", "Degraded"), ("Completed", "Healthy")],
)
@pytest.mark.parametrize("earlier", ["Suspended", "RestartingJobSet", "StartupPolicyInProgress"])
def test_an_end_outweighs_every_earlier_condition(final: str, expected: Any, earlier: str) -> None:
    assert run(JOBSET, jobset([(earlier, "True"), (final, "True", "why", "why")], suspend=True)) == (expected, "why")


@pytest.mark.parametrize("key", POD_GROUPS)
@pytest.mark.parametrize(
    "phase", ["Pending", "PreScheduling", "Scheduling", "Scheduled", "Inqueue", "Running", "Unknown"]
)
def test_a_pod_group_is_healthy_while_it_waits_or_runs(key: str, phase: str) -> None:
    assert run(key, {"status": {"phase": phase}}) == ("Healthy", f"phase {phase}")


@pytest.mark.parametrize("key", POD_GROUPS)
def test_a_pod_group_without_status_is_healthy_or_its_jobset_is_never_applied(key: str) -> None:
    assert run(key, {"spec": {"minMember": 2}}) == ("Healthy", "phase Pending")


@pytest.mark.parametrize("key", POD_GROUPS)
def test_a_failed_pod_group_is_degraded(key: str) -> None:
    assert run(key, {"status": {"phase": "Failed"}}) == ("Degraded", "the group has failed")


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ([], "waits for its pods"),
        ([{"type": "DisruptionTarget", "status": "True"}], "waits for its pods"),
        ([{"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled"}], "scheduled"),
        (
            [{"type": "PodGroupInitiallyScheduled", "status": "False", "message": "no room"}],
            "not scheduled: no room",
        ),
    ],
)
def test_a_group_of_kubernetes_itself_never_holds_up_the_jobset_of_the_next_wave(conditions: Any, message: str) -> None:
    assert run(OWN_GROUPS, {"status": {"conditions": conditions}}) == ("Healthy", message)
    assert run(OWN_GROUPS, {}) == ("Healthy", "waits for its pods")
