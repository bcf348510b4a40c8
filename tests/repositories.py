"""Git repositories of jobs that are kept as built, for tests: written, committed, and checked as a workflow does it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import Result, run

RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: NAME}
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
                  image: registry.example.com/train:1
                  env:
                  - {name: NCCL_DEBUG, value: WARN}
                  resources: {limits: {nvidia.com/gpu: 8}}
"""
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME, namespace: TEAM}
spec:
  runtimeRef: {name: RUNTIME}
  trainer: {numNodes: 2, command: [torchrun, train.py]}
"""
SETTINGS = """\
release: "2.3"
sources: [jobs]
runtimes: [runtimes]
output: rendered
nameHash: true
rebuild: changed-jobs
"""


def starting_with(make: Callable[[], None]) -> Any:
    """A fixture by which each test starts with what `make` makes in the current folder, and where it leaves off.

    That is made once in a process, with its commits and builds, and copied for each test.
    """

    made: list[tuple[Path, str]] = []

    @pytest.fixture(autouse=True)
    def copied(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
        if not made:
            folder = tmp_path_factory.mktemp("made")
            with contextlib.chdir(folder):
                make()
                made.append((folder, os.path.relpath(os.curdir, folder)))
            for sample in folder.glob(".git/hooks/*.sample"):
                sample.unlink()
        shutil.copytree(made[0][0], tmp_path, symlinks=True, dirs_exist_ok=True)
        monkeypatch.chdir(tmp_path / made[0][1])

    return copied


def git(*words: str) -> str:
    """Run git in the current folder as somebody."""
    settings = ("user.name=a", "user.email=a@example.com", "commit.gpgsign=false", "init.defaultBranch=main")
    given = [word for one in settings for word in ("-c", one)]
    return subprocess.run(["git", *given, *words], check=True, capture_output=True, text=True).stdout.strip()


def write(path: str, text: str) -> None:
    """Write a file and the folders that it needs."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def read(path: str) -> str:
    """Read a file."""
    return Path(path).read_text(encoding="utf-8")


def edit(path: str, old: str, new: str) -> None:
    """Replace a part of a file, which must be there."""
    text = read(path)
    assert old in text
    write(path, text.replace(old, new))


def queue(gpus: int, namespace: str = "nlp", name: str = "main", cluster_queue: str = "h100") -> str:
    """A ClusterQueue of GPUs and nothing else, its flavor h100, and its LocalQueue in a namespace."""
    return f"""\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {cluster_queue}}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{{name: h100, resources: [{{name: nvidia.com/gpu, nominalQuota: {gpus}}}]}}]
---
{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {{name: h100}}, spec: {{}}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{clusterQueue: {cluster_queue}}}
"""


def job(team: str, name: str, runtime: str = "torch-h100") -> None:
    """Write a TrainJob."""
    write(f"jobs/{team}/{name}.yaml", JOB.replace("NAME", name).replace("TEAM", team).replace("RUNTIME", runtime))


def runtime(name: str = "torch-h100") -> None:
    """Write a runtime."""
    write(f"runtimes/{name}.yaml", RUNTIME.replace("NAME", name))


def commit(message: str = "change") -> str:
    """Commit everything, and return the commit."""
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", message)
    return git("rev-parse", "HEAD")


def branch(name: str) -> None:
    """Start a branch here."""
    git("checkout", "-q", "-b", name)


def merge(name: str) -> None:
    """Merge a branch into main, as a pull request is merged."""
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", f"merge {name}", name)


def build(*words: str) -> Result:
    """Build, which has to succeed."""
    result = run("build", *words)
    assert result.status == 0, result.stderr
    return result


def checked(base: str = "main") -> Result:
    """What the required check of a pull request runs."""
    return run("build", "--check", "--base", base)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar archive of git; Python before 3.11.4 has no filters."""
    filters = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as opened:
        opened.extractall(folder, **filters)  # type: ignore[arg-type]
