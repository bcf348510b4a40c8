"""Why jobs of a dump do not run: each reason that Kueue, JobSet and Kubernetes give, and what is wrong without one."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from trainc import Waiting, why
from trainc.cli.main import main
from trainc.features.cluster.why.causes import DATA

APIS = {
    "Workload": "kueue.x-k8s.io/v1beta2",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "Job": "batch/v1",
    "Pod": "v1",
}


def manifest(kind: str, name: str = "llm", **fields: Any) -> dict[str, Any]:
    api = APIS.get(kind, "kueue.x-k8s.io/v1beta2" if kind.endswith("Queue") else "v1")
    namespace = {} if kind == "ClusterQueue" else {"namespace": "nlp"}
    metadata = {"name": name, **namespace, **fields.pop("metadata", {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def condition(kind: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status, "reason": reason, "message": message}]}


def only(found: list[Waiting]) -> Waiting:
    assert len(found) == 1, found
    return found[0]


ROWS = [
    pytest.param(kind, *form.split(), reason, meaning, id=f"{kind} {form} {reason or 'other'}")
    for kind, table in DATA["conditions"].items()
    if kind in APIS
    for form, meanings in table.items()
    for reason, meaning in meanings.items()
]


@pytest.mark.parametrize(("kind", "condition_type", "status", "reason", "meaning"), ROWS)
def test_each_reason_of_a_condition_has_its_sentence_its_object_and_its_field(
    kind: str, condition_type: str, status: str, reason: str, meaning: tuple[str, str]
) -> None:
    waits = manifest(kind, status=condition(condition_type, status, reason or "Unheard", "as the cluster says"))
    found = next(waiting for waiting in why([waits]) if condition_type in waiting.path)
    assert found.object == f"{kind} nlp/llm"
    assert found.cause == f"{meaning[0]}: as the cluster says"
    assert found.hint == meaning[1]


# kubernetes-sigs/kueue v0.19.2, apis/kueue/v1beta2/workload_types.go: those that keep a Workload from running.
KUEUE = """NoMatchingFlavor WaitingForQuota ExceedsMaxQuota TopologyPlacementFailed WaitingForPreemptedWorkloads Misconfigured
Suspended PendingEvaluation WaitingForPodsReady NoReservation UnsatisfiedAdmissionChecks PendingDelayedTopologyRequests
Inadmissible OnHold Pending Waiting AdmissionGated Preempted FlavorMigration PodsReadyTimeout AdmissionCheck
ClusterQueueStopped LocalQueueStopped NodeFailures EvictedOnManagerCluster Deactivated RequeuingLimitExceeded
MaximumExecutionTimeExceeded WaitForStart WaitForRecovery Failed OutOfSync OwnerNotFound""".split()
# kubernetes-sigs/jobset v0.12.0, pkg/constants/constants.go: those of a JobSet that has failed or restarts.
JOBSET = "FailedJobs ReachedMaxRestarts DeadlineExceeded FailJobSetFailurePolicyAction DefaultFailurePolicy".split()


def test_every_reason_of_kueue_and_jobset_is_known() -> None:
    for kind, upstream in (("Workload", KUEUE), ("JobSet", JOBSET)):
        assert set(upstream) <= {reason for meanings in DATA["conditions"][kind].values() for reason in meanings}


@pytest.mark.parametrize(("reason", "meaning"), [*DATA["conditions"]["Queue"]["Active False"].items()])
def test_the_queue_is_the_cause_of_all_that_waits_in_it(reason: str, meaning: list[str]) -> None:
    dump = [
        manifest("LocalQueue", "team", spec={"clusterQueue": "gpus"}),
        manifest("ClusterQueue", "gpus", status=condition("Active", "False", reason or "Unheard")),
        manifest("Workload", spec={"queueName": "team"}, status=condition("QuotaReserved", "False", "Suspended")),
    ]
    found = next(waiting for waiting in why(dump) if waiting.object == "ClusterQueue gpus")
    assert [found.cause, found.hint] == [f"ClusterQueue gpus: {meaning[0]}", meaning[1]]


POD_STATES = [
    ({"waiting": {"reason": reason}}, f"container node: {meaning[0]}") for reason, meaning in DATA["container"].items()
] + [
    ({"terminated": {"exitCode": int(code)}}, f"container node: {meaning[0]}, exit code {code}")
    for code, meaning in DATA["exit codes"].items()
]


@pytest.mark.parametrize(("state", "cause"), POD_STATES)
def test_a_container_that_does_not_run_says_why(state: dict[str, Any], cause: str) -> None:
    pod = manifest("Pod", status={"containerStatuses": [{"name": "node", "state": state}]})
    assert only(why([pod])).cause == cause


@pytest.mark.parametrize(("words", "meaning"), [(words, meaning) for words, *meaning in DATA["events"]])
def test_an_event_says_who_refuses_the_pods(words: str, meaning: tuple[str, str]) -> None:
    event = manifest("Event", "e", involvedObject={"kind": "Job", "namespace": "nlp", "name": "llm"}, type="Warning")
    event |= {"reason": "FailedCreate", "message": f"Error creating: {words} x"}
    found = only(why([manifest("Job"), event]))
    assert found.object == "Event nlp/e"
    assert found.cause.startswith(f"Job llm: {meaning[0]}")


def jobset(**fields: Any) -> dict[str, Any]:
    labels = {"kueue.x-k8s.io/queue-name": "team", "kueue.x-k8s.io/priority-class": "urgent"}
    return manifest("JobSet", metadata={"labels": labels}, **fields)


OTHERS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a job whose WorkloadPriorityClass does not exist has no Workload": (
        [
            jobset(spec={"suspend": True}),
            manifest("Workload", "other", status=condition("Admitted", "True", "Admitted")),
            {"kind": "WorkloadPriorityClass", "metadata": {"name": "low"}, "value": 1},
        ],
        "WorkloadPriorityClass urgent does not exist, so Kueue makes no Workload for it",
    ),
    "a Workload without a condition is behind others": (
        [manifest("Workload", spec={"queueName": "team"})],
        "Kueue has not tried it yet: it is behind others in its queue",
    ),
    "a deactivated Workload": ([manifest("Workload", spec={"active": False})], "it was deactivated"),
    "an admission check that is pending": (
        [
            manifest(
                "Workload",
                status={
                    **condition("QuotaReserved", "True", "QuotaReserved"),
                    "admissionChecks": [{"name": "prov", "state": "Pending", "message": "no nodes"}],
                },
            )
        ],
        "admission check prov is Pending: no nodes",
    ),
    "a queue that is missing": (
        [
            manifest("Workload", spec={"queueName": "gone"}, status=condition("QuotaReserved", "False", "Pending")),
            manifest("LocalQueue", "team", spec={"clusterQueue": "gpus"}),
        ],
        "there is no LocalQueue gone in its namespace",
    ),
    "a step that waits for another": (
        [
            manifest(
                "JobSet",
                spec={"replicatedJobs": [{"name": "node", "dependsOn": [{"name": "data", "status": "Complete"}]}]},
            )
        ],
        "node starts only when data is complete",
    ),
    "a job that was restarted often": (
        [manifest("JobSet", spec={"failurePolicy": {"maxRestarts": 5}}, status={"restarts": 4})],
        "it was restarted 4 times of 5",
    ),
    "a job that has ended and would run again": (
        [
            manifest(
                "JobSet",
                spec={"ttlSecondsAfterFinished": 60},
                status=condition("Completed", "True", "AllJobsCompleted"),
            )
        ],
        "it has ended, and is deleted 60 seconds later: as long as git has it, it would then run again",
    ),
    "a pod that used too much memory": (
        [
            manifest(
                "Pod",
                status={
                    "containerStatuses": [
                        {"name": "node", "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}
                    ]
                },
            )
        ],
        "container node: it used more memory than its limit, exit code 137",
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_no_condition_says(what: str) -> None:
    dump, cause = OTHERS[what]
    assert cause in [waiting.cause for waiting in why(dump)]


def test_what_runs_is_not_mentioned() -> None:
    admitted = {
        "conditions": [{"type": kind, "status": "True", "reason": kind} for kind in ("QuotaReserved", "Admitted")]
    }
    running = manifest("Pod", status={"phase": "Running", **condition("PodScheduled", "True", "")})
    assert why([manifest("Workload", status=admitted), manifest("JobSet"), running]) == []


SOURCE = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: llm
  namespace: nlp
  labels:
    kueue.x-k8s.io/queue-name: team
spec:
  runtimeRef:
    name: torch-distributed
  trainer:
    numNodes: 2
    image: example.com/llm:2
    command: [torchrun, train.py]
    resourcesPerNode:
      limits:
        memory: 64Gi
        nvidia.com/gpu: 8
"""
LINES = [line.strip() for line in SOURCE.splitlines()]
OF_STEP = {"labels": {"jobset.sigs.k8s.io/jobset-name": "llm", "jobset.sigs.k8s.io/replicatedjob-name": "node"}}
QUOTA = "insufficient unused quota for nvidia.com/gpu in flavor h100, 8 more needed"
SETTINGS = {
    "an image that cannot be pulled": ({"waiting": {"reason": "ImagePullBackOff"}}, "image: example.com/llm:2"),
    "a program that fails": ({"terminated": {"exitCode": 1}}, "command: [torchrun, train.py]"),
    "memory that is used up": ({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}, "memory: 64Gi"),
}


