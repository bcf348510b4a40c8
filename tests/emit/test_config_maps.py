"""ConfigMaps that are a job's own: written with it, under a name of their content, and a part of the TrainJob."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import run

JOB: dict[str, Any] = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "bert", "namespace": "ml"},
    "spec": {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {"numNodes": 1, "command": ["torchrun", "train.py", "--config", "/config/a.yaml"]},
    },
}


def config_map(name: str, text: str, *, own: bool = True, **metadata: Any) -> dict[str, Any]:
    annotations = {"annotations": {"trainc/own": "true"}} if own else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **annotations, **metadata},
        "data": {"a.yaml": text},
    }


def job(*names: str) -> dict[str, Any]:
    """The job, with ConfigMaps in a volume, a projected volume and variables."""
    sources: list[Any] = [{"configMap": {"name": name}} for name in names]
    key = [
        {"name": f"V{i}", "valueFrom": {"configMapKeyRef": {"name": name, "key": "a.yaml"}}}
        for i, name in enumerate(names)
    ]
    container = {"name": "node", "volumeMounts": [{"name": "v0", "mountPath": "/config"}]}
    volumes = [{"name": f"v{i}", "configMap": {"name": name}} for i, name in enumerate(names)]
    pod = {"volumes": [*volumes, {"name": "p", "projected": {"sources": sources}}], "containers": [container]}
    patch = {
        "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": pod}}}}]}}
    }
    trainer = {**JOB["spec"]["trainer"], "env": key}
    return {
        **JOB,
        "spec": {
            **JOB["spec"],
            "trainer": trainer,
            "runtimePatches": [{"manager": "a.b/c", "trainingRuntimeSpec": patch}],
        },
    }


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def built(*documents: dict[str, Any], flags: tuple[str, ...] = ()) -> tuple[list[dict[str, Any]], str]:
        (tmp_path / "job.yaml").write_text(yaml.safe_dump_all(documents))
        result = run("build", "job.yaml", "--release", "2.3", *flags)
        assert result.status == 0, result.stderr
        return list(yaml.safe_load_all(result.stdout)), result.stderr

    return built


def test_it_is_written_with_a_hash_of_its_content_in_its_name_and_named_so_everywhere(build: Any) -> None:
    objects, said = build(job("bert-files"), config_map("bert-files", "a: 1"))
    files, jobset = objects
    name = files["metadata"]["name"]
    assert (files["kind"], files["metadata"]["namespace"], files["data"]) == ("ConfigMap", "ml", {"a.yaml": "a: 1"})
    assert "trainc/own" not in files["metadata"]["annotations"]
    assert name.startswith("bert-files-")
    text = yaml.safe_dump(jobset)
    assert text.count(f"name: {name}\n") == 3
    assert "name: bert-files\n" not in text
    assert "ConfigMap" not in said
    assert build(job("bert-files"), config_map("bert-files", "a: 2"))[0][0]["metadata"]["name"] != name


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (config_map("bert-files", "a: 1", own=False), "read 1 ConfigMap that jobs name, and left out of the output"),
        (config_map("bert-files", "a: 1", namespace="other"), ""),
        (config_map("unused", "a: 1"), "skipped 1 document of other kinds"),
        (config_map("bert-files", "a: 1", annotations=5, own=False), "read 1 ConfigMap"),
    ],
)
def test_any_other_is_read_and_never_written(build: Any, other: dict[str, Any], said: str) -> None:
    objects, text = build(job("bert-files"), other)
    assert [manifest["kind"] for manifest in objects] == ["JobSet"]
    assert said in text


def test_a_job_under_another_name_has_a_copy_of_its_own(build: Any) -> None:
    objects, _ = build(job("common"), config_map("common", "a: 1"))
    assert objects[0]["metadata"]["name"].startswith("bert-common-")
    hashed, _ = build(job("common"), config_map("common", "a: 1"), flags=("--name-hash",))
    assert hashed[0]["metadata"]["name"] == objects[0]["metadata"]["name"]


def test_a_changed_file_is_a_changed_job_and_another_one_is_not(tmp_path: Path, build: Any) -> None:
    (tmp_path / "trainc.yaml").write_text('release: "2.3"\nsources: [job.yaml]\noutput: out\nrebuild: changed-jobs\n')

    def line(own: dict[str, Any]) -> str:
        (tmp_path / "job.yaml").write_text(yaml.safe_dump_all([job("bert-files"), own]))
        assert run("build", "--base", "none").status == 0
        return (tmp_path / "out" / "ml" / "bert.yaml").read_text().splitlines()[1]

    before = line(config_map("bert-files", "a: 1"))
    assert line(config_map("bert-files", "a: 1", labels={"x": "y"})) == before
    assert line(config_map("bert-files", "a: 2")) != before
    unmarked = line(config_map("bert-files", "a: 1", own=False))
    assert line(config_map("bert-files", "a: 2", own=False)) == unmarked
