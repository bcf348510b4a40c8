"""A compile option is one row: a made-up one works in every place where users set options, and only its use is more code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from made_up import Edits, committed, run_all
from tables import cases

# The option: a field, and the row that says what it is called, what it may be and where it is explained.
OPTION: Edits = {
    "compiler/trainc/options.py": [
        ("    limits: Limits = field", '    cost_center: str = "none"\n    limits: Limits = field'),
        (
            "SETTINGS: tuple[Setting, ...] = (\n",
            'SETTINGS: tuple[Setting, ...] = (\n    Setting("cost_center", "who pays for a job", "delivery", choices=("none", "lab")),\n',
        ),
    ],
}
# The code that uses it, here for an annotation.
DELIVER = '    if options.delivery == "argocd":'
ANNOTATE = '    manifests = [with_annotations(each, {"pays": options.cost_center}) for each in manifests]'
USE: Edits = {"compiler/trainc/emit/shaping.py": [(DELIVER, f"{ANNOTATE}\n{DELIVER}")]}
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec: {runtimeRef: {name: torch-distributed}}
"""
HEAD = "apiVersion: trainc/v1alpha1\nkind: Overlay\n"
PARAMETER = [{"name": "cost-center", "string": "lab"}]
# Where users set it: the words after `build`, files, and variables of Argo CD.
PLACES: Mapping[str, tuple[list[str], dict[str, str], dict[str, str]]] = {
    "a flag": (["build", "job.yaml", "--cost-center", "lab"], {}, {}),
    "trainc.yaml": (["build", "job.yaml"], {"trainc.yaml": "costCenter: lab\n"}, {}),
    "an environment": (
        ["build", "job.yaml", "--env", "dev"],
        {"trainc.yaml": "costCenter: none\nenvironments: {dev: {costCenter: lab}}\n"},
        {},
    ),
    "an overlay": (
        ["build", "job.yaml", "--overlay", "dev"],
        {"trainc.yaml": "costCenter: none\n", "dev/overlay.yaml": f"{HEAD}costCenter: lab\n"},
        {},
    ),
    "a parameter of Argo CD": (["cmp", "generate"], {}, {"ARGOCD_APP_PARAMETERS": json.dumps(PARAMETER)}),
    "a variable of Argo CD": (["cmp", "generate"], {}, {"ARGOCD_ENV_COST_CENTER": "lab"}),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return committed(tmp_path_factory.mktemp("made-up"), {**OPTION, **USE})


def run(
    source: Path, folder: Path, words: list[str], files: Mapping[str, str], variables: Mapping[str, str]
) -> tuple[int, str, str]:
    for name, text in {"job.yaml": JOB, **files}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        return run_all(source, [words], folder)[0]


@pytest.mark.parametrize("place", PLACES)
def test_it_can_be_set_in(place: str, source: Path, tmp_path: Path) -> None:
    status, stdout, stderr = run(source, tmp_path, *PLACES[place])
    assert (status, stdout.count("pays: lab"), stdout.count("pays: none")) == (0, 1, 0), stderr


def test_its_default_is_that_of_the_field(source: Path, tmp_path: Path) -> None:
    assert run(source, tmp_path, ["build", "job.yaml"], {}, {})[1].count("pays: none") == 1


@cases("words", "files", "variables", "expected")
def test_another_value_is_refused_in(
    words: list[str], files: dict[str, str], variables: dict[str, str], expected: str, source: Path, tmp_path: Path
) -> None:
    status, stdout, stderr = run(source, tmp_path, words, files, variables)
    assert (status, stdout) == (1, "")
    assert expected in stderr
    assert "none" in stderr, "the allowed values are named"


def test_another_value_of_the_flag_is_wrong_usage(source: Path, tmp_path: Path) -> None:
    assert run(source, tmp_path, ["build", "job.yaml", "--cost-center", "me"], {}, {})[:2] == (2, "")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["help", "delivery"], "--cost-center {none,lab}\n                        who pays for a job (default: none)"),
        (["schema", "trainc.yaml"], '"description": "Who pays for a job.",'),
        (["schema", "Overlay"], '"description": "Who pays for a job.",'),
        (["cmp", "parameters"], '"tooltip": "who pays for a job"'),
        (["cmp", "--print", "plugin.yaml"], "tooltip: who pays for a job"),
    ],
)
def test_it_is_described_by(words: list[str], expected: str, source: Path, tmp_path: Path) -> None:
    status, stdout, _ = run(source, tmp_path, words, {}, {})
    assert (status, expected in stdout) == (0, True)