def lines_of(dump: list[dict[str, Any]], folder: Path, *options: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The text of the lines in git that the causes of a dump point at."""
    (folder / "live.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": dump}), "utf-8")
    main(["why", "--dump", "live.json", "--format", "json", *options])
    causes = [cause for found in json.loads(capsys.readouterr().out)["jobs"].values() for cause in found]
    sources = [cause["source"].split(":") for cause in causes if "source" in cause]
    return [(folder / file).read_text("utf-8").splitlines()[int(line) - 1].strip() for file, line, _ in sources]


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """A JobSet in the cluster that was compiled from jobs/llm.yaml, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/llm.yaml").write_text(SOURCE, "utf-8")
    main(["build", "jobs", "--format", "json"])
    items = json.loads(capsys.readouterr().out)["items"]
    (jobset,) = (item for item in items if item["kind"] == "JobSet")
    return {**jobset, "spec": {**jobset["spec"], "suspend": False}}


@pytest.mark.parametrize("what", SETTINGS)
def test_a_cause_in_a_pod_names_the_line_of_git(
    what: str, built: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state, line = SETTINGS[what]
    pod = manifest("Pod", "p", metadata=OF_STEP, status={"containerStatuses": [{"name": "node", "state": state}]})
    assert lines_of([built, pod], tmp_path, "--sources", "jobs", capsys=capsys) == [line]


def test_a_cause_names_no_line_without_sources_and_that_of_trainc_yaml_with_it(
    built: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = {**built, "spec": {**built["spec"], "suspend": True}}
    owner = {"ownerReferences": [{"kind": "JobSet", "name": "llm", "controller": True}]}
    workload = manifest("Workload", metadata=owner, status=condition("QuotaReserved", "False", "Pending", QUOTA))
    assert lines_of([waiting, workload], tmp_path, capsys=capsys) == []
    (tmp_path / "trainc.yaml").write_text("sources: [jobs]\n", "utf-8")
    assert lines_of([waiting, workload], tmp_path, capsys=capsys) == ["nvidia.com/gpu: 8"]
    hashed = copy.deepcopy([waiting, workload])
    hashed[0]["metadata"]["name"] = hashed[1]["metadata"]["ownerReferences"][0]["name"] = "llm-bcdfgh"
    assert lines_of(hashed, tmp_path, capsys=capsys) == ["nvidia.com/gpu: 8"]
    assert lines_of([waiting], tmp_path, capsys=capsys) == ["kueue.x-k8s.io/queue-name: team"]


def test_sources_that_cannot_be_read_are_said_and_the_causes_remain(
    built: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = manifest(
        "Pod",
        "p",
        metadata=OF_STEP,
        status={"containerStatuses": [{"name": "node", "state": SETTINGS["a program that fails"][0]}]},
    )
    (tmp_path / "live.json").write_text(json.dumps(pod), "utf-8")
    (tmp_path / "trainc.yaml").write_text("sources: 3\n", "utf-8")
    assert main(["why", "--dump", "live.json"]) == 0
    shown = capsys.readouterr()
    assert "its program failed" in shown.out
    assert "trainc.yaml:1:1: error[InvalidConfiguration]" in shown.err
    (tmp_path / "trainc.yaml").unlink()
    assert main(["why", "--dump", "live.json", "--sources", "nowhere"]) == 0
    shown = capsys.readouterr()
    assert "its program failed" in shown.out
    assert "error[NoSuchPath]" in shown.err


def test_a_cause_of_many_pods_of_a_job_is_listed_once() -> None:
    owner = {"ownerReferences": [{"kind": "JobSet", "name": "llm", "controller": True}]}
    state = {"containerStatuses": [{"name": "node", "state": {"waiting": {"reason": "ErrImagePull"}}}]}
    only(why([manifest("Pod", f"llm-{i}", metadata=owner, status=state) for i in range(20)]))


WRONG: tuple[Any, ...] = (None, 7, "x", [], {}, [None], [{"x": 1}], True, -1.5)


def test_wrong_shapes_are_passed_over() -> None:
    random_one = random.Random(0)
    whole = [item for dump, _ in OTHERS.values() for item in dump]
    for _ in range(400):
        dump = copy.deepcopy(whole)
        parts: list[Any] = [item for item in dump if item.get("metadata")]
        part = random_one.choice(parts)
        while isinstance(part, (dict, list)) and part:
            key = random_one.choice(list(part) if isinstance(part, dict) else range(len(part)))
            if random_one.random() < 0.4 or not isinstance(part[key], (dict, list)):
                part[key] = random_one.choice(WRONG)
                break
            part = part[key]
        assert all(isinstance(waiting.cause, str) for waiting in why(dump))


TORCH = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
POD = "kind: Pod\napiVersion: v1\nmetadata: {name: llm, namespace: nlp}\nstatus: {reason: Evicted}\n"
LOGS = {
    "the first line with a cause": (f"epoch 1\n{TORCH}\n{TORCH}\n", ["--log", "log"], ["  the GPU has no memory left", "    log:2:1\n", "    help: use a smaller micro batch"]),
    "no line with a cause": ("epoch 1\n", ["--log", "log"], ["no line of the log has a known cause", "0 jobs with a reason"]),
    "as JSON": (TORCH, ["--log", "log", "--format", "json", "nlp/llm"], ['"nlp/llm": [', '"source": "log:1:1"']),
    "before what the dump says": (TORCH, ["--log", "log", "--dump", "dump.yaml"], ["nlp/llm\n  the GPU has no memory left", "  its node ended it (Evicted)"]),
    "what is not text, on a line of any length": ("\xff\x00\n" + TORCH + "x" * 9000, ["--log", "log"], ["log:2:1"]),
}  # fmt: skip


@pytest.mark.parametrize("what", LOGS)
def test_what_a_log_says(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    log, words, expected = LOGS[what]
    monkeypatch.chdir(tmp_path)
    Path("log").write_bytes(log.encode("latin-1"))
    Path("dump.yaml").write_text(POD, encoding="utf-8")
    assert main(["why", *words]) == 0
    printed = capfdbinary.readouterr().out.decode()
    assert [text for text in expected if text not in printed] == [], printed
    assert max(map(len, printed.splitlines())) < 600


@pytest.mark.parametrize("words", [["--log", "missing"], ["--log", "-", "--dump", "-"]])
def test_a_log_that_cannot_be_read_is_wrong_usage(words: list[str]) -> None:
    assert main(["why", *words]) == 2
