"""What v1 accepts: its schema, and the rules of its webhooks and of the MPI Operator's controller.

The API server drops unknown fields of a job; pod templates are checked like those of a runtime. Webhooks see a job
before its defaults: a PyTorch Master without `replicas` is refused, though the default is 1.
Source: the CRDs and pkg/webhooks of kubeflow/training-operator (release-1.9), the CRD and
pkg/apis/kubeflow/validation of kubeflow/mpi-operator (v0.8.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from trainc.api.documents import check
from trainc.api.findings import Finding, Path, has_errors
from trainc.api.kube import Json, documents, names, quantity, value_at
from trainc.features.migration.v1.v1.job import DATA, Kind, changes, stuck

# These stood in the spec itself until tf-operator and pytorch-operator 1.0, and in MPIJobs until kubeflow.org/v1.
_FORMERLY_IN_SPEC = ("cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")
# The types of fields, by the words of kinds.json for them.
_TYPES: Mapping[str, type] = {
    "a whole number": int, "a string": str, "true or false": bool, "a mapping": dict, "a list": list,
}  # fmt: skip
_MANAGERS = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")
_MPI_MANAGERS = ("kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue")
_RESTARTS = ("Always", "OnFailure", "Never", "ExitCode")
_MPI_RESTARTS = ("Never", "OnFailure")
# kubernetes pkg/apis/batch/validation/validation.go, maxParallelismForIndexedJob.
_MOST_PODS = 100_000
_CLEANING = ("None", "Running", "All")


def admit(kind: Kind, document: Json, release: str) -> tuple[Json, list[Finding]]:
    """The document as v1's API server stores it, pod templates included, and all that is wrong with it."""
    fields = {**DATA["specs"][kind.name], "runPolicy": DATA["runPolicy"], kind.replicas: "a mapping"}
    findings = list(_shape(kind, document, fields))
    if has_errors(findings):
        return document, findings
    spec = _drop_unknown_fields(document["spec"], fields, ("spec",), findings)
    roles = {}
    for name, fields_of_role in spec[kind.replicas].items():
        path = ("spec", kind.replicas, name)
        role = _drop_unknown_fields(fields_of_role, DATA["role"], path, findings)
        pods = _with_quantities(role["template"], (*path, "template"), findings)
        roles[name] = {**role, "template": _check_template(pods, release, (*path, "template"), findings)}
    document = {**document, "spec": {**spec, kind.replicas: roles}}
    if not has_errors(findings):
        findings += _refusals(kind, document)
    return document, findings


def _refuse(path: Path, message: str, hint: str) -> Finding:
    return Finding("InvalidTrainingJob", "error", message, hint, path)


def _shape(kind: Kind, document: Json, fields: Json) -> Iterator[Finding]:
    """Every value of another type than its field has, and every part that is missing."""
    metadata, spec = document.get("metadata"), document.get("spec")
    name = ("metadata", "name")
    if isinstance(metadata, dict) and metadata.get("generateName") and not metadata.get("name"):
        message = "generateName leaves the job's name to the cluster, and the addresses of its pods begin with it"
        yield _refuse(name, message, f"write a name, such as `name: {str(metadata['generateName']).rstrip('-')}-1`")
    elif not isinstance(metadata, dict) or not metadata.get("name"):
        yield _refuse(name, "the job has no name", "set metadata.name, which is part of its addresses")
    else:
        yield from _types(metadata, DATA["metadata"], ("metadata",))
    if not isinstance(spec, dict):
        yield _refuse(("spec",), "the job has no spec", "add spec with the roles of the job")
        return
    yield from _types(spec, fields, ("spec",))
    roles = spec.get(kind.replicas)
    if roles is None:
        yield _refuse(("spec", kind.replicas), f"{kind.name} needs {kind.replicas}", "add the roles of the job to it")
    for name, role in roles.items() if isinstance(roles, dict) else ():
        path: Path = ("spec", kind.replicas, name)
        if not isinstance(role, dict):
            yield _refuse(path, "the role is empty", "add its replicas and template, or remove the role")
            continue
        yield from _types(role, DATA["role"], path)
        where: Path = (*path, "template", "spec", "containers")
        containers = value_at(role, where[len(path) :])
        if containers is not None and not isinstance(containers, list):
            yield _refuse(where, "containers must be a list", "start each item with `- `")
        elif not containers:
            yield _refuse(where, "the role has no container", "add the container that runs the job")


