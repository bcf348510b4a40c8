"""Documents: the TrainJob and the TrainingRuntime that a v1 job becomes."""

from __future__ import annotations

from typing import Any

from trainc.features.migrate.v1 import mpi
from trainc.features.migrate.v1.addresses import Renaming
from trainc.features.migrate.v1.gang import group_annotations, group_policy
from trainc.features.migrate.v1.layout import Group, Layout
from trainc.features.migrate.v1.lifecycle import job_fields, jobset_fields, trainjob_fields
from trainc.features.migrate.v1.pods import main_name, pod_template
from trainc.features.migrate.v1.torchrun import Launch
from trainc.kube import names
from trainc.kube.documents import Json

# What a TrainJob says of its trainer itself, by the field of a container that it is there.
_TRAINER = {"image": "image", "command": "command", "args": "args", "env": "env", "resources": "resourcesPerNode"}


def documents_of(layout: Layout, rename: Renaming, launch: Launch) -> tuple[dict[str, Any], dict[str, Any]]:
    """A job as TrainJob and runtime. With one replicated job the TrainJob says what runs; else the runtime does."""
    groups = [_replicated_job(layout, group, rename, launch) for group in _in_order(layout)]
    trainer: dict[str, Any] = {"numNodes": _nodes(layout)}
    if layout.is_single:
        container = _main(groups[0])
        launch.apply(container)
        trainer |= {new: container.pop(old) for old, new in _TRAINER.items() if container.get(old)}
        container["image"] = trainer["image"]
    if launch.processes is not None:
        trainer["numProcPerNode"] = launch.processes
    if layout.job.kind.is_mpi and mpi.has_policy(layout):
        trainer["numProcPerNode"] = mpi.slots(layout.job)
    job_set = {**jobset_fields(layout), "replicatedJobs": groups}
    annotations = group_annotations(layout.job)
    template = {**({"metadata": {"annotations": annotations}} if annotations else {}), "spec": job_set}
    runtime = _document("TrainingRuntime", layout, _metadata(layout, {}))
    runtime["spec"] = {"mlPolicy": _policy(layout, launch), **group_policy(layout.job), "template": template}
    job = _document("TrainJob", layout, _metadata(layout, layout.job.metadata))
    reference = {"kind": "TrainingRuntime", "name": layout.job.name}
    job["spec"] = {**trainjob_fields(layout.job), "runtimeRef": reference, "trainer": trainer}
    return job, runtime


def _document(kind: str, layout: Layout, metadata: Json) -> dict[str, Any]:
    return {"apiVersion": names.TRAINER_API, "kind": kind, "metadata": metadata}


def _metadata(layout: Layout, given: Json) -> dict[str, Any]:
    namespace = {"namespace": layout.job.namespace} if layout.job.namespace else {}
    kept = {field: given[field] for field in ("labels", "annotations") if given.get(field)}
    return {"name": layout.job.name, **namespace, **kept}


def _in_order(layout: Layout) -> list[Group]:
    """The groups, what another waits for before it."""
    waiting = [group for group in layout.groups if mpi.depends_on(layout, group)]
    return [*(group for group in layout.groups if group not in waiting), *waiting]


def _nodes(layout: Layout) -> int:
    """numNodes: the pods of the trainer, and under the MPI policy the hosts."""
    if layout.job.kind.is_mpi and mpi.has_policy(layout):
        return len(layout.groups[1].pods) + mpi.launcher_works(layout.job)
    return next(len(group.pods) for group in layout.groups if group.is_trainer)


def _policy(layout: Layout, launch: Launch) -> dict[str, Any]:
    policy: dict[str, Any] = {"numNodes": 1}
    if layout.job.kind.is_mpi and mpi.has_policy(layout):
        policy |= {"numNodes": _nodes(layout), "mpi": mpi.policy(layout.job)}
    return {**policy, "torch": {}} if launch.has_policy else policy


def _replicated_job(layout: Layout, group: Group, rename: Renaming, launch: Launch) -> dict[str, Any]:
    given = launch.given
    if layout.job.kind.is_mpi and mpi.has_policy(layout) and group.role.name == "Launcher":
        given = mpi.variables_of_policy(layout.job)
    spec = {
        **_count(layout, group),
        **job_fields(layout, group, main_name(layout, group)),
        "template": pod_template(layout, group, rename, given),
    }
    labels = {"metadata": {"labels": {names.ANCESTOR_LABEL: names.TRAINER}}} if group.is_trainer else {}
    replicas = {"replicas": len(group.pods)} if group.by_job else {}
    waits = mpi.depends_on(layout, group) if layout.job.kind.is_mpi else {}
    return {"name": group.name, **replicas, **waits, "template": {**labels, "spec": spec}}


def _count(layout: Layout, group: Group) -> dict[str, Any]:
    """How many pods a Job has; numNodes says it of the trainer, and under the MPI policy of the hosts."""
    if group.is_trainer or (layout.job.kind.is_mpi and mpi.has_policy(layout)):
        return {}
    pods = 1 if group.by_job else len(group.pods)
    return {"parallelism": pods, "completions": pods}


def _main(replicated_job: Json) -> dict[str, Any]:
    containers = replicated_job["template"]["spec"]["template"]["spec"]["containers"]
    return next(container for container in containers if container["name"] == names.NODE)
