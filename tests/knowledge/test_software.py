"""Versions of packages: where they are known, and what is said only then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import run
from trainings import reported, training

from trainc.knowledge.software import Version, changes_image, installed, of_image
from trainc.project.software import of_sbom

HF = "torchrun run_clm.py --do_train --dataset_name wiki --per_device_train_batch_size 4 --save_strategy steps --learning_rate 1e-5 --seed 1 "
OLD, NEW = HF + "--evaluation_strategy steps", HF + "--eval_strategy steps"
PUBLIC = "huggingface/transformers-pytorch-gpu"
PINNED = "pip install transformers==5.3 && "


def said(command: str, image: str) -> str:
    found = [d for d in reported(training(command, nodes=1, image=image)) if "has no setting" in d.message]
    return "".join(f"{d.message} {d.hint}" for d in found)


@pytest.mark.parametrize(
    ("command", "image", "expected"),
    [
        (OLD, f"{PUBLIC}:5.3.0", "transformers 5.3.0, as the tag of the image says, has no setting --evaluation_strategy"),
        (NEW, f"mirror.corp/{PUBLIC}:4.38.2", "it came after 4.40.2"),
        (PINNED + OLD, "acme/train:1", "transformers 5.3, which the command installs"),
        (OLD, "acme/train:cuda12.4-torch2.6.0-transformers5.0.0", "did you mean --eval_strategy?"),
        (NEW, f"{PUBLIC}:4.38.2", "did you mean --evaluation_strategy?"),
        ("pip install accelerate==0.21.0 && accelerate launch --fsdp_version 2 t.py", "acme/train:1", "install accelerate newer than 1.5.2"),
        ("pip install trl==0.11.4 && trl grpo --model_name_or_path a/b --num_generations 8", "acme/train:1", "it came after 0.11.4"),
        (NEW, f"{PUBLIC}:5.3.0", ""),
        (OLD, f"{PUBLIC}:4.40.2", ""),
        # Nobody knows, or knows exactly enough.
        (OLD, "acme/transformers:5.3.0", ""),
        (OLD, f"{PUBLIC}:latest", ""),
        (OLD, f"{PUBLIC}:4", ""),
        ("pip install -r requirements.txt && " + OLD, f"{PUBLIC}:5.3.0", ""),
        ("if [ -f x ]; then pip install transformers==5.3; fi; " + OLD, "acme/train:1", ""),
        (PINNED + "pip install transformers==4.40.2 && " + OLD, "acme/train:1", ""),
        # A script with options of its own.
        ("torchrun train.py --evaluation_strategy steps --lr 1", f"{PUBLIC}:5.3.0", ""),
        (OLD.replace("run_clm", "run_clm_no_trainer"), f"{PUBLIC}:5.3.0", ""),
        (OLD + " --aa 1 --bb 2 --cc 3 --dd 4 --ee 5 --ff 6", f"{PUBLIC}:5.3.0", ""),
    ],
)  # fmt: skip
def test_an_option_that_a_version_lacks_is_reported_where_the_version_is_known(
    command: str, image: str, expected: str
) -> None:
    assert expected in said(command, image) if expected else said(command, image) == ""


@pytest.mark.parametrize(
    ("version", "operator", "other", "expected"),
    [
        ("5.10", ">", "5.9", True),
        ("5.3", ">=", "5.3.1", None),  # Any 5.3.
        ("5.3", "<", "5.3.0", False),
        ("4.57.6", "<", "5", True),
        ("2.7.1+cu126", "==", "2.7.1", True),
        ("v2.7", "!=", "2.8", True),
        ("latest", ">", "1", None),
        ("9" * 4000, ">", "1", True),
    ],
)
def test_versions_are_compared_by_their_numbers_as_far_as_they_are_known(
    version: str, operator: str, other: str, expected: bool | None
) -> None:
    assert Version(version).compare(operator, other) is expected


def test_a_command_installs_what_it_pins() -> None:
    words = ["pip3", "install", "-U", "torch==2.7.1", "trl[vllm]==1.0", "a_b", "git+https://x/y", "/opt/t-1.whl"]
    assert installed([(tuple(words), True)]) == {"torch": "2.7.1", "trl": "1.0", "a-b": None} | dict.fromkeys(
        ("-u", "git+https://x/y", "/opt/t-1-whl")
    )
    assert changes_image("uv run train.py")
    assert not changes_image("torchrun install_me.py")


@pytest.mark.parametrize(
    ("sbom", "expected"),
    [
        (
            {"bomFormat": "CycloneDX", "components": [{"components": [{"purl": "pkg:pypi/Flash_Attn@2.7?x=y"}]}]},
            {"flash-attn": "2.7"},
        ),
        (
            {"spdxVersion": "SPDX-2.3", "packages": [{"externalRefs": [{"referenceLocator": "pkg:pypi/torch@2.7.1"}]}]},
            {"torch": "2.7.1"},
        ),
        ({"@graph": [{"software_packageUrl": "pkg:pypi/trl@1.0.0"}, 3, None]}, {"trl": "1.0.0"}),
        (
            {"bomFormat": "CycloneDX", "components": [{"type": "library", "name": "trl", "version": "1.0"}]},
            {"trl": "1.0"},
        ),
        ({"bomFormat": "CycloneDX", "components": [{"type": "library", "name": "a b", "version": "1.0"}]}, {}),
        # A package of the distribution, and one in two versions.
        ({"bomFormat": "CycloneDX", "components": [{"purl": "pkg:deb/debian/accelerate@1"}]}, {}),
        ({"bomFormat": "CycloneDX", "components": [{"purl": f"pkg:pypi/torch@{n}"} for n in (1, 2)]}, {}),
        ({"bomFormat": "CycloneDX", "components": [{"purl": {}, "externalRefs": 5, "components": "x"}, []]}, {}),
        ({"components": []}, None),
        ([], None),
    ],
)
def test_the_python_packages_of_an_sbom_are_read(sbom: Any, expected: Any) -> None:
    assert of_sbom(sbom) == expected


@pytest.mark.parametrize("order", [1, -1])
def test_the_glob_that_says_most_about_an_image_counts(order: int) -> None:
    software = (("ghcr.io/*", (("torch", "2.6"),)), ("ghcr.io/acme/train", (("torch", "2.7"),)))[::order]
    known = {package: version for package, version, _ in of_image("ghcr.io/acme/train:3@sha256:ab", software)}
    assert known == {"torch": "2.7"}


JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: a, namespace: ml}}
spec:
  runtimeRef: {{name: torch-distributed}}
  trainer: {{numNodes: 1, image: "ghcr.io/acme/train:1", command: [bash, -c, {command}]}}
"""
SBOM = {"bomFormat": "CycloneDX", "components": [{"purl": "pkg:pypi/transformers@5.3.0"}]}


