"""The passes of Torch: sizes and PET_ variables for torchrun; commands that start with `tune run` go to torchtune.py.

Source: kubeflow/trainer pkg/runtime/framework/plugins/torch/torch.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set as AbstractSet

from trainc.findings import Finding, Path
from trainc.ir.entrypoints import ambiguous_gpus, count_deviation, cpus, gpus, is_gpu, resources_per_node
from trainc.ir.info import Info
from trainc.ir.provenance import derived
from trainc.ir.trainjob import (
    EnvVariable,
    TrainJob,
    completion_index,
    literal,
    master_host,
    trainer_env,
    with_rendezvous,
)
from trainc.kube import names
from trainc.kube.documents import Json
from trainc.kube.quantity import parse_quantity
from trainc.plugins.plugin import Passes
from trainc.plugins.torch import RESERVED, calls_torchtune
from trainc.startup.records import replace
from trainc.startup.typing import Any

# PET_NPROC_PER_NODE: the number of processes that torchrun starts on each node.
#
# Source: kubeflow/trainer pkg/runtime/framework/plugins/torch/torch.go at each release's tag.


AUTO = "auto"
_NO_TRAINER = "one node, because no job is labeled as the trainer"


def requested_processes(info: Info) -> int | str:
    """Return numProcPerNode of the TrainJob, else of the runtime's torch policy, else "auto"."""
    requested: int | str | None = info.processes.value
    return info.made(AUTO, rule=f"numProcPerNode is not set: {AUTO}") if requested is None else requested


def processes_per_node(job: TrainJob, info: Info) -> int | str:
    """Return the value of PET_NPROC_PER_NODE: a number, or a word that torchrun resolves on the node."""
    requested = requested_processes(info)
    if info.release.torch_processes == "limits then requests" and not info.gitops:
        return _limits_then_requests(requested, job, info)
    resources = resources_per_node(job, info)
    devices = gpus(resources) if requested == AUTO else 1
    deviation = count_deviation(job, info) if info.traced else ""
    if requested == "cpu" or devices == 0:
        cores = cpus(resources)
        rule = "" if cores else "at least one, because no CPU is requested"
        return info.made(max(1, cores), requested, devices, cores, rule=rule, deviation=deviation)
    return info.made(requested, requested, devices, deviation=deviation)


def _limits_then_requests(requested: int | str, job: TrainJob, info: Info) -> int | str:
    """Return the value in v2.0.1: from limits if they decide a CPU count, else from requests; without requests it is 1."""
    resources = job.trainer.resources_per_node
    if resources is None:
        return requested
    for kind in ("limits", "requests"):
        amounts: Mapping[str, Any] | None = resources.get(kind)
        if amounts is not None and counts_cpus(requested, amounts):
            cores = amounts.get("cpu", 0)
            return derived(max(1, parse_quantity(str(cores)).units), requested, cores)
    if resources.get("requests") is None:
        rule = "one process, because resourcesPerNode has no requests (Trainer 2.0)"
        return info.made(1, rule=rule)
    return derived(1, requested) if requested == "cpu" else requested


def counts_cpus(requested: int | str, amounts: Mapping[str, Any]) -> bool:
    """Return whether v2.0.1 takes the CPUs of a list of resources as the number of processes."""
    return (requested == AUTO and not any(map(is_gpu, amounts))) or (requested == "cpu" and "cpu" in amounts)


# Validation for Torch, with the field paths of upstream's webhook.
#
# Source: kubeflow/trainer pkg/runtime/framework/plugins/torch (Validate) at each release's tag.


_WORDS = (AUTO, "cpu", "gpu")


