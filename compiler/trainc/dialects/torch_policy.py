"""The ML policy of the older dialects: process counts are strings there, and an elastic range may have a size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.diagnostics import Finding, Path

Json = Mapping[str, Any]
_POLICY: Path = ("spec", "mlPolicy")


def converted_policy(policy: Json) -> tuple[dict[str, Any], list[Finding]]:
    """`spec.mlPolicy` with its process count as a number where it is one, and what is doubtful about it."""
    findings: list[Finding] = []
    result = dict(policy)
    torch = policy.get("torch") or {}
    if "numProcPerNode" in torch:
        processes, found = converted_processes(torch["numProcPerNode"], (*_POLICY, "torch", "numProcPerNode"))
        result["torch"] = {**torch, "numProcPerNode": processes}
        findings += found
    nodes = policy.get("numNodes")
    if isinstance(nodes, int) and nodes < 1:
        message = f"numNodes is {nodes}; a job has at least one node"
        findings.append(Finding("OutOfRange", "error", message, "set it to 1 or more", (*_POLICY, "numNodes")))
    elif nodes is not None and "elasticPolicy" in torch:
        findings.append(
            Finding(
                "ElasticWithNumNodes",
                "warning",
                f"numNodes stands beside torch.elasticPolicy; the job starts with {nodes} nodes and stays in its range",
                "drop numNodes to start with minNodes, as the elastic policy's description asks",
                (*_POLICY, "numNodes"),
            )
        )
    return result, findings


def converted_processes(value: int | str, path: Path) -> tuple[int | str, list[Finding]]:
    """A process count as Trainer has it: a number, or a word. A number that is not quoted is taken with a warning."""
    if isinstance(value, str):
        return (int(value) if value.isdecimal() else value), []
    warning = Finding(
        "CoercedType",
        "warning",
        f"numProcPerNode is a string in this API, and {value} is a number; it is read as {str(value)!r}",
        f'quote it: "{value}"',
        path,
    )
    return value, [warning]
