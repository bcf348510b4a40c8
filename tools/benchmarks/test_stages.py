"""Measure the stages of one job with pytest-benchmark: read, validate, passes, emit, and all of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, TypeAlias

import pytest

from benchmarks.jobs import RELEASE, RUNTIME, parsed, trainjob
from trainc import Options, compile_trainjob
from trainc.emit.yaml_writer import dump_yaml
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents
from trainc.schema import check

Benchmark: TypeAlias = Callable[..., Any]
OPTIONS = Options(release=RELEASE)


@pytest.fixture(scope="module")
def runtime() -> dict[str, Any]:
    return parsed(RUNTIME)


def distinct_jobs() -> Callable[[], tuple[tuple[dict[str, Any]], dict[str, Any]]]:
    """A different job for each round, so that no round benefits from a cache filled by an earlier one."""
    numbers = count()
    return lambda: ((parsed(trainjob(next(numbers))),), {})


def test_read(benchmark: Any) -> None:
    numbers = count()
    benchmark.pedantic(
        lambda text: read_documents(text, "job.yaml", Limits()),
        setup=lambda: ((trainjob(next(numbers)).encode(),), {}),
        rounds=500,
        warmup_rounds=50,
    )


def test_validate(benchmark: Any) -> None:
    benchmark.pedantic(lambda job: check(job, "TrainJob", RELEASE), setup=distinct_jobs(), rounds=500, warmup_rounds=50)


def test_passes(benchmark: Any, runtime: dict[str, Any]) -> None:
    """From dict to manifests: everything except reading and writing, including validation of the runtime."""
    benchmark.pedantic(
        lambda job: compile_trainjob(job, [runtime], OPTIONS), setup=distinct_jobs(), rounds=500, warmup_rounds=50
    )


def test_emit(benchmark: Any, runtime: dict[str, Any]) -> None:
    numbers = count()

    def compiled() -> tuple[tuple[Any], dict[str, Any]]:
        return (compile_trainjob(parsed(trainjob(next(numbers))), [runtime], OPTIONS).manifests,), {}

    benchmark.pedantic(dump_yaml, setup=compiled, rounds=500, warmup_rounds=50)


def test_whole(benchmark: Any, runtime: dict[str, Any]) -> None:
    numbers = count()
    benchmark.pedantic(
        lambda text: compile_trainjob(parsed(text), [runtime], OPTIONS).to_yaml(),
        setup=lambda: ((trainjob(next(numbers)),), {}),
        rounds=500,
        warmup_rounds=50,
    )
