"""PlainML: sizes the trainer and carries the TrainJob's environment for runtimes without a framework of their own.

Source: kubeflow/trainer pkg/runtime/framework/plugins/plainml.
"""

from __future__ import annotations

from trainc.ir.env import trainer_env
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.plugin import Plugin


def enforce_ml_policy(job: TrainJob, info: Info) -> Info:
    """Acts unless a policy of `Release.plain_yields_to` is set, so beside XGBoost and Flux too."""
    if job.trainer is None or any(info.policy(name) is not None for name in info.release.plain_yields_to):
        return info
    sized = info.with_trainer_count(job.trainer.num_nodes)
    env = trainer_env(job, info.semantics)
    return sized.with_trainer_container(lambda container: container.with_env(env))


PLUGIN = Plugin(name="PlainML", enforce_ml_policy=enforce_ml_policy)
