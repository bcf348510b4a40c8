"""Conversions shared by the older dialects: runtimes, `spec.trainer`, `spec.runtimeRef` and the ML policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.api import names
from trainc.api.documents import Json
from trainc.diagnostics import Finding, Path
from trainc.dialects.dialect import Conversion
from trainc.dialects.initializer_job import JOBS, split_initializer
from trainc.dialects.shape import ANY, PROCESSES, Shape, check_shape

OBJECT: Shape = {"apiVersion": ANY, "kind": ANY, "metadata": ANY, "status": ANY}
ML_POLICY: Shape = {
    "numNodes": ANY,
    "torch": {
        "numProcPerNode": PROCESSES,
        "elasticPolicy": {"minNodes": ANY, "maxNodes": ANY, "maxRestarts": ANY, "metrics": ANY},
    },
    "mpi": {"numProcPerNode": ANY, "mpiImplementation": ANY, "sshAuthMountPath": ANY, "runLauncherAsNode": ANY},
}
VOLCANO: Shape = {"minMember": ANY, "queue": ANY, "priorityClassName": ANY}
RUNTIME_SPEC: Shape = {
    "mlPolicy": ML_POLICY,
    "podGroupPolicy": {"coscheduling": {"scheduleTimeoutSeconds": ANY}, "volcano": VOLCANO},
    "template": {"metadata": ANY, "spec": ANY},
}


def convert_runtime(document: Json, kind: str, api: str, shape: Shape) -> Conversion:
    """Convert a runtime to Trainer's API; dialect-specific fields in `shape` stay in `spec` for the caller."""
    fitting, findings = check_shape(document, shape, api)
    data = {**fitting, "apiVersion": names.TRAINER_API, "kind": kind}
    spec = dict(fitting.get("spec") or {})
    if "mlPolicy" in spec:
        spec["mlPolicy"], found = convert_policy(spec["mlPolicy"])
        findings += found
    split = split_initializer(_jobs(spec))
    if split is not None:
        template = spec["template"]
        spec["template"] = {**template, "spec": {**template["spec"], JOBS[-1]: split.jobs}}
        findings += split.findings
    if "spec" in fitting:
        data["spec"] = spec
    return Conversion(data, split.moves if split else (), tuple(findings))


def _jobs(spec: Json) -> list[Any]:
    job_set_spec = (spec.get("template") or {}).get("spec")
    jobs = job_set_spec.get(JOBS[-1]) if isinstance(job_set_spec, Mapping) else None
    return jobs if isinstance(jobs, list) else []


TRAINER: Shape = {
    **dict.fromkeys(("image", "command", "args", "env", "numNodes", "resourcesPerNode"), ANY),
    "numProcPerNode": PROCESSES,
}
RUNTIME_REF: Shape = dict.fromkeys(("name", "apiGroup", "kind"), ANY)


def convert_trainer(trainer: Json) -> tuple[Json, list[Finding]]:
    """Convert the process count of `spec.trainer` to a number if possible; "auto" is the default and is removed."""
    if "numProcPerNode" not in trainer:
        return trainer, []
    processes, findings = convert_processes(trainer["numProcPerNode"], ("spec", "trainer", "numProcPerNode"))
    rest = {name: value for name, value in trainer.items() if name != "numProcPerNode"}
    return (rest if processes == "auto" else {**rest, "numProcPerNode": processes}), findings


def convert_runtime_ref(reference: Json, own_group: str) -> Json:
    """Replace the dialect's own API group with Trainer's; other groups are rejected when the reference is resolved."""
    return {**reference, "apiGroup": names.TRAINER_GROUP} if reference.get("apiGroup") == own_group else reference


# The ML policy of the older dialects, where process counts are strings, and numNodes can be set along with
# elasticPolicy.


_POLICY: Path = ("spec", "mlPolicy")


def convert_policy(policy: Json) -> tuple[dict[str, Any], list[Finding]]:
    """Convert the process count of `spec.mlPolicy` to a number if possible; returns the policy and findings."""
    findings: list[Finding] = []
    result = dict(policy)
    torch = policy.get("torch") or {}
    if "numProcPerNode" in torch:
        processes, found = convert_processes(torch["numProcPerNode"], (*_POLICY, "torch", "numProcPerNode"))
        result["torch"] = {**torch, "numProcPerNode": processes}
        findings += found
    nodes = policy.get("numNodes")
    if isinstance(nodes, int) and nodes < 1:
        message = f"numNodes is {nodes}; a job needs at least one node"
        findings.append(
            Finding("OutOfRange", "error", message, hint="set it to 1 or more", path=(*_POLICY, "numNodes"))
        )
    elif nodes is not None and "elasticPolicy" in torch:
        findings.append(
            Finding(
                "ElasticWithNumNodes",
                "warning",
                f"numNodes is set together with torch.elasticPolicy; the job starts with {nodes} nodes and stays in the policy's range",
                hint="remove numNodes to start with minNodes nodes",
                path=(*_POLICY, "numNodes"),
            )
        )
    return result, findings


def convert_processes(value: int | str, path: Path) -> tuple[int | str, list[Finding]]:
    """Convert a process count to a number or a word ("auto"); an unquoted number gets a warning."""
    if isinstance(value, str):
        return (int(value) if value.isdecimal() else value), []
    warning = Finding(
        "CoercedType",
        "warning",
        f"numProcPerNode is a string in this API, and {value} is a number; it is compiled as {str(value)!r}",
        hint=f'quote it: "{value}"',
        path=path,
    )
    return value, [warning]
