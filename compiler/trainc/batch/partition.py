"""Divides the files of an input into job files, which seem to contain only TrainJobs, and all others.

This is a cheap guess from the text. If a file is not a job file after all, compiling it shows that, and the input is
then compiled as a whole. A job file that was not recognized is compiled together with the shared files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import partial

from trainc.batch.context import read_bytes
from trainc.batch.digest import digest
from trainc.findings import Diagnostic
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
    """A file that seems to contain only TrainJobs. `digest` is that of its name and content."""

    file: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class Partition:
    """The files of an input, in order, and diagnostics about the paths."""

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
    """Divide the files that `walk` finds under `paths`. Those in `overlay_files`, by real path, are never job files.

    `step` is called for each file. `remembered` has the digests of unchanged files as job files.
    """
    job_files: list[JobFile] = []
    others: list[str] = []

    def digest_job_file(file: str, path: str) -> bytes | None:
        """Return the digest of a job file; empty for a file that is skipped."""
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
    """Return the digest of everything, apart from the context, on which a job file's outcome depends."""
    return digest(os.fsencode(file) + b"\0" + data)  # No path holds a NUL.


def seems_job_file(data: bytes) -> bool:
    """Return whether there is a `kind:` at the beginning of a line, and all of them are TrainJob."""
    if data.count(b"\nkind:") == 1 and b"\nkind: TrainJob\n" in data and not data.startswith(b"kind:"):
        return True  # A fast path for the common form.
    return _JOB_KINDS.issuperset(kinds) if (kinds := _KIND.findall(data)) else False
