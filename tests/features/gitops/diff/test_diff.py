"""`trainc diff`: what its words stand for, what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import Result, run
from tables import cases

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, image: example.com/train:1}
"""
SETTINGS = 'release: "2.3"\nsources: [jobs]\noutput: out\n'
CHANGED = "~ parallelism: 2 → 4"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one job of two nodes, built, and the same job with four in the sources."""
    monkeypatch.chdir(tmp_path)
    Path("jobs").mkdir()
    Path("jobs/llm.yaml").write_text(JOB)
    Path("trainc.yaml").write_text(SETTINGS)
    assert run("build", "-q").status == 0
    Path("jobs/llm.yaml").write_text(JOB.replace("numNodes: 2", "numNodes: 4"))
    return tmp_path


@pytest.fixture
def repository(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder under git; the commit holds the job of two nodes."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    later = Path("jobs/llm.yaml").read_text()
    Path("jobs/llm.yaml").write_text(JOB)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *identity, *words], check=True, capture_output=True)
    Path("jobs/llm.yaml").write_text(later)
    return project


def heading(result: Result) -> str:
    assert result.status == 0, result.stderr
    return result.stdout.partition("\n")[0]


def test_two_folders_are_compared_as_they_are(project: Path) -> None:
    result = run("diff", "out", "jobs")
    assert heading(result) == "out → jobs"
    assert CHANGED in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["out"], "out → working tree"),
        (["jobs"], "out → jobs"),
        (["jobs/llm.yaml"], "out → jobs/llm.yaml"),
    ],
)
def test_one_input_is_compared_with_what_belongs_to_it(project: Path, words: list[str], expected: str) -> None:
    result = run("diff", *words)
    assert heading(result) == expected
    assert CHANGED in result.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "git:HEAD → working tree"),
        (["git:HEAD"], "git:HEAD → working tree"),
        (["git:HEAD:jobs"], "git:HEAD:jobs → jobs"),
        (["git:HEAD:out", "jobs"], "git:HEAD:out → jobs"),
        (["git:HEAD:./jobs/llm.yaml", "jobs/llm.yaml"], "git:HEAD:./jobs/llm.yaml → jobs/llm.yaml"),
    ],
)
def test_a_revision_is_compared_with_the_working_tree(repository: Path, words: list[str], expected: str) -> None:
    result = run("diff", *words)
    assert heading(result) == expected
    assert CHANGED in result.stdout


def test_a_path_of_a_revision_is_read_as_git_reads_it(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("jobs")
    assert heading(run("diff", "git:HEAD:out")) == "git:HEAD:out → ../out: no changes in 1 job"
    assert heading(run("diff", "git:HEAD:./llm.yaml")) == "git:HEAD:./llm.yaml → llm.yaml"
    assert CHANGED in run("diff").stdout


def test_a_revision_has_its_own_settings(repository: Path) -> None:
    Path("trainc.yaml").write_text(SETTINGS.replace("2.3", "2.0"))
    result = run("diff")
    assert heading(result) == "git:HEAD, Trainer 2.3 → working tree, Trainer 2.0"
    assert "groupName" in result.stdout


def test_runtimes_of_a_revision_are_those_of_the_revision(repository: Path) -> None:
    assert run("runtimes", "show", "torch-distributed").status == 0
    Path("runtimes").mkdir()
    text = run("runtimes", "show", "torch-distributed").stdout
    Path("runtimes/torch.yaml").write_text(text.replace("numNodes: 1", "numNodes: 7"))
    result = run("diff", "--runtimes", "runtimes", "git:HEAD:jobs", "git:HEAD:jobs")
    assert result.status == 1
    assert "runtimes does not exist (in git:HEAD)" in result.stderr


def test_an_empty_revision_is_not_an_error(repository: Path) -> None:
    shutil.rmtree("jobs")
    Path("elsewhere").mkdir()
    Path("elsewhere/llm.yaml").write_text(JOB)
    result = run("diff", "git:HEAD:./jobs", "elsewhere")
    assert "no changes" in heading(result)
    Path("jobs").mkdir()
    assert "removed: deleted" in run("diff").stdout


def test_one_input_under_two_releases(project: Path) -> None:
    result = run("diff", "--releases", "v2.0..2.3.1", "jobs")
    assert heading(result) == "jobs, Trainer 2.0 → jobs, Trainer 2.3"
    assert "+ spec.replicatedJobs[node].groupName: default" in result.stdout


def test_one_runtime_replaced_wherever_it_comes_from(project: Path) -> None:
    text = run("runtimes", "show", "torch-distributed").stdout
    Path("new.yaml").write_text(text.replace("name: torch-distributed", "name: torch-next"))
    assert "no changes" in run("diff", "--runtime", "torch-distributed=new.yaml").stdout
    Path("new.yaml").write_text(
        text.replace(
            "containers:",
            "hostNetwork: true\n                  dnsPolicy: ClusterFirstWithHostNet\n                  containers:",
        )
    )
    result = run("diff", "--runtime", "torch-distributed=new.yaml")
    assert heading(result) == "working tree → working tree, torch-distributed from new.yaml"
    assert "+ hostNetwork: true" in result.stdout
    assert "because of new.yaml:" in result.stdout


@cases("words")
def test_words_that_make_no_two_sides_are_wrong_usage(project: Path, words: list[str]) -> None:
    result = run("diff", *words)
    assert result.status == 2
    assert "trainc diff: error: " in result.stderr
    assert result.stdout == ""


def test_sources_alone_need_to_know_their_output(project: Path) -> None:
    Path("trainc.yaml").unlink()
    result = run("diff", "jobs")
    assert result.status == 2
    assert "name both sides" in result.stderr


def test_a_broken_job_is_reported_and_not_compared(repository: Path) -> None:
    Path("jobs/llm.yaml").write_text(JOB.replace("numNodes", "numNode"))
    Path("jobs/new.yaml").write_text(JOB.replace("name: llm", "name: new"))
    result = run("diff")
    assert result.status == 1
    assert "1 of 1 job is new" in result.stdout
    assert "In working tree, 1 job with errors is left out: team-a/llm." in result.stdout
    assert "jobs/llm.yaml:6:13: error[UnknownField]" in result.stderr
    comment = run("diff", "--format", "markdown")
    assert comment.status == 0
    assert "#### Not compared, because it does not compile in working tree" in comment.stdout
    assert "- `jobs/llm.yaml:6`: UnknownField (TrainJob `team-a/llm` `spec.trainer.numNode`)" in comment.stdout
    assert run("diff", "--format", "markdown", "--exit-code").status == 1


def test_a_comment_compares_the_rest_if_the_revision_is_broken(repository: Path) -> None:
    Path("jobs/llm.yaml").write_text(JOB.replace("numNodes", "numNode"))
    Path("jobs/good.yaml").write_text(JOB.replace("name: llm", "name: good"))
    identity = ["-c", "user.name=t", "-c", "user.email=t@x"]
    subprocess.run(["git", "add", "-A"], check=True)
    subprocess.run(["git", *identity, "commit", "-qm", "x"], check=True)
    Path("jobs/llm.yaml").write_text(JOB)
    Path("jobs/good.yaml").write_text(JOB.replace("name: llm", "name: good").replace("train:1", "train:2"))
    result = run("diff", "--format", "markdown")
    assert result.status == 0
    assert "**1 of 1 job is refused" in result.stdout
    assert "- `git:HEAD:jobs/llm.yaml:6`: UnknownField" in result.stdout
    assert "git:HEAD:jobs/llm.yaml:6:13: error[UnknownField]" in result.stderr


def test_jobs_of_a_file_or_runtime_that_cannot_be_read_are_neither_new_nor_gone(repository: Path) -> None:
    Path("jobs/good.yaml").write_text(JOB.replace("name: llm", "name: good"))
    for text in (JOB + "a: [", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: 1}\n"):
        Path("jobs/llm.yaml").write_text(text)
        result = run("diff", "--format", "markdown")
        assert result.status == 0
        assert "**1 of 1 job is new**" in result.stdout
        assert "- `jobs/llm.yaml:" in result.stdout


def test_there_is_a_comment_even_if_a_side_cannot_be_read_at_all(repository: Path) -> None:
    Path("trainc.yaml").write_text("release: 9")
    broken = run("diff", "--format", "markdown")
    assert broken.status == 0
    assert "- `trainc.yaml:1`: InvalidConfiguration" in broken.stdout
    missing = run("diff", "git:nowhere", "--format", "markdown")
    assert missing.status == 0
    assert "NoSuchRevision" in missing.stdout
    assert run("diff", "git:nowhere").status == 1


def test_a_revision_without_git_in_front_is_named(repository: Path) -> None:
    result = run("diff", "HEAD")
    assert result.status == 2
    assert "to compare with the revision, write git:HEAD" in result.stderr
    assert "does not exist" in run("diff", "nowhere").stderr


def test_a_jobset_that_cannot_be_read_is_reported(project: Path) -> None:
    path = Path("out/team-a/llm.yaml")
    path.write_text(path.read_text().replace("replicas: 1", "replicas: many"))
    result = run("diff", "out", "jobs")
    assert (result.status, result.stdout) == (1, "")
    assert "JobSet team-a/llm" in result.stderr or "out/team-a/llm.yaml" in result.stderr


@pytest.mark.parametrize(("words", "status"), [(["out", "jobs"], 1), (["out", "out"], 0)])
def test_the_exit_code_says_whether_anything_changes_if_it_is_asked_to(
    project: Path, words: list[str], status: int
) -> None:
    assert run("diff", *words, "--exit-code").status == status
    assert run("diff", *words).status == 0


def test_the_way_of_delivery_is_the_one_of_the_options(project: Path) -> None:
    for words, way in (
        ([], "argocd"),
        (["--sync-option", "ServerSideApply=true"], "argocd-server-side"),
        (["--sync-option", "Force=true", "--sync-option", "Replace=true"], "argocd-force-replace"),
        (["--delivery", "flux"], "flux"),
        (["--delivery", "flux", "--sync-option", "force=enabled"], "flux-force"),
        (["--delivery", "kubectl"], "kubectl"),
        (["--name-hash"], "name-hash"),
    ):
        document = json.loads(run("diff", "out", "jobs", "--format", "json", *words).stdout)
        assert document["delivery"] == way


def test_stdin_may_be_a_side(project: Path) -> None:
    result = run("diff", "out", "-", stdin=Path("jobs/llm.yaml").read_bytes())
    assert heading(result) == "out → stdin"
    assert CHANGED in result.stdout


def test_only_new_warnings_are_told(project: Path) -> None:
    text = run("runtimes", "show", "torch-distributed").stdout
    unlabelled = text.replace("trainer.kubeflow.org/trainjob-ancestor-step: trainer", "a: b")
    Path("before").mkdir()
    Path("before/rt.yaml").write_text(unlabelled)
    Path("before/job.yaml").write_text(JOB)
    shutil.copytree("before", "after")
    assert run("diff", "before", "after").stderr == ""
    Path("before/rt.yaml").write_text(text)
    assert "warning[RoleInferred]" in run("diff", "before", "after").stderr
    assert run("diff", "before", "after", "-q").stderr == ""


def test_colour_is_for_those_who_ask(project: Path) -> None:
    assert "\x1b[" not in run("diff", "out", "jobs").stdout
    assert "\x1b[" in run("diff", "out", "jobs", "--color", "always").stdout


def test_markdown_is_one_comment(project: Path) -> None:
    result = run("diff", "out", "jobs", "--format", "markdown")
    assert result.stdout.startswith("### `out` → `jobs`\n\n**1 of 1 job is refused**\n\n| job |")


POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: small}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [jobset.x-k8s.io], apiVersions: [v1alpha2], operations: [CREATE], resources: [jobsets]}]
  validations:
    - expression: "object.spec.replicatedJobs.all(j, j.template.spec.parallelism < 4)"
      message: at most 3 nodes
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: small}
spec: {policyName: small, validationActions: [Deny]}
"""


