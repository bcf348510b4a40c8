"""Every command, watched: no connection, no program but git for `diff`, nothing written but what was asked for."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tables import cases

import trainc
from trainc.reading.catalog import catalog_folder

pytestmark = pytest.mark.slow

WATCHED = Path(__file__).with_name("watched.py")
JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec: {runtimeRef: {name: mpi}, trainer: {numNodes: 2, image: '{{ image | default("a:1") }}'}}
"""
RUNTIME = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: mpi}
spec:
  mlPolicy: {mpi: {mpiImplementation: OpenMPI}}
  template:
    spec:
      replicatedJobs:
      - name: launcher
        template: {spec: {template: {spec: {containers: [{name: node, image: example.com/mpi:1}]}}}}
      - name: node
        template: {spec: {template: {spec: {containers: [{name: node, image: example.com/mpi:1}]}}}}
"""
OVERLAY = """apiVersion: trainc/v1alpha1
kind: Overlay
values: {image: "example.com/train:1"}
patches:
- {path: patch.yaml, target: {kind: TrainJob}}
"""
# What no output may hold: the values of variables that a job could try to get at.
ENVIRONMENT = {
    "TRAINC_TEST_TOKEN": "hunter2",
    "AWS_SECRET_ACCESS_KEY": "hunter3",
    "PATH": os.environ["PATH"],
    "HOME": "/",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Everything that trainc reads: settings, a template, a runtime, an overlay with a patch."""
    texts = {
        "trainc.yaml": "release: '2.3'\nruntimes: [runtimes]\nsources: [jobs]\n",
        "jobs/llm.yaml.j2": JOB,
        "runtimes/mpi.yaml": RUNTIME,
        "plain.yaml": OVERLAY.partition("values")[0],
        "overlay/overlay.yaml": OVERLAY,
        "overlay/patch.yaml": "spec: {trainer: {env: [{name: A, value: $TRAINC_TEST_TOKEN}, {name: B, value: '$(HOME)'}]}}\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def watched(repository: Path, words: Sequence[str], stdin: str = "") -> tuple[dict[str, Any], str]:
    """What a command did, and what it said."""
    done = subprocess.run(
        [sys.executable, str(WATCHED), *words],
        cwd=repository,
        env=ENVIRONMENT,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    reported, _, seen = done.stderr.rstrip("\n").rpartition("\n")
    assert done.returncode == ("--check" in words), reported
    return json.loads(seen), done.stdout + reported


def installed(path: str) -> bool:
    """Whether a path is Python's own or that of an installed package, trainc among them."""
    roots = [
        catalog_folder(),
        *sysconfig.get_paths().values(),
        str(Path(trainc.__file__).parents[1]),
        sys.prefix,
        sys.base_prefix,
    ]
    return any(path == root or path.startswith(os.path.join(root, "")) for root in roots)


WRITTEN = {"out": "--output out", "page.html": "page.html", "started": "init started"}


@cases("command")
def test_a_command_reads_its_input_writes_its_output_and_does_nothing_else(command: str, repository: Path) -> None:
    seen, reported = watched(
        repository, command.split(), f"{JOB}---\n{RUNTIME}".replace('{{ image | default("a:1") }}', "a:1")
    )
    # `init` asks git where a clone of trainc came from, so that the requirement it writes can be installed.
    assert (seen["connected"], set(map(os.path.basename, seen["started"]))) == (
        [],
        {"git"} & {"git" if command.startswith("init") else ""},
    )
    assert "hunter" not in reported
    allowed = [
        str(repository / name)
        for name, requested in WRITTEN.items()
        if requested in command and "--check" not in command
    ]
    touched = [path for path, mode in seen["opened"] if mode == "w"] + seen["changed"]
    assert [path for path in touched if not path.startswith(tuple(allowed) or "\0") and path != os.devnull] == []
    read = {path for path, mode in seen["opened"] if mode == "r" and not installed(path)}
    # Time zones and locales are Python's own; a missing mime or magic file would be, too.
    assert {path for path in read if not path.startswith(str(repository))} <= {os.devnull}
    assert all("hunter" not in path.read_text(encoding="utf-8") for path in repository.rglob("*") if path.is_file())


def test_diff_starts_git_and_nothing_else(repository: Path) -> None:
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "jobs"]):
        subprocess.run(["git", *words], cwd=repository, check=True, capture_output=True)
    seen, _ = watched(repository, ["diff", "git:HEAD", "--overlay", "overlay"])
    assert set(map(os.path.basename, seen["started"])) == {"git"}
    assert seen["connected"] == []


@pytest.mark.tools
def test_the_kernel_sees_no_connection_no_program_and_no_write_outside(repository: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed; `apt-get install strace` brings it")
    log = repository.parent / "strace.log"
    calls = "trace=%network,execve,fork,vfork,clone3,openat,open,creat,mkdir,rename,renameat2,unlink,link,symlink"
    words = [sys.executable, "-B", "-m", "trainc", "build", "--overlay", "overlay", "--output", "out"]
    done = subprocess.run(
        ["strace", "-f", "-o", str(log), "-e", calls, *words],
        cwd=repository,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    if not log.exists() or "ptrace" in done.stderr:
        pytest.skip(f"strace cannot be used here: {done.stderr.strip()[:200]}")
    assert done.returncode == 0, done.stderr
    lines = [line.split(None, 1)[-1] for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    assert sum(line.startswith("execve(") for line in lines) == 1, "trainc itself"
    assert [line for line in lines if line.startswith(("socket(", "connect(", "bind(", "sendto("))] == []
    written = [
        line for line in lines if re.match(r"(open|openat)\(.*O_(WRONLY|RDWR|CREAT)|mkdir|rename|unlink|creat", line)
    ]
    paths = [re.findall(r'"([^"]*)"', line)[0] for line in written if "ENOENT" not in line]
    assert paths
    assert [path for path in paths if not path.startswith("out") and path != os.devnull] == []
