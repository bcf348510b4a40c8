"""Roll-outs: in waves of so many GPUs, and by what the cluster was doing with each job, from the dump that CI publishes."""

from __future__ import annotations

import gzip
import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import run
from repositories import SETTINGS, branch, build, checked, commit, edit, git, job, read, runtime, starting_with, write

RECORDED = Path(__file__).parents[1] / "recorded" / "live.jsonl.gz"
NOW = datetime.now(UTC)


@starting_with
def _repository() -> None:
    """Four jobs with 16 GPUs each, whose runtime has changed since they were built."""
    git("init", "-q", "-b", "main")
    write("trainc.yaml", f"{SETTINGS}live: {{dump: live}}\n")
    runtime()
    for name in ("a", "b", "c", "d"):
        job("nlp", name)
    build()
    commit("first")
    edit("runtimes/torch-h100.yaml", "train:1", "train:2")
    build()
    commit("another image")


def rebuilt() -> str:
    """The jobs that have the new image."""
    return "".join(sorted(path.stem for path in Path("rendered/nlp").glob("*.yaml") if "train:2" in path.read_text()))


def recorded(state: str) -> dict[str, Any]:
    """A JobSet that a live cluster had in a state."""
    with gzip.open(RECORDED, "rt") as cases:
        for case in map(json.loads, cases):
            names = [each["name"] for each in case["expected"] if each["state"] == state]
            for live in case["dump"]["items"]:
                if (
                    live["kind"] == "JobSet"
                    and f"JobSet {live['metadata'].get('namespace')}/{live['metadata']['name']}" in names
                ):
                    return dict(live)
    raise AssertionError(state)


