"""A dump of a cluster holds what anybody who may make an object there has written: none of it is obeyed or followed."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import Result, run
from repositories import starting_with
from steps import assert_linear, steps

from trainc.cli.command import Streams
from trainc.cli.main import main
from trainc.features.cluster.why.causes import causes_by_job
from trainc.kube.live_objects import Owners
from trainc.reading.cluster import Dump

EVIL = "\x1b[31mx\u202e<script>alert(1)</script>|`@all ![i](http://example.com/i) </details>\n::error::y ##[add-path]"
JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: a}}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {image: "example.com/a:1", numNodes: 2, command: [torchrun, train.py]}
"""
JOBSET_NAME, STEP_NAME = "jobset.sigs.k8s.io/jobset-name", "jobset.sigs.k8s.io/replicatedjob-name"


def made(kind: str, name: str, api: str = "v1", metadata: Any = None, **fields: Any) -> dict[str, Any]:
    named = {"name": name, "namespace": "team-a", **(metadata or {})}
    return {"apiVersion": api, "kind": kind, "metadata": named, **fields}


def jobset(name: str = "llm", metadata: Any = None, spec: Any = None, **status: Any) -> dict[str, Any]:
    return made(
        "JobSet", name, "jobset.x-k8s.io/v1alpha2", metadata, spec={"suspend": True, **(spec or {})}, status=status
    )


def trainjob(name: str = "llm", **spec: Any) -> dict[str, Any]:
    spec = {"runtimeRef": {"name": "torch-distributed"}, **spec}
    return made("TrainJob", name, "trainer.kubeflow.org/v1alpha1", spec=spec, status={})


def pod(number: int = 0, text: str = "x") -> dict[str, Any]:
    waiting = {"name": text, "state": {"waiting": {"reason": text, "message": text}}}
    scheduled = {"type": "PodScheduled", "status": "False", "reason": text, "message": text}
    labels = {"labels": {JOBSET_NAME: "llm", STEP_NAME: "node"}}
    status = {"conditions": [scheduled], "containerStatuses": [waiting]}
    return made("Pod", f"llm-node-0-{number}-abcde", metadata=labels, status=status)


def event(number: int = 0, text: str = "x") -> dict[str, Any]:
    about = {"kind": "Pod", "name": "llm-node-0-0-abcde", "namespace": "team-a"}
    return made("Event", f"e{number}", type="Warning", reason=text, message=text, involvedObject=about)


def workload(number: int = 0, text: str = "x") -> dict[str, Any]:
    owner = {"kind": "JobSet", "name": "llm", "controller": True}
    status = {
        "conditions": [{"type": "QuotaReserved", "status": "False", "reason": text, "message": text}],
        "admissionChecks": [{"name": text, "state": text, "message": text}],
    }
    return made("Workload", f"w{number}", "kueue.x-k8s.io/v1beta2", {"ownerReferences": [owner]}, status=status)


def managed(labels: Mapping[str, str], managers: Mapping[str, Any]) -> dict[str, Any]:
    entries = [
        {"manager": name, "time": f"{i:09}", "fieldsV1": fields} for i, (name, fields) in enumerate(managers.items())
    ]
    return jobset(metadata={"labels": dict(labels), "managedFields": entries})


def owned_label(name: str) -> dict[str, Any]:
    return {"f:metadata": {"f:labels": {f"f:{name}": {}}}}


