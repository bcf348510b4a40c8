"""What a compilation tells whoever wants to know how it came about; the passes know nothing of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.pipeline.valid_document import ValidDocument
from trainc.plugins.plugin import ExtensionPoint
from trainc.plugins.registry import Applied


class Observer(Protocol):
    """Told of each step of one TrainJob, in order. What it is given must not be changed and may be kept."""

    def lowered(self, job: ValidDocument, runtime: ValidDocument, trainjob: TrainJob, info: Info) -> None:
        """The runtime was found, patched, labelled and lowered."""

    def renamed(self, trainjob: TrainJob) -> None:
        """The job goes on under a name that ends in a hash of its content."""

    def passed(self, plugin: Applied, point: ExtensionPoint, before: Info, after: Info) -> None:
        """A pass was concerned."""

    def shaped(self, stage: str, manifests: Sequence[dict[str, Any]]) -> None:
        """The objects as a stage after the passes left them.

        Stages are "build", then the id of each deviation that changed something, "admission", "secrets", "delivery".
        """
