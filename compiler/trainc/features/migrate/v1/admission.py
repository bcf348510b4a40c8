"""What v1 itself refuses of a job: its schema, and the rules of its webhooks and of the MPI Operator's controller.

Source: kubeflow/training-operator pkg/webhooks (release-1.9), kubeflow/mpi-operator pkg/apis/kubeflow/validation (v0.8.0).
Webhooks see a job before its defaults: a PyTorch Master without `replicas` is refused, though the default is 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainc.features.migrate.v1.kinds import Kind
from trainc.features.migrate.v1.shape import shape_findings, without_unknown
from trainc.findings import Finding, Path, has_errors
from trainc.kube.documents import Json
from trainc.kube.names import LABEL_LIMIT, is_dns1035_label

_MANAGERS = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")
_MPI_MANAGERS = ("kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue")
_RESTARTS = ("Always", "OnFailure", "Never", "ExitCode")
_MPI_RESTARTS = ("Never", "OnFailure")
# kubernetes pkg/apis/batch/validation/validation.go, maxParallelismForIndexedJob.
_MOST_PODS = 100_000
_CLEANING = ("None", "Running", "All")


def admit(kind: Kind, document: Json, release: str) -> tuple[Json, list[Finding]]:
    """The document as v1's API server stores it, pod templates included, and all that is wrong with it."""
    findings = list(shape_findings(kind, document))
    if has_errors(findings):
        return document, findings
    document, found = without_unknown(kind, document, release)
    findings += found
    if not has_errors(findings):
        findings += _refused(kind, document)
    return document, findings


def refuse(path: Path, message: str, hint: str) -> Finding:
    """One thing that v1 would not have run."""
    return Finding("InvalidTrainingJob", "error", message, hint, path)


def _refused(kind: Kind, document: Json) -> Iterator[Finding]:
    spec, roles = document["spec"], document["spec"][kind.replicas]
    yield from _name(kind, document["metadata"]["name"], roles)
    yield from _run_policy(kind, spec.get("runPolicy") or {})
    for name, role in roles.items():
        yield from _role(kind, name, role, ("spec", kind.replicas, name))
    if kind.name == "PyTorchJob" and spec.get("elasticPolicy") is not None:
        yield from _elastic(kind, spec, roles)
    yield from _missing_or_doubled(kind, roles)


def _name(kind: Kind, name: str, roles: Json) -> Iterator[Finding]:
    workers = (roles.get("Worker") or {}).get("replicas") or 1
    longest = f"{name}-worker-{workers - 1}" if kind.is_mpi else name
    if not is_dns1035_label(longest) or len(longest) > LABEL_LIMIT:
        form = f"at most {LABEL_LIMIT} lowercase letters, digits and '-', starting with a letter"
        yield refuse(("metadata", "name"), f"a {kind.name} cannot be called {name!r}", f"write {form}")


def _run_policy(kind: Kind, policy: Json) -> Iterator[Finding]:
    managers = _MPI_MANAGERS if kind.is_mpi else _MANAGERS
    # Alone of all webhooks, that of JAXJob does not look at the run policy.
    if kind.name != "JAXJob" and policy.get("managedBy") not in (None, *managers):
        yield _not_one_of(("spec", "runPolicy", "managedBy"), policy["managedBy"], managers)
    if kind.is_mpi and policy.get("cleanPodPolicy") not in (None, *_CLEANING):
        yield _not_one_of(("spec", "runPolicy", "cleanPodPolicy"), policy["cleanPodPolicy"], _CLEANING)
    for field in ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit") if kind.is_mpi else ():
        if (policy.get(field) or 0) < 0:
            yield refuse(("spec", "runPolicy", field), f"{field} must not be negative", "use 0 or more")


def _not_one_of(path: Path, value: Any, allowed: Sequence[str]) -> Finding:
    return refuse(path, f"{path[-1]} cannot be {value!r}", f"write one of {', '.join(allowed)}")


def _role(kind: Kind, name: str, role: Json, path: Path) -> Iterator[Finding]:
    if kind.name != "TFJob" and name not in kind.roles:
        yield _not_one_of(path, name, kind.roles)
    containers = role["template"]["spec"]["containers"]
    at = (*path, "template", "spec", "containers")
    if not containers:
        yield refuse(
            at, "a pod needs at least one container", f"add the container {kind.container or 'that runs the job'}"
        )
    if kind.container and not any(container.get("name") == kind.container for container in containers):
        message = f"a {kind.name} needs a container called {kind.container!r}, which gets the environment variables of the job"
        yield refuse(at, message, f"call the main container {kind.container}")
    for index, container in enumerate(containers):
        if not container.get("image") and not kind.is_mpi:
            yield refuse((*at, index, "image"), "the container has no image", "set its image")
    restarts = _MPI_RESTARTS if kind.is_mpi else _RESTARTS
    if role.get("restartPolicy") not in (None, "", *restarts):
        yield _not_one_of((*path, "restartPolicy"), role["restartPolicy"], restarts)
    yield from _replicas(kind, name, role.get("replicas"), (*path, "replicas"))


def _replicas(kind: Kind, name: str, replicas: int | None, path: Path) -> Iterator[Finding]:
    if name == "Master" and kind.name in ("PyTorchJob", "XGBoostJob"):
        if replicas != 1:
            yield refuse(path, "v1 requires exactly one Master", "write replicas: 1")
    elif name == "Launcher":
        if replicas not in (None, 1):
            yield refuse(path, "an MPIJob needs exactly one Launcher", "write replicas: 1")
    elif kind.is_mpi and name == "Worker" and (replicas is None or replicas < 1):
        yield refuse(path, "an MPIJob needs at least one Worker", "set replicas to the number of workers")
    elif replicas is not None and replicas < (1 if kind.name == "PyTorchJob" else 0):
        yield refuse(path, f"replicas is {replicas}; it must be 1 or more", "use 1 or more")
    elif replicas is not None and replicas > _MOST_PODS:
        message = f"replicas is {replicas}; an Indexed Job has at most {_MOST_PODS} pods"
        yield refuse(path, message, f"use {_MOST_PODS} or fewer")


def _elastic(kind: Kind, spec: Json, roles: Json) -> Iterator[Finding]:
    path = ("spec", "elasticPolicy")
    if "Worker" not in roles:
        yield refuse(("spec", kind.replicas), "an elastic job needs a Worker", "add a Worker")
    if spec["elasticPolicy"].get("nProcPerNode") is not None and spec.get("nprocPerNode") is not None:
        message = "both elasticPolicy.nProcPerNode and nprocPerNode are set"
        yield refuse((*path, "nProcPerNode"), message, "remove elasticPolicy.nProcPerNode")


def _missing_or_doubled(kind: Kind, roles: Json) -> Iterator[Finding]:
    path = ("spec", kind.replicas)
    if not any((role.get("replicas") is None or role["replicas"] > 0) for role in roles.values()):
        yield refuse(path, "the job has no pods", "set replicas of at least one role")
    needed = {"XGBoostJob": "Master", "MPIJob": "Launcher"}.get(kind.name)
    if roles and needed and needed not in roles:
        yield refuse(path, f"{kind.name} needs a {needed}", f"add the role {needed}")
    if kind.name == "TFJob" and "Chief" in roles and "Master" in roles:
        yield refuse(path, "a TFJob has a Chief or a Master, not both", "keep one of them")
    spelled = [name.lower() for name in roles]
    if len(set(spelled)) < len(spelled):
        yield refuse(path, "the same role is set twice, in different spellings", "keep one of them")
