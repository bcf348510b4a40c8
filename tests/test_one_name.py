"""One name: with and without a hash in the names of JobSets, every command finds the same at the same lines.

`trainc init` switches the hash on. What a reader knows is the TrainJob, so its name stands in every answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from clusters import flavor, local, namespace, queue
from commands import Result, run
from repositories import git, write
from tables import cases

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: {name}
  namespace: team-a
  labels:
    kueue.x-k8s.io/queue-name: {queue}
spec:
  runtimeRef: {{name: {runtime}}}
  trainer:
    image: example.com/train:1
    numNodes: {nodes}
    command: [torchrun, train.py, --output_dir=/out]
    resourcesPerNode:
      limits: {{nvidia.com/gpu: 8}}
"""
# All jobs write to one folder of a claim.
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: ours}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: example.com/train:1
                  volumeMounts: [{name: out, mountPath: /out}]
                volumes: [{name: out, persistentVolumeClaim: {claimName: checkpoints}}]
"""
JOBS = {"big": ("a", 4), "small": ("a", 1), "lost": ("nowhere", 2), "other": ("b", 1)}
CLUSTER = [namespace(), flavor(), queue("a", 16), queue("b", 4), local("a"), local("b")]
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [jobset.x-k8s.io], apiVersions: [v1alpha2], operations: [CREATE], resources: [jobsets]}
  validations:
  - {expression: "object.spec.replicatedJobs.all(r, r.template.spec.parallelism < 3)", message: too many}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few}
spec: {policyName: few, validationActions: [Deny]}
"""
SETTINGS = 'release: "2.3"\nsources: [jobs, runtimes]\noutput: rendered\ncluster: cluster\n'


def build() -> None:
    """Build everything, also what the queues never admit: those refuse it in `check` and `build` alike."""
    settings = Path("trainc.yaml").read_text(encoding="utf-8")
    Path("trainc.yaml").write_text(settings.replace("cluster: cluster\n", ""), encoding="utf-8")
    assert run("build", "--quiet").status == 0
    Path("trainc.yaml").write_text(settings, encoding="utf-8")


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], tuple[Any, Any]]:
    """Do something in two repositories that differ by `nameHash: true`; return what it gives in each."""
    folders = [tmp_path / "plain", tmp_path / "hashed"]
    for folder in folders:
        folder.mkdir()
        monkeypatch.chdir(folder)
        for name, (to, nodes) in JOBS.items():
            write(f"jobs/{name}.yaml", JOB.format(name=name, queue=to, nodes=nodes, runtime="torch-distributed"))
        write("runtimes/ours.yaml", RUNTIME)
        write("cluster/all.yaml", yaml.safe_dump_all(CLUSTER))
        write("trainc.yaml", SETTINGS + ("nameHash: true\n" if folder.name == "hashed" else ""))
        git("init", "-q")
        git("add", ".")
        git("commit", "-qm", "before")

    def each(do: Callable[[], Any]) -> tuple[Any, Any]:
        found = []
        for folder in folders:
            monkeypatch.chdir(folder)
            found.append(do())
        return found[0], found[1]

    return each


Both = Callable[[Callable[[], Any]], tuple[Any, Any]]
COMMANDS = [
    *(("check", "--format", form) for form in ("text", "json", "github", "sarif")),
    ("check", "--strict"),
    *(("fits", "--format", form) for form in ("text", "json", "github")),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_what_the_cluster_answers(both: Both, words: tuple[str, ...]) -> None:
    plain, hashed = both(lambda: run(*words))
    assert plain.status == 1
    assert "NeverFits" in plain.stdout + plain.stderr
    assert hashed == plain


@pytest.mark.parametrize("words", COMMANDS[:5], ids=" ".join)
def test_what_is_found_in_compiled_objects(both: Both, words: tuple[str, ...]) -> None:
    def prepare() -> Result:
        for name, (to, nodes) in JOBS.items():
            write(f"jobs/{name}.yaml", JOB.format(name=name, queue=to, nodes=nodes, runtime="ours"))
        return run(*words)

    plain, hashed = both(prepare)
    assert "SharedOutput" in plain.stdout + plain.stderr
    assert hashed == plain


@pytest.mark.parametrize("words", COMMANDS[:5], ids=" ".join)
def test_what_a_policy_says(both: Both, words: tuple[str, ...]) -> None:
    pytest.importorskip("celpy")

    def prepare() -> Result:
        write("policies/few.yaml", POLICY)
        write("trainc.yaml", Path("trainc.yaml").read_text(encoding="utf-8") + "policies: [policies]\n")
        return run(*words)

    plain, hashed = both(prepare)
    assert "PolicyDenied" in plain.stdout + plain.stderr
    assert hashed == plain


def test_the_rows_of_the_report(both: Both) -> None:
    def rows() -> list[list[str]]:
        page = run("report", "-o", "-").stdout
        body = page[page.index("<tbody") : page.index("</tbody")]
        cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body.split("<tr")[1:])
        return [[re.sub(r"<[^>]+>", "", cell) for cell in row] for row in cells]

    plain, hashed = both(rows)
    assert [row[0] for row in plain] == ["big", "lost", "other", "small"]
    assert any("never" in cell for cell in plain[0])
    assert hashed == plain


