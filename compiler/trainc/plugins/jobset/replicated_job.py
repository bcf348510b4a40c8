"""One replicated job of the JobSet: the template's job, updated from its pod set.

Source: kubeflow/trainer pkg/runtime/framework/plugins/jobset (Build in jobset.go, Trainer in builder.go).
"""

from __future__ import annotations

from typing import Any

from trainc.api import names
from trainc.api.documents import Json
from trainc.ir.env import trainer_env
from trainc.ir.info import Info
from trainc.ir.podset import Container, PodSet, controller_port_match
from trainc.ir.trainjob import TrainJob

_STEPS = (names.TRAINER, names.DATASET_INITIALIZER, names.MODEL_INITIALIZER)


def replicated_job(template: Json, pod_set: PodSet, job: TrainJob, info: Info) -> dict[str, Any]:
    """Return the entry for `spec.replicatedJobs`. A job with an ancestor label always has one replica."""
    job_template = template.get("template", {})
    job_spec = job_template.get("spec", {})
    count = _pod_count(pod_set, info)
    written = {
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
    return {**written, "replicas": 1} if pod_set.ancestor in _STEPS else written


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
    written = {
        "containers": [dict(c.fields) for c in containers],
        "initContainers": [dict(c.fields) for c in init_containers],
        "volumes": list(pod_set.volumes),
    }
    filled = {field: items for field, items in written.items() if items}
    # Go's apply configurations omit an empty list of containers, although the field is required.
    rest = {field: value for field, value in template.get("spec", {}).items() if field not in written}
    spec = {**rest, **pod_set.pod_fields, **filled}
    result: dict[str, Any] = {**template, "spec": spec}
    metadata = dict(template.get("metadata", {}))
    added = {"labels": pod_set.labels, "annotations": pod_set.annotations}
    metadata |= {field: {**metadata.get(field, {}), **values} for field, values in added.items() if values}
    return {**result, "metadata": metadata} if metadata else result


def _finish_container(container: Container, pod_set: PodSet, job: TrainJob, info: Info) -> Container:
    """Return a regular container with the TrainJob's trainer settings, if they apply to it."""
    container = _rebuild_container(container, info, True)
    if job.trainer is None or container.name != pod_set.main:
        return container
    trains = pod_set.ancestor == names.TRAINER
    if trains:
        container = _with_entrypoint(container, job.trainer.image, info)
    if trains or _is_mpi_node(pod_set, info):
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
    if (
        info.gitops
        or info.release.resources == "merge"
        or not (requested and ("limits" in requested or "requests" in requested))
    ):
        return container
    return container.with_fields(resources={key: requested[key] for key in ("limits", "requests") if key in requested})


def _is_mpi_node(pod_set: PodSet, info: Info) -> bool:
    launcher_is_node = bool((info.policy("mpi") or {}).get("runLauncherAsNode"))
    return info.release.mpi_env_reaches_node and launcher_is_node and pod_set.role == names.NODE


def _rebuild_container(container: Container, info: Info, rebuilt: bool) -> Container:
    """Return the container as the controller leaves it, which merges its ports and mounts with themselves.

    Unnamed ports are lost. Of two mounts at the same path, which only a patch can cause, the last one occurs twice.
    `gitops` does not do this.
    """
    if info.gitops or not rebuilt:
        return container
    if len(container.ports) > 1:
        container = container.with_ports(container.ports, controller_port_match)
    return container.with_mounts(container.mounts) if len(container.mounts) > 1 else container