def validate(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield errors for injection targets that do not exist, and for jobs that torchtune cannot run."""
    yield from _missing_targets(info, policy)
    yield from _claims_not_counted(job, info)
    if info.gitops and (requested_processes(info) == AUTO or calls_torchtune(job)):
        yield from ambiguous_gpus(job, info)
    if policy.get("elasticPolicy") is not None:
        from trainc.plugins.torch import elastic

        yield from elastic.validate(info)
    if _skips_validation(info):
        return
    requested = info.processes.requested
    if isinstance(requested, str) and requested not in _WORDS:
        message = f"numProcPerNode is {requested!r}; it must be a number or one of {', '.join(_WORDS)}"
        hint = "write a number without quotes, such as 8, or remove it to use one process per GPU"
        yield Finding("InvalidNumProcPerNode", "error", message, hint, ("spec", "trainer", "numProcPerNode"))
    if calls_torchtune(job):
        from trainc.plugins.torch import torchtune

        yield from torchtune.validate(job, info, requested_processes(info))


def reserved(job: TrainJob, policy: Json, info: Info) -> AbstractSet[str]:
    """Return the variables of torchrun's rendezvous, including those of an elastic job if it is one."""
    if _skips_validation(info):
        return frozenset()
    if policy.get("elasticPolicy") is None:
        return RESERVED
    from trainc.plugins.torch import elastic

    return RESERVED if elastic.elastic_range(info) is None else RESERVED | elastic.RESERVED


def _skips_validation(info: Info) -> bool:
    """Return whether the webhook skips validation: until 2.1 it checks nothing unless numProcPerNode is set."""
    return info.release.torch_checks_need_num_proc and info.processes.requested is None and not info.gitops


def _missing_targets(info: Info, policy: Json) -> Iterator[Finding]:
    for job, name in envinjection_targets(policy):
        pod_set = info.pod_set(job)
        if pod_set is None or pod_set.container(name) is None:
            message = f"torch.envInjection lists container {name!r} of job {job!r}, which the runtime does not have"
            hint = "use a replicated job and a container of the runtime's template, or remove the entry"
            yield Finding("EnvInjectionTargetMissing", "error", message, hint, ("spec", "runtimeRef"))


def _claims_not_counted(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield upstream's warning that devices of claims are not counted, where they would decide how many processes run."""
    container, counted = info.trainer_container, resources_per_node(job, info)
    if container is None or not container.resources.get("claims") or not info.release.claims_merge:
        return
    amounts = (counted.get("limits") or {}).keys() | (counted.get("requests") or {}).keys()
    if info.processes.value is None and not any(map(is_gpu, amounts)):
        message = "the devices of the node's claims are not counted: torchrun starts one process per CPU"
        hint = "set numProcPerNode to the number of devices that the ResourceClaimTemplate requests"
        path: Path = ("spec", "trainer", "resourceClaimsPerNode" if job.trainer.resource_claims else "numProcPerNode")
        yield Finding("ClaimsNotCounted", "warning", message, hint, path)


def enforce_ml_policy(job: TrainJob, policy: Json, info: Info) -> Info:
    """Size the trainer, and set torchrun's variables on its container and on every injection target."""
    info = info.sized_by_job()
    processes, port = processes_per_node(job, info), names.TRAINER_PORT
    pet: tuple[EnvVariable, ...] = (
        literal("PET_NNODES", info.trainer.count if info.trainer else info.made(1, rule=_NO_TRAINER)),
        literal("PET_NPROC_PER_NODE", processes),
        completion_index("PET_NODE_RANK"),
    )
    master: tuple[EnvVariable, ...] = (
        literal("PET_MASTER_ADDR", master_host(job, info)),
        literal("PET_MASTER_PORT", port),
    )
    if policy.get("elasticPolicy") is not None:
        from trainc.plugins.torch.elastic import elastic_range, environment, resize

        if (elastic := elastic_range(info)) is not None:
            info = resize(info, elastic)
            pet, master = environment(job, info, elastic, processes), ()
    if job.has_trainer or info.gitops or not info.release.torch_needs_trainer:
        tunes = calls_torchtune(job)
        injected = (*trainer_env(job, info.semantics), *pet, *(() if tunes else master))
        if tunes and info.trainer_container is not None:
            from trainc.plugins.torch import torchtune

            info = replace(info, command=torchtune.command(job, info, processes))
        info = with_rendezvous(info, injected, job.rank_deviation)
    # Validation has refused containers that do not exist.
    for job_name, container_name in envinjection_targets(policy):
        pod_set = info.pod_set(job_name)
        if pod_set is not None:
            pod_set = pod_set.with_container(container_name, lambda container: container.with_env((*pet, *master)))
            info = info.with_pod_set(pod_set)
    return info


def envinjection_targets(policy: Json) -> list[tuple[str, str]]:
    """Return (replicated job, container) for each container in `torch.envInjection`, in order."""
    targets = (policy.get("envInjection") or {}).get("targets", ())
    return [(target["jobName"], name) for target in targets for name in target.get("containerNames", ())]


PASSES = Passes(validate=validate, reserved=reserved, enforce_ml_policy=enforce_ml_policy)
