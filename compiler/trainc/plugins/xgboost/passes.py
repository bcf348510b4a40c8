"""The passes of XGBoost: the tracker's address and each worker's rank, in DMLC_ variables.

Source: kubeflow/trainer pkg/runtime/framework/plugins/xgboost.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.ir.entrypoints import ambiguous_gpus, count_deviation, gpus, resources_per_node
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob, completion_index, literal, master_host, with_rendezvous
from trainc.kube import names
from trainc.kube.documents import Json
from trainc.plugins.plugin import Passes


def validate(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield an error for several kinds of GPU, because the number of workers is that of one kind."""
    if info.gitops:
        yield from ambiguous_gpus(job, info)


def enforce_ml_policy(job: TrainJob, policy: Json, info: Info) -> Info:
    """Set the tracker's variables for one worker per GPU, or one per node without GPUs.

    PlainML sets the TrainJob's own variables.
    """
    info = info.sized_by_job()
    if (not job.has_trainer and not info.gitops) or info.trainer is None:
        return info
    nodes, devices = info.trainer.count, gpus(resources_per_node(job, info))
    workers = info.made(
        nodes * max(1, devices),
        nodes,
        devices,
        rule="" if devices else "no GPU is requested",
        deviation=count_deviation(job, info) if info.traced else "",
    )
    injected = (
        literal("DMLC_TRACKER_URI", master_host(job, info)),
        literal("DMLC_TRACKER_PORT", names.TRAINER_PORT),
        completion_index("DMLC_TASK_ID"),
        literal("DMLC_NUM_WORKER", workers),
    )
    return with_rendezvous(info, injected, job.rank_deviation)


PASSES = Passes(validate=validate, enforce_ml_policy=enforce_ml_policy)
