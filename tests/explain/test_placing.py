"""Findings about built objects point to the line of the input that set the field, whichever document it is in."""

from __future__ import annotations

import pytest

from trainc import CompileError, Diagnostic, Options
from trainc.explain import place
from trainc.functions import compile_documents
from trainc.options import Limits
from trainc.pipeline.fragments import check_unused_runtimes
from trainc.pipeline.session import Session
from trainc.reading.document import Document
from trainc.reading.yaml_reader import read_documents

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: rt}
"""
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy: {torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
"""
CONTAINER = "                containers: [{name: node, image: 'example.com/train:1'}]\n"


def diagnosed(job: str, runtime: str, release: str = "2.3") -> list[Diagnostic]:
    documents = [d for name, text in (("job.yaml", job), ("rt.yaml", runtime)) for d in read(text, name)]
    with pytest.raises(CompileError) as refused:
        compile_documents(documents, (), Options(release=release))
    return refused.value.diagnostics


def read(text: str, name: str) -> list[Document]:
    documents, problems = read_documents(text.encode(), name, Limits())
    assert not problems
    return documents


def place_of(diagnostics: list[Diagnostic], code: str) -> str:
    (found,) = [d for d in diagnostics if d.code == code]
    assert found.source is not None
    assert found.object == "JobSet team-a/llm"
    return f"{found.source.file}:{found.source.line}:{found.source.column}"


def test_what_the_runtime_says_is_at_the_runtimes_line() -> None:
    runtime = RUNTIME + "                restartPolicy: Always\n" + CONTAINER
    assert place_of(diagnosed(JOB, runtime), "InvalidRestartPolicy") == "rt.yaml:15:17"


def test_what_a_patch_says_is_at_the_patchs_line() -> None:
    patch = """\
  runtimePatches:
  - manager: example.com/a
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  spec:
                    volumes:
                    - {name: data, emptyDir: {}, hostPath: {path: /data}}
"""
    assert place_of(diagnosed(JOB + patch, RUNTIME + CONTAINER), "TwoVolumeSources") == "job.yaml:18:24"


def test_a_value_inside_a_field_that_the_api_server_refuses_is_at_its_own_line() -> None:
    patch = """\
  runtimePatches:
  - manager: example.com/a
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  spec:
                    tolerations:
                    - key: nvidia.com/gpu
                      operator: Equals
                    containers:
                    - name: node
                      volumeMounts: [{name: data, mountPath: /data}]
"""
    found = diagnosed(JOB + patch, RUNTIME + CONTAINER)
    assert place_of(found, "UnsupportedValue") == "job.yaml:19:23"
    assert place_of(found, "NotInPod") == "job.yaml:22:39"


def test_under_the_controllers_semantics_what_the_api_server_refuses_is_a_warning() -> None:
    documents = read(JOB, "job.yaml") + read(RUNTIME + "                hostname: Node_1\n" + CONTAINER, "rt.yaml")
    compilation = compile_documents(documents, (), Options(release="2.3", semantics="controller"))
    (found,) = [d for d in compilation.diagnostics if d.code == "InvalidName"]
    assert (found.severity, found.source and found.source.line) == ("warning", 15)


def test_what_the_trainer_of_the_job_says_is_at_its_line() -> None:
    trainer = "  trainer:\n    resourcesPerNode: {limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 1}}\n"
    assert place_of(diagnosed(JOB + trainer, RUNTIME + CONTAINER), "ExtendedResourceUnequal") == "job.yaml:7:64"


def test_a_name_that_is_derived_is_at_the_name() -> None:
    job = JOB.replace("name: llm", "name: llm" + "l" * 60)
    found = [d.source for d in diagnosed(job, RUNTIME + CONTAINER) if d.object.startswith("JobSet")]
    assert {source and (source.file, source.line) for source in found} == {("job.yaml", 3)}


def test_a_runtime_that_no_job_uses_is_placed_as_well() -> None:
    runtime = RUNTIME + "                restartPolicy: Always\n" + CONTAINER
    (found,) = check_unused_runtimes(
        Session(Options(release="2.3"), diagnose_objects=place).with_input(read(runtime, "rt.yaml"))
    )
    (wrong,) = [d for d in found if d.code == "InvalidRestartPolicy"]
    assert wrong.source is not None
    assert (wrong.source.file, wrong.source.line) == ("rt.yaml", 15)


def test_documents_without_text_have_no_place() -> None:
    with pytest.raises(CompileError) as refused:
        compile_documents(read(JOB, "") + read(RUNTIME + "                restartPolicy: Always\n" + CONTAINER, ""))
    assert any(d.code == "InvalidRestartPolicy" for d in refused.value.diagnostics)
