"""`spec.trainer` and `spec.runtimeRef` of the older dialects' jobs, alike in all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.api import names
from trainc.diagnostics import Finding
from trainc.dialects.shape import ANY, PROCESSES, Shape
from trainc.dialects.torch_policy import converted_processes

Json = Mapping[str, Any]

TRAINER: Shape = {
    **dict.fromkeys(("image", "command", "args", "env", "numNodes", "resourcesPerNode"), ANY),
    "numProcPerNode": PROCESSES,
}
RUNTIME_REF: Shape = dict.fromkeys(("name", "apiGroup", "kind"), ANY)


def converted_trainer(trainer: Json) -> tuple[Json, list[Finding]]:
    """The trainer with its process count as a number where it is one; "auto" says nothing and goes."""
    if "numProcPerNode" not in trainer:
        return trainer, []
    processes, findings = converted_processes(trainer["numProcPerNode"], ("spec", "trainer", "numProcPerNode"))
    rest = {name: value for name, value in trainer.items() if name != "numProcPerNode"}
    return (rest if processes == "auto" else {**rest, "numProcPerNode": processes}), findings


def converted_runtime_ref(reference: Json, own_group: str) -> Json:
    """The dialect's own group means Trainer's; any other is left for resolution to refuse."""
    return {**reference, "apiGroup": names.TRAINER_GROUP} if reference.get("apiGroup") == own_group else reference
