"""Budgets of GPU-hours by namespace: what counts, who answers for it, and what reviewers are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run
from repositories import JOB, RUNTIME, SETTINGS, edit, git, starting_with, write
from tables import cases

from trainc.kube.bounds import bound_of
from trainc.kube.jobset import JobSet
from trainc.project.budgets import Account, Budget, accounts_of, no_deadline

BUDGETS = "budgets:\n  nlp: 64\n  ads: 100\n"
FULL = {"spec": {"containers": [{"name": "node", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}


def step(name: str, seconds: int | None, pods: int = 1, template: object = FULL) -> dict[str, object]:
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return {"name": name, "template": {"spec": spec if seconds is None else {**spec, "activeDeadlineSeconds": seconds}}}


@cases("steps", "labels", "hours", "gpu_hours")
def test_the_bound_of_a_job(
    steps: list[tuple[int | None, int, bool]], labels: dict[str, str], hours: float | None, gpu_hours: float | None
) -> None:
    jobs = [
        step(f"s{n}", seconds, pods, FULL if gpus else {"spec": {"containers": [{"name": "c"}]}})
        for n, (seconds, pods, gpus) in enumerate(steps)
    ]
    bound = bound_of(JobSet.read({"metadata": {"name": "j", "labels": labels}, "spec": {"replicatedJobs": jobs}}))
    assert (bound.hours, bound.gpu_hours) == (hours, gpu_hours)


def test_every_glob_that_matches_has_an_account() -> None:
    bound = bound_of(JobSet.read({"metadata": {"name": "j"}, "spec": {"replicatedJobs": [step("s", 3600)]}}))
    endless = bound_of(JobSet.read({"metadata": {"name": "k"}, "spec": {"replicatedJobs": [step("s", None)]}}))
    jobs = [("nlp", "a", bound), ("nlp-dev", "b", bound), ("ads", "c", endless)]
    found = list(accounts_of({"nlp*": Budget(10), "*": Budget(20), "cv": Budget(1)}, jobs))
    assert [account.sentence for account in found] == [
        "nlp*: at most 16 of 10 GPU-hours, 6 too many",
        "*: at most 16 of 20 GPU-hours, 4 are left, without 1 job that has no deadline",
        "cv: at most 0 of 1 GPU-hours, 1 are left",
    ]


def job(team: str, name: str, hours: float | None) -> None:
    deadline = "" if hours is None else f"\n  activeDeadlineSeconds: {int(hours * 3600)}"
    text = (
        JOB.replace("NAME", name)
        .replace("TEAM", team)
        .replace("RUNTIME", "torch-h100")
        .replace("spec:", f"spec:{deadline}", 1)
    )
    write(f"jobs/{team}/{name}.yaml", text.replace("numNodes: 2", "numNodes: 1"))


def commit() -> None:
    assert run("build").status == 0
    git("add", "--all")
    git("commit", "--quiet", "--message", "change")


@starting_with
def repository() -> None:
    """Job bert takes 32 of the 64 GPU-hours of nlp."""
    write("runtimes/torch-h100.yaml", RUNTIME.replace("NAME", "torch-h100"))
    write("trainc.yaml", SETTINGS + BUDGETS)
    job("nlp", "bert", 4)
    git("init", "--quiet")
    commit()


def found(*words: str) -> list[tuple[str, str, str, int]]:
    """The findings about budgets: severity, code and place."""
    report = json.loads(run("check", "--format", "json", *words).stdout)["diagnostics"]
    return [
        (d["severity"], d["code"], d["source"]["file"], d["source"]["line"])
        for d in report
        if d["code"] in ("BudgetExceeded", "DeadlineMissing")
    ]


OVER = ("BudgetExceeded", "trainc.yaml", 8)
CLIP, BERT = (("BudgetExceeded", f"jobs/nlp/{name}.yaml", 5) for name in ("clip", "bert"))


def test_within_the_budget_nothing_is_said_but_in_the_diff() -> None:
    job("nlp", "clip", 4)
    assert found() == found("--base", "HEAD") == []
    text = run("diff").stdout
    assert "nlp: at most 64 of 64 GPU-hours, 0 are left; it was 32." in text
    assert "ads" not in text
    assert "nlp: at most 64 of 64 GPU-hours" in run("diff", "--format", "markdown").stdout
    assert json.loads(run("diff", "--format", "json").stdout)["budgets"]
    html = run("report", "-o", "-").stdout
    assert "at most 64 of 64 GPU-hours, 0 are left" in html


@pytest.mark.parametrize("rebuild", ["changed-jobs", "all"])
def test_what_takes_more_than_there_is_answers_for_it(rebuild: str) -> None:
    if rebuild != "changed-jobs":
        edit("trainc.yaml", "rebuild: changed-jobs", f"rebuild: {rebuild}")
        commit()
    job("nlp", "clip", 4.5)
    assert found() == found("--base", "HEAD") == [("error", *CLIP)]
    said = run("build")
    assert said.status == 1
    assert "nlp may take 68 GPU-hours until their deadlines, of a budget of 64; new or larger: nlp/clip" in said.stderr
    assert "write a deadline of at most 4 hours (14400 s) for nlp/clip" in said.stderr
    assert "the most is for nlp/clip, nlp/bert" in said.stderr
    assert not Path("rendered/nlp/clip.yaml").exists()


def test_a_smaller_budget_stops_nobody_who_takes_no_more() -> None:
    edit("trainc.yaml", "nlp: 64", "nlp: 16")
    assert found() == found("--base", "HEAD") == [("info", *OVER)]
    commit()
    job("ads", "new", 1)
    job("nlp", "bert", 3)
    assert found() == [("info", *OVER)]
    assert run("build").status == 0
    job("nlp", "bert", 5)
    assert found() == [("error", *BERT)]


def test_a_name_that_is_like_that_of_a_job_or_a_namespace_is_named_at_its_line() -> None:
    write("trainc.yaml", SETTINGS + "frozen: [{jobs: [nlp/bret, old], reason: done}]\nbudgets: {nl: 64, other: 1}\n")
    report = run("check").stderr
    assert report.count("warning[SettingsNotUsed]") == 2
    assert "frozen[0].jobs[0]: nlp/bret is the name of nothing here" in report
    assert "help: did you mean nlp/bert?" in report
    assert "budgets.nl: nl is the name of nothing here" in report


def test_a_deadline_that_does_not_reach_a_job_is_not_called_missing() -> None:
    bounds = Account("nlp", Budget(1), 0, [], [("nlp", "a")])
    finding = no_deadline(bounds, ("nlp", "a"), {"spec": {"activeDeadlineSeconds": 9}}, ["node"])
    assert "its deadline does not reach the Jobs node" in finding.message


def test_leaving_out_the_namespace_is_no_way_around_a_budget() -> None:
    job("nlp", "clip", None)
    edit("jobs/nlp/clip.yaml", ", namespace: nlp", "")
    assert {(code, file) for _, code, file, _ in found()} == {("DeadlineMissing", "jobs/nlp/clip.yaml")}


def test_a_job_without_a_deadline_is_an_error_of_whoever_builds_it() -> None:
    edit("trainc.yaml", BUDGETS, "")
    job("nlp", "old", None)
    commit()
    write("trainc.yaml", SETTINGS + BUDGETS)
    assert found() == found("--base", "HEAD") == []
    job("nlp", "clip", None)
    at = ("error", "DeadlineMissing", "jobs/nlp/clip.yaml", 4)
    assert found() == found("--base", "HEAD") == [at]
    assert "without 2 jobs that have no deadline; it was 32" in run("diff").stdout
    edit("jobs/nlp/clip.yaml", "spec:", "spec: # trainc: ignore[DeadlineMissing] fine")
    assert found() == [at]
    edit("jobs/nlp/old.yaml", "torchrun", "torchrun2")
    job("nlp", "clip", 1)
    assert found() == [("error", "DeadlineMissing", "jobs/nlp/old.yaml", 4)]


def test_the_budgets_of_the_base_hold() -> None:
    edit("trainc.yaml", "nlp: 64", "nlp: 1000")
    job("nlp", "clip", 40)
    assert found() == []
    assert found("--base", "HEAD") == [("error", *CLIP)]
    report = run("check", "--base", "HEAD").stderr
    assert "`budgets`: nlp may take 1,000 GPU-hours; it was 64" in report
    assert "so say the rules of the base" in report
    assert "help: merge the change of the budget first; or write a deadline of at most 4 hours" in report
    edit("trainc.yaml", BUDGETS.replace("64", "1000"), "")
    assert found("--base", "HEAD") == [("error", *CLIP)]
    assert "`budgets`: nlp is gone" in run("check", "--base", "HEAD").stderr


def test_only_trainc_yaml_ignores_it_and_with_a_reason() -> None:
    job("nlp", "clip", 40)
    edit("trainc.yaml", "nlp: 64", "nlp: 64 # trainc: ignore[BudgetExceeded] fine")
    edit("jobs/nlp/clip.yaml", "  active", "  # trainc: ignore[BudgetExceeded] fine\n  active")
    assert [one[:3] for one in found()] == [("error", *CLIP[:2])]
    edit("trainc.yaml", BUDGETS[:8], "rules: {BudgetExceeded: {level: info, reason: until May}}\nbudgets:")
    assert [one[0] for one in found()] == ["info"]
    assert [one[0] for one in found("--base", "HEAD")] == ["error"]


def test_an_environment_has_its_own_budgets() -> None:
    write("trainc.yaml", SETTINGS.replace("output: rendered\n", "") + BUDGETS + ENVIRONMENTS)
    assert found() == [("error", "BudgetExceeded", "trainc.yaml", 13)]
    assert found("--env", "big") == []


ENVIRONMENTS = """\
environments:
  big: {output: big}
  small:
    output: small
    budgets: {nlp: 16}
"""


@pytest.mark.parametrize(("value", "words"), [("many", "write GPU-hours as a number"), ("-1", "use 0 or more")])
def test_a_budget_is_a_number(value: str, words: str) -> None:
    edit("trainc.yaml", "nlp: 64", f"nlp: {value}")
    assert words in run("check").stderr


def test_the_dump_of_the_base_knows_what_has_finished() -> None:
    edit("trainc.yaml", BUDGETS, BUDGETS + "live: {dump: dump, maxAge: 9999d}\n")
    write("dump/at.yaml", "takenAt: 2026-01-01T00:00:00Z\n")
    name = json.loads(run("build", "-o", "-", "--format", "json").stdout)["items"][-1]["metadata"]["name"]
    write("dump/jobs.json", json.dumps(finished(name)))
    commit()
    job("nlp", "clip", 8)
    assert found() == []
    assert "it was 0." in run("diff").stdout


def finished(name: str) -> object:
    condition = {"type": "Completed", "status": "True"}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "nlp"},
        "status": {"conditions": [condition], "terminalState": "Completed"},
    }
