"""`make ecosystem`: two commits of trainc are run on folders of files, and the summary says how they differ."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from shown import ROOT

from scripts.ecosystem import COMMANDS, Checkout, Outcome, Outcomes, Summary, findings, slower_commands

SCRIPT = ROOT / "tools" / "scripts" / "ecosystem.py"
TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: mnist, namespace: team}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {image: mnist, numNodez: 2}
"""
V1_JOB = """\
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: jax}
spec:
  jaxReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers: [{name: jax, image: jax}]
"""
# A trainc that says the same of everything.
OTHER = """\
import os
import sys

def main(words):
    return 0

def run():
    if "--diff" in sys.argv:
        print("same")
    print("jobs.yaml:1:1: warning[Invented] an old finding", file=sys.stderr)
    os._exit(0)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two checkouts of a user's own, and a file that is no Kubernetes object."""
    for name, text in {"new/jobs.yaml": TRAINJOB, "old/job.yml": V1_JOB, "old/values.yaml": "a: 1\n"}.items():
        (tmp_path / "checkouts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "checkouts" / name).write_text(text, encoding="utf-8")
    return tmp_path / "checkouts"


def summary(folder: str | Path, before: Path) -> str:
    command = [sys.executable, str(SCRIPT), str(folder), "--before", str(before)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.xdist_group("ecosystem")
def test_a_trainc_does_not_differ_from_itself(folder: Path) -> None:
    text = summary(folder, ROOT)
    for heading in ("Crashes", "New", "Gone", "Worded differently", "Other exit statuses", "Other output"):
        assert f"\n## {heading}: 0\n" in text
    assert "\n| new | 1 | " in text
    assert "\n| old | 1 | " in text


@pytest.mark.slow
@pytest.mark.xdist_group("ecosystem")
def test_it_says_what_is_new_what_is_gone_and_what_is_written_instead(folder: Path, tmp_path: Path) -> None:
    package = tmp_path / "before" / "compiler" / "trainc" / "cli"
    package.mkdir(parents=True)
    (package / "main.py").write_text(OTHER, encoding="utf-8")
    (package.parent / "__init__.py").touch()
    text = summary(folder, tmp_path / "before")
    new, gone = text.split("## New")[1].split("## Gone")
    assert "**error[UnknownField]**, 1, from check, build, fits\n\n- new/jobs.yaml:6:27: spec.trainer.numNodez" in new
    assert "(help: did you mean numNodes?)" in new
    assert (
        "**warning[Invented]**, 2, from check, build, migrate, report, fits\n\n- new/jobs.yaml:1:1: an old finding"
        in gone
    )
    assert "- `check` new/jobs.yaml: 0 → 1\n" in text
    assert "-same\n+--- job.yml (now)\n++++ job.yml (migrated)\n" in text
    assert f"git clone https://github.com/kubernetes-sigs/jobset {folder}/kubernetes-sigs/jobset`\n" in text


def test_without_a_folder_it_is_skipped_and_says_what_it_could_have() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), ""], capture_output=True, text=True, check=True)
    assert done.stderr.startswith("skipped: TRAINC_ECOSYSTEM names no folder; it may have clones of kubeflow/trainer, ")
    assert done.stdout == ""


REPORT = """\
a.yaml:3:5: error[WrongType] spec.x: expected a number (4 errors)
  |
3 |     x: true
  help: write a number
./a.yaml:3:5: error[WrongType] spec.y: expected a number
trainc: info[SkippedDocument] skipped 2 documents
1 error in 1 file
"""


def test_findings_are_read_from_a_report_with_their_hints() -> None:
    assert findings(REPORT) == {
        ("a.yaml:3:5", "error[WrongType]"): " spec.x: expected a number (4 errors) (help: write a number)"
        " spec.y: expected a number",
        ("trainc", "info[SkippedDocument]"): " skipped 2 documents",
    }


def outcomes(seconds: float, status: int = 0, message: str = " spec: no") -> Outcomes:
    found = {("a.yaml:1:1", "error[Bad]"): message}
    return {(command, path): Outcome(status, found, "", seconds) for command in COMMANDS for path in ("a.yaml", ".")}


@pytest.mark.parametrize(
    ("before", "now", "slower"),
    [
        pytest.param(1.0, 2.0, True, id="twice as long is slower"),
        pytest.param(1.0, 1.2, False, id="a fifth may be chance"),
        pytest.param(0.01, 0.03, False, id="milliseconds are not counted"),
        pytest.param(2.0, 1.0, False, id="faster is not slower"),
    ],
)
def test_slower_is_by_a_share_and_by_seconds(before: float, now: float, slower: bool) -> None:
    assert slower_commands(outcomes(before), outcomes(now)) == ([*COMMANDS] if slower else [])


def text_of(before: Outcomes, now: Outcomes) -> tuple[str, Summary]:
    comparison = Summary()
    comparison.add(Checkout("repo", Path()), before, now, ["check"])
    return "\n".join(comparison.text("abc", [])), comparison


def test_another_wording_is_neither_new_nor_gone() -> None:
    text, _ = text_of(outcomes(1), outcomes(1, message=" spec: never"))
    assert "## New: 0\n\n## Gone: 0\n\n## Worded differently: 1\n" in text
    assert "- repo/a.yaml:1:1\n  - was: spec: no\n  - is: spec: never\n" in text
    assert "- `check` repo: 2.0 → 2.0 s\n" in text


@pytest.mark.parametrize(("status", "crashed"), [(0, False), (1, False), (2, False), (3, True), (-9, True)])
def test_a_defect_or_a_signal_is_a_crash(status: int, crashed: bool) -> None:
    text, comparison = text_of(outcomes(1), outcomes(1, status))
    assert bool(comparison.crashes) is crashed
    assert (f"- `check` repo/a.yaml: exit status {status}\n" in text) is crashed


def test_a_command_that_the_other_commit_does_not_have_is_not_compared() -> None:
    text, _ = text_of(outcomes(1, 2, message=" usage"), outcomes(1))
    assert "## New: 0" in text
    assert "## Other exit statuses: 0" in text
