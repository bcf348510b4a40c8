"""Shipped runtimes: a migrated job that refers to a runtime of the catalog, with a patch for what that lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.features.migrate.v1.layout import Layout
from trainc.features.migrate.v1.lifecycle import info, warning
from trainc.features.migrate.v1.torchrun import Launch
from trainc.findings import Finding, format_path, has_errors
from trainc.kube import names
from trainc.kube.documents import Json
from trainc.kube.releases import Span

# (runtime, the releases that have it)
_OF_KIND = {
    "PyTorchJob": ("torch-distributed", Span("2.0")),
    "JAXJob": ("jax-distributed", Span("2.2")),
    "XGBoostJob": ("xgboost-distributed", Span("2.2")),
}
_MANAGER = f"migrated.{names.TRAINER_GROUP}/1"
# The main container in a patch: the rest of it stands in the TrainJob's trainer.
_PATCHED = ("name", "env", "volumeMounts", "securityContext")


def use_catalog_runtime(
    layout: Layout, launch: Launch, documents: tuple[dict[str, Any], ...], release: str
) -> tuple[tuple[dict[str, Any], ...], list[Finding]]:
    """A job's TrainJob alone, on a runtime of the catalog; with its own runtime where none fits, and why."""
    job, runtime, *_ = documents
    name, serving = _OF_KIND.get(layout.job.kind.name, ("", Span("2.0")))
    path = ("spec", layout.job.kind.replicas)
    starts_alike = layout.is_single and (launch.has_policy or layout.job.kind.name != "PyTorchJob")
    if not name or release not in serving or not starts_alike:
        message = "no built-in runtime starts such a job as v1 did; the job gets a runtime of its own"
        return documents, [info(path, message, "no action needed")]
    unfit = list(_mismatches(runtime, layout.job.kind.port_name))
    patched = _patched(job, runtime, name)
    found = [] if unfit else _refused(patched, release)
    if unfit or found:
        what = ", ".join(unfit or [format_path(finding.path) for finding in found])
        message = f"the built-in runtime {name} does not fit, because a TrainJob cannot patch {what}; the job gets a runtime of its own"
        return documents, [info(path, message, "no action needed; to use the built-in runtime, remove these fields")]
    return (patched,), list(_lost_settings(layout, runtime, name))


def _job_of(runtime: Json) -> dict[str, Any]:
    job: dict[str, Any] = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]
    return job


def _mismatches(runtime: Json, port_name: str) -> Iterator[str]:
    """What of the pods neither the TrainJob nor a patch of it can say."""
    pod = _job_of(runtime)["spec"]["template"]["spec"]
    yield from (field for field in ("initContainers",) if pod.get(field))
    for container in pod["containers"]:
        if container["name"] != names.NODE:
            yield f"containers[{container['name']}]"
            continue
        for field, value in container.items():
            is_default_port = field == "ports" and all(port.get("name") == port_name for port in value)
            if field not in (*_PATCHED, "image") and not is_default_port:
                yield field


def _patched(job: Json, runtime: Json, name: str) -> dict[str, Any]:
    """The TrainJob on a shipped runtime, with what its pods have beyond the trainer as a patch."""
    template = _job_of(runtime)["spec"]["template"]
    pod = {field: value for field, value in template["spec"].items() if field != "restartPolicy" and value}
    main = next(container for container in pod.pop("containers") if container["name"] == names.NODE)
    container = {field: main[field] for field in _PATCHED if field in main}
    if len(container) > 1:
        pod["containers"] = [container]
    metadata = {"metadata": template["metadata"]} if template.get("metadata") else {}
    spec = {**job["spec"], "runtimeRef": {"name": name}}
    if pod or metadata:
        change = {"template": {**metadata, **({"spec": pod} if pod else {})}}
        jobs = [{"name": names.NODE, "template": {"spec": change}}]
        patch = {"template": {"spec": {"replicatedJobs": jobs}}}
        spec["runtimePatches"] = [{"manager": _MANAGER, "trainingRuntimeSpec": patch}]
    return {**job, "spec": spec}


def _refused(job: Json, release: str) -> list[Finding]:
    from trainc.schema import check

    _, findings = check(job, "TrainJob", release)
    return findings if has_errors(findings) else []


def _lost_settings(layout: Layout, runtime: Json, name: str) -> Iterator[Finding]:
    """What the runtime of the catalog decides instead of the job."""
    template, job = runtime["spec"]["template"], _job_of(runtime)["spec"]
    lost = [field for field in ("backoffLimit", "podFailurePolicy", "successPolicy") if field in job]
    lost += [field for field in ("ttlSecondsAfterFinished",) if field in template["spec"]]
    lost += ["podGroupPolicy"] if "podGroupPolicy" in runtime["spec"] else []
    if job["template"]["spec"]["restartPolicy"] != "OnFailure":
        lost.insert(0, "restartPolicy Never")
    if lost:
        message = f"the built-in runtime {name} does not set {', '.join(lost)}, which the job had in v1"
        hint = "migrate with --into runtime to keep them"
        yield warning(("spec", layout.job.kind.replicas), message, hint)
