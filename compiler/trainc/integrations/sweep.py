"""A sweep: TrainJobs without end, each compiled by itself, on whatever executor the caller has."""

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
    """What became of one job of a sweep: its compilation, or the CompileError that refused it; the other is None."""

    compilation: Compilation | None = None
    error: CompileError | None = None

    def get(self) -> Compilation:
        """The compilation. Raises the CompileError where the job was refused."""
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
    """One result per job, in the order of `jobs`: what `compile_trainjob` gives or raises for it, kept, not raised.

    `executor` is any of concurrent.futures, or one that behaves so, as dask.distributed's `Client.get_executor()`;
    without one, jobs are compiled in this process. `jobs` may be an endless iterator: it is read as results are taken,
    and never more than `in_flight` chunks of `chunk` jobs are under way. To stop early, close the iterator.

    Jobs are not compared with each other: a stream is not remembered, so that two jobs of one name are two results, and
    a warning such as DuplicateSubdomain, which takes two jobs, is not given. A refused job is a CompileError in its
    result; what an executor itself raises, such as BrokenProcessPool, is raised here.
    """
    if chunk < 1 or in_flight < 1:
        raise ValueError("chunk and in_flight must be at least 1")
    chunks = _chunks(iter(jobs), chunk)
    if executor is None:
        return (result for some in chunks for result in compile_chunk(some, runtimes, options))
    return _spread(chunks, runtimes, options, executor, in_flight)


def compile_chunk(jobs: Sequence[Manifest], runtimes: Sequence[Manifest], options: Options) -> list[JobResult]:
    """What one process does at a time: the runtimes are checked once, then every job is compiled beside them."""
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
    """By the long way: `job` is no TrainJob, or something among `runtimes` is one."""
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
