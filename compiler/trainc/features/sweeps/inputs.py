"""Sweeps among the input: the trials of each take the place of its base, and their cost is added up."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from trainc.api.documents import Document, is_trainer_document
from trainc.api.findings import Diagnostic, Finding, has_errors
from trainc.api.jobs import CompiledJob
from trainc.api.kube import identity_of, mapping
from trainc.api.records import dataclass, field, pattern
from trainc.api.settings import Limits
from trainc.features.sweeps.matrix import (
    Matrix,
    base_among,
    is_trainjob,
    read_matrix,
    trial_documents,
    unused_parameters,
)
from trainc.pipeline.inputs import Read

if TYPE_CHECKING:
    from trainc.features.sweeps.cost import Cost
    from trainc.project.configuration import Selection

_NUMBERED = pattern(r"-trial-\d+")


@dataclass(slots=True)
class Sweeps:
    """The sweeps of an input. `documents` are their bases, as far as the input lacks them, and the runtimes beside these."""

    documents: list[Document]
    diagnostics: list[Diagnostic]
    pairs: list[tuple[Matrix, Document]]
    unselected: set[int] = field(default_factory=set)

    @property
    def bases(self) -> set[int]:
        """The ids of the documents from which trials are made."""
        return {id(base) for _, base in self.pairs}

    def select(self, select: Selection) -> list[Document]:
        """Leave out the sweeps with bases that are not selected, and return them."""
        left_out = [matrix.document for matrix, base in self.pairs if not select(base.data, matrix.document.file)]
        self.unselected |= {id(document) for document in left_out}
        return left_out

    def expand(self, documents: Sequence[Document]) -> tuple[list[Document], list[Diagnostic], Tally]:
        """Return the documents of the input, after overlays, with trials instead of the bases."""
        by_base: dict[int, list[Matrix]] = {}
        for matrix, base in self.pairs:
            by_base.setdefault(id(base), []).extend([matrix] if id(matrix.document) not in self.unselected else [])
        found: list[Document] = []
        problems: list[Diagnostic] = []
        tally = Tally()
        for document in documents:
            before = document.before or document
            matrices = by_base.get(id(before))
            found += [document] if matrices is None else []
            for matrix in matrices or ():
                trials, wrong = trial_documents(matrix, before, document)
                found += trials
                problems += wrong
                problems += [] if wrong else unused_parameters(matrix, document, documents)
                tally.expect(matrix, trials)
        return found, problems, tally


def read_sweeps(sweeps: Sequence[Document], others: Sequence[Document], read: Read, limits: Limits) -> Sweeps:
    """Find the base of each sweep among the other documents of the input, or else read its file."""
    by_file: dict[str, list[Document]] = {}
    for document in others:
        by_file.setdefault(os.path.realpath(document.file), []).append(document)
    result = Sweeps([], [], [])
    for sweep in sweeps:
        matrix, problems = read_matrix(sweep, limits)
        result.diagnostics += problems
        if matrix.template is not None:
            result.documents.append(matrix.template)
            result.pairs.append((matrix, matrix.template))
            continue
        if any(problem.code == "OutsideRoot" for problem in problems):
            continue
        file = os.path.realpath(matrix.path)
        added: list[Document] = []
        if file not in by_file:
            if not os.path.exists(file):
                hint = "write the path of the TrainJob's file, from the folder of this one: base: jobs/llm.yaml"
                wrong = Finding("InvalidSweep", "error", f"{matrix.path} does not exist", hint, ("base",))
                result.diagnostics.append(sweep.place(wrong))
                continue
            added, wrong_there = read(matrix.path)
            result.diagnostics += wrong_there
            if has_errors(wrong_there):
                continue
            by_file[file] = added
        base, problems = base_among(by_file[file], matrix)
        result.diagnostics += problems
        if base is not None:
            result.pairs.append((matrix, base))
        # Of a file that is not among the input, only what the trials need is read.
        result.documents += [d for d in added if d is base or (is_trainer_document(d.data) and not is_trainjob(d))]
    return result


class Tally:
    """The cost of the sweeps of an input, accumulated while their trials are compiled."""

    def __init__(self) -> None:
        self._costs: list[tuple[Matrix, Cost]] = []
        self._trials: dict[tuple[str, str], tuple[Cost, int | None]] = {}
        self._reported: set[object] = set()

    def expect(self, matrix: Matrix, trials: Iterable[Document]) -> None:
        """Prepare for the trials of a sweep."""
        from trainc.features.sweeps.cost import Cost

        cost = Cost(matrix.budget)
        self._costs.append((matrix, cost))
        for trial in trials:
            deadline = mapping(trial.data.get("spec")).get("activeDeadlineSeconds")
            self._trials[identity_of(trial.data)] = cost, deadline

    def add(self, job: CompiledJob) -> None:
        """Add a job, if it is a trial."""
        for key in ((job.namespace, job.name), ("", job.name)):
            if key in self._trials:
                cost, deadline = self._trials[key]
                cost.add(job.manifests, deadline)
                return

    def without_repetitions(self, found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
        """Skip diagnostics that an earlier trial had at the same place with the same text except its number."""
        for each in found:
            words = (_NUMBERED.sub("-trial-N", text) for text in (each.message, each.hint, each.object, each.path))
            key = (each.code, each.severity, each.source, *words)
            if key not in self._reported:
                self._reported.add(key)
                yield each

    def diagnostics(self) -> list[Diagnostic]:
        """The total cost of each sweep, located in it."""
        return [matrix.document.place(finding) for matrix, cost in self._costs for finding in cost.findings()]
