"""Lints for defects of a release's controller that affect a job: one warning for each deviation that avoids one.

They run under `controller` semantics only, on the lowered job before any pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding, Path
from trainc.ir import info as gang
from trainc.ir.deviations import deviations
from trainc.ir.entrypoints import ambiguous_gpus, cpus, gpus, resources_per_node
from trainc.ir.info import Container, Info, controller_port_match, upsert_where
from trainc.ir.trainjob import PORT, InitializerStep, Trainer, TrainJob, jobset_metadata, subdomain
from trainc.kube import names
from trainc.plugins.plugin import Detect
from trainc.plugins.registry import enabled, load_attribute

_RUNTIME_REF: Path = ("spec", "runtimeRef")
_TRAINER: Path = ("spec", "trainer")


def controller_defects(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning for each defect that affects the job, with the name of the deviation that avoids it."""
    detectors: dict[str, Detect] = dict(_DETECTORS)
    for plugin in enabled(info.plugins):
        if plugin.detectors and plugin.policy_of(job, info) is not None:
            detectors |= load_attribute(plugin.detectors, "DETECTORS")
    for deviation in deviations():
        detect = detectors.get(deviation.id)
        path = detect(job, info) if detect else None
        if path is not None:
            hint = f"compile with --semantics gitops, where {deviation.summary} (deviation {deviation.id})"
            yield Finding(deviation.code, "warning", deviation.reason, hint, path)


def _is_affected(deviation: str, job: TrainJob, info: Info) -> bool:
    return any(
        deviation in plugin.defects and plugin.policy_of(job, info) is not None for plugin in enabled(info.plugins)
    )


def _gang_ignores_limits(job: TrainJob, info: Info) -> Path | None:
    forgotten = any(
        set(container.resources.get("limits", {})) - set(container.resources.get("requests", {}))
        for pod_set in info.pod_sets
        for container in pod_set.containers
    )
    return _RUNTIME_REF if info.pod_group_policy and forgotten else None


def _unnamed_ports(job: TrainJob, info: Info) -> Path | None:
    ranks = job.has_trainer and _is_affected("unnamed-ports-kept", job, info)
    for pod_set in info.pod_sets:
        rebuilt = (*pod_set.containers, *(pod_set.init_containers if info.release.init_container_ports_rebuilt else ()))
        for container in rebuilt:
            gains_port = ranks and pod_set is info.trainer and container is info.trainer_container
            if _loses_ports(container, gains_port):
                return _RUNTIME_REF
    return None


def _loses_ports(container: Container, gains_port: bool) -> bool:
    ports = list(container.ports)
    gained = upsert_where(ports, (PORT,), controller_port_match) if gains_port else ports
    merged = upsert_where(gained, gained, controller_port_match)
    numbers = {port["containerPort"] for port in merged}
    return any(port["containerPort"] not in numbers for port in ports)


def _patch_creates(job: TrainJob, info: Info) -> Path | None:
    for patch in job.patches:
        for patched in patch.jobs:
            container_names = info.runtime_jobs.get(patched.name)
            if container_names is None:
                return patched.path
            for kind in ("initContainers", "containers"):
                for index, container in enumerate(patched.pod_spec.get(kind, ())):
                    if container["name"] not in container_names:
                        return (*patched.pod_path, kind, index)
    return None


def _counts(job: TrainJob, info: Info) -> Path | None:
    if job.trainer.resources_per_node is None or info.trainer_container is None:
        return None
    if info.processes.requested is not None or not _is_affected("counts-from-merged-resources", job, info):
        return None
    counted, merged = resources_per_node(job, info), info.trainer_container.resources
    return (*_TRAINER, "resourcesPerNode") if (gpus(counted), cpus(counted)) != (gpus(merged), cpus(merged)) else None


def _resources_ignored(job: TrainJob, info: Info) -> Path | None:
    requested = job.trainer.resources_per_node
    ignored = requested and info.ml_policy is None and info.release.resources == "merge" and info.trainer is not None
    return (*_TRAINER, "resourcesPerNode") if ignored else None


def _claims_lost(job: TrainJob, info: Info) -> Path | None:
    requested = job.trainer.resources_per_node
    if requested is None:
        return None
    path: Path = (*_TRAINER, "resourcesPerNode")
    if requested.get("claims"):
        return (*path, "claims")
    main = info.trainer_container
    merged = info.release.resources == "merge" and info.ml_policy is not None
    return path if merged and main is not None and main.resources.get("claims") else None


def _master_address(job: TrainJob, info: Info) -> Path | None:
    trainer = info.trainer
    if trainer is None or not _is_affected("real-master-address", job, info):
        return None
    return _RUNTIME_REF if trainer.name != names.NODE or subdomain(job, info) != job.name else None


def _no_rank_environment(job: TrainJob, info: Info) -> Path | None:
    torch = info.policy("torch") is not None and not info.release.torch_needs_trainer
    ranked = not torch and _is_affected("rank-environment-without-trainer", job, info)
    return ("spec",) if ranked and not job.has_trainer and info.trainer_container is not None else None


def _env_source_lost(job: TrainJob, info: Info) -> Path | None:
    initializer: Path = ("spec", "initializer")
    holders: tuple[tuple[Path, Trainer | InitializerStep | None], ...] = (
        (_TRAINER, job.trainer),
        ((*initializer, "dataset"), job.dataset),
        ((*initializer, "model"), job.model),
    )
    for path, holder in holders:
        for index, variable in enumerate(holder.env if holder else ()):
            if "fileKeyRef" in (variable.get("valueFrom") or {}):
                return (*path, "env", index)
    return None


def _metadata(job: TrainJob, info: Info) -> Path | None:
    pairs = {"labels": (job.labels, info.labels), "annotations": (job.annotations, info.annotations)}
    for field, (requested, built) in pairs.items():
        if any(built.get(key) != value for key, value in jobset_metadata(requested).items()):
            return ("metadata", field)
    return None


_DETECTORS: dict[str, Detect] = {
    "gang-of-pods-that-run-together": lambda _, info: (
        _RUNTIME_REF if info.pod_group_policy and gang.awaited_pod_sets(info) else None
    ),
    "gang-counts-replicas": lambda _, info: (
        _RUNTIME_REF if info.pod_group_policy and any(p.replicas > 1 for p in info.pod_sets) else None
    ),
    "gang-counts-limits": _gang_ignores_limits,
    "unnamed-ports-kept": _unnamed_ports,
    "patch-targets-checked": _patch_creates,
    "counts-from-merged-resources": _counts,
    "resources-without-policy": _resources_ignored,
    "resource-claims-kept": _claims_lost,
    "real-master-address": _master_address,
    "rank-environment-without-trainer": _no_rank_environment,
    "one-gpu-resource": lambda job, info: next((found.path for found in ambiguous_gpus(job, info)), None),
    "env-sources-kept": _env_source_lost,
    # What is not carried over to the JobSet.
    "metadata-moves-to-jobset": _metadata,
    "no-suspend-beside-queue": lambda _, info: ("spec", "suspend") if names.QUEUE_LABEL in info.labels else None,
    "managed-by-moves-to-jobset": lambda job, _: (
        ("spec", "managedBy") if job.managed_by == names.MULTIKUEUE_MANAGED_BY else None
    ),
    "deadline-moves-to-trainer": lambda job, _: (
        ("spec", "activeDeadlineSeconds") if job.active_deadline_seconds else None
    ),
}
