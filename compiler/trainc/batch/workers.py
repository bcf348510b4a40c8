"""Compiles job files, one after another or in several processes, to serialized outcomes with their digests."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from trainc.batch.context import Context, Shared, UnusualError, read_bytes
from trainc.batch.outcome import to_bytes
from trainc.batch.partition import file_digest

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from trainc.pipeline.session import Place

# With fewer files per process, starting one takes longer than it saves.
_WORTH_A_PROCESS = 100
_CHUNK = 32
_SAFE_PATH = "PYTHONSAFEPATH"

# The name of a file, the digest of the compiled content, and the serialized outcome.
Made = tuple[str, bytes, bytes]


def compile_files(
    files: Sequence[str], shared: Shared, context: Context, processes: int, method: str | None = None
) -> Iterator[Made]:
    """Yield the outcomes of all files, in order.

    `method` is the start method of processes; by default the platform's. Raises UnusualError if a file is not a job file,
    or if the input has changed in the meantime.
    """
    processes = min(processes, len(files) // _WORTH_A_PROCESS)
    if processes < 2:
        return (_compile(file, context) for file in files)
    return _spread(files, shared, context, processes, method)


def _spread(
    files: Sequence[str], shared: Shared, context: Context, processes: int, method: str | None
) -> Iterator[Made]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    chunks = [files[at : at + _CHUNK] for at in range(0, len(files), _CHUNK)]
    with _safe_path():
        pool = ProcessPoolExecutor(processes, _start_context(method), _prepare, (shared, context.digest, context.place))
        try:
            for made in pool.map(_compile_chunk, chunks):
                yield from made
        except BrokenProcessPool:
            raise UnusualError("a worker process ended unexpectedly") from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Set PYTHONSAFEPATH: multiprocessing runs `python -c`, which would import modules from the current folder first."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[_SAFE_PATH]
        if before is not None:
            os.environ[_SAFE_PATH] = before


def _start_context(method: str | None) -> BaseContext:
    import multiprocessing

    return multiprocessing.get_context(method)


class _Prepared:
    """The context of a worker process, which outlives its tasks; None if it differs from that of its parent."""

    context: Context | None = None


def _prepare(shared: Shared, digest: bytes, place: Place) -> None:
    """Initialize a worker process. It ignores Ctrl-C; its parent handles that and stops it."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(UnusualError):
        context = Context(shared, place)
        _Prepared.context = context if context.digest == digest else None


def _compile_chunk(files: Sequence[str]) -> list[Made]:
    context = _Prepared.context
    if context is None:
        raise UnusualError("the input changed while it was being read")
    return [_compile(file, context) for file in files]


def _compile(file: str, context: Context) -> Made:
    data = read_bytes(file, context.options.limits)
    return file, file_digest(file, data), to_bytes(context.compile_file(file, data))
