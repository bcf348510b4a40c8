"""The sweeps of an input: their trials, and what these cost, compared with the budget."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from trainc.api.documents import Document, dialects, files
from trainc.api.findings import Diagnostic, Finding, counted, has_errors
from trainc.api.jobs import CompiledJob, JobSet, inputs
from trainc.api.kube import Json, bounds, identity_of, mapping, names
from trainc.api.records import dataclass, field, pattern, replace
from trainc.api.settings import Limits
from trainc.features.authoring.sweeps.matrix import (
    Budget,
    Matrix,
    base_among,
    is_trainjob,
    mentioned,
    read_matrix,
    trial_documents,
    unused_parameters,
)

if TYPE_CHECKING:
    from trainc.api.jobs import inputs

_HOUR = 3600


@dataclass(slots=True)
class Cost:
    """The accumulated cost of trials: GPUs per trial, and hours per GPU step (None if unknown)."""

    budget: Budget
    trials: int = 0
    gpus: list[int] = field(default_factory=list)
    hours: list[float | None] = field(default_factory=list)
    gpu_hours: float = 0.0

    def add(self, manifests: Sequence[Json], deadline: int | None) -> None:
        """Add a trial: its manifests, and the `activeDeadlineSeconds` of its TrainJob."""
        self.trials += 1
        for jobset in JobSet.among(manifests):
            self.gpus.append(sum(bounds.devices_of(job) for job in jobset.jobs))
            for job in jobset.jobs:
                if bounds.devices_of(job):
                    limits = (bounds.hours_of(jobset, job), deadline and deadline / _HOUR, self.budget.hours_per_trial)
                    hours = min(filter(None, limits), default=None)
                    self.hours.append(hours)
                    self.gpu_hours += bounds.devices_of(job) * (hours or 0)

    def findings(self) -> Iterator[Finding]:
        """Yield the total cost, as an error if it exceeds the budget or a budget is set and the cost is unknown."""
        if not self.trials:
            return
        limit, path = self.budget.gpu_hours, ("budget", "gpuHours")
        about = f"{counted(self.trials, 'trial')} {self._sizes()}"
        total = f"{about}: {bounds.decimal(self.gpu_hours)} GPU-hours without restarts"
        if not any(self.gpus):
            yield Finding("SweepSize", "info", about)
        elif None in self.hours:
            hint = "set how long a trial runs: activeDeadlineSeconds in the job, or hoursPerTrial under `budget`"
            unknown = f"{about}: {sum(self.gpus):,} GPUs together, for an unknown time"
            size = Finding("SweepSize", "info", unknown, hint)
            yield size if limit is None else Finding("OverBudget", "error", unknown, hint, path)
        elif limit is None:
            yield Finding("SweepSize", "info", total)
        elif self.gpu_hours <= limit:
            yield Finding("SweepSize", "info", f"{total}, of {bounds.decimal(limit)}", path=path)
        else:
            enough = int(limit // (self.gpu_hours / self.trials))
            hint = f"this is enough for {enough:,} of them; list fewer values, or write gpuHours: {self.gpu_hours:g}"
            yield Finding("OverBudget", "error", f"{total}, which is more than {bounds.decimal(limit)}", hint, path)

    def _sizes(self) -> str:
        low, high = min(self.gpus, default=0), max(self.gpus, default=0)
        size = f"of {counted(high, 'GPU')}" if low == high else f"of {low:,} to {high:,} GPUs"
        size = size if high else "without GPUs"
        hours = {hours for hours in self.hours if hours is not None}
        return f"{size} for {bounds.decimal(*hours)} h each" if len(hours) == 1 and None not in self.hours else size


# Sweeps among the input: the trials of each take the place of its base, and their cost is added up.

_NUMBERED = pattern(r"-trial-\d+")


@dataclass(slots=True)
class Sweeps:
    """The sweeps of an input. `documents` are their bases, as far as the input lacks them, and the runtimes beside these."""

    documents: list[Document]
    diagnostics: list[Diagnostic]
    pairs: list[tuple[Matrix, Document]]
    unselected: set[int] = field(default_factory=set)
    # The files of sweeps of which trials are missing because of errors.
    failed: set[str] = field(default_factory=set)
    # Those that are no job by themselves, and that a sweep means by a wrong path.
    meant: list[Document] = field(default_factory=list)

    @property
    def bases(self) -> set[int]:
        """The ids of the documents from which trials are made."""
        return {id(base) for base in (*(base for _, base in self.pairs), *self.meant)}

    def select(self, select: inputs.Choice, elsewhere: inputs.Choice) -> tuple[list[Document], list[Document]]:
        """Leave out the sweeps with bases that are not selected; return those selected nowhere, and elsewhere."""
        pairs = ((base, matrix.document) for matrix, base in self.pairs)
        left_out = [(base, document) for base, document in pairs if not select(base.data, document.file)]
        self.unselected |= {id(document) for _, document in left_out}
        groups: tuple[list[Document], list[Document]] = [], []
        for base, document in left_out:
            groups[elsewhere(base.data, document.file)].append(replace(document, siblings=(base,)))
        return groups

    def expand(self, documents: Sequence[Document]) -> tuple[list[Document], list[Diagnostic], Tally]:
        """Return the documents of the input, after overlays, with trials instead of the bases."""
        by_base: dict[int, list[Matrix]] = {}
        for matrix, base in self.pairs:
            by_base.setdefault(id(base), []).extend([matrix] if id(matrix.document) not in self.unselected else [])
        expanded: list[Document] = []
        problems: list[Diagnostic] = []
        tally = Tally()
        runtimes = (document for document in documents if document.data.get("kind") in names.RUNTIME_KINDS)
        of_runtimes = mentioned(runtimes) if by_base else set()
        for document in documents:
            before = document.before or document
            matrices = by_base.get(id(before))
            expanded += [document] if matrices is None and before not in self.meant else []
            for matrix in matrices or ():
                if matrix.template is None and not matrix.ends_job:
                    tally.bases.append((identity_of(document.data), matrix.document))
                trials, wrong = trial_documents(matrix, before, document)
                expanded += trials
                problems += wrong
                self.failed |= {matrix.document.file} if wrong else set()
                problems += [] if wrong else unused_parameters(matrix, document, of_runtimes)
                tally.expect(matrix, trials)
        return expanded, problems, tally


def read_sweeps(
    sweeps: Sequence[Document], documents: Sequence[Document], read_file: inputs.Read, limits: Limits
) -> Sweeps:
    """Find the base of each sweep among the other documents of the input, or else read its file."""
    by_file: dict[str, list[Document]] = {}
    for document in documents:
        by_file.setdefault(os.path.realpath(document.file), []).append(document)
    result, given = Sweeps([], [], []), {id(document) for document in documents}
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
                near, wrong = _no_base(matrix.path, os.path.dirname(sweep.file))
                result.diagnostics.append(sweep.diagnose(wrong))
                of_files = [d for candidate in near for d in by_file.get(os.path.realpath(candidate), ())]
                result.meant += [d for d in of_files if "${trialParameters." in str(d.data)]
                continue
            added, wrong_there = read_file(matrix.path)
            result.diagnostics += wrong_there
            if has_errors(wrong_there):
                continue
            by_file[file] = added
        base, problems = base_among(by_file[file], matrix)
        result.diagnostics += problems
        if base is not None:
            result.pairs.append((matrix, base))
        # Of a file that is not among the input, only what the trials need is read: the bases, and what is no TrainJob.
        result.documents += [d for d in added if dialects.is_trainer_document(d.data) and not is_trainjob(d)]
        if base is not None and id(base) not in given:
            given.add(id(base))
            result.documents.append(base)
    whole = {id(matrix.document) for matrix, _ in result.pairs if matrix.assignments}
    result.failed = {sweep.file for sweep in sweeps if id(sweep) not in whole}
    return result


def _no_base(path: str, folder: str) -> tuple[list[str], Finding]:
    """Return what a path in a folder may mean that does not exist, and what to say of it."""
    here = os.path.join(folder, os.path.basename(path))
    near = [here] if os.path.exists(here) else files.near_paths(path)
    from_here = [os.path.relpath(other, folder or os.curdir) for other in near]
    hint = f"did you mean {' or '.join(from_here)}?"
    if not near or near == [here]:
        meant = from_here[0] if near else "jobs/llm.yaml"
        hint = f"write the path of the TrainJob's file, from the folder of this one: base: {meant}"
    return near, Finding("InvalidSweep", "error", f"{path} does not exist", hint, ("base",))


class Tally:
    """The cost of the sweeps of an input, accumulated while their trials are compiled.

    `bases` has the namespace and name of each base that must not have been a job, with the sweep.
    """

    def __init__(self) -> None:
        self.bases: list[tuple[tuple[str, str], Document]] = []
        self._costs: list[tuple[Matrix, Cost]] = []
        self._trials: dict[tuple[str, str], tuple[Cost, int | None]] = {}
        self._reported: set[object] = set()

    def expect(self, matrix: Matrix, trials: Iterable[Document]) -> None:
        """Prepare for the trials of a sweep."""
        cost = Cost(matrix.budget)
        self._costs.append((matrix, cost))
        for trial in trials:
            deadline = mapping(trial.data.get("spec")).get("activeDeadlineSeconds")
            self._trials[identity_of(trial.data)] = cost, deadline if isinstance(deadline, int) else None

    def add(self, job: CompiledJob) -> None:
        """Add a job, if it is a trial."""
        for key in ((job.namespace, job.name), ("", job.name)):
            if key in self._trials:
                cost, deadline = self._trials[key]
                cost.add(job.manifests, deadline)
                return

    def without_repetitions(self, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
        """Skip diagnostics that an earlier trial had at the same place with the same text except its number."""
        for d in diagnostics:
            texts = (_NUMBERED.sub("-trial-N", text) for text in (d.message, d.hint, d.object, d.path))
            key = (d.code, d.severity, d.source, *texts)
            if key not in self._reported:
                self._reported.add(key)
                yield d

    def diagnostics(self) -> list[Diagnostic]:
        """The total cost of each sweep, located in it."""
        return [matrix.document.diagnose(finding) for matrix, cost in self._costs for finding in cost.findings()]
