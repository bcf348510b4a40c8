"""Real launchers read what migrated v1 jobs give them: torchrun its variables, Open MPI its hostfile."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trainc import Options, compile_trainjob, migrate

MPIRUN = shutil.which("mpirun")
# The interpreter with torch: this one, or another that somebody names.
PYTHON = os.environ.get("TRAINC_TORCH_PYTHON", sys.executable)
OPTIONS = Options(release="2.3")
# What a script of v1 does first: it meets the others at MASTER_ADDR under its own RANK.
MEETING = """
import torch.distributed
torch.distributed.init_process_group("gloo")
every = [None] * torch.distributed.get_world_size()
torch.distributed.all_gather_object(every, torch.distributed.get_rank())
print(every, flush=True)
"""
_NODE = re.compile(r"Data for node: (\S+)\s+Num slots: (\d+)\s.*?Num procs: (\d+)")

with_torch = pytest.mark.skipif(
    "TRAINC_TORCH_PYTHON" not in os.environ and importlib.util.find_spec("torch") is None,
    reason="torch is not installed; install it, or name an interpreter that has it in TRAINC_TORCH_PYTHON",
)
with_mpirun = pytest.mark.skipif(
    MPIRUN is None, reason="mpirun is not installed; `apt-get install openmpi-bin` brings it"
)


def pytorchjob(command: list[str], workers: int = 2, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "example.com/t:1", "command": command}]}}
    roles = {"Master": {"replicas": 1, "template": template}, "Worker": {"replicas": workers, "template": template}}
    metadata = {"name": "llm", "namespace": "team-a"}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": metadata,
        "spec": {**spec, "pytorchReplicaSpecs": roles},
    }


def manifests(job: dict[str, Any], **choices: Any) -> list[dict[str, Any]]:
    new, *others = migrate([job], OPTIONS, **choices).documents
    return compile_trainjob(new, others, OPTIONS).manifests


def of_kind(found: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(manifest for manifest in found if manifest["kind"] == kind)


def main_container(found: list[dict[str, Any]], job: str = "node") -> dict[str, Any]:
    jobs = of_kind(found, "JobSet")["spec"]["replicatedJobs"]
    pod = next(j for j in jobs if j["name"] == job)["template"]["spec"]["template"]["spec"]
    container: dict[str, Any] = next(c for c in pod["containers"] if c["name"] == "node")
    return container


def environment(container: dict[str, Any], index: int, port: int) -> dict[str, str]:
    """What the pod of that index sees, with its peers on this machine."""
    values = {v["name"]: v.get("value", str(index)) if "valueFrom" not in v else str(index) for v in container["env"]}
    here = {name: "127.0.0.1" for name in values if name.endswith("MASTER_ADDR")}
    ports = {name: str(port) for name in values if name.endswith("MASTER_PORT")}
    return {**os.environ, **values, **here, **ports}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def meet(container: dict[str, Any], words: list[str], pods: int, tmp_path: Path) -> list[str]:
    """What the pods print, each a process with its own environment."""
    script, port = tmp_path / "meet.py", free_port()
    script.write_text(MEETING, encoding="utf-8")
    running = [
        subprocess.Popen(
            [PYTHON, *words, str(script)],
            env=environment(container, index, port),
            stdout=subprocess.PIPE,
            text=True,
        )
        for index in range(pods)
    ]
    try:
        return [process.communicate(timeout=300)[0].strip() for process in running]
    finally:
        for process in running:
            process.kill()


@with_torch
def test_ranks_of_a_script_that_reads_v1s_variables_meet(tmp_path: Path) -> None:
    container = main_container(manifests(pytorchjob(["python", "train.py"])))
    assert meet(container, [], 3, tmp_path) == ["[0, 1, 2]"] * 3


@with_torch
def test_ranks_of_a_script_under_torchrun_meet(tmp_path: Path) -> None:
    container = main_container(manifests(pytorchjob(["python", "train.py"]), variables="torchrun"))
    assert container["command"] == ["torchrun", "train.py"]
    assert meet(container, ["-m", "torch.distributed.run"], 3, tmp_path) == ["[0, 1, 2]"] * 3


@with_torch
def test_torchrun_starts_as_many_processes_as_in_v1(tmp_path: Path) -> None:
    container = main_container(manifests(pytorchjob(["torchrun", "train.py"], 1, nprocPerNode="2")))
    printed = meet(container, ["-m", "torch.distributed.run"], 2, tmp_path)
    assert [sorted(lines.splitlines()) for lines in printed] == [["[0, 1, 2, 3]"] * 2] * 2


@with_mpirun
@pytest.mark.parametrize(("workers", "slots", "launcher_works"), [(2, 4, False), (3, 1, True)])
def test_mpirun_uses_the_hosts_and_slots_of_v1(workers: int, slots: int, launcher_works: bool, tmp_path: Path) -> None:
    template = {"spec": {"containers": [{"name": "mpi", "image": "example.com/m:1", "command": ["mpirun", "./m"]}]}}
    roles = {"Launcher": {"replicas": 1, "template": template}, "Worker": {"replicas": workers, "template": template}}
    spec = {"slotsPerWorker": slots, "runLauncherAsWorker": launcher_works, "mpiReplicaSpecs": roles}
    metadata = {"name": "m", "namespace": "hpc"}
    found = manifests({"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": metadata, "spec": spec})
    hostfile = of_kind(found, "ConfigMap")["data"]["hostfile"]
    reported = {
        v["name"]: v["value"] for v in main_container(found, "launcher")["env"] if v["name"].startswith("OMPI_")
    }
    file = tmp_path / "hostfile"
    file.write_text(hostfile, encoding="utf-8")
    reported = {name: str(file) if value == "/etc/mpi/hostfile" else value for name, value in reported.items()}
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    hosts = workers + launcher_works
    assert MPIRUN is not None
    planned = subprocess.run(
        [MPIRUN, "--do-not-launch", "--display-map", "-np", str(hosts * slots), "true"],
        env={**os.environ, **reported, **as_root},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    plan = [(host, int(count)) for host, _, count in _NODE.findall(planned.stdout)]
    assert plan == [(line.split()[0], slots) for line in hostfile.splitlines()]
    assert len(plan) == hosts
    assert plan[0][0].startswith("m-launcher" if launcher_works else "m-node")