def test_policies_are_asked_about_both_sides(repository: Path) -> None:
    def committed() -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@x"]
        for words in (["add", "-A"], ["commit", "-qm", "x"]):
            subprocess.run(["git", *identity, *words], check=True)

    Path("policies").mkdir()
    Path("policies/small.yaml").write_text(POLICY)
    Path("trainc.yaml").write_text(SETTINGS + "policies: [policies]\n")
    Path("jobs/llm.yaml").write_text(JOB)
    committed()
    Path("jobs/llm.yaml").write_text(JOB.replace("numNodes: 2", "numNodes: 4"))
    (denied,) = json.loads(run("diff", "--format", "json").stdout)["policies"]
    assert denied.startswith("1 job is denied: ")
    assert denied.endswith("at most 3 nodes (team-a/llm).")
    committed()
    assert json.loads(run("diff", "--format", "json").stdout)["policies"][0].startswith("1 job is denied as before: ")
    Path("jobs/llm.yaml").write_text(JOB)
    comment = run("diff", "--format", "markdown")
    assert (comment.status, "- 1 job is no longer denied: " in comment.stdout) == (0, True)
    Path("trainc.yaml").write_text(SETTINGS)
    loose = run("diff").stdout
    assert "`policies`: Policies in policies are no longer evaluated." in loose
    assert "is no longer denied" in loose
    committed()
    assert json.loads(run("diff", "--format", "json").stdout)["policies"] == []


