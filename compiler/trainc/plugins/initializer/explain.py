"""What `explain` says about initializers: sources, variables and secrets of the dataset and the model."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.ir.trainjob import InitializerStep
from trainc.plugins.rows import Ref, Row, Rows, Situation, TrainJobField, environment, trainjob

_STEP_SUFFIX = "-initializer"


def _step(s: Situation) -> tuple[str, InitializerStep | None]:
    ancestor = (s.pod_set.ancestor if s.pod_set else None) or ""
    return ancestor.removesuffix(_STEP_SUFFIX), s.job.initializer(ancestor)


def _variable(s: Situation) -> Iterator[Ref]:
    """Yield the TrainJob's own variable with that name, else the storage URI."""
    field, step = _step(s)
    if step is None:
        return
    variables = tuple(environment(s, step.env, ("spec", "initializer", field, "env")))
    yield from variables or (TrainJobField(("spec", "initializer", field, "storageUri")),)


_PASS = (
    Row("...env", (_variable,)),
    Row("...envFrom", (lambda s: trainjob("spec", "initializer", _step(s)[0], "secretRef", "name")(s),)),
)

ROWS: Rows = {"pre_build_sync": _PASS}
