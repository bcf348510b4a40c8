"""`migrate`: documents of Training Operator v1, and of older dialects and releases of Trainer, in the newest API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trainc.features.migrate.plan import Plan
from trainc.features.migrate.v1.conversion import Into
from trainc.features.migrate.v1.variables import Variables
from trainc.findings import CompileError, Diagnostic, has_errors, sort_diagnostics
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Options
from trainc.reading.document import Document
from trainc.startup.records import dataclass

_CHOICES = {"into": ("runtime", "catalog"), "variables": ("keep", "torchrun", "auto")}


@dataclass(frozen=True, slots=True)
class Migration:
    """Documents in the newest API, in the order of those given, and what is worth knowing about them."""

    documents: list[dict[str, Any]]
    diagnostics: list[Diagnostic]


def migrate(
    documents: Sequence[dict[str, Any]],
    options: Options = Options(),
    *,
    into: Into = "runtime",
    variables: Variables = "auto",
) -> Migration:
    """Convert documents to Trainer's newest API; those that need no change, or cannot be converted, stay the same.

    A v1 job becomes a TrainJob and a TrainingRuntime of the same name; jobs with equal pod templates share one. With
    `into` "catalog", a runtime built into trainc is used if one fits. With `variables` "torchrun", `python x` is
    started by torchrun instead of receiving v1's variables. The input is not modified.

    Raises CompileError if there are errors and no document could be migrated.
    """
    for name, given in (("into", into), ("variables", variables)):
        if given not in _CHOICES[name]:
            raise ValueError(f"unknown {name} {given!r}; choose {' or '.join(_CHOICES[name])}")
    plan = Plan(documents, options.release or NEWEST_RELEASE, into, variables)
    made: list[dict[str, Any]] = []
    diagnostics: list[Diagnostic] = []
    changed = False
    for data in documents:
        outcome = plan.of(data)
        diagnostics += map(Document.of(data).place, outcome.findings)
        changed = changed or outcome.documents != (data,)
        made += map(dict, outcome.documents)
    if has_errors(diagnostics) and not changed:
        raise CompileError(diagnostics)
    return Migration(made, sort_diagnostics(diagnostics))
