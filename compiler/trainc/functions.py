"""The Python API: the compile functions that `trainc` exports."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, overload

from trainc.compilation import Compilation
from trainc.explain import place
from trainc.findings import CompileError, Diagnostic
from trainc.findings.policy import Rules, keep_severities
from trainc.kube.documents import Json, Manifest
from trainc.kube.releases import normalize_release
from trainc.options import Options
from trainc.pipeline.session import Judge, Session
from trainc.reading.catalog import Catalog, find, names
from trainc.reading.document import Document
from trainc.startup.records import dataclass

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future


def catalog(release: str) -> list[Manifest]:
    """Return the runtimes built into trainc for a Trainer release, sorted by name, as input for `compile_trainjob`.

    Raises ValueError (not CompileError) for an unknown release.
    """
    minor = normalize_release(release)
    entries = (find(name, minor) for name in names(minor))
    return [document.data for document in entries if isinstance(document, Document)]


def compile_trainjob(
    trainjob: dict[str, Any], runtimes: Sequence[dict[str, Any]], options: Options = Options()
) -> Compilation:
    """Compile one TrainJob against the given runtimes only.

    Inputs are plain YAML or JSON documents and are not modified; the manifests are plain documents as well.
    Amounts are Kubernetes quantities and times are seconds, as in the Trainer API.

    Raises CompileError with every problem found. Behavior follows kubeflow/trainer at the tag that PORT.yaml pins
    for `options.release`.
    """
    for data in (*runtimes, trainjob):
        if not isinstance(data, dict):
            raise TypeError(f"{data!r} is not a document: pass a dict, or use compile_paths for files")
    compilation = compile_documents([Document.of(data) for data in (*runtimes, trainjob)], (), options)
    if not compilation.jobs:
        hint = "pass a document with apiVersion: trainer.kubeflow.org/v1alpha1 and kind: TrainJob"
        raise CompileError([Diagnostic("NoTrainJob", "error", "the document is not a TrainJob", hint)])
    return compilation


def compile_documents(  # noqa: PLR0913, PLR0917 - what a session takes
    documents: Sequence[Document],
    runtime_sources: Sequence[Sequence[Document]] = (),
    options: Options = Options(),
    catalog: Catalog | None = None,
    rules: Rules = keep_severities,
    cluster: Iterable[Json] | None = None,
    judge: Judge | None = None,
) -> Compilation:
    """Compile every TrainJob in `documents`. Raises CompileError with the problems of all documents."""
    session = Session(options, catalog, place, rules, judge, cluster)
    return session.with_input(documents, runtime_sources).compile_all()


# Compile a stream of TrainJobs, each independently of the others, on any executor.


R = TypeVar("R")


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


def _itself(result: JobResult) -> JobResult:
    return result


@overload
def compile_many(
    jobs: Iterable[Manifest],
    *,
    runtimes: Sequence[Manifest],
    options: Options = ...,
    executor: Executor | None = ...,
    chunk: int = ...,
    in_flight: int = ...,
) -> Iterator[JobResult]: ...
@overload
def compile_many(
    jobs: Iterable[Manifest],
    *,
    runtimes: Sequence[Manifest],
    options: Options = ...,
    executor: Executor | None = ...,
    chunk: int = ...,
    in_flight: int = ...,
    result: Callable[[JobResult], R],
) -> Iterator[R]: ...
def compile_many(  # noqa: PLR0913 - all but the first go by their names
    jobs: Iterable[Manifest],
    *,
    runtimes: Sequence[Manifest],
    options: Options = Options(),
    executor: Executor | None = None,
    chunk: int = 200,
    in_flight: int = 64,
    result: Callable[[JobResult], Any] = _itself,
) -> Iterator[Any]:
    """Compile each of `jobs` and yield one result per job, in order; a CompileError is stored instead of raised.

    `result` is called with each JobResult where the job is compiled, and what it returns is yielded instead: a function
    that writes the manifests to storage and returns their digest spares the way back.

    `executor` is a concurrent.futures executor or a compatible one, such as dask.distributed's `Client.get_executor()`;
    without one, jobs are compiled in this process. `jobs` may be an infinite iterator: it is consumed as results are
    taken, with at most `in_flight` chunks of `chunk` jobs pending. To stop early, close the iterator.

    Jobs are not compared with each other. Two jobs of the same name give two results, and warnings that concern several
    jobs, such as DuplicateSubdomain, are not reported. Exceptions of the executor itself, such as BrokenProcessPool,
    are raised.
    """
    if chunk < 1 or in_flight < 1:
        raise ValueError("chunk and in_flight must be at least 1")
    remaining = iter(jobs)
    chunks = iter(lambda: list(islice(remaining, chunk)), [])
    if executor is None:
        return (result(compiled) for part in chunks for compiled in compile_chunk(part, runtimes, options))
    # As bytes: dask looks for tasks in every list and mapping that it is given, which takes longer than compiling.
    texts = (pickle.dumps((part, runtimes, options)) for part in chunks)
    return _spread(texts, executor, in_flight, result)


def compile_chunk(jobs: Sequence[Manifest], runtimes: Sequence[Manifest], options: Options) -> list[JobResult]:
    """The work unit of one process: check the runtimes once, then compile every job against them."""
    shared = Session(options, diagnose_objects=place).with_input([Document.of(runtime) for runtime in runtimes])
    plain = not shared.jobs and not shared.index.references
    results: list[JobResult] = []
    for job in jobs:
        try:
            if plain and job.get("kind") == "TrainJob":
                compilation = shared.with_jobs([Document.of(job)]).compile_all(shared.index.diagnostics)
            else:  # The slow path: `job` is not a TrainJob, or one of `runtimes` is.
                compilation = compile_trainjob(job, runtimes, options)
            results.append(JobResult(compilation))
        except CompileError as error:
            results.append(JobResult(error=error))
    return results


def _compile_pickled(chunk: bytes, result: Callable[[JobResult], Any]) -> bytes:
    return pickle.dumps(list(map(result, compile_chunk(*pickle.loads(chunk)))))  # noqa: S301 - what `compile_many` wrote


def _spread(
    chunks: Iterator[bytes], executor: Executor, in_flight: int, result: Callable[[JobResult], Any]
) -> Iterator[Any]:
    futures: deque[Future[bytes]] = deque()
    try:
        for chunk in chunks:
            futures.append(executor.submit(_compile_pickled, chunk, result))
            if len(futures) >= in_flight:
                yield from pickle.loads(futures.popleft().result())  # noqa: S301 - what `_compile_pickled` returned
        while futures:
            yield from pickle.loads(futures.popleft().result())  # noqa: S301 - as above
    finally:
        for future in futures:
            future.cancel()
