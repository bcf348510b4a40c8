"""Debian's Open MPI reads what trainc emits: the hostfile and the launcher's variables."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from builders import compiled, container, env, job, one, runtime, trainjob

MPIRUN = shutil.which("mpirun")
JOBS = (job("launcher"), job("node", None, [container()]))
_NODE = re.compile(r"Data for node: (\S+)\s+Num slots: (\d+)\s.*?Num procs: (\d+)")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(MPIRUN is None, reason="mpirun is not installed; `apt-get install openmpi-bin` brings it"),
]


def mapped(hostfile: str, variables: dict[str, str], processes: int, tmp_path: Path) -> dict[str, tuple[int, int]]:
    """Slots and processes per host as mpirun plans them; nothing is launched."""
    file = tmp_path / "hostfile"
    file.write_text(hostfile, encoding="utf-8")
    # The launcher mounts the hostfile at the path that the variable names; here it lies elsewhere.
    reported = {name: str(file) if value == "/etc/mpi/hostfile" else value for name, value in variables.items()}
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    assert MPIRUN is not None
    planned = subprocess.run(
        [MPIRUN, "--do-not-launch", "--display-map", "-np", str(processes), "true"],
        env={**os.environ, **reported, **as_root},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return {host: (int(slots), int(count)) for host, slots, count in _NODE.findall(planned.stdout)}


@pytest.mark.parametrize(("nodes", "slots", "launcher_is_node"), [(2, 4, False), (3, 1, False), (4, 8, True)])
def test_mpirun_uses_every_host_and_slot(nodes: int, slots: int, launcher_is_node: bool, tmp_path: Path) -> None:
    policy = {"mpi": {"numProcPerNode": slots, "runLauncherAsNode": launcher_is_node}}
    result = compiled(trainjob({"numNodes": nodes}), runtime(*JOBS, policy=policy))
    hostfile = one(result, "ConfigMap")["data"]["hostfile"]
    variables = {name: value for name, value in env(result, "launcher").items() if name.startswith("OMPI_")}
    hosts = {line.split()[0] for line in hostfile.splitlines()}
    plan = mapped(hostfile, variables, nodes * slots, tmp_path)
    assert len(hosts) == nodes
    assert plan == dict.fromkeys(hosts, (slots, slots))
