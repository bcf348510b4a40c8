"""An input's files, told apart: those that seem to hold TrainJobs and nothing else, and all others.

This is a guess from the text, made to be cheap: a file that was taken for a job file by mistake is found out when it is
compiled, and the input is then compiled as a whole; one that was missed is compiled along with what is shared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import partial

from trainc.batch.context import read_bytes
from trainc.batch.digest import digest
from trainc.diagnostics import Diagnostic
from trainc.options import Limits
from trainc.pipeline.inputs import Step
from trainc.reading.files import STDIN, Walk
from trainc.reading.remembered import Remembered
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

_KIND = pattern(rb"^kind:[ \t]*(.*?)[ \t]*\r?$", re.MULTILINE)
_JOB_KINDS = {b"TrainJob", b'"TrainJob"', b"'TrainJob'"}


@dataclass(frozen=True, slots=True)
class JobFile:
    """A file that seems to hold TrainJobs only; `digest` stands for its name and its bytes."""

    file: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class Partition:
    """The files of an input in their order, and what is wrong with the paths to them."""

    job_files: tuple[JobFile, ...]
    others: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]


def partition(  # noqa: PLR0913, PLR0917 - what a request names
    paths: Sequence[str],
    walk: Walk,
    overlay_files: frozenset[str],
    limits: Limits,
    step: Step,
    remembered: Remembered,
) -> Partition:
    """The files that `walk` finds under `paths`. Those of `overlay_files`, by real path, are never job files.

    `step` is told of each file; what is `remembered` of one is the digest that it has as a job file.
    """
    job_files: list[JobFile] = []
    others: list[str] = []

    def digest_job_file(file: str, path: str) -> bytes | None:
        """The digest of a job file; empty for a file that is passed over."""
        data = None if file == STDIN else read_bytes(file, limits)
        if data is not None and walk.skips(file, path, data):
            return b""
        if data is None or not seems_job_file(data) or (overlay_files and os.path.realpath(file) in overlay_files):
            return None
        return file_digest(file, data)

    for path in paths:
        for file in walk.files(path):
            found = remembered.recall(file, partial(digest_job_file, file, path))
            if found is None:
                others.append(file)
            elif found:
                job_files.append(JobFile(file, found))
            else:
                continue
            step("reading", len(job_files) + len(others), None)
    return Partition(tuple(job_files), tuple(others), (*walk.diagnostics, *walk.skipped_files(paths)))


def file_digest(file: str, data: bytes) -> bytes:
    """What a job file's outcome depends on beside its context."""
    return digest(os.fsencode(file) + b"\0" + data)  # No path holds a NUL.


def seems_job_file(data: bytes) -> bool:
    """Whether all kinds at the beginning of a line are TrainJob, and there is one."""
    if data.count(b"\nkind:") == 1 and b"\nkind: TrainJob\n" in data and not data.startswith(b"kind:"):
        return True  # What nearly all are, known in a tenth of the time.
    return _JOB_KINDS.issuperset(kinds) if (kinds := _KIND.findall(data)) else False
