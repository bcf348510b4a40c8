"""`--matrix`: the sweep that it names, its trials in place of their base, and the sum of what they cost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from trainc.api.arguments import Arguments, UsageError
from trainc.api.findings import CompileError, Diagnostic, Finding, has_errors
from trainc.api.jobs import CompiledJob
from trainc.api.kube import mapping
from trainc.api.records import dataclass, pattern, replace

if TYPE_CHECKING:
    from trainc.api.documents import Document
    from trainc.api.jobs import Inputs
    from trainc.features.sweeps.cost import Cost
    from trainc.features.sweeps.matrix import Matrix

_NUMBERED = pattern(r"-trial-\d+")


def read_matrix_option(arguments: Arguments) -> MatrixInput | None:
    """Read the sweep given by --matrix, with its warnings; None without the option. Raises CompileError.

    The file of its base becomes the input unless PATH is given.
    """
    if not arguments.matrix:
        return None
    if len(arguments.matrix) > 1:
        raise UsageError("--matrix takes one sweep; compile each into an output folder of its own")
    [path] = arguments.matrix
    if path == "-":
        raise UsageError("--matrix needs a file; its TrainJob can come from stdin: trainc build - --matrix FILE")
    from trainc.api.settings import limits_of
    from trainc.features.sweeps.matrix import read_matrix

    matrix, diagnostics = read_matrix(path, limits_of(arguments))
    if matrix is None:
        raise CompileError(diagnostics)
    if not arguments.paths and not os.path.exists(matrix.path):
        hint = "write the path of the TrainJob's file, from the folder of this one: base: jobs/llm.yaml"
        missing = Finding("InvalidSweep", "error", f"{matrix.path} does not exist", hint, ("base",))
        raise CompileError([*diagnostics, matrix.document.place(missing, "Sweep")])
    arguments.paths = arguments.paths or [matrix.path]
    return MatrixInput(matrix, diagnostics)


class Tally:
    """The cost of a sweep, accumulated while its trials are compiled."""

    def __init__(self, matrix: Matrix, cost: Cost, inputs: Inputs) -> None:
        self._document, self._cost = matrix.document, cost
        jobs = [document.data for document in inputs.documents if document.data.get("kind") == "TrainJob"]
        self._specs = {str(mapping(job.get("metadata")).get("name")): mapping(job.get("spec")) for job in jobs}
        self._told: set[object] = set()

    def add(self, job: CompiledJob) -> None:
        """Add a trial."""
        self._cost.add(job.manifests, self._specs.get(job.name, {}).get("activeDeadlineSeconds"))

    def without_repetitions(self, found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
        """Skip diagnostics that an earlier trial had at the same place with the same text except its number."""
        for each in found:
            words = (_NUMBERED.sub("-trial-N", text) for text in (each.message, each.hint, each.object, each.path))
            key = (each.code, each.severity, each.source, *words)
            if key not in self._told:
                self._told.add(key)
                yield each

    def diagnostics(self) -> list[Diagnostic]:
        """The total cost, located in the sweep."""
        return [self._document.place(finding, "Sweep") for finding in self._cost.findings()]


@dataclass(frozen=True, slots=True)
class MatrixInput:
    """The sweep of `--matrix`, and the diagnostics about its file."""

    matrix: Matrix
    diagnostics: list[Diagnostic]

    @property
    def documents(self) -> tuple[Document, ...]:
        """The TrainJob in the file of the sweep, if it is there."""
        return () if self.matrix.template is None else (self.matrix.template,)

    def expand(self, inputs: Inputs) -> tuple[Inputs, Tally]:
        """Replace the TrainJobs of the input by the trials; without trials if the base cannot be read."""
        from trainc.features.sweeps.cost import Cost
        from trainc.features.sweeps.matrix import replace_base

        documents, problems = replace_base(self.matrix, inputs.documents)
        # Errors in the file of the base are reported instead.
        more = [*self.diagnostics, *inputs.diagnostics, *([] if has_errors(inputs.diagnostics) else problems)]
        inputs = replace(inputs, documents=documents, diagnostics=more)
        return inputs, Tally(self.matrix, Cost(self.matrix.budget), inputs)
