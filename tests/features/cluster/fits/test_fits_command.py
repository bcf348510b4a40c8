"""`trainc fits`, and what `check` and `diff` do where trainc.yaml names a cluster."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import run
from golden_files import ROOT, GoldenFile
from syrupy.assertion import SnapshotAssertion

from trainc.cli.command import commands
from trainc.features.cluster.fits.snapshot import EXPORT

CASE = ROOT / "tests" / "cases" / "fits"


class AnswerExtension(GoldenFile):
    """What the command prints on both streams."""

    file_extension = "txt"
    folder = GoldenFile.folder / "fits"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the case's jobs and queues, committed."""
    (tmp_path / "jobs").mkdir()
    shutil.copy(CASE / "jobs.yaml", tmp_path / "jobs")
    (tmp_path / "cluster").mkdir()
    shutil.copy(CASE / "cluster.yaml", tmp_path / "cluster")
    (tmp_path / "trainc.yaml").write_text('sources: [jobs]\nrelease: "2.3"\ncluster: cluster\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "queues"]):
        subprocess.run(["git", *words], check=True)
    return tmp_path


@pytest.mark.golden
@pytest.mark.filterwarnings(r"ignore:\s*Can not relate snapshot:UserWarning")
@pytest.mark.parametrize("form", ["text", "json", "github"])
def test_the_answer_stands_at_the_line_of_the_job(
    form: str, snapshot: SnapshotAssertion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GitHub's places are relative to the root of a repository, where there is one.
    shutil.copytree(CASE, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    result = run("fits", "jobs.yaml", "--cluster", "cluster.yaml", "--release", "2.3", "--format", form)
    assert result.status == 1
    assert result.stdout + result.stderr == snapshot.use_extension(AnswerExtension)(name=f"case-{form}")


def test_check_reports_what_never_fits_where_a_cluster_is_named(repository: Path) -> None:
    result = run("check")
    assert (result.status, result.stderr.count("error[NeverFits]")) == (1, 2)
    settings = repository / "trainc.yaml"
    settings.write_text(settings.read_text(encoding="utf-8").replace("cluster: cluster\n", ""), encoding="utf-8")
    assert run("check").status == 0


def test_diff_says_what_a_change_of_the_queues_does(repository: Path) -> None:
    queues = repository / "cluster" / "cluster.yaml"
    queues.write_text(
        queues.read_text(encoding="utf-8").replace("nominalQuota: 96", "nominalQuota: 64"), encoding="utf-8"
    )
    reported = run("diff", "--format", "markdown").stdout
    assert "quota of a: 96 -> 64 GPUs; 1 job can no longer be admitted (`team-a/tune`)." in reported


def test_diff_says_which_job_can_never_be_admitted_any_more(repository: Path) -> None:
    jobs = repository / "jobs" / "jobs.yaml"
    jobs.write_text(jobs.read_text(encoding="utf-8").replace("numNodes: 14", "numNodes: 20"), encoding="utf-8")
    reported = " ".join(run("diff").stdout.split())
    assert (
        "team-a/tune can no longer be admitted: the job requests 160 GPUs, and ClusterQueue a can provide at most 128"
        in reported
    )


@pytest.mark.usefixtures("repository")
def test_the_report_has_a_row_for_it() -> None:
    page = run("report", "-o", "-").stdout
    assert (
        "Cluster: never (exceeds-max-quota): the job requests 136 GPUs, and ClusterQueue a can provide at most 128"
        in page
    )
    assert "Cluster: fits queue a, borrowing from its cohort" in page


def test_a_job_whose_input_is_wrong_is_not_judged(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(
        (CASE / "jobs.yaml").read_text(encoding="utf-8").replace("numNodes: 17", "numNodes: x")
    )
    result = run("fits", str(tmp_path), "--cluster", str(CASE), "--release", "2.3")
    assert (result.status, "team-a/pretrain" in result.stdout) == (1, False)
    assert "left out: team-a/pretrain" in result.stderr


def test_without_a_cluster_nothing_can_be_decided(tmp_path: Path) -> None:
    assert run("fits", str(tmp_path)).status == 2
    missing = run("fits", str(CASE / "jobs.yaml"), "--cluster", str(tmp_path / "gone"), "--release", "2.3")
    assert (missing.status, "NoSuchPath" in missing.stderr, "Incomplete" in missing.stderr) == (1, True, False)


def test_the_json_names_every_job_and_its_reasons() -> None:
    found = json.loads(
        run("fits", str(CASE / "jobs.yaml"), "--cluster", str(CASE), "--release", "2.3", "--format", "json").stdout
    )
    assert [(job["job"], job["alone"]["verdict"], job["together"]["verdict"]) for job in found["jobs"]] == [
        ("team-a/pretrain", "never", "never"),
        ("team-a/rack", "never", "never"),
        ("team-a/tune", "fits", "admitted"),
    ]
    assert found["jobs"][0]["alone"]["reasons"][0]["code"] == "NeverFits"


def test_what_the_page_shows_is_what_is_printed() -> None:
    reported = run("fits", str(CASE / "jobs.yaml"), "--cluster", str(CASE), "--release", "2.3").stderr
    page = (ROOT / "docs" / "fits.md").read_text(encoding="utf-8")
    (shown,) = (line for line in page.splitlines() if "error[NeverFits]" in line)
    assert shown.partition("error")[2] in reported


def test_the_commands_that_export_the_kinds_are_in_the_help_and_in_the_documentation() -> None:
    page = (ROOT / "docs" / "fits.md").read_text(encoding="utf-8")
    help_text = next(command for command in commands() if command.name == "fits").help_text()
    for file, line in EXPORT.items():
        assert f"{line} > cluster/{file}" in page
        assert file == "names.yaml" or f"{line} > cluster/{file}" in help_text


JOBSET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {%s, labels: {kueue.x-k8s.io/queue-name: a}}
spec:
  replicatedJobs:
  - name: node
    template:
      spec:
        template:
          spec:
            containers: [{name: node, image: "train:1", resources: {limits: {nvidia.com/gpu: %s}}}]
"""


def test_the_namespace_of_the_command_line_counts_for_jobsets_too(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(JOBSET % ("name: llm", 8))
    words = ("fits", str(job), "--cluster", str(CASE / "cluster.yaml"), "--release", "2.3")
    assert "team-a/llm  fits queue a" in run(*words, "--namespace", "team-a").stdout
    without = run(*words)
    assert (without.status, "the job has no namespace" in without.stderr) == (1, True)


def test_jobsets_whose_names_the_api_server_generates_are_judged_one_by_one(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("---".join(JOBSET % ("namespace: team-a, generateName: llm-", gpus) for gpus in (8, 200)))
    result = run("fits", str(job), "--cluster", str(CASE / "cluster.yaml"), "--release", "2.3")
    assert [line.split()[0:3] for line in result.stdout.splitlines() if "llm" in line] == [
        ["team-a/llm-*", "fits", "queue"],
        ["team-a/llm-*", "(2)", "never"],
    ]
    assert f"{job}:24:" in result.stderr


@pytest.mark.parametrize("where", ["flag", "trainc.yaml", "overlay", "check"])
def test_the_version_of_kueue_may_come_from_anywhere(where: str, repository: Path) -> None:
    """A rack of two nodes with 8 GPUs each: before 0.20, Kueue admits a pod of 16."""
    kueue = 'kueue: "0.20"\n' if where in {"trainc.yaml", "check"} else ""
    settings = f'sources: [jobs.yaml]\nrelease: "2.3"\ncluster: cluster.yaml\n{kueue}'
    (repository / "trainc.yaml").write_text(settings, encoding="utf-8")
    (repository / "jobs.yaml").write_text(WIDE_JOB, encoding="utf-8")
    (repository / "cluster.yaml").write_text(WIDE_RACK, encoding="utf-8")
    words: list[str] = []
    if where == "flag":
        words = ["--kueue", "0.20"]
    elif where == "overlay":
        (repository / "over").mkdir()
        text = 'apiVersion: trainc/v1alpha1\nkind: Overlay\nkueue: "v0.20.1"\n'
        (repository / "over" / "overlay.yaml").write_text(text, encoding="utf-8")
        words = ["--overlay", "over"]
    result = run("check" if where == "check" else "fits", *words)
    assert (result.status, result.stderr.count("error[NeverFits]")) == (1, 1), result.stderr
    older = run("fits", "--kueue", "0.19.4")
    assert older.stderr.count("error[UnschedulableAfterAdmission]") == 1, older.stderr


def test_a_version_that_trainc_does_not_know_is_refused(repository: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("fits", "--kueue", "0.17").status == 2
    message = "unknown Kueue version '0.17'; choose one of 0.19, 0.20, or a patch such as 0.19.6"
    assert message in capfd.readouterr().err
    (repository / "trainc.yaml").write_text("sources: [jobs]\nkueue: 0.20\n", encoding="utf-8")
    assert "error[InvalidConfiguration]" in run("fits").stderr


WIDE_JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: a}}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: registry.example.com/train:1
    command: [torchrun, train.py]
    resourcesPerNode: {limits: {nvidia.com/gpu: 16}}
"""
WIDE_RACK = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: a}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: 32}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: a, namespace: team-a}
spec: {clusterQueue: a}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
spec: {topologyName: racks}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks}
spec: {levels: [{nodeLabel: rack}]}
---
apiVersion: trainc/v1alpha1
kind: Cluster
nodes: [{name: h100, count: 2, labels: {rack: r0}, allocatable: {nvidia.com/gpu: 8}}]
"""


def test_an_input_without_jobs_is_no_yes(repository: Path) -> None:
    (repository / "jobs" / "jobs.yaml").write_text(
        "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n", encoding="utf-8"
    )
    result = run("fits")
    assert (result.status, result.stdout) == (1, "")
    assert "error[NoTrainJob] no TrainJob and no JobSet found in jobs, so there is nothing to judge" in result.stderr