@pytest.mark.parametrize(
    ("software", "sbom", "code", "expected"),
    [
        ('{"ghcr.io/acme/*": {transformers: "5.3"}}', "", 0, "transformers 5.3, as trainc.yaml says"),
        ('{"ghcr.io/acme/*": a.json}', json.dumps(SBOM), 0, "transformers 5.3.0, as trainc.yaml says"),
        ('{"ghcr.io/other/*": {transformers: "5.3"}}', "", 0, "no job here has an image like ghcr.io/other/*"),
        ('{"ghcr.io/acme/*": {transformers: 5.10}}', "", 1, 'write the version in quotes, such as "5.10"'),
        ('{"ghcr.io/acme/*": a.json}', "", 1, "trainc.yaml:3:12: error"),
        ('{"ghcr.io/acme/*": a.json}', "[" * 100_000, 1, "a.json:1:1: error"),
        ('{"ghcr.io/acme/*": a.json}', "\x00\udcff", 1, "a.json:1:1: error"),
        ('{"ghcr.io/acme/*": ../../a.json}', "", 1, "is outside the repository"),
        ('{"ghcr.io/acme/*": {}}', "", 1, "software"),
        ("[a]", "", 1, "software"),
    ],
)
def test_trainc_yaml_names_versions_or_an_sbom(
    software: str, sbom: str, code: int, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "job.yaml").write_text(JOB.format(command=json.dumps(OLD)))
    (tmp_path / "trainc.yaml").write_text(f'release: "2.3"\nsources: [.]\nsoftware: {software}\n')
    if sbom:
        (tmp_path / "a.json").write_bytes(sbom.encode("utf-8", "surrogateescape"))
    result = run("check")
    assert result.status == code, result.stderr
    text = result.stdout + result.stderr
    assert expected in text
    assert ("ghcr.io/other" not in software) == ("SettingRefused" in text or code == 1)
    assert "skipped 1 file" not in text  # An SBOM is no input.
