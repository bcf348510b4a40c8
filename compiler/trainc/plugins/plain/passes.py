"""The passes of PlainML: size the trainer and set the TrainJob's variables, for runtimes without a framework.

Source: kubeflow/trainer pkg/runtime/framework/plugins/plainml.
"""

from __future__ import annotations

from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob, trainer_env
from trainc.kube.documents import Json
from trainc.plugins.plugin import Passes


def enforce_ml_policy(job: TrainJob, policy: Json, info: Info) -> Info:
    """Size the trainer and set the TrainJob's variables.

    It also runs for XGBoost and Flux, because they do not set the TrainJob's variables themselves.
    """
    if not job.has_trainer:
        return info
    sized = info.sized_by_job()
    env = trainer_env(job, info.semantics)
    return sized.with_trainer_container(lambda container: container.with_env(env))


PASSES = Passes(enforce_ml_policy=enforce_ml_policy)
