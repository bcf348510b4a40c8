"""Initializers: pass the sources of the dataset and the model to the jobs that download them."""

from __future__ import annotations

from trainc.kube import names
from trainc.kube.documents import Json
from trainc.plugins.plugin import Lint, Plugin
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.ir.info import Info
    from trainc.ir.trainjob import TrainJob


def applies_to(job: TrainJob, info: Info) -> Json | None:
    """Return an empty policy if the TrainJob configures an initializer, else None."""
    return {} if job.dataset is not None or job.model is not None else None


def in_runtime(job: TrainJob, info: Info) -> bool:
    """Return whether the runtime has an initializer, even if the TrainJob configures none."""
    return any(pod_set.ancestor in names.INITIALIZERS for pod_set in info.pod_sets)


PLUGIN = Plugin(
    name="Initializer",
    passes="trainc.plugins.initializer.passes",
    applies_to=applies_to,
    lints=(
        Lint("lowered", "trainc.plugins.initializer.lints", "initializer_not_ordered", in_runtime),
        Lint("sized", "trainc.plugins.initializer.lints", "unusable_sources", in_runtime),
        Lint("sized", "trainc.plugins.initializer.lints", "gated_sources"),
        Lint("sized", "trainc.plugins.initializer.lints", "unread_secrets", per="input"),
        Lint("sized", "trainc.plugins.initializer.lints", "misspelt_folders", per="training"),
    ),
)
