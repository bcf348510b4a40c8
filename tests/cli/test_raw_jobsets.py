"""JobSets without a TrainJob in a project: they are sources, written as they are, judged and counted like jobs, once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from commands import run
from repositories import SETTINGS, branch, build, commit, edit, git, job, queue, read, runtime, starting_with, write

RAW, RENDERED = "jobs/nlp/raw.yaml", "rendered/nlp/raw.yaml"
JOBSET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: raw
  namespace: nlp
  labels: {kueue.x-k8s.io/queue-name: h100}
spec:
  replicatedJobs:
  - name: node
    template:
      spec:
        parallelism: 2
        completions: 2
        backoffLimit: 0
        template:
          spec:
            restartPolicy: Never
            containers:
            - name: node
              image: registry.example.com/train:1
              resources:
                limits: {nvidia.com/gpu: 8}
"""


@starting_with
def repository() -> None:
    """A TrainJob and a JobSet of one team on main, and a branch of a pull request."""
    git("init", "-q", "-b", "main")
    write("trainc.yaml", f"{SETTINGS}cluster: cluster\n")
    write("cluster/queue.yaml", queue(64, name="h100"))
    runtime()
    job("nlp", "llm")
    write(RAW, JOBSET)
    build()
    commit("jobs")
    branch("pull-request")


def checks() -> list[int]:
    return [run(*words, "--base", "main").status for words in (("check",), ("build", "--check"))]


def test_it_is_written_as_it_is_behind_the_first_line() -> None:
    first, _, body = read(RENDERED).partition("\n")
    assert first == f"# Compiled by trainc from {RAW}. Edit that file instead."
    assert yaml.safe_load(body) == yaml.safe_load(JOBSET)
    assert run("build").stderr == "rendered: up to date\n"
    assert checks() == [0, 0]
    assert "1 TrainJob compiled, 1 JobSet kept as it is" in run("check").stderr


def test_it_is_written_to_stdout_once() -> None:
    kinds = [one["metadata"]["name"] for one in yaml.safe_load_all(run("build", "jobs").stdout)]
    assert kinds.count("raw") == 1


def test_it_is_not_read_where_there_is_no_project() -> None:
    Path("trainc.yaml").unlink()
    names = [one["metadata"]["name"] for one in yaml.safe_load_all(run("build", "jobs", "runtimes").stdout)]
    assert "raw" not in names


def test_a_change_without_a_build_is_red() -> None:
    edit(RAW, "parallelism: 2", "parallelism: 3")
    assert checks() == [0, 1]
    build()
    assert checks() == [0, 0]
    diff = json.loads(run("diff", "git:main", "--format", "json").stdout)
    assert [one["name"] for one in diff["jobs"]] == ["raw"]


def test_a_change_that_the_cluster_refuses_is_said_although_names_have_hashes() -> None:
    edit(RAW, "parallelism: 2", "parallelism: 3")
    build()
    assert "raw.yaml:12:9: warning[FieldImmutable]" in run("check", "--base", "main").stderr
    assert "refused as immutable" in run("diff", "git:main").stdout


def test_an_error_comes_before_what_the_cluster_refuses() -> None:
    edit(RAW, "limits: {", "requests: {nvidia.com/gpu: 4}\n                limits: {")
    found = run("check", "--base", "main").stderr
    assert "ExtendedResourceUnequal" in found
    assert "FieldImmutable" not in found


@pytest.mark.parametrize(
    ("before", "after", "place", "message"),
    [
        (
            "spec:\n  replicatedJobs",
            "spec:\n  network: {subdomain: pool}\n  replicatedJobs",
            "22:40",
            "the Service of these pods is pool",
        ),
        ("- name: node\n    template", "- name: work\n    template", "21:40", "no pod of raw is called raw-node-0-0"),
        ("raw-node-0-0", "raw-node-1-0", "21:40", "raw-node has 1 replicas, counted from 0"),
    ],
)
def test_an_address_that_no_pod_has_is_said_where_it_is_called(
    before: str, after: str, place: str, message: str
) -> None:
    edit(
        RAW,
        "image: registry.example.com/train:1",
        "image: registry.example.com/train:1\n              command: [train, --join, raw-node-0-0.raw:7000]",
    )
    assert "UnknownPodAddress" not in run("check", "--base", "main").stderr
    edit(RAW, before, after)
    (line,) = [text for text in run("check", "--base", "main").stderr.splitlines() if "[UnknownPodAddress]" in text]
    assert line.startswith(f"{RAW}:{place}: warning"), line
    assert message in line


