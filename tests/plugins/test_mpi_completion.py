"""MPI jobs that never end, because the JobSet waits for nodes that only serve."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, diagnostics_of, job, runtime, trainjob

CODE = "MPINodesAwaited"
JOBS = (job("launcher"), job("node", None))
MPI: dict[str, Any] = {"mpi": {}}


def policy(operator: str, *targets: str) -> dict[str, Any]:
    return {"successPolicy": {"operator": operator, **({"targetReplicatedJobs": list(targets)} if targets else {})}}


@pytest.mark.parametrize("spec", [{}, policy("All"), policy("All", "launcher", "node"), policy("All", "node")])
def test_a_success_that_needs_the_nodes_is_reported(spec: dict[str, Any]) -> None:
    (found,) = diagnostics_of(CODE, trainjob({"numNodes": 2}), runtime(*JOBS, policy=MPI, **spec))
    assert (found.severity, found.path) == ("warning", "spec.template.spec.successPolicy")
    assert "targetReplicatedJobs: [launcher]" in found.hint


@pytest.mark.parametrize("spec", [policy("All", "launcher"), policy("Any"), policy("Any", "launcher", "node")])
def test_a_success_that_the_launcher_decides_is_fine(spec: dict[str, Any]) -> None:
    assert diagnostics_of(CODE, trainjob({"numNodes": 2}), runtime(*JOBS, policy=MPI, **spec)) == []


@pytest.mark.parametrize(("status", "found"), [("Complete", 1), ("Ready", 0)])
def test_a_launcher_that_waits_for_the_end_of_the_nodes_never_starts(status: str, found: int) -> None:
    launcher = {**job("launcher"), "dependsOn": [{"name": "node", "status": status}]}
    spec = policy("All", "launcher")
    said = diagnostics_of(CODE, trainjob({"numNodes": 2}), runtime(job("node", None), launcher, policy=MPI, **spec))
    assert [d.path for d in said] == ["spec.template.spec.replicatedJobs[1].dependsOn[0].status"] * found


def test_only_mpi_has_nodes_that_serve() -> None:
    assert diagnostics_of(CODE, trainjob({}), runtime(*JOBS, policy={"torch": {}})) == []
    assert diagnostics_of(CODE, trainjob({}), runtime(job("launcher"), policy=MPI)) == []


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (["sleep", "infinity"], 1),
        (["bash", "-c", "exec tail -f /dev/null"], 1),
        (["sh", "-c", "while true; do sleep 3600; done"], 1),
        (["/usr/sbin/sshd", "-De"], 0),
        (["bash", "-c", "/usr/sbin/sshd && sleep infinity"], 0),
        (["/start.sh"], 0),
    ],
)
def test_nodes_that_only_wait_are_reached_by_nobody(command: list[str], found: int) -> None:
    jobs = (job("launcher"), job("node", None, containers=[container("node", command=command)]))
    said = diagnostics_of("CommandCannotStart", trainjob({"numNodes": 2}), runtime(*jobs, policy=MPI))
    assert len([d for d in said if "no sshd" in d.message]) == found
