"""`mirrors` of an overlay: all images of a registry come from another one, built-in runtimes' too."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from commands import run

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: llm, namespace: nlp}}
spec:
  runtimeRef: {{name: torch-distributed}}
  trainer: {{command: [torchrun, train.py]{image}}}
"""
OVERLAY = "apiVersion: trainc/v1alpha1\nkind: Overlay\n"
DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("overlay").mkdir()


def image_of(image: str, mirrors: str, more: str = "") -> str:
    Path("job.yaml").write_text(JOB.format(image=f', image: "{image}"' if image else ""), encoding="utf-8")
    Path("overlay/overlay.yaml").write_text(f"{OVERLAY}mirrors: {mirrors}\n{more}", encoding="utf-8")
    result = run("build", "job.yaml", "--overlay", "overlay", "--release", "2.3")
    assert result.status == 0, result.stderr
    pod = yaml.safe_load(result.stdout)["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    return str(pod["containers"][0]["image"])


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("python:3.13", "mirror.example.com/hub/library/python:3.13"),
        ("org/x:1", "mirror.example.com/hub/org/x:1"),
        (f"docker.io/org/x:1@{DIGEST}", f"mirror.example.com/hub/org/x:1@{DIGEST}"),
        ("ghcr.io/a/b:1", "mirror.example.com/ghcr/a/b:1"),
        ("ghcr.io/ours/b:1", "registry.example.com/b:1"),
        ("ghcr.io.example.com/a:1", "ghcr.io.example.com/a:1"),
        ("quay.io/a:1", "quay.io/a:1"),
    ],
)
def test_an_image_comes_from_the_mirror_of_its_registry(image: str, expected: str) -> None:
    mirrors = (
        "{docker.io: mirror.example.com/hub, ghcr.io: mirror.example.com/ghcr/, ghcr.io/ours: registry.example.com}"
    )
    assert image_of(image, mirrors) == expected


def test_the_image_of_a_built_in_runtime_is_mirrored_and_one_that_is_not_used_is_fine() -> None:
    plain = image_of("", "{quay.example.com: mirror.example.com}")
    mirrored = image_of("", "{docker.io: mirror.example.com, quay.example.com: mirror.example.com}")
    assert (mirrored, plain.startswith("mirror")) == (f"mirror.example.com/{plain.removeprefix('docker.io/')}", False)


def test_new_names_come_first() -> None:
    images = "images: [{name: org/x, newName: org/y, newTag: '2'}]\n"
    assert image_of("org/x:1", "{docker.io: mirror.example.com}", images) == "mirror.example.com/org/y:2"


@pytest.mark.parametrize("mirrors", ["[docker.io]", "{docker.io: 3}", "{docker.io: ''}"])
def test_what_is_no_mirror_is_refused(mirrors: str) -> None:
    Path("job.yaml").write_text(JOB.format(image=""), encoding="utf-8")
    Path("overlay/overlay.yaml").write_text(f"{OVERLAY}mirrors: {mirrors}\n", encoding="utf-8")
    assert "error[InvalidOverlay] mirrors" in run("build", "job.yaml", "--overlay", "overlay").stderr
