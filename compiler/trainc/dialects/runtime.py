"""Runtimes of the older dialects: the same fields as Trainer's, but for process counts and the initializer's job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.api import names
from trainc.dialects.dialect import Conversion
from trainc.dialects.initializer_job import JOBS, split_initializer
from trainc.dialects.shape import ANY, PROCESSES, Shape, conform
from trainc.dialects.torch_policy import converted_policy

Json = Mapping[str, Any]

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


def converted_runtime(document: Json, kind: str, api: str, shape: Shape) -> Conversion:
    """A runtime as Trainer's, with the fields that only `shape` knows left in `spec` for the dialect to judge."""
    fitting, findings = conform(document, shape, api)
    data = {**fitting, "apiVersion": names.TRAINER_API, "kind": kind}
    spec = dict(fitting.get("spec") or {})
    if "mlPolicy" in spec:
        spec["mlPolicy"], found = converted_policy(spec["mlPolicy"])
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
