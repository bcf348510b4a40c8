"""The passes of JobSet: builds the object that runs the job.

Source: kubeflow/trainer pkg/runtime/framework/plugins/jobset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.findings import Finding, Path, Severity, choose
from trainc.ir.info import Container, Info, PodSet, controller_port_match, launcher_is_node
from trainc.ir.trainjob import Patch, PatchedJob, TrainJob, trainer_env
from trainc.kube import names
from trainc.kube.documents import Json, Manifest
from trainc.plugins.plugin import Passes
from trainc.startup.typing import Any

# Validation of a TrainJob's patches, with the field paths of upstream's webhook.
#
# Source: kubeflow/trainer pkg/runtime/framework/plugins/jobset/jobset.go (Validate) at each release's tag.


_MAIN_CONTAINERS = (names.NODE, *names.INITIALIZERS)


def validate(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield errors for managers, jobs, containers and variables of patches."""
    for patch in job.patches:
        yield from _manager(patch)
        for patched_job in patch.jobs:
            yield from _patched_job(patched_job, info)
    if info.release.patched_job_twice_refused:  # v2.0.1 allows only one override of a job.
        seen: set[str] = set()
        for patched_job in (patched_job for patch in job.patches for patched_job in patch.jobs):
            if patched_job.name in seen:
                message = f"more than one override is for job {patched_job.name!r}"
                yield Finding("RepeatedTargetJob", "error", message, "merge them into one override", patched_job.path)
            seen.add(patched_job.name)


def _manager(patch: Patch) -> Iterator[Finding]:
    if patch.manager is not None and not names.is_domain_prefixed_path(patch.manager):
        message = f"manager {patch.manager!r} is not a domain with a path"
        hint, path = "write <domain>/<name>, such as team-a.example.com/defaults", ("spec", "runtimePatches", "manager")
        yield Finding("InvalidManager", "error", message, hint, path, source_path=(*patch.path, "manager"))


def _patched_job(patched_job: PatchedJob, info: Info) -> Iterator[Finding]:
    pod_set = info.pod_set(patched_job.name)
    # Upstream checks the template after merging the patch, so that since 2.3 the patch itself has created the job.
    if pod_set is None or (info.gitops and patched_job.name not in info.runtime_jobs):
        message = f"the patch is for job {patched_job.name!r}, which the runtime does not have"
        hint = choose(patched_job.name, sorted(info.runtime_jobs), "use one of the runtime's jobs:", "(it has none)")
        yield Finding("UnknownPatchTarget", "error", message, hint, patched_job.path)
        return
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(patched_job.pod_spec.get(kind, ())):
            path = (*patched_job.pod_path, kind, index)
            if info.gitops and container["name"] not in (container_names := info.runtime_jobs[patched_job.name]):
                message = f"the patch is for container {container['name']!r}, which the runtime's job {patched_job.name!r} does not have, so it would add a container"
                hint = choose(container["name"], container_names, "use one of the job's containers:")
                yield Finding("UnknownPatchTarget", "error", message, hint, path)
            yield from _mounts_at_one_path(container.get("volumeMounts", ()), info, (*path, "volumeMounts"))
            if kind == "containers" and container.get("env") and container["name"] in _MAIN_CONTAINERS:
                message = f"a patch cannot set env of container {container['name']!r}"
                hint = "set them in spec.trainer.env, spec.initializer.dataset.env or spec.initializer.model.env"
                yield Finding("PatchedTrainerEnv", "error", message, hint, (*path, "env"))


def _mounts_at_one_path(mounts: Sequence[Json], info: Info, path: Path) -> Iterator[Finding]:
    """Yield an error for two mounts of a patch at the same path.

    The API identifies a patch's mounts by volume, but the merge identifies them by path, and mixes the two.
    """
    known: set[str] = set()
    for index, mount in enumerate(mounts):
        mount_path = mount["mountPath"]
        if mount_path in known:
            message = f"mountPath {mount_path!r} is in this list twice, and the two are merged into one"
            hint = "remove one of them, or mount it at another path"
            severity: Severity = "error" if info.gitops else "warning"
            yield Finding("DuplicateItem", severity, message, hint, (*path, index, "mountPath"))
        known.add(mount_path)


# One replicated job of the JobSet: the template's job, updated from its pod set.
#
# Source: kubeflow/trainer pkg/runtime/framework/plugins/jobset (Build in jobset.go, Trainer in builder.go).


_STEPS = (names.TRAINER, *names.INITIALIZERS)


def replicated_job(template: Json, pod_set: PodSet, job: TrainJob, info: Info) -> dict[str, Any]:
    """Return the entry for `spec.replicatedJobs`. A job with an ancestor label always has one replica."""
    job_template = template.get("template", {})
    job_spec = job_template.get("spec", {})
    count = _pod_count(pod_set, info)
    result = {
        **template,
        "template": {
            **job_template,
            "spec": {
                **job_spec,
                "parallelism": count,
                "completions": count,
                "template": _pod_template(job_spec.get("template", {}), pod_set, job, info),
            },
        },
    }
    if pod_set.ancestor not in _STEPS:
        return result
    return {**result, "replicas": info.made(1, rule="a labeled step runs as one replica")}


