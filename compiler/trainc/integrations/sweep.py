"""Compile a stream of TrainJobs, each independently of the others, on any executor."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from trainc.api.documents import Manifest
from trainc.compilation import Compilation
from trainc.diagnostics import CompileError
from trainc.explain import place
from trainc.integrations.python import compile_trainjob
from trainc.options import Options
from trainc.pipeline.session import Session
from trainc.reading.document import Document
from trainc.startup.records import dataclass

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of one job: its compilation, or the CompileError that refused it; the other one is None."""

    compilation: Compilation | None = None
    error: CompileError | None = None

    def get(self) -> Compilation:
        """Return the compilation, or raise the CompileError if the job was refused."""
        if self.compilation is None:
            assert self.error is not None
            raise self.error
        return self.compilation


def compile_many(  # noqa: PLR0913 - all but the first go by their names
    jobs: Iterable[Manifest],
    *,
    runtimes: Sequence[Manifest],
    options: Options = Options(),
    executor: Executor | None = None,
    chunk: int = 50,
    in_flight: int = 64,
) -> Iterator[JobResult]:
    """Compile each of `jobs` and yield one result per job, in order; a CompileError is stored instead of raised.

    `executor` is a concurrent.futures executor or a compatible one, such as dask.distributed's `Client.get_executor()`;
    without one, jobs are compiled in this process. `jobs` may be an infinite iterator: it is consumed as results are
    taken, with at most `in_flight` chunks of `chunk` jobs pending. To stop early, close the iterator.

    Jobs are not compared with each other. Two jobs of the same name give two results, and warnings that concern several
    jobs, such as DuplicateSubdomain, are not reported. Exceptions of the executor itself, such as BrokenProcessPool,
    are raised.
    """
    if chunk < 1 or in_flight < 1:
        raise ValueError("chunk and in_flight must be at least 1")
    chunks = _chunks(iter(jobs), chunk)
    if executor is None:
        return (result for some in chunks for result in compile_chunk(some, runtimes, options))
    return _spread(chunks, runtimes, options, executor, in_flight)


def compile_chunk(jobs: Sequence[Manifest], runtimes: Sequence[Manifest], options: Options) -> list[JobResult]:
    """The work unit of one process: check the runtimes once, then compile every job against them."""
    shared = Session.of([Document.of(runtime) for runtime in runtimes], (), options, None, place)
    plain = not shared.jobs and not shared.index.references
    return [
        _with_shared(shared, job) if plain and job.get("kind") == "TrainJob" else _alone(job, runtimes, options)
        for job in jobs
    ]


def _with_shared(shared: Session, job: Manifest) -> JobResult:
    try:
        return JobResult(shared.with_jobs([Document.of(job)]).compile_all(shared.index.diagnostics))
    except CompileError as error:
        return JobResult(error=error)


def _alone(job: Manifest, runtimes: Sequence[Manifest], options: Options) -> JobResult:
    """The slow path: `job` is not a TrainJob, or one of `runtimes` is."""
    try:
        return JobResult(compile_trainjob(job, runtimes, options))
    except CompileError as error:
        return JobResult(error=error)


def _spread(
    chunks: Iterator[list[Manifest]], runtimes: Sequence[Manifest], options: Options, executor: Executor, in_flight: int
) -> Iterator[JobResult]:
    under_way: deque[Future[list[JobResult]]] = deque()
    try:
        for some in chunks:
            under_way.append(executor.submit(compile_chunk, some, runtimes, options))
            if len(under_way) >= in_flight:
                yield from under_way.popleft().result()
        while under_way:
            yield from under_way.popleft().result()
    finally:
        for future in under_way:
            future.cancel()


def _chunks(jobs: Iterator[Manifest], size: int) -> Iterator[list[Manifest]]:
    while some := list(islice(jobs, size)):
        yield some
