"""Sweeps: on whatever executor, a job of many gives what it gives alone, in order, and no more is under way than asked."""

from __future__ import annotations

import hashlib
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from itertools import count, islice
from typing import Any

import pytest
from builders import job, runtime, trainjob
from hypothesis import given, strategies as st

from trainc import CompileError, JobResult, Options, compile_many, compile_trainjob

PINNED = Options(release="2.3")
RUNTIMES = [runtime(job()), runtime(job(), policy={"mpi": {}}, name="mpi")]
GOOD = [trainjob({"numNodes": 2}), trainjob({}, runtime="mpi"), trainjob({"image": "example.com/a:1"}, name="other")]
# Unknown field, no such runtime, both; three documents that are not TrainJobs; an older API, which compiles.
BAD = [
    trainjob({"numNode": 2}),
    trainjob({}, runtime="rtt"),
    trainjob({"numNode": 2}, runtime="rtt"),
    runtime(job(), name="third"),
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}},
    {"metadata": {"name": "c"}},
    {**trainjob({}), "apiVersion": "kubeflow.org/v2alpha1"},
]
OPTIONS = [Options(), PINNED, Options(release="2.0", semantics="controller", delivery="flux"), Options(name_hash=True)]
# Runtimes that are fine, that are wrong, that stand twice, and among which somebody has left a TrainJob.
RUNTIME_LISTS = [RUNTIMES, [], [runtime({"nam": 1})], [*RUNTIMES, runtime(job())], [*RUNTIMES, trainjob({}, name="x")]]


def seen(result: JobResult) -> object:
    if result.error is not None:
        return result.error.diagnostics
    compiled = result.get()
    return compiled.to_yaml(), compiled.diagnostics, compiled.secrets, compiled


def alone(job_: dict[str, Any], runtimes: list[dict[str, Any]], options: Options) -> object:
    try:
        compiled = compile_trainjob(job_, runtimes, options)
    except CompileError as error:
        return error.diagnostics
    return compiled.to_yaml(), compiled.diagnostics, compiled.secrets, compiled


@contextmanager
def dask() -> Iterator[Executor]:
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor()


def processes() -> Executor:
    return ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))


@given(
    jobs=st.lists(st.sampled_from([*GOOD, *BAD]), max_size=7),
    runtimes=st.sampled_from(RUNTIME_LISTS),
    options=st.sampled_from(OPTIONS),
    chunk=st.integers(1, 4),
    in_flight=st.integers(1, 3),
)
def test_a_job_of_many_gives_what_it_gives_alone(
    jobs: list[dict[str, Any]], runtimes: list[dict[str, Any]], options: Options, chunk: int, in_flight: int
) -> None:
    expected = [alone(one, runtimes, options) for one in jobs]
    assert [seen(r) for r in compile_many(jobs, runtimes=runtimes, options=options, chunk=chunk)] == expected
    with ThreadPoolExecutor(2) as executor:
        results = compile_many(
            jobs, runtimes=runtimes, options=options, executor=executor, chunk=chunk, in_flight=in_flight
        )
        assert [seen(result) for result in results] == expected


@pytest.mark.parametrize("make", [processes, dask])
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_other_processes_and_dask_give_the_same_in_order(
    make: Callable[[], AbstractContextManager[Executor]],
) -> None:
    jobs = [trainjob({"numNodes": n}, name=f"j{n}") for n in range(1, 12)] + BAD
    with make() as executor:
        results = list(compile_many(jobs, runtimes=RUNTIMES, options=PINNED, executor=executor, chunk=3, in_flight=2))
    assert [seen(result) for result in results] == [alone(one, RUNTIMES, PINNED) for one in jobs]
    assert sum(result.error is not None for result in results) == 6


def digest(result: JobResult) -> str:
    return "refused" if result.error is not None else hashlib.sha256(result.get().to_yaml().encode()).hexdigest()


def test_the_caller_says_what_comes_back_and_it_is_made_where_the_job_is_compiled() -> None:
    jobs = [*GOOD, *BAD]
    expected = [digest(one) for one in compile_many(jobs, runtimes=RUNTIMES, options=PINNED)]
    assert {"refused"} < set(expected)
    assert list(compile_many(jobs, runtimes=RUNTIMES, options=PINNED, result=digest)) == expected
    with processes() as executor:
        found = compile_many(jobs, runtimes=RUNTIMES, options=PINNED, executor=executor, chunk=2, result=digest)
        assert list(found) == expected


def test_an_executor_gets_bytes_as_dask_would_search_documents_for_tasks() -> None:
    given: list[object] = []

    class Recorded(Postponed):
        def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            given.extend(args)
            return super().submit(function, *args, **kwargs)

    assert len(list(compile_many(GOOD, runtimes=RUNTIMES, options=PINNED, executor=Recorded()))) == len(GOOD)
    assert given
    assert all(isinstance(one, bytes) or callable(one) for one in given)


class Postponed(Executor):
    """Starts nothing before somebody asks for it, and counts what waits."""

    def __init__(self) -> None:
        self.waiting: list[Future[Any]] = []
        self.most = 0

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        waiting = self.waiting

        class Lazy(Future[Any]):
            def result(self, timeout: float | None = None) -> Any:  # noqa: ARG002 - the base has it
                waiting.remove(self)
                return function(*args, **kwargs)

            def cancel(self) -> bool:
                waiting.remove(self)
                return super().cancel()

        waiting.append(Lazy())
        self.most = max(self.most, len(waiting))
        return waiting[-1]


def test_an_endless_sweep_is_read_as_it_is_used_and_leaves_nothing_behind() -> None:
    read = []

    def endless() -> Iterator[dict[str, Any]]:
        for number in count():
            read.append(number)
            yield trainjob({}, name=f"j{number}")

    executor = Postponed()
    results = compile_many(endless(), runtimes=RUNTIMES, options=PINNED, executor=executor, chunk=2, in_flight=3)
    assert read == []
    names = [result.get().jobs[0].name for result in islice(results, 9)]
    assert names == [f"j{number}" for number in range(9)]
    assert (executor.most, len(read)) == (3, 14)
    results.close()  # type: ignore[attr-defined]
    assert executor.waiting == []


def test_a_refused_job_raises_when_it_is_used_and_not_before() -> None:
    good, bad = compile_many([GOOD[0], BAD[0]], runtimes=RUNTIMES, options=PINNED)
    assert good.error is None
    assert bad.compilation is None
    with pytest.raises(CompileError, match="numNode"):
        bad.get()


def test_bounds_must_make_sense() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        compile_many([], runtimes=[], chunk=0)
