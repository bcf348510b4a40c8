"""Templates of other programs: told apart, each one finding with the command that renders it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import run

from trainc import CompileError, Options, compile_trainjob
from trainc.reading.unrendered import template_finding

HEAD = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: llm}\nspec:\n"
JOB = HEAD + "  runtimeRef: {name: torch-distributed}\n"
TRAINER = JOB + "  trainer:\n    command: [torchrun, t.py]\n"
HELM = """\
{{- if .Values.train }}
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: {{ .Release.Name }}
  labels:
    {{- include "chart.labels" . | nindent 4 }}
spec:
  {{- with .Values.trainer }}
  trainer: {{ toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
"""


def found(folder: Path, name: str, text: str, *words: str) -> list[dict[str, Any]]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    command = words or ("check", "--release", "2.3", "--format", "json")
    output = json.loads(run(*command, str(folder)).stdout)
    return [each for each in output["diagnostics"] if each["severity"] == "error"]


@pytest.mark.parametrize(
    ("name", "text", "line", "hint"),
    [
        ("charts/llm/templates/job.yaml", HELM, 1, "helm template {folder}/charts/llm > rendered.yaml"),
        ("job.yaml", JOB + "  trainer: {{ toYaml .Values.trainer }}\n", 6, "helm template CHART > rendered.yaml"),
        ("job.yaml", HEAD + "  runtimeRef: {name: {{ runtime }}}\n", 5, "rename the file to {folder}/job.yaml.j2"),
        ("job.yaml", JOB + "{% if big %}\n  trainer: {numNodes: 8}\n{% endif %}\n", 6, "job.yaml.j2"),
        ("job.yaml", JOB + "  trainer:\n    numNodes: $NODES\n", 7, "envsubst < {folder}/job.yaml > rendered.yaml"),
        ("job.yaml", HEAD + '  runtimeRef: {name: "${RUNTIME}"}\n', 5, "envsubst < {folder}/job.yaml"),
        ("job.yaml", JOB.replace("llm", "${NAME}"), 3, "envsubst < {folder}/job.yaml"),
        ("job.yaml", TRAINER + "    image: ${REGISTRY}/train:1\n", 8, "envsubst < {folder}/job.yaml"),
        (
            "job.yaml",
            TRAINER + "    resourcesPerNode:\n      limits:\n        cpu: 1\n        ${GPUS}\n",
            11,
            "envsubst",
        ),
    ],
)
def test_a_template_is_one_finding_with_the_command_that_renders_it(
    name: str, text: str, line: int, hint: str, tmp_path: Path
) -> None:
    (only,) = found(tmp_path, name, text)
    assert (only["code"], only["source"]["line"]) == ("UnrenderedTemplate", line)
    assert hint.format(folder=tmp_path) in only["hint"]


def test_several_documents_of_one_template_are_one_finding(tmp_path: Path) -> None:
    text = "---\n".join(JOB.replace("llm", f"${{NAME_{i}}}") + "  trainer: {numNodes: $N}\n" for i in range(3))
    assert [each["code"] for each in found(tmp_path, "jobs.yaml", text)] == ["UnrenderedTemplate"]


def test_other_errors_of_the_same_document_are_reported_too(tmp_path: Path) -> None:
    text = JOB + "  trainer: {numNodes: $N, nodes: 2}\n"
    assert {each["code"] for each in found(tmp_path, "job.yaml", text)} == {"UnrenderedTemplate", "UnknownField"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (TRAINER.replace("[torchrun, t.py]", '[bash, -c, "cd $WORK && exec torchrun ${SCRIPT}"]'), None),
        (TRAINER + '    env: [{name: A, value: "$(B) ${C}"}]\n', None),
        (TRAINER + '    env: [{name: A, value: "{{ a }}"}]\n    nodes: 2\n', "UnknownField"),
        (JOB.replace("llm", "LLM"), "InvalidName"),
        (JOB + "  trainer: [1\n", "YAMLSyntax"),
        (HEAD + '  runtimeRef: {name: "gpu $ large"}\n', "RuntimeNotFound"),
    ],
)
def test_what_only_looks_like_a_template_is_none(text: str, code: str | None, tmp_path: Path) -> None:
    assert {each["code"] for each in found(tmp_path, "job.yaml", text)} == ({code} if code else set())


def test_katib_fills_in_its_own_parameters() -> None:
    assert template_finding({"replicas": "${trialParameters.workers}"}, ("replicas",), "") is None
    assert template_finding({"replicas": "${workers}"}, ("replicas",), "") is not None


def test_a_manifest_in_the_text_of_a_workflow_is_not_a_template_of_the_file() -> None:
    manifest = "kind: TFJob\nmetadata: {name: {{inputs.name}}}\n"
    assert template_finding({"spec": {"manifest": manifest}}, ("spec", "manifest"), "job.yaml") is None


def test_a_document_without_a_file_is_called_something() -> None:
    job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "a"}}
    with pytest.raises(CompileError, match=r"envsubst < job\.yaml"):
        compile_trainjob({**job, "spec": {"runtimeRef": {"name": "r"}, "trainer": {"numNodes": "$N"}}}, [], Options())


def test_migrate_leaves_a_template_as_it_is_and_says_how_to_render_it(tmp_path: Path) -> None:
    text = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n  pytorchReplicaSpecs:\n    Worker:\n"
    text += "      replicas: $WORKERS\n      template: {spec: {containers: [{name: pytorch, image: '${IMAGE}'}]}}\n"
    path = tmp_path / "job.yaml"
    path.write_text(text, encoding="utf-8")
    result = run("migrate", str(path))
    assert result.status == 1
    assert result.stderr.count("error[") == result.stderr.count("error[UnrenderedTemplate]") == 1
    assert f"envsubst < {path}" in result.stderr
    assert path.read_text(encoding="utf-8") == text
