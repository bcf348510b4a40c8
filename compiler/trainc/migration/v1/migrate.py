"""`migrate`: documents of Training Operator v1, and of older dialects and releases of Trainer, in the newest API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trainc.api.releases import NEWEST_RELEASE
from trainc.diagnostics import CompileError, Diagnostic, has_errors, sort_diagnostics
from trainc.migration.newest import around_of, migrate_document
from trainc.migration.v1.batch import Batch
from trainc.migration.v1.conversion import Into
from trainc.migration.v1.torchrun import Variables
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
    """Documents as Trainer's newest API has them; what needs no change, or cannot be changed, as it is.

    A v1 job becomes a TrainJob and a TrainingRuntime of its name; jobs of equal pod templates share one. `into`
    "catalog" refers to a runtime that trainc ships, where one fits. `variables` "torchrun" starts `python x` by
    torchrun instead of giving it v1's variables. The input is never changed.

    Raises CompileError where nothing can be kept: there are errors, and no document could be migrated.
    """
    for name, given in (("into", into), ("variables", variables)):
        if given not in _CHOICES[name]:
            raise ValueError(f"unknown {name} {given!r}; choose {' or '.join(_CHOICES[name])}")
    batch = Batch(documents, options.release or NEWEST_RELEASE, into, variables)
    around = around_of(documents)
    made: list[dict[str, Any]] = []
    diagnostics: list[Diagnostic] = []
    changed = False
    for data in documents:
        converted, newest = batch.of(data), migrate_document(data, around)
        new = converted.documents or (dict(newest.data),)
        diagnostics += map(Document.of(data).place, (*converted.findings, *newest.findings))
        changed = changed or new != (data,)
        made += new
    if has_errors(diagnostics) and not changed:
        raise CompileError(diagnostics)
    return Migration(made, sort_diagnostics(diagnostics))
