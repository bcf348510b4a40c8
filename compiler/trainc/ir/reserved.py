"""Variables that a plugin sets itself and that a TrainJob must leave alone."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from trainc.diagnostics import Finding
from trainc.ir.trainjob import Trainer


def reserved_env(trainer: Trainer, reserved: AbstractSet[str], purpose: str) -> Iterator[Finding]:
    """An error for each variable of `spec.trainer.env` whose name is in `reserved`."""
    for index, variable in enumerate(trainer.env):
        if variable["name"] in reserved:
            yield Finding(
                "ReservedEnv",
                "error",
                f"{variable['name']} is set by trainc for {purpose} and must not be set by hand",
                "drop the variable; numNodes, numProcPerNode and the runtime's policy decide its value",
                ("spec", "trainer", "env", index),
            )
