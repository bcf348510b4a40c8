"""Changes of a gang that Kubernetes schedules itself: the size may change while it lives, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, job, runtime, trainjob
from comparing import diff_of

from trainc.features.gitops.diff.delivery import ARGOCD, FLUX_FORCE, KUBECTL
from trainc.features.gitops.diff.model import JobDiff

JUDGE = job("judge", None, spec={"parallelism": 2})
READY: dict[str, Any] = {"dependsOn": [{"name": "judge", "status": "Ready"}]}


def rendered(nodes: int = 2, *, mode: str = "all", **fields: Any) -> list[dict[str, Any]]:
    policy: dict[str, Any] = {"workload": {"disruptionMode": {mode: {}}}}
    rt = runtime(JUDGE, job(**fields), policy={}, gang=policy)
    return compiled(trainjob({"numNodes": nodes}), rt, kubernetes="1.37").manifests


def changed(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> JobDiff:
    (found,) = diff_of(before, after).jobs
    return found


def outcomes(found: JobDiff, method: Any = KUBECTL) -> dict[str, str]:
    return {f"{o.key.kind} {o.key.name}": o.verdicts[method.id].outcome for o in found.objects}


def test_a_larger_gang_is_an_update_of_its_objects_and_refused_for_the_jobset() -> None:
    found = changed(rendered(2), rendered(4))
    assert outcomes(found) == {"PodGroup llm": "in-place", "Workload llm": "in-place", "JobSet llm": "immutable"}
    before, after = found.totals.before, found.totals.after
    assert before is not None
    assert after is not None
    assert (before.gang, after.gang) == (4, 6)
    assert any("requires 6 pods instead of 4" in note for note in found.notes)


def test_another_mode_is_refused_and_only_who_forces_recreates_the_objects() -> None:
    found = changed(rendered(), rendered(mode="single"))
    assert outcomes(found) == outcomes(found, ARGOCD) == {"PodGroup llm": "immutable", "Workload llm": "immutable"}
    assert set(outcomes(found, FLUX_FORCE).values()) == {"re-created"}
    assert not found.notes


def test_a_group_that_is_refused_for_another_field_is_not_resized_either() -> None:
    found = changed(rendered(2), rendered(4, mode="single"))
    assert outcomes(found)["PodGroup llm"] == "immutable"
    assert not any("requires" in note or "PodGroup" in note for note in found.notes)


def test_metadata_may_change() -> None:
    after = rendered()
    for manifest in after:
        if manifest["kind"] != "JobSet":
            manifest["metadata"]["labels"] = {"team": "a"}
    assert set(outcomes(changed(rendered(), after)).values()) == {"in-place"}


def test_groups_of_another_number_cannot_be_templates_of_the_same_workload() -> None:
    found = changed(rendered(), rendered(**READY))
    assert outcomes(found)["Workload llm"] == "immutable"
    assert {name for name in outcomes(found) if name.startswith("PodGroup")} == {
        "PodGroup llm",
        "PodGroup llm.judge",
        "PodGroup llm.node",
    }


@pytest.mark.parametrize("fields", [{}, READY], ids=["one group", "a group each"])
def test_all_groups_belong_to_their_job(fields: Any) -> None:
    diff = diff_of(rendered(**fields), rendered(4, **fields))
    assert [found.label for found in diff.jobs] == ["team-a/llm"]


def test_a_gang_for_another_scheduler_is_not_an_end_of_the_job() -> None:
    before = compiled(trainjob(), runtime(JUDGE, job(), gang={"coscheduling": {}}), kubernetes="1.37").manifests
    found = changed(before, rendered(1))
    assert {o.status for o in found.objects} == {"added", "removed", "changed"}
    assert found.outcomes[KUBECTL.id] == found.outcomes[ARGOCD.id] == "immutable"
