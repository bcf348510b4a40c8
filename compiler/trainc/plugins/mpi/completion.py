"""MPI jobs that never end: the nodes run sshd for ever, and the JobSet waits for them too."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.api import names
from trainc.diagnostics import Finding
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def mpi_nodes_awaited(job: TrainJob, info: Info) -> Iterator[Finding]:
    """A warning where success needs every job, the nodes' among them."""
    node, launcher = info.pod_set_in_role(names.NODE), info.pod_set_in_role(names.LAUNCHER)
    if info.policy("mpi") is None or node is None or launcher is None:
        return
    policy = info.template.get("successPolicy") or {}
    targets = policy.get("targetReplicatedJobs") or [p.name for p in info.pod_sets]
    if node.name not in targets or policy.get("operator") == "Any":
        return
    yield Finding(
        "MPINodesAwaited",
        "warning",
        f"the JobSet is done when {node.name!r} is, and its sshd never ends: the nodes stay when the launcher is done",
        f"set successPolicy: {{operator: All, targetReplicatedJobs: [{launcher.name}]}} in the runtime's template",
        ("spec", "template", "spec", "successPolicy"),
        about="runtime",
    )