CONTAINER = {"name": "node", "image": EVIL, "env": [{"name": EVIL, "value": EVIL}]}
STEP = {"name": "node", "template": {"spec": {"template": {"spec": {"containers": [CONTAINER]}}}}}
DUMPS: Mapping[str, list[Any]] = {
    "a JobSet": [jobset(EVIL)],
    "a namespace": [jobset(metadata={"namespace": EVIL})],
    "a TrainJob": [trainjob(EVIL)],
    "a condition": [jobset(conditions=[{"type": "Failed", "status": "True", "reason": EVIL, "message": EVIL}])],
    "a label and its manager": [managed({EVIL: EVIL}, {EVIL: owned_label(EVIL)})],
    "an image": [jobset(spec={"replicatedJobs": [STEP]})],
    "an event": [jobset(), pod(), event(text=EVIL)],
    "a pod": [jobset(), pod(text=EVIL)],
    "a Workload": [jobset(), workload(text=EVIL)],
    "a variable": [trainjob(trainer={"env": [{"name": f"{EVIL}_TOKEN", "value": "x"}]})],
    "a runtime": [trainjob(runtimeRef={"name": EVIL, "kind": EVIL})],
    "a kind": [made(EVIL, EVIL, EVIL)],
    "a tool's object": [made("ConfigMap", EVIL, metadata={"annotations": {"argocd.argoproj.io/tracking-id": "x"}})],
    "a document Cluster": [
        jobset(),
        {
            "apiVersion": "trainc/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": EVIL},
            EVIL: 1,
            "nodes": [{"name": EVIL, EVIL: 1}],
        },
    ],
    "a job of v1": [
        made("PyTorchJob", EVIL, "kubeflow.org/v1", spec={"pytorchReplicaSpecs": {EVIL: {"template": {}}}}),
        made("PyTorchJob", "p", "kubeflow.org/v1", spec={EVIL: 1, "pytorchReplicaSpecs": {"Master": {EVIL: 1}}}),
    ],
}
COMMANDS = (
    "import live.json -o imported",
    "diff --live live.json",
    "diff --live live.json --format json",
    "diff --live live.json --show-values --format markdown",
    "diff jobs --live live.json --show-values",
    "report jobs --live live.json -o -",
    "fits --cluster live.json --format json",
    "doctor --from live.json --format json",
)


@starting_with
def folder() -> None:
    Path("jobs").mkdir()
    Path("jobs/llm.yaml").write_text(JOB, encoding="utf-8")
    Path("trainc.yaml").write_text("release: '2.3'\nsources: [jobs]\noutput: out\n", encoding="utf-8")
    run("build")


def given(objects: list[Any], words: str) -> Result:
    listed = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": objects}
    Path("live.json").write_text(json.dumps(listed), encoding="utf-8")
    return run(*words.split())


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("where", DUMPS)
def test_nothing_in_a_dump_is_obeyed(where: str, command: str) -> None:
    result = given(DUMPS[where], command)
    assert result.status in (0, 1), result.stderr
    for text in (result.stdout, result.stderr):
        if not text.startswith("<!doctype html>"):
            assert [c for c in text if not (c.isprintable() or c == "\n")] == []
            assert "##[" not in text
        assert not re.search(r"(?m)^\s*::", text) or "<html" in text
    if "report" in command:
        assert "<script>alert" not in result.stdout
    if "markdown" in command:
        outside_code = re.sub(r"(?ms)^(```+).*?^\1|(`+).*?\2", "", result.stdout)
        assert "](http://example.com" not in outside_code
        assert "@all" not in outside_code
        assert "<script" not in outside_code


@pytest.mark.parametrize("name", ["A\nkind: Secret\nX_TOKEN", "$(reboot)_KEY", "a;b_SECRET", "'_PASSWORD"])
def test_the_name_of_a_variable_is_no_text_of_the_file_and_no_command_to_copy(name: str) -> None:
    result = given([trainjob(trainer={"env": [{"name": name, "value": "hunter2"}]})], "import live.json -o imported")
    assert result.status == 1
    assert "a Secret cannot have a key of that name" in result.stdout
    assert not Path("imported/team-a/llm.yaml").exists()


def test_a_variable_with_a_name_for_a_key_is_imported() -> None:
    result = given([trainjob(trainer={"env": [{"name": "HF_TOKEN", "value": "x"}]})], "import live.json -o imported")
    assert result.status == 0, result.stderr
    text = Path("imported/team-a/llm.yaml").read_text()
    assert "--from-literal=HF_TOKEN=VALUE" in text
    assert [document["kind"] for document in yaml.safe_load_all(text)] == ["TrainJob"]


