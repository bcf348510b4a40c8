"""A repository full of other people's YAML: it costs nothing, breaks nothing, and hides nothing of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run
from repositories import job

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
"""
FOREIGN = {
    "chart/templates/deployment.yaml": "{{- if .Values.enabled }}\nkind: Deployment\n{{- end }}\n",
    "stack.yaml": "Resources:\n  Bucket: !Ref Name\n",
    "mkdocs.yml": "emoji: !!python/name:materialx.emoji.twemoji\n",
    "playbook.yml": "- hosts: all\n  tasks: []\n",
    "motd.yaml.j2": "{% for host in hosts %}{{ host }}{% endfor\n",
}
COUNTED = (
    "info[SkippedDocument] skipped 5 files in .: they mention none of the API groups that trainc reads: "
    "chart/templates/deployment.yaml, mkdocs.yml, motd.yaml.j2 and 2 more\n"
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path, text in {**FOREIGN, "jobs/llm.yaml": JOB, "trainc.yaml": 'release: "2.3"\n'}.items():
        write(path, text)


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "words",
    [
        ("build",),
        ("check",),
        ("check", "--runtimes", "chart"),
        ("report", "-o", "-"),
        ("migrate", "."),
    ],
)
def test_foreign_yaml_stops_no_command(words: tuple[str, ...]) -> None:
    result = run(*words)
    assert result.status == 0, result.stderr
    assert "error" not in result.stderr


def test_what_was_passed_over_is_counted_once() -> None:
    assert run("build").stderr == f"trainc: {COUNTED}"
    assert run("check").stderr == f"trainc: {COUNTED}1 document checked, 1 TrainJob compiled\n"
    assert run("build", "-q").stderr == ""


def test_a_foreign_file_that_is_named_is_read() -> None:
    result = run("build", "stack.yaml")
    assert result.status == 1
    assert "stack.yaml:2:" in result.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (JOB.replace("kind: TrainJob", "kind: TrainJob\n bad"), "jobs/other.yaml:"),
        (JOB.partition("\n")[2], "apiVersion is missing"),
        (JOB.replace("trainer.kubeflow.org/v1alpha1", "trainer.kubeflow.org/v9"), "[UnknownAPIVersion]"),
        ("mlPolicy: {numNode: 1}\n", "numNode"),
        (JOB.encode("utf-16").decode("latin-1"), "jobs/other.yaml"),
    ],
)
def test_what_may_be_ours_is_never_passed_over(text: str, expected: str) -> None:
    Path("jobs/other.yaml").write_bytes(text.encode("latin-1"))
    result = run("check")
    assert result.status == 1
    assert expected in result.stderr


def test_excluded_files_are_not_looked_at() -> None:
    write("legacy/broken.yaml", f"{JOB}  trainer: {{\n")
    write("jobs/old/broken.yaml", f"{JOB}  trainer: {{\n")
    assert run("check").status == 1
    write("trainc.yaml", 'release: "2.3"\nexclude: [legacy, jobs/old/**]\n')
    for words in (("check",), ("report", "-o", "-")):
        assert run(*words).status == 0
    # Globs begin at trainc.yaml, wherever the walk begins; who names a file means it.
    assert run("check", "jobs").status == 0
    assert run("check", "jobs/old/broken.yaml").status == 1


@pytest.mark.parametrize("name", ["llm.yaml.bak", "llm.yml.txt", "llm.tpl", "LLM.YAML", "llm.yaml~"])
def test_a_job_under_a_name_that_is_not_read_is_named(name: str) -> None:
    write(f"jobs/{name}", JOB)
    severity = "warning" if name.endswith(".YAML") else "info"
    assert f"{severity}[OtherExtension] jobs/{name} contains a TrainJob, but was not read" in run("build").stderr


def test_a_note_that_is_not_a_document_of_ours_is_not_named() -> None:
    write("jobs/README.yaml.txt", "How to write a TrainJob: kind: TrainJob comes first.\n")
    assert "OtherExtension" not in run("build").stderr


@pytest.mark.parametrize("command", ["build", "check"])
def test_nothing_to_do_is_an_error(command: str) -> None:
    result = run(command, "chart")
    assert result.status == 1
    assert "error[NoTrainJob] no TrainJob found in chart" in result.stderr
    assert run(command, "chart", "--allow-empty").status == 0


@pytest.mark.parametrize("version", ["scheduling.k8s.io/v1alpha2", "scheduling.x-k8s.io/v1alpha1"])
def test_the_group_of_a_jobset_is_found_in_a_file_of_its_own(version: str) -> None:
    gang = "  podGroupPolicy: {coscheduling: {}}\n  template: {spec: {replicatedJobs: [{name: node, template: "
    gang += "{metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: "
    gang += "{containers: [{name: node, image: 'a:1', command: [a]}]}}}}}]}}\n"
    write("ganged.yaml", JOB.replace("torch-distributed", "r, kind: TrainingRuntime") + "---\n")
    runtime = (
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: r, namespace: team-a}\n"
    )
    write("ganged.yaml", Path("ganged.yaml").read_text() + f"{runtime}spec:\n{gang}")
    group, jobset = run("build", "ganged.yaml").stdout.split("---\n")
    write("out/group.yaml", group.replace("scheduling.x-k8s.io/v1alpha1", version))
    write("out/jobset.yaml", jobset)
    assert "StaleReference" not in run("check", "out").stderr
    Path("out/group.yaml").unlink()
    assert "StaleReference" in run("check", "out").stderr


def test_what_makes_a_secret_is_read_wherever_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    head = "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: token, namespace: nlp}\n"
    Path("secret.yaml").write_text(f"{head}spec: {{target: {{name: token}}}}\n", encoding="utf-8")
    job("nlp", "llm", "torch-distributed")
    assert "3 documents checked, 2 TrainJobs compiled" in run("check").stderr
