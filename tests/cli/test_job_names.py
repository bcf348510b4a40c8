"""From what stands in an alert back to git: `explain` and `graph` by JobSet, pod, rendered file and revision."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Result, run
from repositories import SETTINGS, build, commit, edit, git, job, read, runtime, starting_with, write
from tables import cases

from trainc.cli.one_job import pod_of

LLM, SOURCE = "rendered/nlp/llm.yaml", "jobs/nlp/llm.yaml"


@starting_with
def repository() -> None:
    git("init", "-q", "-b", "main")
    write("trainc.yaml", SETTINGS)
    runtime()
    job("nlp", "llm")
    job("nlp", "llm-node")
    job("ads", "bert")
    build()
    commit("jobs")


def jobset(file: str = LLM) -> str:
    (name,) = {line.removeprefix("  name: ") for line in read(file).splitlines() if line.startswith("  name: ")}
    return name


def asked(word: str, *words: str) -> Result:
    """What `graph` and `explain` say; both find the same."""
    drawn = run("graph", word, *words)
    explained = run("explain", word, "parallelism", *words)
    assert drawn.status == explained.status
    assert drawn.stderr.splitlines()[1:] == explained.stderr.replace("trainc explain", "trainc graph").splitlines()[1:]
    return drawn


@pytest.mark.parametrize("word", ["{hashed}", "nlp/{hashed}", "llm", "nlp/llm", LLM, "git:HEAD:jobs/nlp/llm.yaml"])
def test_a_job_is_found_by_every_name_that_it_has(word: str) -> None:
    result = asked(word.format(hashed=jobset()))
    assert result.stdout.startswith(f"JobSet nlp/{jobset()}  2 pods")


@pytest.mark.parametrize("random", ["", "-x7k2p"])
@pytest.mark.parametrize("space", ["", "nlp/"])
def test_a_pod_leads_to_its_job_step_index_and_ranks(space: str, random: str) -> None:
    name = f"{jobset()}-node-0-1{random}"
    first, second = asked(space + name).stdout.splitlines()[:2]
    assert first == f"pod {name}: step node, pod 1, ranks 8 to 15 of 16"
    assert second.startswith(f"JobSet nlp/{jobset()}")
    assert run("explain", name, "parallelism").stdout.startswith(first)


@pytest.mark.parametrize("command", ["graph", "explain"])
def test_a_pod_is_in_json_too(command: str) -> None:
    name = f"{jobset()}-node-0-1-x7k2p"
    found = json.loads(run(command, name, "--format", "json").stdout)
    expected = {"name": name, "step": "node", "replica": 0, "number": 1, "ranks": "ranks 8 to 15 of 16"}
    assert found["pod"] == expected
    assert "pod" not in json.loads(run(command, jobset(), "--format", "json").stdout)


def test_a_pod_of_a_job_whose_name_begins_like_another_leads_to_that_job() -> None:
    name = jobset("rendered/nlp/llm-node.yaml")
    assert f"JobSet nlp/{name}" in asked(f"{name}-node-0-0-abcde").stdout


def test_a_pod_of_an_earlier_build_says_so() -> None:
    before = jobset()
    edit(SOURCE, "numNodes: 2", "numNodes: 4")
    build()
    lines = asked(f"{before}-node-0-1-abcde").stdout.splitlines()
    assert lines[1] == f"{before} is of another build of this job; git has {jobset()}"
    assert asked(f"git:HEAD:{LLM}").stdout.startswith(f"JobSet nlp/{before}")


@cases("word")
def test_what_no_job_has_is_not_found(word: str) -> None:
    result = asked(word.format(hashed=jobset()))
    assert result.status == 2
    assert "there is no " in result.stderr


def test_a_path_that_exists_wins_over_a_name() -> None:
    write("llm", read("jobs/ads/bert.yaml"))
    Path("llm-node").mkdir()
    write("llm-node/job.yaml", read("jobs/ads/bert.yaml"))
    assert "JobSet ads/bert" in run("graph", "llm-node").stdout
    assert "JobSet nlp/llm" not in run("graph", "llm").stdout


@pytest.mark.parametrize("word", ["git:", "git:HEAD", "git:-x:jobs", "git:HEAD:"])
def test_a_revision_needs_a_path(word: str) -> None:
    assert run("graph", word).status == 2


def test_a_revision_or_a_path_in_it_that_is_not_there_is_an_error() -> None:
    assert run("graph", "git:nowhere:jobs").status == 1
    assert run("graph", "git:HEAD:absent.yaml").status == 1
    assert run("graph", "git:HEAD:jobs#nlp/llm").status == 0


def test_an_environment_is_found_by_the_jobset_that_it_rendered() -> None:
    text = read("trainc.yaml").replace("output: rendered\n", "")
    environments = "environments:\n  dev: {output: rendered/dev}\n  prod: {output: rendered/prod, nameHash: false}\n"
    write("trainc.yaml", text + environments)
    build()
    name = jobset("rendered/dev/nlp/llm.yaml")
    assert f"JobSet nlp/{name}" in asked(f"{name}-node-0-0").stdout
    assert asked("rendered/prod/nlp/llm.yaml").stdout.startswith("JobSet nlp/llm ")
    result = asked("llm-node-0-0-abcde")
    assert (result.status, "llm-node-0-0-abcde: step node" in result.stdout) == (0, True)


def test_a_rendered_file_without_settings_names_the_source_that_it_needs() -> None:
    Path("trainc.yaml").unlink()
    assert run("build", "jobs", "--runtimes", "runtimes", "-o", "out").status == 0
    assert "llm.yaml does not exist" in run("graph", "out/nlp/llm.yaml", "--runtimes", "runtimes").stderr


def pods_of(replicas: int, name: str) -> tuple[int, int] | None:
    jobs = [{"name": "node", "replicas": replicas, "template": {"spec": {"completions": 4}}}]
    found = pod_of([{"kind": "JobSet", "spec": {"replicatedJobs": jobs}}], "a" * 52, name)
    return None if found is None else (found.replica, found.number)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (f"{'a' * 52}-node-7-3-abcde", (7, 3)),
        (f"{'a' * 52}-no-3-abcde", (0, 3)),
        (f"{'a' * 52}-node-07-3-abcde", None),
        (f"{'a' * 52}-node-2000000000-3-abcde", None),
        (f"{'a' * 52}-node-7-4-abcde", None),
        (f"{'a' * 52}-node-{'9' * 5000}-3-abcde", None),
    ],
)
def test_a_pod_is_found_by_its_numbers_and_not_by_trying_them(name: str, found: tuple[int, int] | None) -> None:
    assert pods_of(1_900_000_000, name) == found
