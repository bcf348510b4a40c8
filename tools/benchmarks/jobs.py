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
KUSTOMIZE_UP_TO = 1_000

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
    """What users vary from job to job. No two jobs have the same amounts of resources or the same words."""
    return {
        "name": f"pretrain-{number}",
        "namespace": f"team-{number % 7}",
        "queue": f"research-{number % 5}",
        "team": f"group-{number % 23}",
        "nodes": 2 + number % 30,
        "image": f"registry.example.com/{('pretrain', 'finetune', 'evaluate')[number % 3]}:1.{number}.2",
        "command": ["torchrun", f"train_{number % 11}.py"],
        "args": [f"--config=configs/{number}.yaml", f"--learning-rate=3e-{4 + number % 3}"],
        "run": f"sweep-{number}",
        "level": ("WARN", "INFO", "VERSION")[number % 3],
        "cpu": 64 + number % 61,
        "memory": f"{701 + 2 * (number % 499)}Gi",  # Never a whole number of Ti, which trainc would write.
        "gpu": 8 if number % 3 else 4,
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
    example.com/team: {own["team"]}
spec:
  runtimeRef:
    name: pretrain
  trainer:
    numNodes: {own["nodes"]}
    image: {own["image"]}
    command:
    - {own["command"][0]}
    - {own["command"][1]}
    args:
    - {own["args"][0]}
    - {own["args"][1]}
    env:
    - name: RUN
      value: {own["run"]}
    - name: NCCL_DEBUG
      value: {own["level"]}
    resourcesPerNode:
      requests:
        cpu: {own["cpu"]}
        memory: {own["memory"]}
      limits:
        nvidia.com/gpu: {own["gpu"]}
"""


def warned(number: int) -> str:
    """The same TrainJob with a value that NCCL_DEBUG does not take, which is one warning."""
    return trainjob(number).replace(f"value: {parameters(number)['level']}\n", "value: DEBUG\n")


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


def write_of_twenty(folder: Path, count: int) -> None:
    """Fill a folder with jobs of twenty runtimes, which differ in their image."""
    folder.mkdir(parents=True)
    for runtime in range(20):
        text = RUNTIME_ALONE.replace("name: pretrain\n", f"name: pretrain-{runtime}\n").replace(
            "1.4.2", f"1.4.{runtime}"
        )
        (folder / f"runtime-{runtime}.yaml").write_text(text)
    for number in range(count):
        text = trainjob(number).replace("    name: pretrain\n", f"    name: pretrain-{number % 20}\n")
        (folder / f"job-{number:05}.yaml").write_text(text)


def write_jobs(folder: Path, count: int, *, alone: bool = False) -> None:
    """Fill both folders with one job per file; that for kustomize only with as many as it is measured on."""
    ours, theirs = folders(folder, count, alone=alone)
    for made in (ours, theirs):
        made.mkdir(parents=True)
    (ours / "runtime.yaml").write_text(RUNTIME_ALONE if alone else RUNTIME)
    for number in range(count):
        (ours / f"job-{number:05}.yaml").write_text(trainjob(number))
    if count > KUSTOMIZE_UP_TO:
        return
    compiled = compile_paths([ours], options=Options(release=RELEASE))
    names = []
    for job in compiled.jobs:
        names.append(f"{job.name}.yaml")
        (theirs / names[-1]).write_text(dump_yaml(job.manifests))
    (theirs / "kustomization.yaml").write_text(_KUSTOMIZATION + "".join(f"- {name}\n" for name in names))


if __name__ == "__main__":
    write_jobs(Path(sys.argv[1]), int(sys.argv[2]), alone="alone" in sys.argv[3:])
