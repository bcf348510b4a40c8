"""Who may what: runtimes that all share, namespaces by folder, and images by digest and registry."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run
from repositories import write

from trainc.kube.names import full_name

RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-h100}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: "ghcr.io/my-org/base:1"}]}}}
"""
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: bert, namespace: nlp}
spec:
  runtimeRef: {name: torch-h100}
  trainer: {command: [torchrun, train.py]}
"""
SETTINGS = 'release: "2.3"\nsources: [jobs]\nruntimes: [runtimes]\n'
DIGEST = "@sha256:" + "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("trainc.yaml", SETTINGS)
    write("runtimes/h100.yaml", RUNTIME)
    write("jobs/nlp/bert.yaml", JOB)


def found(*words: str) -> list[tuple[str, str, int]]:
    report = json.loads(run("check", "--format", "json", *words).stdout)["diagnostics"]
    return [(d["code"], d["source"]["file"], d["source"]["line"]) for d in report if d["severity"] == "error"]


def test_a_runtime_among_the_jobs_never_takes_the_place_of_a_shared_one() -> None:
    assert found() == []
    write("jobs/nlp/h100.yaml", RUNTIME.replace("base:1", "base:2"))
    assert found() == [("RuntimeReplaced", "jobs/nlp/h100.yaml", 3)]
    assert run("build").status == run("build", "--keep-going", "-o", "out").status == 1
    assert not Path("out").exists()
    write("jobs/nlp/h100.yaml", RUNTIME)  # It is the same for now.
    assert "jobs/nlp/h100.yaml:3:" in (warned := run("check").stderr)
    assert "warning[RuntimeReplaced]" in warned
    assert "error" not in warned
    for harmless in (RUNTIME.replace("torch-h100", "torch-nlp"), RUNTIME.replace("Cluster", "")):
        write("jobs/nlp/h100.yaml", harmless)
        assert "RuntimeReplaced" not in [code for code, _, _ in found()]
    write("jobs/nlp/h100.yaml", RUNTIME.replace("base:1", "base:2"))
    write("trainc.yaml", SETTINGS.replace("runtimes: [runtimes]", ""))
    assert found("--runtimes", "runtimes") == []


NAMESPACES = SETTINGS + 'namespaces: {"jobs/**": [nlp, "nlp-*"], "jobs/ads/**": [ads]}\n'


@pytest.mark.parametrize(
    ("file", "namespace", "allowed"),
    [
        ("jobs/nlp/x.yaml", "nlp", True),
        ("jobs/nlp/x.yaml", "nlp-dev", True),
        ("jobs/nlp/x.yaml", "ads", False),
        ("jobs/ads/x.yaml", "ads", True),
        ("jobs/ads/x.yaml", "nlp", False),
        ("other/x.yaml", "ads", False),
    ],
)
def test_a_folder_has_its_namespaces_and_the_last_glob_counts(file: str, namespace: str, allowed: bool) -> None:
    write("trainc.yaml", NAMESPACES.replace("[jobs]", "[jobs, other]"))
    write("other/y.yaml", JOB.replace("bert", "other").replace(", namespace: nlp", ""))
    write(file, JOB.replace("bert", "x").replace("namespace: nlp", f"namespace: {namespace}"))
    assert found() == ([] if allowed else [("ForeignNamespace", file, 3)])


def test_the_namespace_is_that_which_is_written_and_no_comment_ignores_it() -> None:
    write("trainc.yaml", NAMESPACES + "overlay: overlays/dev\n")
    write("overlays/dev/overlay.yaml", "apiVersion: trainc/v1alpha1\nkind: Overlay\nnamespace: everything\n")
    assert found() == []
    ignored = "metadata: {name: bert, namespace: ads} # trainc: ignore[ForeignNamespace] we want to"
    write("jobs/nlp/bert.yaml", JOB.replace("metadata: {name: bert, namespace: nlp}", ignored))
    assert [code for code, _, _ in found()] == ["ForeignNamespace"]


def test_trials_are_in_the_folder_of_their_sweep() -> None:
    write("trainc.yaml", NAMESPACES)
    write(
        "jobs/ads/sweep.yaml",
        "apiVersion: trainc/v1alpha1\nkind: Sweep\nbase: ../nlp/bert.yaml\nparameters: {lr: [1]}\n",
    )
    assert [code for code, _, _ in found()] == ["ForeignNamespace"]


def test_images_are_pinned_and_from_our_registries_wherever_they_are_written() -> None:
    write("trainc.yaml", SETTINGS + "images: {pinned: true, registries: [ghcr.io/my-org]}\n")
    assert found() == [("ImageNotPinned", "runtimes/h100.yaml", 12)]
    write("jobs/nlp/bert.yaml", JOB.replace("trainer: {", 'trainer: {image: "python:3.13", '))
    assert found() == [("ImageNotPinned", "jobs/nlp/bert.yaml", 6), ("RegistryNotAllowed", "jobs/nlp/bert.yaml", 6)]
    write("jobs/nlp/bert.yaml", JOB.replace("trainer: {", f'trainer: {{image: "ghcr.io/my-org/a/b:1{DIGEST}", '))
    assert found() == []
    write("jobs/nlp/bert.yaml", JOB.replace("trainer: {", f'trainer: {{image: "ghcr.io/my-organ/b{DIGEST}", '))
    assert found() == [("RegistryNotAllowed", "jobs/nlp/bert.yaml", 6)]


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ("image: {reference: docker.io/models/llama:1}", ["ImageNotPinned", "RegistryNotAllowed"]),
        (f'image: {{reference: "quay.io/llama{DIGEST}"}}', ["RegistryNotAllowed"]),
        (f'image: {{reference: "ghcr.io/my-org/llama{DIGEST}"}}', []),
        ("emptyDir: {}", []),
    ],
)
def test_images_of_volumes_are_images_too(volume: str, expected: list[str]) -> None:
    write("trainc.yaml", SETTINGS + "images: {pinned: true, registries: [ghcr.io/my-org]}\n")
    container = f'{{name: node, image: "ghcr.io/my-org/base{DIGEST}", volumeMounts: [{{name: model, mountPath: /m}}]}}'
    pod = f"{{containers: [{container}], volumes: [{{name: model, {volume}}}]}}"
    before = '{containers: [{name: node, image: "ghcr.io/my-org/base:1"}]}'
    assert before in RUNTIME
    write("runtimes/h100.yaml", RUNTIME.replace(before, pod))
    assert sorted(found()) == [(code, "runtimes/h100.yaml", 12) for code in expected]


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("python", "docker.io/library/python"),
        ("python:3", "docker.io/library/python"),
        ("org/x:1", "docker.io/org/x"),
        ("localhost/x", "localhost/x"),
        ("registry:5000/a/b:1", "registry:5000/a/b"),
        ("ghcr.io/a/b@sha256:00", "ghcr.io/a/b"),
    ],
)
def test_an_image_has_a_registry_whether_it_is_written_or_not(image: str, name: str) -> None:
    assert full_name(image) == name
