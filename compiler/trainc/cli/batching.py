"""`build` over many files: in several processes and with a cache, as far as the input lends itself to that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Self

from trainc.batch.context import UnusualError
from trainc.batch.run import Batch, JobText, Request, run_batch
from trainc.batch.spool import Spool
from trainc.cli.compiling import skipped_documents
from trainc.cli.reporting import Files, Progress
from trainc.cli.settings import Settings
from trainc.emit.yaml_writer import Form
from trainc.explain import place
from trainc.findings import Diagnostic
from trainc.startup.records import dataclass, field


@dataclass(slots=True)
class BatchRun:
    """Like compiling.Run, but complete."""

    settings: Settings
    batch: Batch
    files: Files
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.batch.spool.close()

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self.batch.count

    @property
    def unsaved(self) -> str:
        """Why the cache could not be written; empty if it was."""
        error = self.batch.unsaved
        return f"{error.filename}: {error.strerror}" if error is not None else ""

    @property
    def compiled(self) -> int:
        """The number of compiled jobs."""
        return len(self.batch.jobs)

    @property
    def read_files(self) -> frozenset[str]:
        """The files in which there is a TrainJob or runtime."""
        return self.batch.files

    def texts(self, form: Form) -> Iterator[JobText]:
        """The output of each job, ordered by (namespace, name)."""
        assert form == self.batch.form
        return self.batch.texts()


def run_in_batches(request: Request, settings: Settings, progress: Progress) -> BatchRun:
    """Build in batches. Raises UnusualError if the input has to be compiled as a whole."""
    with ExitStack() as unless_done:
        rules = settings.policy(request.stdin)
        batch = run_batch(request, unless_done.enter_context(closing(Spool())), progress.step, place, rules)
        others = rules(skipped_documents(batch.documents, settings), True)
        unless_done.pop_all()
    return BatchRun(settings, batch, Files(request.stdin), [*batch.diagnostics, *others])


def process_count(requested: int) -> int:
    """The number of processes for `-j`; 0 means one for each available core."""
    if requested:
        return requested
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


__all__ = ["BatchRun", "Request", "UnusualError", "process_count", "run_in_batches"]
