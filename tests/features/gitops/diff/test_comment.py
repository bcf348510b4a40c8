"""The comment on a pull request in a repository of three environments: what reviewers must find in it, and what they must not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Result, run
from repositories import commit, edit, git, job, queue, runtime, write

SETTINGS = """\
release: "2.3"
sources: [jobs]
runtimes: [runtimes]
cluster: cluster
policies: [policies]
environments:
  dev: {output: rendered/dev}
  staging: {output: rendered/staging}
  prod: {output: rendered/prod}
"""
QUEUES = f"""\
{queue(64, cluster_queue="big")}---
{{apiVersion: v1, kind: Namespace, metadata: {{name: nlp}}}}
"""
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: size}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [jobset.x-k8s.io], apiVersions: [v1alpha2], operations: [CREATE], resources: [jobsets]}]
  validations:
  - expression: "object.spec.replicatedJobs.all(j, j.template.spec.parallelism <= 4)"
    message: too many pods
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: size}
spec: {policyName: size, validationActions: [Deny]}
"""
SWEEP = """\
apiVersion: trainc/v1alpha1
kind: Sweep
base: base.yaml
parameters: {lr: [0.1, 0.2]}
budget: {gpuHours: 1000, hoursPerTrial: 2}
"""
JOB = "jobs/nlp/job-0.yaml"


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    for path, text in (("trainc.yaml", SETTINGS), ("cluster/queues.yaml", QUEUES), ("policies/size.yaml", POLICY)):
        write(path, text)
    runtime()
    for number in range(4):
        job("nlp", f"job-{number}")
        edit(
            f"jobs/nlp/job-{number}.yaml",
            "namespace: nlp}",
            "namespace: nlp, labels: {kueue.x-k8s.io/queue-name: main}}",
        )
    commit()


def comment(*more: str) -> Result:
    result = run("diff", "git:main", "--format", "markdown", *more)
    assert len(result.stdout) <= 60_000
    return result


def of_runtime() -> None:
    edit("runtimes/torch-h100.yaml", "WARN", "INFO")


def enlarged() -> None:
    edit(JOB, "numNodes: 2", "numNodes: 100")


def sweep() -> None:
    write("jobs/nlp/base.yaml", Path(JOB).read_text().replace("train.py]", 'train.py, "--lr=${trialParameters.lr}"]'))
    edit("jobs/nlp/base.yaml", "name: job-0", "name: tune")
    write("jobs/nlp/sweep.yaml", SWEEP)


def looser() -> None:
    edit(
        "trainc.yaml", "cluster: cluster\npolicies: [policies]\n", 'exclude: ["jobs/x/**"]\nrules: {TTLRerun: ignore}\n'
    )


def denied_before() -> None:
    enlarged()
    commit()
    edit("policies/size.yaml", "<= 4", "<= 400")


def no_policy() -> None:
    edit("policies/size.yaml", "object.spec.", "object.spec..")


def misspelt_budget() -> None:
    write("trainc.yaml", SETTINGS + "budgets: {nlpp: 10}\n")


def preview() -> None:
    edit("trainc.yaml", '"2.3"', '"2.4"')


SAYS: dict[str, tuple[Callable[[], None], tuple[str, ...]]] = {
    "a line of a runtime changes the jobs of all environments once, with its place and its outcome": (
        of_runtime,
        (
            "**12 of 12 jobs are refused, 192 GPUs**",
            "- staging: 4 of 4 jobs are refused, 64 GPUs",
            "| 4 jobs in each of dev, staging, prod | `env[NCCL_DEBUG].value: WARN → INFO` | runtimes/torch-h100.yaml:19 | refused",
        ),
    ),
    "a job that grows beyond its quota and what policies allow": (
        enlarged,
        (
            "| nlp/job-0 in dev, staging, prod |",
            "- 1 job is denied: policy size: too many pods (nlp/job-0).",
            "- nlp/job-0 can no longer be admitted: the job requests 800 GPUs",
        ),
    ),
    "a policy that allows more than before": (
        denied_before,
        ("- 1 job is no longer denied: policy size: too many pods (nlp/job-0).",),
    ),
    "a policy that cannot be evaluated": (no_policy, ("- The policies of working tree cannot be evaluated: ",)),
    "a sweep, with its cost in each environment": (
        sweep,
        (
            "**6 of 18 jobs are new, 96 GPUs**",
            "| 2 jobs in each of dev, staging, prod | new · image registry.example.com/train:1 · runs programs that differ by job",
            "· queue main · cluster fits queue main, with h100 · for no deadline | jobs/nlp/sweep.yaml:1 | created |",
            "- in each of dev, staging, prod: jobs/nlp/sweep.yaml: 2 trials of 16 GPUs for 2 h each: 64 GPU-hours",
        ),
    ),
    "what check finds new of trainc.yaml, said once, with its help": (
        misspelt_budget,
        (
            "#### New findings\n\n- **warning** trainc.yaml:10: SettingsNotUsed (trainc.yaml budgets.nlpp) nlpp is the name of",
            " nothing here; help: did you mean nlp?\n",
        ),
    ),
    "what check says of all jobs": (
        preview,
        ("- **info** trainc.yaml:1: PreviewRelease Trainer 2.4 is a preview in trainc",),
    ),
    "what the cluster lacks, at its line": (
        lambda: edit(JOB, "queue-name: main", "queue-name: mian"),
        (f'- **error** {JOB}:3: QueueInactive (TrainJob nlp/job-0 metadata.labels["kueue.x-k8s.io/queue-name"])',),
    ),
    "settings that check less": (
        looser,
        (
            "#### trainc.yaml is less strict",
            "- `rules`: TTLRerun is ignored; it was a warning.",
            "- `exclude`: Files that match jobs/x/** are no longer read.",
            "- `policies`: Policies in policies are no longer evaluated.",
            "- `cluster` is gone: jobs are no longer checked against cluster.",
        ),
    ),
}


