"""A job and its runtime in a folder, and overlays that are written beside them and applied."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders import is_text

from trainc import CompileError, Options
from trainc.compilation import Compilation
from trainc.paths import compile_paths

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: rt}
  trainer:
    numNodes: 2
    image: example.com/train:1
    env:
    - {name: A, value: "1"}
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
                containers:
                - {name: node, image: "registry:5000/torch:1"}
"""
HEAD = "apiVersion: trainc/v1alpha1\nkind: Overlay\n"
OPTIONS = Options(release="2.3", delivery="kubectl")


def write(path: str, text: str) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def overlay(text: str, name: str = "prod") -> str:
    write(f"overlays/{name}/overlay.yaml", HEAD + text)
    return f"overlays/{name}"


def built(*overlays: str, paths: tuple[str, ...] = ("jobs",), options: Options = OPTIONS) -> Compilation:
    return compile_paths(paths, overlays=overlays, options=options)


def refused(*overlays: str, paths: tuple[str, ...] = ("jobs",)) -> list[str]:
    with pytest.raises(CompileError) as error:
        built(*overlays, paths=paths)
    assert all(is_text(d.message) for d in error.value.diagnostics)
    assert all(is_text(d.hint) for d in error.value.diagnostics if d.code == "InvalidOverlay")
    return [str(d) for d in error.value.diagnostics if d.severity == "error"]