def dump(taken: datetime | None = NOW, **states: str) -> None:
    """Write a dump with the recorded state of each job."""
    objects = []
    for name, state in states.items():
        jobset = next(d for d in yaml.safe_load_all(read(f"rendered/nlp/{name}.yaml")) if d["kind"] == "JobSet")
        live = recorded(state)
        spec = {**live["spec"], "suspend": state == "suspended"}
        objects.append({**live, "metadata": jobset["metadata"], "spec": spec})
    write("live/dump.yaml", yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": objects}))
    if taken is not None:
        write("live/taken.yaml", f'takenAt: "{taken.isoformat()}"\n')


def test_a_wave_takes_jobs_in_order_up_to_a_number_of_gpus() -> None:
    result = build("--rebuild", "all", "--at-most", "40gpus")
    assert rebuilt() == "ab"
    assert "2 jobs with 32 GPUs built again; 2 jobs left for the next wave" in result.stderr
    # What is up to date counts nothing.
    assert "this was the last wave" in build("--rebuild", "all", "--at-most", "40").stderr
    assert rebuilt() == "abcd"
    assert "0 jobs with 0 GPUs" in build("--rebuild", "all", "--at-most", "40gpus").stderr


def test_a_job_above_the_limit_goes_alone() -> None:
    build("--rebuild", "all", "--at-most", "8gpus")
    assert rebuilt() == "a"


def test_a_refused_job_is_left_out_of_a_wave_and_listed() -> None:
    edit("jobs/nlp/a.yaml", "torch-h100", "torch-h1000")
    result = run("build", "--rebuild", "all", "--at-most", "40gpus")
    assert result.status == 1
    assert "RuntimeNotFound" in result.stderr
    assert "left out: nlp/a" in result.stderr
    assert rebuilt() == "bc"


@pytest.mark.parametrize(("state", "jobs"), [("running", "a"), ("finished", "bc"), ("waiting", "d")])
def test_jobs_are_built_again_by_their_state_in_a_recorded_dump(state: str, jobs: str) -> None:
    dump(a="running", b="succeeded", c="failed", d="suspended")
    build("--rebuild", state)
    assert rebuilt() == jobs


@pytest.mark.parametrize(
    ("taken", "why"),
    [(None, "has no document with `takenAt`"), (NOW - timedelta(hours=2), "is from ")],
)
def test_a_dump_of_which_nobody_knows_that_it_is_new_counts_for_nothing(taken: datetime | None, why: str) -> None:
    dump(taken, a="running")
    result = run("build", "--rebuild", "running")
    assert (result.status, rebuilt()) == (1, "")
    assert why in result.stderr
    edit("trainc.yaml", "dump: live", "dump: live, maxAge: 1d")
    assert run("build", "--rebuild", "running").status == (1 if taken is None else 0)


def test_a_dump_is_no_input() -> None:
    Path("live").mkdir()
    before = run("check", "--format", "json")
    dump(a="running", b="suspended")
    assert run("check", "--format", "json").stdout == before.stdout
    dump(a="running", b="succeeded")
    assert ("nlp/b" in before.stdout, "nlp/b" in run("check", "--format", "json").stdout) == (True, False)
    assert "skipped" not in run("check").stderr


def test_a_dump_is_in_the_repository() -> None:
    edit("trainc.yaml", "dump: live", "dump: ../live")
    result = run("check")
    assert result.status == 1
    assert "error[OutsideRoot] live.dump: ../live is outside the repository" in result.stderr


def test_a_finished_job_is_not_asked_whether_it_could_be_built_again() -> None:
    dump(a="succeeded", b="succeeded", c="succeeded", d="succeeded")
    commit("dump")
    branch("change")
    runtime("other")
    git("rm", "-q", "runtimes/torch-h100.yaml")
    commit("the runtime is gone")
    assert run("check", "--base", "main").status == 0
    assert checked().status == 0
    # One of which nobody knows when it was taken excuses nothing, and this is said.
    git("checkout", "-q", "main")
    git("rm", "-q", "live/taken.yaml")
    commit("when was it taken?")
    git("checkout", "-q", "change")
    assert "so it counts for nothing" in checked().stderr
    # The dump of the change itself excuses nothing, also where the base has none.
    for taken in (NOW, NOW + timedelta(days=3650)):
        git("checkout", "-q", "main")
        git("rm", "-q", "-r", "--ignore-unmatch", "live")
        git("commit", "-q", "--allow-empty", "-m", "no dump")
        git("checkout", "-q", "change")
        dump(taken, a="succeeded", b="succeeded", c="succeeded", d="succeeded")
        commit(f"dump of {taken}")
        assert run("check", "--base", "main").status == 1
        assert checked().status == 1
    git("checkout", "-q", "main")
    dump(NOW, a="running", b="running", c="running", d="running")
    commit("dump")
    git("checkout", "-q", "change")
    assert run("check", "--base", "main").status == 1
    assert "4 kept jobs could not be built again" in checked().stderr


def test_what_the_published_dump_has_are_states_and_never_drift() -> None:
    dump(a="running", b="succeeded", c="failed", d="suspended")
    text = yaml.safe_load(read("live/dump.yaml"))
    for jobset in text["items"]:
        jobset["spec"] = {"suspend": jobset["spec"]["suspend"]}
    write("live/dump.yaml", yaml.safe_dump(text))
    result = run("diff", "--live", "live/dump.yaml", "--format", "json")
    objects = [(each["object"], each["state"]) for each in json.loads(result.stdout)["live"]]
    assert objects == [("same", "running"), ("same", "succeeded"), ("same", "failed"), ("same", "suspended")]


def test_what_is_held_back_is_counted_with_the_exact_rebuild_and_what_it_leaves_behind() -> None:
    runtime("other")
    job("ads", "x", "other")
    assert "4 jobs kept as built (`trainc build --rebuild all` builds them again)" in build().stderr
    commit("another team")
    edit("runtimes/other.yaml", "registry.example.com/train:1", "mirror.example.com/train:1")
    build()
    about = run("check").stderr
    assert "4 jobs are kept as built" in about
    assert "help: `trainc build --rebuild 'nlp/*'` compiles them again\n" in about
    still = "1 kept job still pulls from registry.example.com"
    assert f"help: `trainc build --rebuild ads/x` compiles it again; {still}\n" in about
    assert f"(`trainc build --rebuild ads/x`; {still})" in " ".join(run("diff", "git:HEAD").stdout.split())
    build("--rebuild", "ads/*")
    assert rebuilt() == ""


def headline_of(base: str) -> str:
    return str(json.loads(run("diff", f"git:{base}", "--format", "json").stdout)["headline"])


def test_what_has_finished_neither_ends_nor_waits_in_the_headline() -> None:
    dump(a="succeeded", b="running", c="failed", d="running")
    commit("dump")
    branch("pull-request")
    notes = json.loads(run("diff", "git:main", "--format", "json").stdout)["notes"]
    assert any("2 jobs are kept as built" in note for note in notes), notes
    checking = run("check").stderr
    assert "this line has changed since: nlp/b, nlp/d" in checking
    assert "help: `trainc build --rebuild running` compiles them again" in checking
    assert run("report", "-o", "-").stdout.count("<td>finished</td>") == 2
    Path("jobs/nlp/a.yaml").unlink()
    build()
    assert headline_of("main") == "1 job that has finished is removed"
    Path("jobs/nlp/b.yaml").unlink()
    edit("jobs/nlp/c.yaml", "numNodes: 2", "numNodes: 3")
    build()
    assert headline_of("main") == "1 of 4 jobs ends, 16 GPUs; 1 has finished and runs again, 16 GPUs"


def test_a_finished_job_that_changes_in_place_takes_nothing_of_the_budget_and_one_that_waits_runs_nowhere() -> None:
    edit("trainc.yaml", "\nrebuild:", "\nbudgets: {'*': 9000}\nrebuild:")
    for name in "abcd":
        edit(f"jobs/nlp/{name}.yaml", "spec:", "spec:\n  activeDeadlineSeconds: 3600")
    build("--rebuild", "all")
    dump(a="succeeded", b="suspended", c="running")
    commit("dump")
    branch("pull-request")
    edit("jobs/nlp/a.yaml", "metadata: {", "metadata: {labels: {a: b}, ")
    build()
    said = run("diff", "git:main").stdout
    assert ("in-place" in said, "Budgets" in said, "it was" in said) == (True, False, False), said
    for name, nodes in (("b", 1), ("c", 3)):
        edit(f"jobs/nlp/{name}.yaml", "numNodes: 2", f"numNodes: {nodes}")
    build()
    said = " ".join(run("diff", "git:main").stdout.split())
    assert (said.count("is still running"), said.count("it waits and has not started")) == (1, 1), said


@pytest.mark.parametrize("how", ["folder", "link", "submodule"])
def test_a_dump_of_the_change_itself_finishes_nothing(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one behind a link or in a submodule, where the change has no YAML file of its own."""
    branch("pull-request")
    dump(a="succeeded")
    if how == "link":
        write("notes.txt", "---\n".join(map(read, ("live/taken.yaml", "live/dump.yaml"))))
        shutil.rmtree("live")
        Path("live").symlink_to("notes.txt")
    elif how == "submodule":
        monkeypatch.chdir("live")
        git("init", "-q")
        commit("dump")
        monkeypatch.chdir("..")
    Path("jobs/nlp/a.yaml").unlink()
    build()
    commit("removed")
    assert headline_of("main") == "1 of 4 jobs ends, 16 GPUs"


def test_an_old_dump_finishes_nothing() -> None:
    dump(NOW - timedelta(hours=3), a="succeeded")
    commit("dump")
    Path("jobs/nlp/a.yaml").unlink()
    build()
    assert headline_of("HEAD") == "1 of 4 jobs ends, 16 GPUs"