def test_a_sweep_is_one_group_with_its_cost(repository: Path) -> None:
    Path("jobs/llm.yaml").write_text(JOB)
    Path("jobs/base.yaml").write_text(
        JOB.replace("name: llm", "name: base").replace(
            "{numNodes: 2,", '{args: ["--lr=${trialParameters.lr}"], resourcesPerNode: {limits: {nvidia.com/gpu: 8}},'
        )
    )
    Path("jobs/sweep.yaml").write_text(
        "apiVersion: trainc/v1alpha1\nkind: Sweep\nmetadata: {name: lr}\nbase: base.yaml\n"
        "parameters: {lr: ['1', '2', '3']}\nbudget: {gpuHours: 100, hoursPerTrial: 2}\n"
    )
    result = run("diff", "--format", "json")
    assert result.status == 0, result.stderr
    found = json.loads(result.stdout)
    (group,) = found["groups"]
    assert (group["status"], len(group["jobs"])) == ("added", 3)
    assert {cause["file"] for cause in group["causes"]} == {"jobs/sweep.yaml"}
    assert group["totals"]["after"]["gpus"] == "24"
    assert found["sweeps"] == [
        "jobs/sweep.yaml: 3 trials of 8 GPUs for 2 h each: 48 GPU-hours without restarts, of 100."
    ]
    Path("jobs/sweep.yaml").write_text(Path("jobs/sweep.yaml").read_text().replace("gpuHours: 100", "gpuHours: 10"))
    comment = run("diff", "--format", "markdown")
    assert comment.status == 0
    assert "| 3 jobs | new · image " in comment.stdout
    assert "| `jobs/sweep.yaml:3` | created |" in comment.stdout
    assert "This is over its budget." in comment.stdout
    assert "Not compared" not in comment.stdout
