"""trainc.yaml: where it is looked for, what it decides, and what is said if it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from commands import Result, run
from tables import cases

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
"""


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one job two folders down, and a folder elsewhere from which nothing of it is above."""
    for folder in ("repo/jobs/team", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repo")
    Path("jobs/team/llm.yaml").write_text(JOB, encoding="utf-8")
    return tmp_path / "repo"


def configure(text: str, folder: str = ".") -> None:
    Path(folder, "trainc.yaml").write_text(text, encoding="utf-8")


def image(result: Result) -> str:
    (jobset,) = yaml.safe_load_all(result.stdout)
    found: str = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["image"]
    return found


def test_it_is_found_above_the_input_wherever_trainc_runs(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure('release: "2.1"\n')
    expected = image(run("build"))
    assert "2.7.1" in expected
    for folder in (repository / "jobs" / "team", tmp_path / "elsewhere"):
        monkeypatch.chdir(folder)
        assert image(run("build", str(repository / "jobs" / "team" / "llm.yaml"))) == expected


def test_the_nearest_one_counts_and_none_is_merged_into_it(repository: Path) -> None:
    configure('release: "2.1"\nsemantics: controller\n')
    configure('release: "2.2"\n', "jobs")
    result = run("build", "jobs/team")
    assert "2.10.0" in image(result)
    assert "sync-wave" in result.stdout


def test_an_argument_wins(repository: Path) -> None:
    configure('release: "2.1"\nsemantics: controller\n')
    result = run("build", "--release", "2.3", "--semantics", "gitops")
    assert "2.13.0" in image(result)
    assert "sync-wave" in result.stdout


def test_another_file_can_be_named(repository: Path) -> None:
    configure('release: "2.1"\n')
    Path("other.yaml").write_text('release: "2.2"\n', encoding="utf-8")
    assert "2.10.0" in image(run("build", "jobs", "--config", "other.yaml"))
    assert "name the file: --config ./trainc.yaml" in run("build", "jobs", "--config", ".").stderr
    missing = run("build", "jobs", "--config", "missing.yaml")
    assert missing.status == 1
    assert "error[InvalidConfiguration] missing.yaml cannot be read: no such file or directory" in missing.stderr


def test_paths_in_it_lead_from_its_own_folder(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("platform").mkdir()
    configure('release: "2.3"\nsources: [jobs]\nruntimes: [platform]\noutput: rendered\n')
    monkeypatch.chdir(repository / "jobs")
    result = run("build")
    assert (result.status, result.stderr) == (0, "../rendered: 1 file created\n")
    assert (repository / "rendered" / "team-a" / "llm.yaml").exists()
    assert run("build", "--check").status == 0
    assert "name: llm" in run("build", "-o", "-").stdout


def test_it_is_not_a_document_of_the_input(repository: Path) -> None:
    configure('release: "2.3"\n')
    assert run("build").stderr == ""


@cases("text", "expected")
def test_what_is_wrong_with_it_is_reported_and_nothing_is_built(text: str, expected: str) -> None:
    configure(text)
    result = run("build", "jobs")
    assert (result.status, result.stdout) == (1, "")
    assert expected in result.stderr


def test_everything_wrong_with_it_is_reported_at_once() -> None:
    configure("relase: '2.3'\nsemantics: git\noutput: ''\n")
    assert run("build", "jobs").stderr.count("error[InvalidConfiguration]") == 3


def test_an_empty_one_decides_nothing() -> None:
    configure("# nothing yet\n")
    assert run("build", "jobs").status == 0


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ("runtimes: [runtimez]", "trainc.yaml:3:12"),
        ("sources: [jobs, runtimez]", "trainc.yaml:3:17"),
        ("overlay: runtimez", "trainc.yaml:3:1"),
        ("cluster: runtimez", "trainc.yaml:3:1"),
        ("policies: [runtimez]", "trainc.yaml:3:12"),
        ("environments: {a: {runtimes: [runtimez]}}", "trainc.yaml:3:31"),
    ],
)
def test_a_path_that_does_not_exist_is_reported_where_it_is_written(settings: str, place: str) -> None:
    Path("runtimes").mkdir()
    configure(f'release: "2.3"\n\n{settings}\n')
    result = run("check")
    assert f"{place}: error[NoSuchPath] runtimez does not exist\n" in result.stderr
    assert "did you mean runtimes?" in result.stderr
