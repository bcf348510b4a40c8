"""A month of a platform team: a subfolder of a monorepo, three clusters, two teams, two sweeps and a broken job."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import Result, run
from published_schemas import published
from repositories import git, unpack, write

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}, namespace: {team}, labels: {{kueue.x-k8s.io/queue-name: {queue}}}}}
spec:
  runtimeRef: {{name: torch-team}}
  trainer: {{numNodes: 2, command: [torchrun, {command}]}}
"""
SWEEP = "apiVersion: trainc/v1alpha1\nkind: Sweep\nbase: {base}.yaml\nparameters: {{lr: {values}}}\n"
LR = 'train.py, "--lr=${trialParameters.lr}"'
SETTINGS = """\
release: "2.3"
sources: ["jobs/*"]
runtimes: [runtimes]
namespaces: {"jobs/nlp/**": [nlp], "jobs/ads/**": [ads]}
environments:
  h100: {output: rendered/h100, select: {queue: h100}}
  a100: {output: rendered/a100, select: {queue: a100}}
  tpu: {output: rendered/tpu, select: {labels: {kueue.x-k8s.io/queue-name: tpu}}}
"""
REQUIREMENT = ["--requirement", "trainc @ git+https://git.example.com/platform/trainc@8f3c2d1"]
# The fields of the two tools' resources: argo-cd docs/operator-manual/application.yaml, and the API reference of
# fluxcd/kustomize-controller v1.
APPLICATION = {
    "source": {"repoURL", "targetRevision", "path", "directory"},
    "destination": {"server", "namespace"},
    "syncPolicy": {"automated", "syncOptions"},
    "project": set(),
}
KUSTOMIZATION = {"interval", "sourceRef", "path", "prune", "wait", "timeout", "healthCheckExprs"}


def job(team: str, name: str, queue: str, command: str = "train.py") -> None:
    write(f"jobs/{team}/{name}.yaml", JOB.format(team=team, name=name, queue=queue, command=command))


def commit(message: str) -> None:
    git("add", "-A", "..")
    git("commit", "-qm", message)


def good(*words: str) -> Result:
    result = run(*words)
    assert result.status == 0, result.stderr
    return result


def rendered() -> dict[str, str]:
    found = sorted(Path("rendered").rglob("*.yaml"))
    return {path.relative_to("rendered").as_posix(): path.read_text(encoding="utf-8") for path in found}


def load(path: str) -> Any:
    return yaml.safe_load(Path(path).read_text(encoding="utf-8"))


