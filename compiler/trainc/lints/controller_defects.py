"""What this release's controller gets wrong for a job: one warning per deviation of `gitops` that would matter.

Runs under `controller` semantics only, on the lowered job before any pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from trainc.api import names
from trainc.diagnostics import Finding, Path
from trainc.ir import gang
from trainc.ir.deviations import DEVIATIONS, Deviation
from trainc.ir.devices import ambiguous_gpus, cpus, gpus, resources_per_node
from trainc.ir.env import PORT, subdomain
from trainc.ir.info import Info
from trainc.ir.podset import Container, controller_port_match, upsert_where
from trainc.ir.trainjob import InitializerStep, Trainer, TrainJob
from trainc.lints.carried_fields import CARRIED_FIELDS

# Where the situation shows, or None where it does not arise.
Detect: TypeAlias = Callable[[TrainJob, Info], "Path | None"]
_RUNTIME_REF: Path = ("spec", "runtimeRef")
_TRAINER: Path = ("spec", "trainer")
_RANKED = ("torch", "jax", "xgboost")


def controller_defects(job: TrainJob, info: Info) -> Iterator[Finding]:
    """A warning for each deviation whose situation arises, naming the deviation."""
    for deviation in DEVIATIONS:
        detect = _DETECTORS.get(deviation.id)
        path = detect(job, info) if detect else None
        if path is not None:
            yield _warning(deviation, path)


def _warning(deviation: Deviation, path: Path) -> Finding:
    return Finding(
        deviation.code,
        "warning",
        deviation.reason,
        f"compile with --semantics gitops, where {deviation.summary} (deviation {deviation.id})",
        path,
    )


def _gang_never_complete(job: TrainJob, info: Info) -> Path | None:
    return _RUNTIME_REF if info.pod_group_policy and gang.awaited(info) else None


def _gang_ignores_replicas(job: TrainJob, info: Info) -> Path | None:
    return _RUNTIME_REF if info.pod_group_policy and any(p.replicas > 1 for p in info.pod_sets) else None


def _gang_ignores_limits(job: TrainJob, info: Info) -> Path | None:
    forgotten = any(
        set(container.resources.get("limits", {})) - set(container.resources.get("requests", {}))
        for pod_set in info.pod_sets
        for container in pod_set.containers
    )
    return _RUNTIME_REF if info.pod_group_policy and forgotten else None


def _unnamed_ports(job: TrainJob, info: Info) -> Path | None:
    ranks = job.trainer is not None and any(info.policy(name) is not None for name in _RANKED)
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
    kept = upsert_where(gained, gained, controller_port_match)
    numbers = {port["containerPort"] for port in kept}
    return any(port["containerPort"] not in numbers for port in ports)


def _patch_creates(job: TrainJob, info: Info) -> Path | None:
    for patch in job.patches:
        for patched in patch.jobs:
            known = info.runtime_jobs.get(patched.name)
            if known is None:
                return patched.path
            for kind in ("initContainers", "containers"):
                for index, container in enumerate(patched.pod_spec.get(kind, ())):
                    if container["name"] not in known:
                        return (*patched.pod_path, kind, index)
    return None


def _counts(job: TrainJob, info: Info) -> Path | None:
    if job.trainer is None or job.trainer.resources_per_node is None or info.trainer_container is None:
        return None
    if job.trainer.num_proc_per_node is not None or not any(info.policy(n) is not None for n in ("mpi", *_RANKED)):
        return None
    counted, merged = resources_per_node(job, info), info.trainer_container.resources
    return (*_TRAINER, "resourcesPerNode") if (gpus(counted), cpus(counted)) != (gpus(merged), cpus(merged)) else None


def _resources_ignored(job: TrainJob, info: Info) -> Path | None:
    asked = job.trainer is not None and job.trainer.resources_per_node
    ignored = asked and info.ml_policy is None and info.release.resources == "merge" and info.trainer is not None
    return (*_TRAINER, "resourcesPerNode") if ignored else None


def _claims_lost(job: TrainJob, info: Info) -> Path | None:
    asked = job.trainer.resources_per_node if job.trainer else None
    if asked is None:
        return None
    path: Path = (*_TRAINER, "resourcesPerNode")
    if asked.get("claims"):
        return (*path, "claims")
    main = info.trainer_container
    merged = info.release.resources == "merge" and info.ml_policy is not None
    return path if merged and main is not None and main.resources.get("claims") else None


def _launcher_multiplied(job: TrainJob, info: Info) -> Path | None:
    launcher = info.pod_set_in_role(names.LAUNCHER)
    return _RUNTIME_REF if info.policy("mpi") is not None and launcher is not None and launcher.count > 1 else None


def _extra_host(job: TrainJob, info: Info) -> Path | None:
    as_node = (info.policy("mpi") or {}).get("runLauncherAsNode")
    both = info.pod_set_in_role(names.LAUNCHER) and info.pod_set_in_role(names.NODE)
    asked = job.trainer.num_nodes if job.trainer else None
    one = asked is not None and asked <= 1
    return (*_TRAINER, "numNodes") if as_node and both and one else None


def _master_address(job: TrainJob, info: Info) -> Path | None:
    trainer = info.trainer
    if trainer is None or not any(info.policy(name) is not None for name in _RANKED):
        return None
    return _RUNTIME_REF if trainer.name != names.NODE or subdomain(job, info) != job.name else None


def _no_rank_environment(job: TrainJob, info: Info) -> Path | None:
    ranked = any(info.policy(name) is not None for name in _RANKED)
    return ("spec",) if ranked and job.trainer is None and info.trainer_container is not None else None


def _ambiguous_gpu(job: TrainJob, info: Info) -> Path | None:
    return next((finding.path for finding in ambiguous_gpus(job, info)), None)


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


def _flux_gpus(job: TrainJob, info: Info) -> Path | None:
    policy = info.policy("flux")
    if policy is None or job.trainer is None:
        return None
    asked = job.trainer.num_proc_per_node
    processes = asked if asked is not None else policy["numProcPerNode"]
    several = processes != 1 and gpus(resources_per_node(job, info)) > 0
    return (*_TRAINER, "numProcPerNode") if several else None


def _flux_flattened(job: TrainJob, info: Info) -> Path | None:
    if info.policy("flux") is None or job.trainer is None:
        return None
    words = (*(job.trainer.command or ()), *(job.trainer.args or ()))
    return (*_TRAINER, "command") if any(len(word.split()) != 1 for word in words) else None


def _elastic_ignored(job: TrainJob, info: Info) -> Path | None:
    return _RUNTIME_REF if "elasticPolicy" in (info.policy("torch") or {}) else None


_DETECTORS: dict[str, Detect] = {
    "gang-of-pods-that-run-together": _gang_never_complete,
    "gang-counts-replicas": _gang_ignores_replicas,
    "gang-counts-limits": _gang_ignores_limits,
    "unnamed-ports-kept": _unnamed_ports,
    "patch-targets-checked": _patch_creates,
    "counts-from-merged-resources": _counts,
    "resources-without-policy": _resources_ignored,
    "resource-claims-kept": _claims_lost,
    "mpi-nodes-size-the-nodes": _launcher_multiplied,
    "mpi-one-node-is-one-host": _extra_host,
    "real-master-address": _master_address,
    "rank-environment-without-trainer": _no_rank_environment,
    "one-gpu-resource": _ambiguous_gpu,
    "env-sources-kept": _env_source_lost,
    "flux-gpus-per-task": _flux_gpus,
    "flux-command-words": _flux_flattened,
    "elastic-policy-honoured": _elastic_ignored,
    **CARRIED_FIELDS,
}
