"""The jobs that are measured: TrainJobs for trainc, and what trainc makes of them for kustomize to go over."""

from __future__ import annotations

import sys
from pathlib import Path

from trainc import Options, compile_paths
from trainc.emit.yaml_writer import dump_yaml

RELEASE = "2.3"

# A runtime with a gang, so that each job becomes a JobSet and a PodGroup.
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


def trainjob(number: int) -> str:
    """One of the TrainJobs; no two are the same."""
    return f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: pretrain-{number}
  namespace: team-{number % 7}
  labels:
    kueue.x-k8s.io/queue-name: research-{number % 5}
spec:
  runtimeRef:
    name: pretrain
  trainer:
    numNodes: {2 + number % 30}
    image: registry.example.com/pretrain:1.{number % 9}.2
    command:
    - torchrun
    - train.py
    args:
    - --config=configs/{number}.yaml
    - --learning-rate=3e-{4 + number % 3}
    env:
    - name: RUN
      value: sweep-{number}
    - name: NCCL_DEBUG
      value: WARN
    resourcesPerNode:
      requests:
        cpu: 96
        memory: 1800Gi
      limits:
        nvidia.com/gpu: 8
"""


def change_one(folder: Path, number: int) -> None:
    """Edit the first job of trainc's folder, each time otherwise."""
    (folder / "job-00000.yaml").write_text(trainjob(0).replace("sweep-0", f"sweep-again-{number}"))


def folders(folder: Path, count: int) -> tuple[Path, Path]:
    """The folders of `count` jobs for trainc and for kustomize."""
    return folder / f"trainc-{count}", folder / f"kustomize-{count}"


def write_jobs(folder: Path, count: int) -> None:
    """Fill both folders, one job a file."""
    ours, theirs = folders(folder, count)
    for made in (ours, theirs):
        made.mkdir(parents=True)
    (ours / "runtime.yaml").write_text(RUNTIME)
    for number in range(count):
        (ours / f"job-{number:05}.yaml").write_text(trainjob(number))
    compiled = compile_paths([ours], options=Options(release=RELEASE))
    names = []
    for job in compiled.jobs:
        names.append(f"{job.name}.yaml")
        (theirs / names[-1]).write_text(dump_yaml(job.manifests))
    (theirs / "kustomization.yaml").write_text(_KUSTOMIZATION + "".join(f"- {name}\n" for name in names))


if __name__ == "__main__":
    write_jobs(Path(sys.argv[1]), int(sys.argv[2]))
