"""What `fits --now` prints, what it does not know, and how much it computes."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from commands import run
from tables import cases

from trainc import fits

KUEUE = "kueue.x-k8s.io/v1beta2"
AT = "2026-09-01T12:00:00Z"


def kueue(kind: str, name: str, spec: dict[str, Any], **fields: Any) -> dict[str, Any]:
    namespace = {"namespace": "nlp"} if kind in ("LocalQueue", "Workload") else {}
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name, **namespace}, "spec": spec, **fields}


def pod(gpus: int) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": gpus}
    return {
        "restartPolicy": "Never",
        "containers": [{"name": "node", "image": "example.com/x:1", "resources": {"limits": limits}}],
    }


def running(name: str, gpus: int, **spec: Any) -> dict[str, Any]:
    assigned = {
        "name": "node",
        "count": 1,
        "flavors": {"nvidia.com/gpu": "h100"},
        "resourceUsage": {"nvidia.com/gpu": gpus},
    }
    held = [
        {"type": t, "status": "True", "reason": t, "lastTransitionTime": "2026-09-01T10:00:00Z"}
        for t in ("QuotaReserved", "Admitted")
    ]
    status = {"admission": {"clusterQueue": "gpus", "podSetAssignments": [assigned]}, "conditions": held}
    pod_sets = [{"name": "node", "count": 1, "template": {"spec": pod(gpus)}}]
    workload = kueue("Workload", name, {"queueName": "team", "podSets": pod_sets, **spec}, status=status)
    workload["metadata"] |= {"uid": name, "creationTimestamp": "2026-09-01T09:00:00Z"}
    return workload


def cluster(*workloads: dict[str, Any], quota: int = 16) -> list[dict[str, Any]]:
    resources = [{"name": "nvidia.com/gpu", "nominalQuota": quota}]
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "h100", "resources": resources}]}
    return [
        kueue("ResourceFlavor", "h100", {}),
        kueue("ClusterQueue", "gpus", {"namespaceSelector": {}, "resourceGroups": [group]}),
        kueue("LocalQueue", "team", {"clusterQueue": "gpus"}),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nlp"}},
        *workloads,
    ]


def job(name: str = "llm", gpus: int = 8, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    all_labels = {"kueue.x-k8s.io/queue-name": "team", **(labels or {})}
    template = {"spec": {"template": {"spec": pod(gpus)}}}
    spec = {"replicatedJobs": [{"name": "node", "replicas": 1, "template": template}]}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "nlp", "labels": all_labels},
        "spec": spec,
    }


def now(jobset: dict[str, Any], objects: list[dict[str, Any]], at: str | None = AT) -> Any:
    return fits([jobset], objects, now=True, at=at).now[0]


def test_a_job_waits_for_what_others_use() -> None:
    fit = now(job(gpus=12), cluster(running("a", 8)))
    assert (fit.verdict, fit.missing) == ("waits", ({"resource": "nvidia.com/gpu", "flavor": "h100", "more": "4"},))


def test_the_evicted_are_said_to_be_chosen_for_a_reason(folder: Path) -> None:
    objects = cluster(running("a", 8, priority=-1), running("b", 8))
    objects[1]["spec"]["preemption"] = {"withinClusterQueue": "LowerPriority"}
    fit = now(job(), objects)
    assert (fit.verdict, fit.preempts) == ("preempts", ("nlp/a",))
    assert fit.chosen == {"nlp/a": "its priority -1 is below 0, in the same ClusterQueue"}
    items = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": objects}
    (folder / "cluster" / "all.json").write_text(json.dumps(items))
    (folder / "job.json").write_text(json.dumps(job()))
    text = run("fits", "job.json", "--cluster", "cluster", "--now", "--stale").stdout
    assert "evicted for it stopped: nlp/a (its priority -1" in text


def test_without_workloads_and_a_time_nothing_is_known() -> None:
    assert now(job(), cluster(), at=None).verdict == "unknown"
    assert now(job(), cluster()).verdict == "admitted"


def test_a_waiting_job_starts_at_the_latest_when_what_must_end_has_a_limit() -> None:
    assert (
        now(job(gpus=12), cluster(running("a", 8, maximumExecutionTimeSeconds=3600))).latest == "2026-09-01T11:00:00Z"
    )
    assert now(job(gpus=12), cluster(running("a", 8))).latest is None


def test_a_job_with_a_workload_is_not_new() -> None:
    workload = running("jobset-llm", 16)
    workload["metadata"]["ownerReferences"] = [{"kind": "JobSet", "name": "llm", "controller": True}]
    fit = now(job(), cluster(workload))
    assert (fit.verdict, fit.cause) == ("admitted", "in-cluster")


def test_a_job_whose_priority_class_does_not_exist_never_runs() -> None:
    classes = [
        {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": 1}
        for name in ("low", "high")
    ]
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "metadata": {"resourceVersion": ""},
        "items": [*cluster(running("a", 8)), *classes],
    }
    answers = fits([job(labels={"kueue.x-k8s.io/priority-class": "urgent"})], [listed], now=True, at=AT)
    assert (answers.alone[0].verdict, answers.together[0].verdict, answers.now[0].verdict) == (
        "never",
        "never",
        "waits",
    )
    assert [d.code for d in answers.alone[0].diagnostics if d.severity == "error"] == ["NeverFits"]


@cases("check")
def test_a_queue_whose_admission_check_does_not_work_is_inactive(check: list[dict[str, Any]]) -> None:
    objects = [*cluster(), *check]
    objects[1]["spec"]["admissionChecks"] = ["prov"]
    assert fits([job()], objects).alone[0].verdict == "inactive"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.json").write_text(json.dumps(job(gpus=12)))
    (tmp_path / "cluster").mkdir()
    items = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": cluster(running("a", 8))}
    (tmp_path / "cluster" / "all.json").write_text(json.dumps(items))
    (tmp_path / "cluster" / "taken.yaml").write_text(f"takenAt: {AT}\n")
    return tmp_path


def test_the_command_prints_what_is_missing_who_holds_what_and_what_more_would_change(folder: Path) -> None:
    (folder / "more.json").write_text(json.dumps(cluster(quota=24)[1]))
    done = run("fits", "job.json", "--cluster", "cluster", "--now", "--stale", "--plus", "more.json")
    assert done.status == 0, done.stderr
    assert f"the cluster as of {AT}" in done.stdout
    assert "nlp/llm: waits for 4 more nvidia.com/gpu of flavor h100 -> starts now with h100" in done.stdout
    assert "nlp/team 8" in done.stdout


@pytest.mark.usefixtures("folder")
def test_an_old_snapshot_needs_stale() -> None:
    done = run("fits", "job.json", "--cluster", "cluster", "--now")
    assert (done.status, "--stale" in done.stderr) == (2, True)
    Path("trainc.yaml").write_text("sources: [job.json]\ncluster: cluster\nlive: {dump: cluster, maxAge: 9999d}\n")
    assert run("fits", "--now").status == 0


@pytest.mark.usefixtures("folder")
def test_json_has_the_queues() -> None:
    done = run("fits", "job.json", "--cluster", "cluster", "--now", "--stale", "--format", "json")
    document = json.loads(done.stdout)
    assert document["at"] == AT
    assert document["queues"][0] | {"by": None} == {
        "queue": "gpus",
        "cohort": "",
        "flavor": "h100",
        "resource": "nvidia.com/gpu",
        "nominal": 16,
        "used": 8,
        "borrowed": 0,
        "lent": 0,
        "free": 8,
        "pending": 0,
        "by": None,
    }


def steps(count: int) -> int:
    """How many states are computed for so many jobs, with half as many Workloads that wait."""
    waiting = [running(f"w{i}", 1 + i % 3) for i in range(count // 2)]
    for workload in waiting:
        del workload["status"]
    answers = fits(
        [job(f"j{i}", 1 + i % 5) for i in range(count)], cluster(running("a", 16), *waiting), now=True, at=AT
    )
    assert answers.moment is not None
    return len(answers.moment.fates) + len(answers.moment.course)


def test_twice_the_jobs_and_workloads_take_at_most_twice_the_steps() -> None:
    assert steps(80) <= 2.2 * steps(40)


WRONG: tuple[Any, ...] = (None, 7, "x", [], {}, [None], [{"x": 1}], True, -1.5, 10**30, "9" * 40)


def test_wrong_shapes_of_workloads_are_findings() -> None:
    source = random.Random(0)
    whole = running("a", 8)
    whole["status"]["reclaimablePods"] = [{"name": "node", "count": 1}]
    whole["status"]["requeueState"] = {"requeueAt": AT}
    whole["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] = {
        "levels": ["kubernetes.io/hostname"],
        "slices": [{"domainCount": 1, "podCounts": {"universal": 1}, "valuesPerLevel": [{"universal": "n"}]}],
    }
    for round_number in range(300):
        workload = copy.deepcopy(whole)
        if round_number % 3 == 0:
            workload["status"]["conditions"] = []
        part: Any = workload["spec"] if round_number % 2 else workload["status"]
        while isinstance(part, (dict, list)) and part:
            key = source.choice(list(part) if isinstance(part, dict) else range(len(part)))
            if source.random() < 0.3 or not isinstance(part[key], (dict, list)):
                part[key] = source.choice(WRONG)
                break
            part = part[key]
        answers = fits([job()], cluster(workload), now=True, at=AT)
        assert answers.now[0].verdict in ("admitted", "waits", "unknown")
        assert {d.code for d in answers.diagnostics} <= {"SnapshotUnreadable", "SnapshotIncomplete"}