def test_a_month(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: PLR0915 - four weeks
    company = tmp_path / "company"
    write(str(company / "web/index.html"), "<p>Hello")
    monkeypatch.chdir(company)
    git("init", "-q")

    # Week 1: the subfolder, its two teams and three clusters.
    good("init", "ml", *REQUIREMENT)
    monkeypatch.chdir("ml")
    for path in ("jobs", "overlays", "rendered", "argocd"):
        subprocess.run(["rm", "-r", path], check=True)
    write("trainc.yaml", SETTINGS)
    runtime = load("runtimes/torch-team.yaml")
    assert runtime["kind"] == "ClusterTrainingRuntime"
    job("nlp", "bert", "h100")
    job("nlp", "vit", "tpu")
    job("ads", "reward", "a100")
    good("init", "--only", "gitops", "--cluster", "h100=https://h100.example.com")
    good("init", "--only", "gitops", "--gitops", "flux")
    good("build")
    assert list(rendered()) == ["a100/ads/reward.yaml", "h100/nlp/bert.yaml", "tpu/nlp/vit.yaml"]
    assert "torch-team" in good("runtimes", "list").stdout.splitlines()[1]
    good("new", "gpt", "--runtime", "torch-team", "--queue", "h100", "--namespace", "nlp", "-o", "jobs/nlp/gpt.yaml")
    good("build")
    commit("week 1")
    check_manifests(["h100", "a100", "tpu"])

    # Week 2: two sweeps, and a job that moves to another cluster.
    job("nlp", "bert", "h100", LR)
    write("jobs/nlp/sweep.yaml", SWEEP.format(base="bert", values="[1, 2, 3]"))
    job("ads", "rank", "a100", LR)
    write("jobs/ads/sweep.yaml", SWEEP.format(base="rank", values="[1, 2]"))
    job("nlp", "gpt", "a100")
    shown = json.loads(good("diff", "--format", "json").stdout)["environments"]
    names = {f"bert-trial-{number}" for number in range(3)}
    assert {each["name"] for each in shown["h100"]["jobs"]} >= names
    assert {each["name"] for each in shown["a100"]["jobs"]} == {"rank-trial-0", "rank-trial-1", "gpt"}
    assert shown["tpu"]["changed"] is False
    good("build")
    week = rendered()
    assert [path for path in week if "trial" in path] == [
        *(f"a100/ads/rank-trial-{number}.yaml" for number in range(2)),
        *(f"h100/nlp/bert-trial-{number}.yaml" for number in range(3)),
    ]
    assert "h100/nlp/gpt.yaml" not in week
    assert "a100/nlp/gpt.yaml" in week
    commit("week 2")

    # Week 3: one team breaks a job, the other one works on.
    job("ads", "reward", "a100", "train.py], numNode: [2")
    job("nlp", "vit", "tpu", "other.py")
    assert run("build").status == 1
    assert rendered() == week
    annotated = run("check", "--format", "github").stdout
    assert "::error file=ml/jobs/ads/reward.yaml" in annotated
    assert run("build", "--keep-going").status == 1
    after = rendered()
    assert {path for path in week if week[path] != after.get(path)} == {"tpu/nlp/vit.yaml"}
    assert list(after) == list(week)
    comment = run("diff", "--format", "markdown")
    assert (comment.status, "ads/reward" in comment.stdout) == (0, True)
    assert run("report", "-o", str(tmp_path / "report.html")).status == 1
    # Nor may it use the other's namespace, or take the place of the shared runtime.
    write("jobs/ads/foreign.yaml", JOB.format(team="nlp", name="foreign", queue="a100", command="train.py"))
    runtime["spec"]["mlPolicy"]["numNodes"] = 64
    write("jobs/ads/runtime.yaml", yaml.safe_dump(runtime))
    said = run("check").stderr
    assert "error[ForeignNamespace]" in said
    assert "error[RuntimeReplaced]" in said
    for name in ("foreign", "runtime"):
        Path(f"jobs/ads/{name}.yaml").unlink()
    job("ads", "reward", "a100")
    good("build")
    commit("week 3")

    # Week 4: whoever compiles, wherever, gets the same bytes; a revert brings back the former ones.
    bytes_now = rendered()
    git("clone", "-q", "..", str(tmp_path / "clone"))
    git("worktree", "add", "-q", str(tmp_path / "worktree"))
    git("-C", "..", "archive", "-o", str(tmp_path / "all.tar"), "HEAD")
    unpack(tmp_path / "all.tar", tmp_path / "archive")
    for name in ("clone", "worktree", "archive", "company"):
        monkeypatch.chdir(tmp_path / name / "ml/jobs/nlp")
        checked = good("build", "--check")
        assert checked.stdout == ""
        monkeypatch.chdir(tmp_path / name)
        good("build", "--check", "--config", "ml/trainc.yaml")
        monkeypatch.chdir(tmp_path / name / "ml")
        subprocess.run(["rm", "-r", "rendered"], check=True)
        good("build")
        assert rendered() == bytes_now
    git("revert", "--no-edit", "HEAD")
    good("build", "--check")
    assert rendered() == week


def check_manifests(environments: list[str]) -> None:
    """What is generated says what its tools read, and nothing else."""
    for environment in environments:
        application = load(f"argocd/{environment}.yaml")
        assert (application["apiVersion"], application["kind"]) == ("argoproj.io/v1alpha1", "Application")
        assert set(application["spec"]) == set(APPLICATION)
        for field, known in APPLICATION.items():
            assert not known or set(application["spec"][field]) <= known
        assert application["spec"]["source"]["path"] == f"ml/rendered/{environment}"
        kustomization = load(f"flux/{environment}.yaml")
        assert kustomization["apiVersion"] == "kustomize.toolkit.fluxcd.io/v1"
        assert set(kustomization["spec"]) <= KUSTOMIZATION
        assert kustomization["spec"]["path"] == f"./ml/rendered/{environment}"
    from jsonschema.validators import validator_for

    schema = published("pre-commit-config.json")
    errors = validator_for(schema)(schema).iter_errors(load("../.pre-commit-config.yaml"))
    assert [error.message for error in errors] == []
