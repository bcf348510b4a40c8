"""Validate the shape of v1 documents, so that the rest of the migration may rely on it.

The API server drops unknown fields of a job; pod templates are validated like those of a runtime.
Source: the CRDs of kubeflow/training-operator (release-1.9) and kubeflow/mpi-operator (v0.8.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.features.migrate.v1.kinds import Kind
from trainc.findings import Finding, Path
from trainc.kube.documents import Json

_SCHEDULING: Json = {
    "minAvailable": int,
    "queue": str,
    "minResources": dict,
    "priorityClass": str,
    "scheduleTimeoutSeconds": int,
}
_RUN_POLICY: Json = {
    "cleanPodPolicy": str,
    "ttlSecondsAfterFinished": int,
    "activeDeadlineSeconds": int,
    "backoffLimit": int,
    "schedulingPolicy": _SCHEDULING,
    "suspend": bool,
    "managedBy": str,
}
_PADDLE_ELASTIC: Json = {"minReplicas": int, "maxReplicas": int, "maxRestarts": int, "metrics": list}
_ELASTIC: Json = {
    **_PADDLE_ELASTIC,
    "rdzvBackend": str,
    "rdzvPort": int,
    "rdzvHost": str,
    "rdzvId": str,
    "rdzvConf": list,
    "standalone": bool,
    "nProcPerNode": int,
}
# The fields in the spec of each kind, other than the run policy and the replica specs.
_SPECS: Json = {
    "PyTorchJob": {"elasticPolicy": _ELASTIC, "nprocPerNode": str},
    "TFJob": {"successPolicy": str, "enableDynamicWorker": bool},
    "XGBoostJob": {},
    "JAXJob": {},
    "PaddleJob": {"elasticPolicy": _PADDLE_ELASTIC},
    "MPIJob": {
        "slotsPerWorker": int,
        "runLauncherAsWorker": bool,
        "sshAuthMountPath": str,
        "launcherCreationPolicy": str,
        "mpiImplementation": str,
    },
}
_ROLE: Json = {"replicas": int, "template": dict, "restartPolicy": str}
_METADATA: Json = {"name": str, "namespace": str, "labels": dict, "annotations": dict}
_WORDS = {int: "a whole number", str: "a string", bool: "true or false", dict: "a mapping", list: "a list"}
_CHOICES = {
    "mpiImplementation": ("OpenMPI", "Intel", "MPICH"),
    "launcherCreationPolicy": ("AtStartup", "WaitForWorkersReady"),
}


def spec_fields(kind: Kind) -> Json:
    """The fields allowed in the spec of a kind, as types and mappings of types."""
    return {**_SPECS[kind.name], "runPolicy": _RUN_POLICY, kind.replicas: dict}


def shape_findings(kind: Kind, document: Json) -> Iterator[Finding]:
    """Every value of another type than its field has, and every part that is missing."""
    metadata, spec = document.get("metadata"), document.get("spec")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        yield _wrong(("metadata", "name"), "the job has no name", "set metadata.name, which is part of its addresses")
    else:
        yield from _types(metadata, _METADATA, ("metadata",))
    if not isinstance(spec, dict):
        yield _wrong(("spec",), "the job has no spec", "add spec with the roles of the job")
        return
    yield from _types(spec, spec_fields(kind), ("spec",))
    elastic = spec.get("elasticPolicy")
    for index, pair in enumerate((elastic.get("rdzvConf") or ()) if isinstance(elastic, dict) else ()):
        if not isinstance(pair, dict):
            yield _wrong(
                ("spec", "elasticPolicy", "rdzvConf", index),
                "an item of rdzvConf must be a key and a value",
                "write {key: k, value: v}",
            )
    roles = spec.get(kind.replicas)
    path = ("spec", kind.replicas)
    if roles is None:
        yield _wrong(path, f"{kind.name} needs {kind.replicas}", "add the roles of the job to it")
    for name, role in roles.items() if isinstance(roles, dict) else ():
        yield from _role_findings(role, (*path, name))


def _role_findings(role: Any, path: Path) -> Iterator[Finding]:
    if not isinstance(role, dict):
        yield _wrong(path, "the role is empty", "add its replicas and template, or remove the role")
        return
    yield from _types(role, _ROLE, path)
    template = role.get("template")
    pod = template.get("spec") if isinstance(template, dict) else None
    containers = pod.get("containers") if isinstance(pod, dict) else None
    if containers is not None and not isinstance(containers, list):
        yield _wrong(
            (*path, "template", "spec", "containers"), "containers must be a list", "start each item with `- `"
        )
    elif not containers:
        message = "the role has no container"
        yield _wrong((*path, "template", "spec", "containers"), message, "add the container that runs the job")


def _types(value: Json, fields: Json, path: Path) -> Iterator[Finding]:
    for name, wanted in fields.items():
        given = value.get(name)
        if given is None:
            continue
        if isinstance(wanted, dict):
            if isinstance(given, dict):
                yield from _types(given, wanted, (*path, name))
            else:
                yield _wrong((*path, name), f"{name} must be {_WORDS[dict]}", f"write {_WORDS[dict]}")
        elif not isinstance(given, wanted) or (wanted is int and isinstance(given, bool)):
            yield _wrong((*path, name), f"{name} must be {_WORDS[wanted]}, not {given!r}", f"write {_WORDS[wanted]}")
        elif name in _CHOICES and given not in ("", *_CHOICES[name]):
            yield _wrong((*path, name), f"{name} cannot be {given!r}", f"write one of {', '.join(_CHOICES[name])}")


def without_unknown(kind: Kind, document: Json, release: str) -> tuple[dict[str, Any], list[Finding]]:
    """A document of the right shape without the fields that the API server drops, and a finding about each."""
    findings: list[Finding] = []
    spec = _known(document["spec"], spec_fields(kind), ("spec",), findings)
    roles = {}
    for name, written in spec[kind.replicas].items():
        path = ("spec", kind.replicas, name)
        role = _known(written, _ROLE, path, findings)
        template, found = _checked_template(role["template"], release, (*path, "template"))
        findings += found
        roles[name] = {**role, "template": template}
    return {**document, "spec": {**spec, kind.replicas: roles}}, findings


def _known(value: Json, fields: Json, path: Path, findings: list[Finding]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, inner in value.items():
        wanted = fields.get(name)
        if wanted is None:
            hint = "remove it, or move it to where v1 expects it, such as spec.runPolicy"
            message = f"v1 has no field {name} here and ignored it"
            findings.append(Finding("FieldNotMigrated", "info", message, hint, (*path, name)))
        elif inner is not None:
            kept[name] = _known(inner, wanted, (*path, name), findings) if isinstance(wanted, dict) else inner
    return kept


def _checked_template(template: Json, release: str, path: Path) -> tuple[Json, list[Finding]]:
    """A pod template less the fields that no pod has. It comes back as written, if it has no such field."""
    from trainc.schema import check

    where: Path = ("spec", "template", "spec", "replicatedJobs", 0, "template", "spec", "template")
    runtime: Any = template
    for step in reversed(where):
        runtime = [{"name": "node", **runtime}] if step == 0 else {step: runtime}
    runtime |= {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": {"name": "v1"}}
    stored, found = check(runtime, "TrainingRuntime", release, prune=True)
    inside = [f for f in found if f.path[: len(where)] == where]
    findings = [Finding(f.code, f.severity, f.message, f.hint, (*path, *f.path[len(where) :])) for f in inside]
    if not inside or any(finding.severity == "error" for finding in inside):
        return template, findings
    for step in where:
        stored = stored[step]  # type: ignore[index]
    return stored, findings


def _wrong(path: Path, message: str, hint: str) -> Finding:
    return Finding("InvalidTrainingJob", "error", message, hint, path)