@pytest.mark.parametrize("link", ["imported/team-a", "imported/team-a/llm.yaml", "imported/team-a/runtimes"])
def test_nothing_is_imported_through_a_link(link: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    Path(link).parent.mkdir(parents=True)
    Path(link).symlink_to(outside / "llm.yaml" if link.endswith(".yaml") else outside)
    runtime = made("TrainingRuntime", "r", "trainer.kubeflow.org/v1alpha1", spec={"template": {"spec": {}}})
    job = trainjob(runtimeRef={"kind": "TrainingRuntime", "name": "r"})
    result = given([job, runtime], "import live.json -o imported")
    assert result.status == 1
    assert "is a symbolic link" in result.stdout
    assert list(outside.iterdir()) == []


def test_the_nodes_of_all_types_together_are_bounded() -> None:
    listed = {"apiVersion": "trainc/v1alpha1", "kind": "Cluster"}
    many = [{**listed, "nodes": [{"name": f"n{i}-{j}", "count": 900} for j in range(50)]} for i in range(4)]
    dump = Dump.of_objects(many)
    assert len(dump.of("Node")) <= 100_000
    assert {problem.message for problem in dump.problems} == {"with these, there are more than 100,000 nodes"}
    assert Dump.of_objects(many[:2]).problems == []


def test_the_managers_of_an_object_are_those_that_set_its_fields_last() -> None:
    owners = Owners(managed({"a": "1", "b": "2"}, {"old": owned_label("a"), "new": owned_label("a")}))
    assert (owners.of(("metadata", "labels", "a")), owners.of(("metadata", "labels", "b"))) == ("new", None)
    many = {f"m{i}": owned_label("a") for i in range(1_000)}
    assert Owners(managed({"a": "1"}, many)).of(("metadata", "labels", "a")) == "m999"


def labels(count: int) -> dict[str, str]:
    return {f"l{i}": "x" for i in range(count)}


GROWING: Mapping[str, Callable[[int], list[Any]]] = {
    "JobSets": lambda n: [jobset(f"llm{i}") for i in range(n)],
    "managers and labels": lambda n: [managed(labels(n), {f"m{i}": owned_label(f"z{i}") for i in range(n)})],
    "an item of a list as a whole": lambda n: [
        {
            **jobset(spec={"replicatedJobs": [{"name": "node", "template": {"metadata": {"annotations": labels(n)}}}]}),
            "metadata": {
                "name": "llm",
                "namespace": "team-a",
                "managedFields": [
                    {
                        "manager": "m",
                        "fieldsV1": {"f:spec": {"f:replicatedJobs": {"i:0": {"f:template": {"f:metadata": {}}}}}},
                    }
                ],
            },
        }
    ],
    "pods": lambda n: [jobset(), *map(pod, range(n))],
    "events": lambda n: [jobset(), pod(), *map(event, range(n))],
    "Workloads": lambda n: [jobset(), *map(workload, range(n))],
    "conditions": lambda n: [jobset(conditions=[{"type": f"T{i}", "status": "True"} for i in range(n)])],
}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["import live.json", "diff --live live.json", "report jobs --live live.json -o -"])
@pytest.mark.parametrize("shape", GROWING)
def test_a_dump_takes_steps_in_proportion(shape: str, command: str) -> None:
    def counted(size: int) -> int:
        given(GROWING[shape](size), command)
        return steps(lambda: main(command.split(), Streams(io.BytesIO(), io.BytesIO(), io.StringIO())))

    assert_linear([counted(size) for size in (60, 120, 240)])


def test_why_takes_steps_in_proportion_to_a_chain_of_owners() -> None:
    def work(count: int) -> None:
        jobs = [
            made(
                "Job",
                f"p{i}",
                "batch/v1",
                {"ownerReferences": [{"kind": "Job", "name": f"p{i + 1}", "controller": True}]},
            )
            for i in range(count)
        ]
        causes_by_job(Dump.of_objects(jobs))

    work(50)
    assert_linear([steps(lambda n=n: work(n)) for n in (50, 100, 200)])  # type: ignore[misc]