def test_a_jobset_that_another_environment_selects_now_has_moved_and_a_pointer_of_git_lfs_is_called_so() -> None:
    environments = "".join(f"  {q}: {{output: out/{q}, select: {{queue: {q}}}}}\n" for q in ("h100", "l40s"))
    write("trainc.yaml", f"{re.sub('(?m)^output:.*$', '', SETTINGS)}environments:\n{environments}")
    write(RAW.replace("raw", "other"), JOBSET.replace("name: raw", "name: other").replace("h100", "l40s"))
    assert run("build").status == 0
    edit(RAW, "queue-name: h100", "queue-name: l40s")
    assert run("build", "--allow-empty").status == 0
    assert Path("out/l40s/nlp/raw.yaml").exists()
    assert not Path("out/h100/nlp/raw.yaml").exists()
    write(RAW, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    assert "which is a Git LFS pointer now" in run("check", "--base", "HEAD").stderr


def test_a_jobset_that_takes_the_name_of_a_trainjob_is_said_at_the_newcomer() -> None:
    edit(RAW, "name: raw", "name: llm")
    found = run("check", "--base", "main").stderr
    assert f"{RAW}:4:3: error[DuplicateTrainJob]" in found
    assert "nlp/llm is the TrainJob at jobs/nlp/llm.yaml:3, and JobSet nlp/raw, which this was in main" in found
    assert "help: write raw again, or another name" in found
    assert "FieldImmutable" not in found
    edit(RAW, "name: llm", "name: raw")
    job("nlp", "raw2")
    edit("jobs/nlp/raw2.yaml", "raw2", "raw")
    assert "jobs/nlp/raw2.yaml:3:" in run("check", "--base", "main").stderr


def test_a_rendered_file_edited_by_hand_is_red() -> None:
    edit(RENDERED, "train:1", "miner:1")
    assert checks() == [0, 1]


def test_an_invalid_one_is_an_error_at_its_line_and_nothing_is_written() -> None:
    edit(RAW, "backoffLimit: 0", "backoffLimit: x")
    edit("jobs/nlp/llm.yaml", "numNodes: 2", "numNodes: 3")
    write("jobs/nlp/old.yaml", JOBSET.replace("name: raw", "name: old").replace("v1alpha2", "v1alpha1"))
    assert "jobs/nlp/old.yaml:1:1: error[UnknownAPIVersion]" in run("check").stderr
    Path("jobs/nlp/old.yaml").unlink()
    result = run("build")
    assert (result.status, f"{RAW}:14:9: error[WrongType]" in result.stderr) == (1, True)
    assert git("status", "--porcelain", "rendered") == ""
    assert run("build", "--keep-going").status == 1
    assert git("status", "--porcelain", "rendered") == "M rendered/nlp/llm.yaml"


def test_it_is_placed_and_counted_once() -> None:
    fits = run("fits", "--format", "json").stdout
    assert fits.count('"nlp/raw"') >= 1
    write(RAW, JOBSET.replace("parallelism: 2", "parallelism: 20").replace("completions: 2", "completions: 20"))
    result = run("check")
    assert (result.status, result.stderr.count("error[NeverFits]")) == (1, 1)
    assert f"{RAW}:9:5: error[NeverFits]" in result.stderr
    totals = json.loads(run("diff", "git:main", "--format", "json").stdout)["totals"]
    assert totals["before"]["nodes"] == 4


def test_a_rule_for_the_future_does_not_stop_one_that_runs() -> None:
    edit("cluster/queue.yaml", "nominalQuota: 64", "nominalQuota: 8")
    edit("jobs/nlp/llm.yaml", "numNodes: 2", "numNodes: 1")
    write("trainc.yaml", f"{SETTINGS}cluster: cluster\nimages: {{registries: [elsewhere.example.com]}}\n")
    result = run("check")
    assert "nlp/raw" in result.stderr.partition("KeptCannotRebuild")[2]
    assert not re.search(rf"{RAW}:.* error", result.stderr)
    edit(RAW, "parallelism: 2", "parallelism: 3")
    result = run("check")
    assert f"{RAW}:9:5: error[NeverFits]" in result.stderr
    assert "error[RegistryNotAllowed] JobSet nlp/raw" in result.stderr


def test_its_namespace_is_its_folder_s() -> None:
    write("trainc.yaml", f"{SETTINGS}namespaces: {{jobs/nlp/**: [nlp], jobs/ads/**: [ads]}}\n")
    assert run("check").status == 0
    write("jobs/ads/raw.yaml", JOBSET.replace("name: raw", "name: other"))
    result = run("check")
    assert (result.status, "jobs/ads/raw.yaml:5:" in result.stderr) == (1, True)


def test_two_of_one_name_are_an_error() -> None:
    write("jobs/nlp/again.yaml", JOBSET)
    result = run("build")
    assert (result.status, "JobSet nlp/raw is defined twice" in result.stderr) == (1, True)


def test_it_ends_with_its_file_and_not_as_a_comment() -> None:
    write(RAW, "".join(f"# {line}\n" for line in JOBSET.splitlines()))
    result = run("build")
    assert (result.status, "error[SourceSkipped]" in result.stderr) == (1, True)
    Path(RAW).unlink()
    build()
    assert not Path(RENDERED).exists()
    assert checks() == [0, 0]


def test_what_the_cluster_has_is_no_source() -> None:
    edit("trainc.yaml", "sources: [jobs]", "sources: [.]")
    write("cluster/jobsets.yaml", JOBSET.replace("name: raw", "name: other"))
    result = run("check")
    assert ("1 JobSet kept as it is" in result.stderr, "SkippedDocument" in result.stderr) == (True, False)


def test_what_trainc_wrote_is_no_source() -> None:
    write("jobs/nlp/copy.yaml", read(RENDERED).replace("name: raw", "name: copy"))
    write("jobs/nlp/of-llm.yaml", read("rendered/nlp/llm.yaml").partition("\n")[2])
    assert run("build").stderr.endswith("rendered: up to date\n")


@pytest.mark.parametrize("path", ["../../evil", "a/b", "A", "x" * 300])
def test_a_name_that_no_cluster_has_is_refused(path: str) -> None:
    write(RAW, JOBSET.replace("name: raw", f"name: {path!r}"))
    assert run("build").status == 1
    assert not Path("../evil.yaml").exists()


@pytest.mark.parametrize("namespace", ["../..", "A", "a/b"])
def test_a_namespace_that_no_cluster_has_is_refused(namespace: str) -> None:
    write(RAW, JOBSET.replace("namespace: nlp", f"namespace: {namespace!r}"))
    assert run("build").status == 1


def test_it_is_explained_drawn_and_reported_by_its_lines() -> None:
    for name in ("nlp/raw", RAW, RENDERED):
        explained = run("explain", name, "parallelism").stdout
        assert f"from JobSet nlp/raw spec.replicatedJobs[node].template.spec.parallelism = 2  {RAW}:12" in explained
    assert "node  2 pods \u00d7 8 GPUs" in run("graph", "nlp/raw").stdout
    edit("trainc.yaml", "cluster: cluster", "cluster: cluster\nimages: {registries: [elsewhere.example.com]}")
    assert run("report", "-o", "report.html").stderr == "report.html: 2 jobs\n"
    assert "RegistryNotAllowed" in read("report.html").partition('id="job-2"')[2]


def test_a_budget_is_for_it_too() -> None:
    edit("trainc.yaml", "cluster: cluster", "cluster: cluster\nbudgets: {nlp: 100}")
    commit("a budget")
    assert run("check").status == 0
    edit(RAW, "train:1", "train:2")
    result = run("build")
    assert (result.status, f"{RAW}:11:7: error[DeadlineMissing]" in result.stderr) == (1, True)
    edit(RAW, "backoffLimit: 0", "backoffLimit: 0\n        activeDeadlineSeconds: 36000")
    assert "jobs in nlp may take 160 GPU-hours" in run("check").stderr


def test_one_that_no_environment_selects_is_said() -> None:
    edit("trainc.yaml", "cluster: cluster", "cluster: cluster\nselect: {namespaces: [ads]}")
    write("jobs/ads/one.yaml", read("jobs/nlp/llm.yaml").replace("nlp", "ads"))
    result = run("check")
    assert f"{RAW}:4:3: error[SourceSkipped] JobSet nlp/raw" in result.stderr
    result = run("build")
    assert (result.status, f"{RAW}:4:3: error[SourceSkipped]" in result.stderr) == (1, True)


def test_a_trainjob_does_not_take_its_name() -> None:
    write("jobs/nlp/new.yaml", read("jobs/nlp/llm.yaml").replace("name: llm", "name: raw"))
    for words in (["check"], ["build"], ["build", "--keep-going"]):
        result = run(*words)
        assert (result.status, "jobs/nlp/new.yaml:3:12: error[DuplicateTrainJob]" in result.stderr) == (1, True)
    assert git("status", "--porcelain", "rendered") == ""


def test_a_cluster_that_has_another_is_found() -> None:
    live = yaml.safe_load(JOBSET)
    write("dump.yaml", yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [live]}))
    assert "JobSet nlp/raw" not in run("diff", "git:main", "--live", "dump.yaml").stdout
    live["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["image"] = "miner:1"
    write("dump.yaml", yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [live]}))
    drift = json.loads(run("diff", "git:main", "--live", "dump.yaml", "--format", "json").stdout)["live"]
    assert [(one["name"], one["object"]) for one in drift if one["object"] == "drifted"] == [
        ("JobSet nlp/raw", "drifted")
    ]
