"""`trainc explain`, `graph` and `schema` as commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest
from commands import run

from trainc.cli.arguments.schema import KINDS
from trainc.cli.schema import of_every_kind
from trainc.kube.releases import RELEASES
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents

CASES = Path(__file__).parents[1] / "cases"
JOB = str(CASES / "torch-llm-pretrain.yaml")
PINNED = ("--release", "2.3")


def test_a_field_is_explained_with_its_line() -> None:
    result = run("explain", JOB, "spec.replicatedJobs[node]...env[PET_NNODES].value", *PINNED)
    assert (result.status, result.stderr) == (0, "")
    assert "plugin Torch at EnforceMLPolicy" in result.stdout
    assert f"spec.trainer.numNodes = 16  {JOB}:15" in result.stdout
    assert "\x1b[" not in result.stdout


def test_options_may_stand_between_the_job_and_the_field() -> None:
    assert run("explain", JOB, *PINNED, "parallelism") == run("explain", JOB, "parallelism", *PINNED)


def test_colour_is_there_when_it_is_asked_for() -> None:
    assert "\x1b[33m" in run("explain", JOB, "parallelism", "--color", "always", *PINNED).stdout


def test_json_holds_every_field_of_every_object() -> None:
    result = run("explain", JOB, "--format", "json", *PINNED)
    document = json.loads(result.stdout)
    assert (document["apiVersion"], document["kind"]) == ("trainc/v1alpha1", "Explanation")
    assert [described["kind"] for described in document["objects"]] == ["PodGroup", "JobSet"]
    assert all(field["origins"] for described in document["objects"] for field in described["fields"])


@pytest.mark.parametrize(
    ("words", "status", "expected"),
    [
        ((JOB, "PET_NNODE"), 1, "no such field: PET_NNODE; did you mean env[PET_NNODES]"),
        ((JOB, "numNodes"), 1, "no such field: numNodes; FIELD is a field of the output; this input sets "),
        ((JOB, "numNodes"), 1, "completions, parallelism, env[PET_NNODES].value"),
        ((JOB, "spec[x"), 2, "cannot parse '[x'"),
        ((f"{JOB}#other",), 2, "there is no TrainJob other in the input; it has team-a/llm-pretrain"),
        ((f"{JOB}#team-b/llm-pretrain",), 2, "did you mean team-a/llm-pretrain?"),
        ((str(CASES / "absent.yaml"),), 1, "absent.yaml"),
    ],
)
def test_a_miss_says_what_there_is(words: tuple[str, ...], status: int, expected: str) -> None:
    result = run("explain", *words, *PINNED)
    assert (result.status, result.stdout) == (status, "")
    assert expected in result.stderr


@pytest.mark.parametrize("name", ["llm-pretrain", "team-a/llm-pretrain"])
def test_one_of_several_jobs_is_named_after_a_hash(name: str, tmp_path: Path) -> None:
    first = Path(JOB).read_text()
    second = first.partition("---\n")[0].replace("name: llm-pretrain", "name: other")
    (tmp_path / "jobs.yaml").write_text(f"{first}---\n{second}")
    refused = run("explain", str(tmp_path), *PINNED)
    assert (refused.status, "choose one with PATH#NAME: team-a/llm-pretrain, team-a/other" in refused.stderr) == (
        2,
        True,
    )
    assert run("explain", f"{tmp_path}#{name}", *PINNED).stdout.startswith("TrainJob team-a/llm-pretrain  ")


@pytest.mark.parametrize("command", ["explain", "graph", "run"])
def test_a_job_that_is_defined_twice_is_refused(command: str, tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(Path(JOB).read_text().partition("---\n")[0])
    result = run(command, str(tmp_path), *PINNED)
    assert (result.status, "DuplicateTrainJob" in result.stderr) == (1, True)


def test_the_job_may_come_from_stdin() -> None:
    assert run("explain", "-", "parallelism", *PINNED, stdin=Path(JOB).read_bytes()).status == 0


@pytest.mark.parametrize("form", ["text", "mermaid", "dot", "svg", "json"])
def test_every_form_of_the_picture_is_the_same_each_time(form: str) -> None:
    first = run("graph", JOB, "--format", form, *PINNED)
    assert (first.status, first.stderr) == (0, "")
    assert first.stdout == run("graph", JOB, "--format", form, *PINNED).stdout
    assert "llm-pretrain" in first.stdout


def test_without_the_extra_svg_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "svg", None)
    monkeypatch.delitem(sys.modules, "trainc.features.authoring.graph.drawing", raising=False)
    result = run("graph", JOB, "--format", "svg", *PINNED)
    assert (result.status, result.stdout) == (2, "")
    assert "pip install 'svg.py>=1.5'" in result.stderr


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_of_a_kind_is_one(kind: str, release: str) -> None:
    schema = json.loads(run("schema", kind, "--release", release).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == f"{kind} of Kubeflow Trainer {release}"


def test_the_schema_of_all_kinds_goes_by_the_kind() -> None:
    validator = jsonschema.Draft202012Validator(of_every_kind("2.3"))
    documents, _ = read_documents(Path(JOB).read_bytes(), JOB, Limits())
    assert [list(validator.iter_errors(document.data)) for document in documents] == [[], []]
    wrong = {**documents[0].data, "spec": {"runtimeRef": {"name": "rt"}, "traner": {}}}
    assert len(list(validator.iter_errors(wrong))) == 1
    assert list(validator.iter_errors({"apiVersion": "v1", "kind": "Pod"}))
