"""`--base`: what a change of trainc.yaml loosens is said first, and what administrators decide is judged by the base too."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from commands import run
from hostile_inputs import policy
from repositories import JOB, commit, edit, git, job, queue, runtime, starting_with, write
from tables import cases

SETTINGS = """\
release: "2.3"
sources: [jobs]
runtimes: [runtimes]
output: rendered
images: {pinned: true}
"""
EXCEPTION = "rules: {ImageNotPinned: {level: ignore, reason: the registry is ours}}\n"
STRICTER = 'rules: {"runtimes/**": {ImageNotPinned: error}, ImageNotPinned: {level: ignore, reason: ours}}\n'


@starting_with
def _repository() -> None:
    git("init", "-q", "-b", "main")
    write("trainc.yaml", SETTINGS)
    runtime()
    job("a", "llm")


def on_branch() -> None:
    commit("main")
    git("checkout", "-q", "-b", "work")


@cases("before", "after", "is_silenced")
@pytest.mark.parametrize("command", ["check", "build"])
def test_what_administrators_decide_is_judged_by_base_and_change(
    before: Any, after: Any, is_silenced: Any, command: str
) -> None:
    write("trainc.yaml", SETTINGS + before)
    on_branch()
    write("trainc.yaml", SETTINGS + after)
    words = ["check"] if command == "check" else ["build", "--check"]
    result = run(*words, "--base", "main")
    assert ("error[ImageNotPinned]" in result.stderr) is not is_silenced, result.stderr
    # Without a base, the file is believed.
    assert ("error[ImageNotPinned]" in run(*words).stderr) is (not after or after == STRICTER)


def test_rules_of_other_codes_are_those_of_the_change() -> None:
    write("trainc.yaml", SETTINGS.replace("images: {pinned: true}\n", "rules: {MovingImageTag: error}\n"))
    on_branch()
    edit("trainc.yaml", "MovingImageTag: error", "MovingImageTag: ignore")
    assert run("check", "--base", "main").status == 0


def test_what_is_loosened_comes_first_but_for_errors() -> None:
    on_branch()
    write("trainc.yaml", SETTINGS.replace("true", "false") + 'exclude: ["jobs/b/**"]\n')
    write("jobs/b/notes.yaml", "of: b\n")
    edit("jobs/a/llm.yaml", "numNodes", "numNods")
    result = run("check", "--base", "main")
    assert result.status == 1
    lines = [
        line
        for line in result.stderr.splitlines()
        if "[" in line.partition(": ")[0] or "info[" in line or "error[" in line
    ]
    exclude = "since main: `exclude`: Files that match jobs/b/** are no longer read"
    assert "error[UnknownField]" in lines[0]
    assert lines[1] == "trainc.yaml:5:1: info[SettingsLoosened] since main: `images` need no longer be pinned"
    assert lines[2] == f"trainc.yaml:6:1: info[SettingsLoosened] {exclude}"
    found = json.loads(run("check", "--base", "main", "--format", "json").stdout)["diagnostics"]
    assert [one["code"] for one in found] == ["SettingsLoosened", "SettingsLoosened", "UnknownField"]
    annotations = run("check", "--base", "main", "--format", "github").stdout.splitlines()
    assert annotations[0].startswith("::error file=jobs/a/llm.yaml,line=6")
    assert annotations[1].startswith("::notice file=trainc.yaml,line=5")


def test_a_glob_of_nothing_hides_no_loosening() -> None:
    on_branch()
    words = ["images", "need", "no", "longer", "be", "pinned", "since", "is"]
    write("trainc.yaml", SETTINGS.replace("true", "false") + f"exclude: {json.dumps(words)}\n")
    loosened = [line for line in run("check", "--base", "main").stderr.splitlines() if "[SettingsLoosened]" in line]
    assert loosened == ["trainc.yaml:5:1: info[SettingsLoosened] since main: `images` need no longer be pinned"]


HARMLESS = {
    "nothing": lambda: None,
    "a stricter setting": lambda: edit(
        "trainc.yaml", "pinned: true", "pinned: true, registries: [registry.example.com]"
    ),
    "a comment": lambda: edit("trainc.yaml", "release", "# ours\nrelease"),
    "a job": lambda: edit("jobs/a/llm.yaml", "numNodes: 2", "numNodes: 4"),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_nothing_is_loosened_by(name: str) -> None:
    write("trainc.yaml", SETTINGS + EXCEPTION)
    on_branch()
    HARMLESS[name]()
    assert "SettingsLoosened" not in run("check", "--base", "main").stderr


def test_an_environment_that_is_gone_is_named() -> None:
    environments = "environments:\n  dev: {output: rendered/dev}\n  prod: {output: rendered/prod}\n"
    write("trainc.yaml", SETTINGS.replace("output: rendered\n", environments))
    on_branch()
    edit("trainc.yaml", "  prod: {output: rendered/prod}\n", "")
    expected = "`environments`: prod is gone, and no longer compiled"
    assert expected in run("check", "--base", "main").stderr
    assert expected in run("diff", "git:main").stdout.replace("\n    ", " ")


def test_a_plugin_that_is_gone_is_named() -> None:
    write("trainc.yaml", SETTINGS + "plugins: [acme]\n")
    on_branch()
    write("trainc.yaml", SETTINGS)
    assert "`plugins`: What acme finds is no longer reported" in run("check", "--base", "main").stderr


def test_a_base_that_cannot_be_read_is_an_error_with_the_command_that_fetches_it() -> None:
    on_branch()
    result = run("check", "--base", "origin/main")
    assert result.status == 1
    assert "error[NoBase]" in result.stderr
    assert "run `git fetch origin main:refs/remotes/origin/main`" in result.stderr
    assert "NoBase" not in run("check", "--base", "none").stderr


def test_a_base_without_trainc_yaml_excuses_nothing() -> None:
    Path("trainc.yaml").unlink()
    on_branch()
    write("trainc.yaml", SETTINGS + EXCEPTION)
    result = run("check", "--base", "main")
    assert "error[ImageNotPinned]" in result.stderr
    assert "SettingsLoosened" not in result.stderr


def test_settings_that_are_gone_are_said() -> None:
    on_branch()
    Path("trainc.yaml").unlink()
    assert (
        "since main: trainc.yaml is gone"
        in run("check", "--base", "main", "jobs", "runtimes", "--release", "2.3").stderr
    )


def test_in_a_folder_of_a_monorepo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ml").mkdir()
    for name in ("trainc.yaml", "jobs", "runtimes"):
        (tmp_path / name).rename(tmp_path / "ml" / name)
    on_branch()
    write("ml/trainc.yaml", SETTINGS + EXCEPTION)
    monkeypatch.chdir(tmp_path / "ml")
    for words in ([], ["--config", "trainc.yaml"]):
        assert "error[ImageNotPinned]" in run("check", "--base", "main", *words).stderr
    monkeypatch.chdir(tmp_path)
    result = run("check", "--base", "main", "--config", "ml/trainc.yaml")
    assert "error[ImageNotPinned]" in result.stderr
    assert "SettingsLoosened" in result.stderr


POLICY = policy("p", "has(object.metadata.labels) && 'team' in object.metadata.labels")


@pytest.mark.parametrize("text", [POLICY.replace("[Deny]", "[Audit]"), "", None], ids=["audits", "empty", "gone"])
@pytest.mark.parametrize("settings", ["policies: [policies]\n", ""], ids=["named", "not named"])
def test_the_policies_of_a_change_do_not_judge_it_alone(text: str | None, settings: str) -> None:
    own = SETTINGS.replace("images: {pinned: true}\n", "")
    write("trainc.yaml", f"{own}policies: [policies]\n")
    write("policies/p.yaml", POLICY)
    on_branch()
    job("a", "new")
    write("trainc.yaml", own + settings)
    write("policies/p.yaml", text or "")
    if text is None:
        Path("policies/p.yaml").unlink()
    assert "error[PolicyDenied]" in run("check", "--base", "main").stderr


@pytest.mark.parametrize("loosened", ["", "namespaces: {'jobs/a/**': [a, team-b]}", "images: {pinned: false}"])
def test_the_namespaces_and_registries_of_a_change_do_not_judge_it_alone(loosened: str) -> None:
    own = SETTINGS.replace("images: {pinned: true}\n", "")
    write("trainc.yaml", f"{own}namespaces: {{'jobs/a/**': [team-a]}}\nimages: {{registries: [trusted.example]}}\n")
    on_branch()
    write("trainc.yaml", f"{own}{loosened}\n")
    write("jobs/a/new.yaml", JOB.replace("NAME", "new").replace("TEAM", "team-b").replace("RUNTIME", "torch-h100"))
    said = run("check", "--base", "main").stderr
    assert "error[ForeignNamespace]" in said
    assert "error[RegistryNotAllowed]" in said


@pytest.mark.parametrize("shape", ["5", "[{a: b}]", "{Deny: 1}", "[[Deny]]", "text"])
@pytest.mark.parametrize("field", ["validations", "validationActions", "failurePolicy"])
@pytest.mark.parametrize("at_base", [True, False])
def test_rules_of_any_shape_are_findings(field: str, shape: str, at_base: bool) -> None:
    wrong = POLICY.replace("validations: [{expression", "failurePolicy: Fail\n  validations: [{expression")
    wrong = re.sub(rf"{field}: .*", f"{field}: {shape}", wrong).removesuffix("}\n") + "}\n" * (
        field == "validationActions"
    )
    write("trainc.yaml", f"{SETTINGS}policies: [policies]\n")
    write("policies/p.yaml", wrong if at_base else POLICY)
    on_branch()
    write("policies/p.yaml", POLICY if at_base else wrong)
    assert run("check", "--base", "main").status in (0, 1)


def test_a_parameter_may_have_the_name_of_a_field_that_only_refuses_more() -> None:
    limits = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits}\ndata: {validations: a}\n"
    write("trainc.yaml", f"{SETTINGS}policies: [policies]\n")
    write("policies/p.yaml", limits)
    on_branch()
    write("policies/p.yaml", limits.replace("validations: a", "validations: abc"))
    assert "data.validations is abc; it was a" in run("check", "--base", "main").stderr


def test_names_with_braces_are_said_as_they_are() -> None:
    own = SETTINGS.replace("images: {pinned: true}\n", "")
    write("trainc.yaml", own.replace("output: rendered", 'output: "rendered {0.__class__}"'))
    run("build")
    on_branch()
    edit("trainc.yaml", "rendered {0.__class__}", "rendered")
    assert "gets no change of its 1 job, and ends them" in run("check", "--base", "HEAD@{0}").stderr


@pytest.mark.parametrize("is_back", [True, False], ids=["returns to what it was", "changed in place"])
def test_a_file_that_nothing_compiles_again_meets_the_rules_of_the_base(is_back: bool) -> None:
    own = SETTINGS.replace("images: {pinned: true}\n", "policies: [policies]\nrebuild: changed-jobs\n")
    write("trainc.yaml", own)
    write("policies/p.yaml", "")
    run("build")
    commit("first")
    denied = "object.spec.replicatedJobs.all(j, j.template.spec.completions != 2)"
    if is_back:
        edit("jobs/a/llm.yaml", "numNodes: 2", "numNodes: 1")
        run("build")
    else:
        denied = "!('tier' in object.metadata.labels)"
    write("policies/p.yaml", policy("p", denied))
    on_branch()
    write("policies/p.yaml", policy("p", denied).replace("[Deny]", "[Audit]"))
    if is_back:
        edit("jobs/a/llm.yaml", "numNodes: 1", "numNodes: 2")
    else:
        edit("jobs/a/llm.yaml", "namespace: a", "namespace: a, labels: {tier: b}")
    edit(
        "runtimes/torch-h100.yaml", "value: WARN", "value: INFO"
    )  # Pending, so that the file differs from a new build.
    result = run("build", "--base", "main")
    assert "value: WARN" in Path("rendered/a/llm.yaml").read_text(), result.stderr
    assert "error[PolicyDenied]" in run("check", "--base", "main").stderr


def test_a_job_that_returns_to_its_size_meets_the_quota_of_the_base() -> None:
    write("trainc.yaml", SETTINGS.replace("images: {pinned: true}\n", "cluster: cluster\nrebuild: changed-jobs\n"))
    write("cluster/queues.yaml", queue(16, "a"))
    edit("jobs/a/llm.yaml", "namespace: a", "namespace: a, labels: {kueue.x-k8s.io/queue-name: main}")
    run("build")
    commit("two nodes")
    edit("jobs/a/llm.yaml", "numNodes: 2", "numNodes: 1")
    edit("cluster/queues.yaml", "nominalQuota: 16", "nominalQuota: 8")
    run("build")
    on_branch()
    edit("jobs/a/llm.yaml", "numNodes: 1", "numNodes: 2")
    edit("cluster/queues.yaml", "nominalQuota: 8", "nominalQuota: 16")
    edit("runtimes/torch-h100.yaml", "value: WARN", "value: INFO")
    run("build")
    assert "value: WARN" in Path("rendered/a/llm.yaml").read_text()
    result = run("check", "--base", "main")
    assert "so says `cluster` of the base" in result.stderr
    assert result.status == 1
