"""Convert one v1 job to the documents that replace it, and report the differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from trainc.features.migrate.v1 import gang, lifecycle, mpi, pods
from trainc.features.migrate.v1.addresses import Renaming, renaming
from trainc.features.migrate.v1.admission import admit
from trainc.features.migrate.v1.catalog_runtimes import use_catalog_runtime
from trainc.features.migrate.v1.documents import documents_of
from trainc.features.migrate.v1.job import Job, job_of
from trainc.features.migrate.v1.kinds import Kind
from trainc.features.migrate.v1.labels import unreadable
from trainc.features.migrate.v1.layout import Layout, excess, layout_of
from trainc.features.migrate.v1.lifecycle import info, warning
from trainc.features.migrate.v1.torchrun import Launch, Variables, launch_of
from trainc.findings import Finding, has_errors
from trainc.kube import names
from trainc.kube.documents import Json
from trainc.startup.records import dataclass

Into: TypeAlias = Literal["runtime", "catalog"]


@dataclass(frozen=True, slots=True)
class Converted:
    """The result for one job: TrainJob, runtime, and a ConfigMap if needed; empty if it is refused.

    `pods` is a short description of which pods become which.
    """

    documents: tuple[dict[str, Any], ...]
    findings: tuple[Finding, ...]
    pods: str = ""


def convert(kind: Kind, document: Json, release: str, into: Into = "runtime", choice: Variables = "auto") -> Converted:
    """Convert a document of a v1 kind. Paths of findings refer to that document."""
    document, findings = admit(kind, document, release)
    if has_errors(findings):
        return Converted((), tuple(findings))
    job = job_of(kind, document)
    findings += _impossible(job)
    if has_errors(findings):
        return Converted((), tuple(findings))
    layout = layout_of(job)
    findings += [_too_long(layout)] if excess(layout) > 0 else unreadable(layout)
    if has_errors(findings):
        return Converted((), tuple(findings))
    rename, launch = renaming(layout), launch_of(layout, choice)
    documents: tuple[dict[str, Any], ...] = documents_of(layout, rename, launch)
    if kind.is_mpi and not mpi.has_policy(layout):
        documents = (*documents, mpi.config_map(layout))
    if into == "catalog":
        documents, shipped = use_catalog_runtime(layout, launch, documents, release)
        findings += shipped
    found = (*findings, *_differences(layout, rename, launch, choice))
    return Converted(documents, found, _pods(layout))


def _pods(layout: Layout) -> str:
    before = " + ".join(f"{role.name} {role.replicas}" for role in layout.job.roles)
    return f"{before} -> {' + '.join(f'{group.name} {len(group.pods)}' for group in layout.groups)}"


def _impossible(job: Job) -> Iterator[Finding]:
    """Reasons why a job cannot be expressed as a TrainJob."""
    for role in job.roles:
        others = [c.get("name") for i, c in enumerate(role.containers) if i != job.main(role)]
        if names.NODE in others:
            path = (*role.path, "template", "spec", "containers", role.containers.index(_named(role.containers)))
            message = "a sidecar is called node, the name that Trainer expects of the main container"
            yield Finding("CannotMigrate", "error", message, "rename the container, then migrate again", path)


def _too_long(layout: Layout) -> Finding:
    name, most = layout.job.name, len(layout.job.name) - excess(layout)
    message = f"the pods of {name} would have names that are {excess(layout)} characters too long for a host name"
    return Finding(
        "CannotMigrate",
        "error",
        message,
        f"shorten the name of the job to at most {most} characters, then migrate again",
        ("metadata", "name"),
    )


def _named(containers: list[dict[str, Any]]) -> dict[str, Any]:
    return next(container for container in containers if container.get("name") == names.NODE)


def _differences(layout: Layout, rename: Renaming, launch: Launch, choice: Variables) -> Iterator[Finding]:
    job = layout.job
    yield from lifecycle.differences(layout)
    yield from gang.differences(job)
    yield from pods.differences(layout, rename)
    if job.kind.is_mpi:
        yield from mpi.differences(layout)
    yield from _elastic(job)
    if job.spec.get("enableDynamicWorker"):
        message = "with enableDynamicWorker, workers could join a running job; the number of pods of a JobSet is fixed"
        yield warning(
            ("spec", "enableDynamicWorker"), message, "set replicas to the largest number that the job may need"
        )
    if names.QUEUE_LABEL in (job.metadata.get("labels") or {}):
        message = f"Kueue now queues a JobSet instead of a {job.kind.name}"
        hint = "make sure that Kueue's integrations include jobset.x-k8s.io/jobset (the default)"
        yield info(("metadata", "labels", names.QUEUE_LABEL), message, hint)
    manager = job.policy.get("managedBy")
    if manager not in (None, names.MULTIKUEUE_MANAGED_BY):
        message = f"managedBy {manager} is removed: Trainer's controller manages the job, or under GitOps no controller"
        yield info(("spec", "runPolicy", "managedBy"), message, "no action needed")
    if choice == "torchrun" and job.kind.name == "PyTorchJob" and not launch.has_policy:
        message = "the job keeps v1's environment variables: its command is not `python x`, or torchrun would start it differently"
        yield info(("spec", job.kind.replicas), message, "to use torchrun, change the command by hand")


def _elastic(job: Job) -> Iterator[Finding]:
    elastic = job.spec.get("elasticPolicy")
    if elastic is None:
        return
    path = ("spec", "elasticPolicy")
    if elastic.get("metrics"):
        message = "v1 created a HorizontalPodAutoscaler from the metrics, which scaled the workers"
        yield warning((*path, "metrics"), message, "set a fixed number of replicas: a running JobSet cannot be scaled")
    least, most = elastic.get("minReplicas"), elastic.get("maxReplicas")
    if least != most and job.kind.name == "PyTorchJob":
        message = "torchrun gets the same range of nodes; the number of pods stays at replicas"
        yield info(path, message, "no action needed: torchrun continues with the remaining nodes, down to minReplicas")