def edit() -> None:
    """A job grows out of its queue, another is new, and a third one ends."""
    write("jobs/small.yaml", JOB.format(name="small", queue="a", nodes=5, runtime="torch-distributed"))
    write("jobs/fresh.yaml", JOB.format(name="fresh", queue="a", nodes=4, runtime="torch-distributed"))
    Path("jobs/other.yaml").unlink()


def changes(diff: dict[str, Any]) -> list[Any]:
    """What a diff says apart from what a tool does about it, which a hash does change."""
    jobs = [
        (job["namespace"], job["name"], job["status"], job["totals"], [
            (one["kind"], one["name"], one["status"],
             sorted((change["path"], repr(change["before"]), repr(change["after"])) for change in one["changes"]))
            for one in job["objects"]
        ])
        for job in diff["jobs"]
    ]  # fmt: skip
    return [[*diff["notes"], *diff["cluster"]], *jobs]


@pytest.mark.parametrize("sides", [["git:HEAD"], ["rendered"], ["git:HEAD:rendered", "rendered"]], ids=" ".join)
def test_what_a_change_does(both: Both, sides: list[str]) -> None:
    def differences() -> list[Any]:
        build()
        git("add", ".")
        git("commit", "-qm", "rendered")
        edit()
        if len(sides) > 1:
            build()
        result = run("diff", *sides, "--format", "json")
        assert result.status == 0
        return changes(json.loads(result.stdout))

    plain, hashed = both(differences)
    assert [job[1:3] for job in plain[1:]] == [("fresh", "added"), ("other", "removed"), ("small", "changed")]
    assert any(note.startswith("team-a/small can no longer be admitted") for note in plain[0])
    assert hashed == plain


def test_the_titles_of_the_comment(both: Both) -> None:
    def titles() -> list[str]:
        edit()
        comment = run("diff", "git:HEAD", "--format", "markdown").stdout.replace("`", "")
        return re.findall(r"^\| (team-a/\S+)|^(?:> )?- (team-a/\S+ can .*)", comment, re.MULTILINE)

    plain, hashed = both(titles)
    assert sorted(row or sentence.partition(":")[0] for row, sentence in plain) == [
        "team-a/fresh",
        "team-a/fresh can never be admitted",
        "team-a/other",
        "team-a/small",
        "team-a/small can no longer be admitted",
    ]
    assert sorted(hashed) == sorted(plain)  # The most harmful first, which is another one with a hash.


def test_warnings_that_are_not_new_are_not_reported_again(both: Both) -> None:
    def reported() -> str:
        for name, (to, nodes) in JOBS.items():
            write(f"jobs/{name}.yaml", JOB.format(name=name, queue=to, nodes=nodes, runtime="ours"))
        git("add", ".")
        git("commit", "-qm", "one folder")
        write("runtimes/ours.yaml", RUNTIME.replace("train:1", "train:2"))
        return run("diff", "git:HEAD").stderr

    assert both(reported) == ("", "")


def test_rendered_files_go_by_the_name_of_their_job_too(both: Both) -> None:
    def answers() -> tuple[Result, Result]:
        build()
        return run("fits", "rendered", "--cluster", "cluster"), run("fits", ".", "--cluster", "cluster")

    plain, hashed = both(answers)
    assert plain[0].stdout == hashed[0].stdout
    assert plain[0].stdout.count("team-a/") == len(JOBS)
    # The rendered JobSets are those of the TrainJobs beside them, also if they are out of date.
    assert plain[1] == hashed[1]


def test_a_stale_rendered_file_is_not_another_job(both: Both) -> None:
    def answers() -> Result:
        build()
        edit()
        return run("fits", ".", "--cluster", "cluster", "--format", "json")

    plain, hashed = both(answers)
    jobs = [entry["job"] for entry in json.loads(plain.stdout)["jobs"]]
    assert jobs == ["team-a/big", "team-a/fresh", "team-a/lost", "team-a/other", "team-a/small"]
    assert [entry["job"] for entry in json.loads(hashed.stdout)["jobs"]] == jobs


@cases("name", "file", "job")
def test_a_file_tells_a_hash_from_a_name_that_looks_like_one(name: str, file: str, job: str) -> None:
    from trainc.emit.name_hash import name_in_file

    assert name_in_file(name, file) == job
