"""The benchmark input: TrainJobs for trainc, and the corresponding manifests for kustomize."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from trainc import Options, compile_paths
from trainc.emit.yaml_writer import dump_yaml
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents

RELEASE = "2.3"

# A runtime with a gang: each job becomes a JobSet and a PodGroup.
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: pretrain
  labels:
    trainer.kubeflow.org/framework: torch
spec:
  mlPolicy:
    numNodes: 2
    torch: {}
  podGroupPolicy:
    coscheduling:
      scheduleTimeoutSeconds: 120
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
            template:
              spec:
                schedulerName: scheduler-plugins-scheduler
                containers:
                - name: node
                  image: registry.example.com/pretrain:1.4.2
                  volumeMounts:
                  - name: shm
                    mountPath: /dev/shm
                volumes:
                - name: shm
                  emptyDir:
                    medium: Memory
                    sizeLimit: 64Gi
"""

_KUSTOMIZATION = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: research
patches:
- target:
    kind: JobSet
  patch: |-
    - op: add
      path: /spec/ttlSecondsAfterFinished
      value: 86400
resources:
"""


# The same runtime without a gang: each job becomes only a JobSet.
RUNTIME_ALONE = RUNTIME.replace(
    """\
  podGroupPolicy:
    coscheduling:
      scheduleTimeoutSeconds: 120
""",
    "",
).replace("                schedulerName: scheduler-plugins-scheduler\n", "")


def parameters(number: int) -> dict[str, Any]:
    """The values that make every TrainJob different."""
    return {
        "name": f"pretrain-{number}",
        "namespace": f"team-{number % 7}",
        "queue": f"research-{number % 5}",
        "nodes": 2 + number % 30,
        "image": f"registry.example.com/pretrain:1.{number % 9}.2",
        "args": [f"--config=configs/{number}.yaml", f"--learning-rate=3e-{4 + number % 3}"],
        "run": f"sweep-{number}",
    }


def trainjob(number: int) -> str:
    """The TrainJob with the given number."""
    own = parameters(number)
    return f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: {own["name"]}
  namespace: {own["namespace"]}
  labels:
    kueue.x-k8s.io/queue-name: {own["queue"]}
spec:
  runtimeRef:
    name: pretrain
  trainer:
    numNodes: {own["nodes"]}
    image: {own["image"]}
    command:
    - torchrun
    - train.py
    args:
    - {own["args"][0]}
    - {own["args"][1]}
    env:
    - name: RUN
      value: {own["run"]}
    - name: NCCL_DEBUG
      value: WARN
    resourcesPerNode:
      requests:
        cpu: 96
        memory: 1800Gi
      limits:
        nvidia.com/gpu: 8
"""


def parsed(text: str) -> dict[str, Any]:
    """Parse a document."""
    [document], problems = read_documents(text.encode(), "job.yaml", Limits())
    assert not problems
    return document.data


def change_one(folder: Path, number: int) -> None:
    """Edit the first job in trainc's folder, differently for each `number`."""
    (folder / "job-00000.yaml").write_text(trainjob(0).replace("sweep-0", f"sweep-again-{number}"))


def folders(folder: Path, count: int, *, alone: bool = False) -> tuple[Path, Path]:
    """The folders of `count` jobs for trainc and for kustomize; `alone` means JobSets without PodGroups."""
    end = f"{count}-alone" if alone else str(count)
    return folder / f"trainc-{end}", folder / f"kustomize-{end}"


def write_jobs(folder: Path, count: int, *, alone: bool = False) -> None:
    """Fill both folders with one job per file."""
    ours, theirs = folders(folder, count, alone=alone)
    for made in (ours, theirs):
        made.mkdir(parents=True)
    (ours / "runtime.yaml").write_text(RUNTIME_ALONE if alone else RUNTIME)
    for number in range(count):
        (ours / f"job-{number:05}.yaml").write_text(trainjob(number))
    compiled = compile_paths([ours], options=Options(release=RELEASE))
    names = []
    for job in compiled.jobs:
        names.append(f"{job.name}.yaml")
        (theirs / names[-1]).write_text(dump_yaml(job.manifests))
    (theirs / "kustomization.yaml").write_text(_KUSTOMIZATION + "".join(f"- {name}\n" for name in names))


if __name__ == "__main__":
    write_jobs(Path(sys.argv[1]), int(sys.argv[2]), alone="alone" in sys.argv[3:])