def _types(value: Json, fields: Json, path: Path) -> Iterator[Finding]:
    for name, expected in fields.items():
        actual = value.get(name)
        if actual is None:
            continue
        if isinstance(expected, dict) and isinstance(actual, dict):
            yield from _types(actual, expected, (*path, name))
        elif isinstance(expected, dict):
            yield _refuse((*path, name), f"{name} must be a mapping", "write a mapping")
        elif not isinstance(actual, _TYPES[expected]) or (_TYPES[expected] is int and isinstance(actual, bool)):
            yield _refuse((*path, name), f"{name} must be {expected}, not {actual!r}", f"write {expected}")
        elif (choices := DATA["choices"].get(name)) and actual not in ("", *choices):
            yield _not_one_of((*path, name), actual, choices)


def _drop_unknown_fields(value: Json, fields: Json, path: Path, findings: list[Finding]) -> dict[str, Any]:
    """A mapping without the fields that the API server drops, and a finding about each of these."""
    result: dict[str, Any] = {}
    for name, inner in value.items():
        if (field_type := fields.get(name)) is not None:
            if inner is not None:
                is_nested = isinstance(field_type, dict)
                result[name] = _drop_unknown_fields(inner, field_type, (*path, name), findings) if is_nested else inner
            continue
        message = f"v1 has no field {name} here and ignored it"
        hint = "remove it, or move it to where v1 expects it"
        if path == ("spec",) and name in _FORMERLY_IN_SPEC:
            message = f"{name} stood in spec until version 1.0 of the operators; later ones ignore it here"
            hint = f"if the job still needs it, move it to spec.runPolicy.{name}"
        findings.append(Finding("FieldNotMigrated", "info", message, hint, (*path, name)))
    return result


def _with_quantities(template: Json, path: Path, findings: list[Finding]) -> Json:
    """A pod template whose amounts of resources are no fractions, which the API server takes as strings only."""
    template = deepcopy(template)
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(documents.items(value_at(template, ("spec", kind)))):
            resources = value_at(container, ("resources",))
            for group, amounts in resources.items() if isinstance(resources, dict) else ():
                for name, amount in amounts.items() if isinstance(amounts, dict) else ():
                    if isinstance(amount, float):
                        amounts[name] = quantity.canonical(amount)
                        message = f"{name}: {amount} is written as {amounts[name]}: the API server takes no fractions"
                        where = (*path, "spec", kind, index, "resources", group, name)
                        findings.append(changes(where, message, "no action needed"))
    return template