@pytest.mark.usefixtures("company")
@pytest.mark.parametrize("name", SAYS)
def test_reviewers_find(name: str) -> None:
    change, expected = SAYS[name]
    change()
    result = comment()
    assert result.status == 0, result.stderr
    said = result.stdout.replace("`", "")
    assert [part for part in expected if part.replace("`", "") not in said] == [], result.stdout


@pytest.mark.usefixtures("company")
def test_a_branch_without_changes_gets_one_line() -> None:
    result = comment("--exit-code")
    assert (result.status, result.stdout) == (
        0,
        "`git:main` → `working tree`: no changes in 12 jobs of 3 environments.\n",
    )


@pytest.mark.usefixtures("company")
def test_what_main_has_is_not_new_whatever_finds_it() -> None:
    misspelt_budget()
    commit()
    of_runtime()
    assert "#### New findings" not in comment().stdout
    edit("trainc.yaml", "nlpp: 10", "nlpp: 10, npl: 10")
    said = comment().stdout
    assert "(`trainc.yaml` `budgets.npl`)" in said
    assert "nlpp" not in said.partition("#### New findings")[2].partition("####")[0]
    assert "npl is the name of nothing here" in run("diff", "git:main").stderr


@pytest.mark.usefixtures("company")
@pytest.mark.parametrize(
    ("name", "value"), [("HF_TOKEN", "hf_" + "QzXwErTyUiOpAsDfGhJk"), ("DB_PASSWORD", "kangaroo-7-Z")]
)
def test_no_format_shows_a_secret(name: str, value: str) -> None:
    edit(JOB, "numNodes: 2", f"numNodes: 2, env: [{{name: {name}, value: {value}}}]")
    for words in (
        ("diff", "git:main", "--format", "markdown"),
        ("diff", "git:main", "--format", "json"),
        ("diff",),
        ("check",),
    ):
        said = run(*words)
        assert value not in said.stdout + said.stderr, words
        assert name in said.stdout + said.stderr


@pytest.mark.usefixtures("company")
def test_errors_come_first_and_then_what_is_new() -> None:
    looser()
    edit("jobs/nlp/job-2.yaml", "numNodes", "numNods")
    said = [
        line for line in run("check", "--base", "main").stderr.splitlines() if ": error[" in line or ": info[" in line
    ]
    assert [line.partition("[")[2].partition("]")[0] for line in said][:2] == ["UnknownField", "SettingsLoosened"]


BROKEN: dict[str, tuple[Callable[[], None], tuple[str, ...]]] = {
    "a job of the branch": (
        lambda: edit(JOB, "numNodes", "numNods"),
        (
            "no changes in 9 jobs of 3 environments.",
            "**Not everything compiles in working tree; what does is compared.**",
            f"- {JOB}:6: UnknownField (TrainJob nlp/job-0 spec.trainer.numNods)",
        ),
    ),
    "a runtime of the branch": (
        lambda: edit("runtimes/torch-h100.yaml", "replicatedJobs", "replicatdJobs"),
        ("### The two sides cannot be compared", "- runtimes/torch-h100.yaml:8: UnknownField"),
    ),
    "trainc.yaml of the branch": (
        lambda: edit("trainc.yaml", "release", "relase"),
        ("### The two sides cannot be compared", "- trainc.yaml:1: InvalidConfiguration"),
    ),
}


@pytest.mark.usefixtures("company")
@pytest.mark.parametrize("name", BROKEN)
def test_there_is_a_comment_although_something_is_broken(name: str) -> None:
    change, expected = BROKEN[name]
    change()
    result = comment()
    assert result.status == 0
    said = result.stdout.replace("`", "")
    assert [part for part in expected if part.replace("`", "") not in said] == [], result.stdout
    assert comment("--exit-code").status == 1
    assert run("diff", "git:main").status == 1
    assert run("diff", "git:main", "--format", "json").status == 1


@pytest.mark.usefixtures("company")
def test_a_branch_that_repairs_main_is_compared_without_the_job_that_was_broken() -> None:
    edit(JOB, "numNodes", "numNods")
    commit()
    edit(JOB, "numNods", "numNodes")
    of_runtime()
    text = comment().stdout
    assert "**9 of 9 jobs are refused, 144 GPUs**" in text
    assert "**Not everything compiles in `git:main`; what does is compared.**" in text
    assert f"- `git:main:{JOB}:6`: UnknownField" in text
    assert "| 3 jobs in each of dev, staging, prod | `env[NCCL_DEBUG].value: WARN → INFO` |" in text
