"""The passes of JAX: the coordinator, number of processes and rank for jax.distributed.

Source: kubeflow/trainer pkg/runtime/framework/plugins/jax.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.ir.info import Info
from trainc.ir.release import controller_panics
from trainc.ir.trainjob import TrainJob, completion_index, literal, master_host, trainer_env, with_rendezvous
from trainc.kube import names
from trainc.kube.documents import Json
from trainc.plugins.plugin import Passes


def build_failures(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield an error if there is no trainer to size, on which 2.2 crashes."""
    if info.release.jax_needs_trainer and info.trainer is None:
        yield controller_panics(
            "the JAX policy needs a job with the ancestor label of the trainer, and the runtime has none",
            ("spec", "runtimeRef"),
        )


def enforce_ml_policy(job: TrainJob, policy: Json, info: Info) -> Info:
    """Size the trainer, and set the coordinator's variables on its container, before those of the TrainJob."""
    info = info.sized_by_job()
    if (not job.has_trainer and not info.gitops) or info.trainer is None:
        return info
    injected = (
        literal("JAX_NUM_PROCESSES", info.trainer.count),
        completion_index("JAX_PROCESS_ID"),
        literal("JAX_COORDINATOR_ADDRESS", master_host(job, info, names.TRAINER_PORT)),
        *trainer_env(job, info.semantics),
    )
    return with_rendezvous(info, injected, job.rank_deviation)


PASSES = Passes(build_failures=build_failures, enforce_ml_policy=enforce_ml_policy)