def _check_template(template: Json, release: str, path: Path, findings: list[Finding]) -> Json:
    """A pod template less the fields that no pod has. It comes back as written, if it has no such field."""
    where: Path = (*documents.JOBS, 0, *documents.POD_TEMPLATE)
    runtime: Any = template
    for step in reversed(where):
        runtime = [{"name": "node", **runtime}] if step == 0 else {step: runtime}
    runtime |= {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": {"name": "v1"}}
    stored, problems = check(runtime, "TrainingRuntime", release, prune=True)
    inside = [f for f in problems if f.path[: len(where)] == where]
    findings += (Finding(f.code, f.severity, f.message, f.hint, (*path, *f.path[len(where) :])) for f in inside)
    if not inside or has_errors(inside):
        return template
    for step in where:
        stored = stored[step]  # type: ignore[index]
    return stored


def _refusals(kind: Kind, document: Json) -> Iterator[Finding]:
    spec, roles = document["spec"], document["spec"][kind.replicas]
    name, workers = document["metadata"]["name"], (roles.get("Worker") or {}).get("replicas") or 1
    longest = f"{name}-worker-{workers - 1}" if kind.is_mpi else name
    if not names.is_dns1035_label(longest) or len(longest) > names.LABEL_LIMIT:
        form = f"at most {names.LABEL_LIMIT} lowercase letters, digits and '-', starting with a letter"
        yield _refuse(("metadata", "name"), f"a {kind.name} cannot be called {name!r}", f"write {form}")
    yield from _run_policy(kind, spec.get("runPolicy") or {})
    for role in roles:
        yield from _role(kind, role, roles[role], ("spec", kind.replicas, role))
    elastic = spec.get("elasticPolicy")
    if kind.name == "PyTorchJob" and elastic is not None:
        if "Worker" not in roles:
            yield _refuse(("spec", kind.replicas), "an elastic job needs a Worker", "add a Worker")
        if elastic.get("nProcPerNode") is not None and spec.get("nprocPerNode") is not None:
            message = "both elasticPolicy.nProcPerNode and nprocPerNode are set"
            yield _refuse(("spec", "elasticPolicy", "nProcPerNode"), message, "remove elasticPolicy.nProcPerNode")
        for index, pair in enumerate(elastic.get("rdzvConf") or ()):
            if not isinstance(pair, dict):
                path: Path = ("spec", "elasticPolicy", "rdzvConf", index)
                yield _refuse(path, "an item of rdzvConf must be a key and a value", "write {key: k, value: v}")
    yield from _missing_or_doubled(kind, roles)


def _run_policy(kind: Kind, policy: Json) -> Iterator[Finding]:
    path: Path = ("spec", "runPolicy")
    managers = _MPI_MANAGERS if kind.is_mpi else _MANAGERS
    # Alone of all webhooks, that of JAXJob does not look at the run policy.
    if kind.name != "JAXJob" and policy.get("managedBy") not in (None, *managers):
        yield _not_one_of((*path, "managedBy"), policy["managedBy"], managers)
    if kind.is_mpi and policy.get("cleanPodPolicy") not in (None, *_CLEANING):
        yield _not_one_of((*path, "cleanPodPolicy"), policy["cleanPodPolicy"], _CLEANING)
    for field in ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit") if kind.is_mpi else ():
        if (policy.get(field) or 0) < 0:
            yield _refuse((*path, field), f"{field} must not be negative", "use 0 or more")


def _not_one_of(path: Path, value: Any, allowed: Sequence[str]) -> Finding:
    return _refuse(path, f"{path[-1]} cannot be {value!r}", f"write one of {', '.join(allowed)}")


def _role(kind: Kind, name: str, role: Json, path: Path) -> Iterator[Finding]:
    if kind.name != "TFJob" and name not in kind.roles:
        yield _not_one_of(path, name, kind.roles)
    containers = role["template"]["spec"]["containers"]
    at = (*path, "template", "spec", "containers")
    if not containers:
        hint = f"add the container {kind.container or 'that runs the job'}"
        yield _refuse(at, "a pod needs at least one container", hint)
    if kind.container and not any(container.get("name") == kind.container for container in containers):
        message = f"a {kind.name} needs a container called {kind.container!r}, which gets the environment variables of the job"
        yield _refuse(at, message, f"call the main container {kind.container}")
    for index, container in enumerate(containers):
        if not container.get("image") and not kind.is_mpi:
            yield _refuse((*at, index, "image"), "the container has no image", "set its image")
    restarts = _MPI_RESTARTS if kind.is_mpi else _RESTARTS
    if role.get("restartPolicy") not in (None, "", *restarts):
        yield _not_one_of((*path, "restartPolicy"), role["restartPolicy"], restarts)
    yield from _replicas(kind, name, role.get("replicas"), (*path, "replicas"))


def _replicas(kind: Kind, name: str, replicas: int | None, path: Path) -> Iterator[Finding]:
    if name == "Master" and kind.name in ("PyTorchJob", "XGBoostJob"):
        if replicas != 1:
            yield _refuse(path, "v1 requires exactly one Master", "write replicas: 1")
    elif name == "Launcher":
        if replicas not in (None, 1):
            yield _refuse(path, "an MPIJob needs exactly one Launcher", "write replicas: 1")
    elif kind.is_mpi and name == "Worker" and (replicas is None or replicas < 1):
        yield _refuse(path, "an MPIJob needs at least one Worker", "set replicas to the number of workers")
    elif replicas is not None and replicas < (1 if kind.name == "PyTorchJob" else 0):
        yield _refuse(path, f"replicas is {replicas}; it must be 1 or more", "use 1 or more")
    elif replicas is not None and replicas > _MOST_PODS:
        message = f"replicas is {replicas}; an Indexed Job has at most {_MOST_PODS} pods"
        yield _refuse(path, message, f"use {_MOST_PODS} or fewer")


def _missing_or_doubled(kind: Kind, roles: Json) -> Iterator[Finding]:
    path = ("spec", kind.replicas)
    if not any((role.get("replicas") is None or role["replicas"] > 0) for role in roles.values()):
        message = "the job has no pods, and a TrainJob has at least one"
        yield stuck(path, message, "set replicas of a role to 1 or more; `suspend: true` in runPolicy keeps it waiting")
    needed = {"XGBoostJob": "Master", "MPIJob": "Launcher"}.get(kind.name)
    if roles and needed and needed not in roles:
        yield _refuse(path, f"{kind.name} needs a {needed}", f"add the role {needed}")
    if kind.name == "TFJob" and "Chief" in roles and "Master" in roles:
        yield _refuse(path, "a TFJob has a Chief or a Master, not both", "keep one of them")
    spelled = [name.lower() for name in roles]
    if len(set(spelled)) < len(spelled):
        yield _refuse(path, "the same role is set twice, in different spellings", "keep one of them")
