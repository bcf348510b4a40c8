"""The observer of a compilation, which `explain` and other tools use to see its steps. Passes do not depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.pipeline.valid_document import ValidDocument
from trainc.plugins.plugin import ExtensionPoint
from trainc.plugins.registry import Applied


class Observer(Protocol):
    """Methods that are called for each step of one TrainJob, in order. Arguments may be kept but must not be modified."""

    def lowered(self, job: ValidDocument, runtime: ValidDocument, trainjob: TrainJob, info: Info) -> None:
        """Called when the runtime has been found, patched, labeled and lowered."""

    def renamed(self, trainjob: TrainJob) -> None:
        """Called when the job continues under a name that ends with a hash of its content."""

    def passed(self, plugin: Applied, point: ExtensionPoint, before: Info, after: Info) -> None:
        """Called after a pass that changed the Info."""

    def shaped(self, stage: str, manifests: Sequence[dict[str, Any]]) -> None:
        """Called with the objects after each stage that follows the passes.

        The stages are "build", the id of each deviation that changed something, "admission", "secrets" and "delivery".
        """
