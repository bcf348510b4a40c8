"""The passes of Torch: sizes and PET_ variables for torchrun; commands that start with `tune run` go to torchtune.py.

Source: kubeflow/trainer pkg/runtime/framework/plugins/torch/torch.go.
"""

from __future__ import annotations

from trainc.ir.info import Info
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
from trainc.plugins.plugin import Passes
from trainc.plugins.torch import calls_torchtune
from trainc.plugins.torch.processes import processes_per_node
from trainc.plugins.torch.validation import reserved, validate
from trainc.startup.records import replace


def enforce_ml_policy(job: TrainJob, policy: Json, info: Info) -> Info:
    """Size the trainer, and set torchrun's variables on its container and on every injection target."""
    info = info.with_trainer_count(job.trainer.num_nodes)
    pet, master = _pet_env(job, info), _master_env(job, info)
    if policy.get("elasticPolicy") is not None:
        from trainc.plugins.torch.elastic import elastic_range, environment, sized

        if (elastic := elastic_range(info)) is not None:
            info = sized(info, elastic)
            pet, master = environment(job, info, elastic, processes_per_node(job, info)), ()
    if job.has_trainer or info.gitops:
        tunes = calls_torchtune(job)
        injected = (*trainer_env(job, info.semantics), *pet, *(() if tunes else master))
        if tunes and info.trainer_container is not None:
            from trainc.plugins.torch import torchtune

            info = replace(info, command=torchtune.command(job, info))
        info = with_rendezvous(info, injected)
    return _inject_targets(info, policy, (*pet, *master))


def _pet_env(job: TrainJob, info: Info) -> tuple[EnvVariable, ...]:
    return (
        literal("PET_NNODES", info.trainer.count if info.trainer else 1),
        literal("PET_NPROC_PER_NODE", processes_per_node(job, info)),
        completion_index("PET_NODE_RANK"),
    )


def _master_env(job: TrainJob, info: Info) -> tuple[EnvVariable, ...]:
    return literal("PET_MASTER_ADDR", master_host(job, info)), literal("PET_MASTER_PORT", names.TRAINER_PORT)


def _inject_targets(info: Info, policy: Json, env: tuple[EnvVariable, ...]) -> Info:
    """Set the variables on the containers of `envInjection`; validation has refused containers that do not exist."""
    for job_name, container_name in envinjection_targets(policy):
        pod_set = info.pod_set(job_name)
        if pod_set is not None:
            info = info.with_pod_set(pod_set.with_container(container_name, lambda c: c.with_env(env)))
    return info


def envinjection_targets(policy: Json) -> list[tuple[str, str]]:
    """Return (replicated job, container) for each container in `torch.envInjection`, in order."""
    targets = (policy.get("envInjection") or {}).get("targets", ())
    return [(target["jobName"], name) for target in targets for name in target.get("containerNames", ())]


PASSES = Passes(validate=validate, reserved=reserved, enforce_ml_policy=enforce_ml_policy)