def _pod_count(pod_set: PodSet, info: Info) -> int:
    # v2.0.1 gives all jobs labeled as trainer the count of the first one.
    if info.release.all_trainers_take_first_count and pod_set.ancestor == names.TRAINER and info.trainer:
        return info.trainer.count
    return pod_set.count


def _pod_template(template: Json, pod_set: PodSet, job: TrainJob, info: Info) -> dict[str, Any]:
    containers = [_finish_container(container, pod_set, job, info) for container in pod_set.containers]
    init_containers = [
        _rebuild_container(c, info, info.release.init_container_ports_rebuilt) for c in pod_set.init_containers
    ]
    lists = {
        "containers": [dict(c.fields) for c in containers],
        "initContainers": [dict(c.fields) for c in init_containers],
        "volumes": list(pod_set.volumes),
    }
    filled = {field: items for field, items in lists.items() if items}
    # Go's apply configurations omit an empty list of containers, although the field is required.
    other_fields = {field: value for field, value in template.get("spec", {}).items() if field not in lists}
    spec = {**other_fields, **pod_set.pod_fields, **filled}
    result: dict[str, Any] = {**template, "spec": spec}
    metadata = dict(template.get("metadata", {}))
    added = {"labels": pod_set.labels, "annotations": pod_set.annotations}
    metadata |= {field: {**metadata.get(field, {}), **values} for field, values in added.items() if values}
    return {**result, "metadata": metadata} if metadata else result


def _finish_container(container: Container, pod_set: PodSet, job: TrainJob, info: Info) -> Container:
    container = _rebuild_container(container, info, True)
    if not job.has_trainer or container.name != pod_set.main:
        return container
    trains = pod_set.ancestor == names.TRAINER
    if trains:
        container = _with_entrypoint(container, job.trainer.image, info)
    elif info.release.mpi_image_reaches_node and pod_set.role == names.NODE and info.policy("mpi") is not None:
        container = container.with_fields(image=job.trainer.image or container.fields.get("image"))
    is_node = launcher_is_node(info.ml_policy) and pod_set.role == names.NODE
    mpi_node = info.release.mpi_env_reaches_node and is_node
    if trains or mpi_node:
        container = _with_resources(container, job.trainer.resources_per_node, info)
        container = container.with_env(trainer_env(job, info.semantics))
    return container


def _with_entrypoint(container: Container, image: str | None, info: Info) -> Container:
    """Return the container with image, command and args of the TrainJob, if set. An empty list clears the template's."""
    entrypoint = {"command": info.command, "args": info.args}
    changes: dict[str, Any] = {} if image is None else {"image": image}
    changes |= {field: list(words) or None for field, words in entrypoint.items() if words is not None}
    return container.with_fields(**changes) if changes else container


def _with_resources(container: Container, requested: Json | None, info: Info) -> Container:
    """Return the container with the TrainJob's resources.

    Up to 2.2 they replace the template's here; in later releases lowering has already merged them.
    """
    resources = {kind: requested[kind] for kind in ("limits", "requests") if kind in requested} if requested else {}
    if info.gitops or info.release.resources == "merge" or not resources:
        return container
    return container.with_fields(resources=resources)


def _rebuild_container(container: Container, info: Info, rebuilds: bool) -> Container:
    """Return the container as the controller leaves it, which merges its ports and mounts with themselves.

    Unnamed ports are lost. Of two mounts at the same path, which only a patch can cause, the last one occurs twice.
    `gitops` does not do this.
    """
    if info.gitops or not rebuilds:
        return container
    if len(container.ports) > 1:
        container = container.with_ports(container.ports, controller_port_match)
    return container.with_mounts(container.mounts) if len(container.mounts) > 1 else container


def build(job: TrainJob, policy: Json, info: Info) -> Iterator[Manifest]:
    """Yield the JobSet, which has the TrainJob's name.

    It has no owner reference, because only a cluster assigns the UID of a TrainJob.
    """
    metadata: dict[str, Any] = dict(job.metadata)
    if info.labels:
        metadata["labels"] = dict(info.labels)
    if info.annotations:
        metadata["annotations"] = dict(info.annotations)
    templates = info.template.get("replicatedJobs", ())
    jobs = [replicated_job(t, pod_set, job, info) for t, pod_set in zip(templates, info.pod_sets, strict=True)]
    spec = {**info.template, "replicatedJobs": jobs, "suspend": False if job.suspend is None else job.suspend}
    if not jobs:
        del spec["replicatedJobs"]
    yield {"apiVersion": names.JOBSET_API, "kind": "JobSet", "metadata": metadata, "spec": spec}


PASSES = Passes(validate=validate, build=build)
