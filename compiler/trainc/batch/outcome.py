"""The outcome of compiling one job file, and its serialized form, which processes exchange and the cache stores.

Every outcome is serialized and read back, even in a single process, so that all outcomes are treated alike.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from trainc.findings import Diagnostic, Source
from trainc.lints.duplicate_subdomain import Claim
from trainc.project.overlays.apply import Use
from trainc.startup.records import dataclass

# The namespace and name of a TrainJob.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """A compiled job. `text` is its part of the output, and `claims` are the Services that it uses."""

    key: Key
    text: bytes
    secrets: tuple[str, ...]
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What one file came to: everything that a run has to know of it, but for what takes two files to see.

    `documents` is how many it has, and how many overlays have left; `keys` names its valid jobs, those included that could not be compiled; `uses` is
    what of the overlays met one, and `runtimes` the cluster runtimes that they refer to as written.
    """

    documents: tuple[int, int]
    keys: tuple[Key, ...]
    jobs: tuple[JobOutcome, ...]
    diagnostics: tuple[Diagnostic, ...]
    uses: tuple[Use, ...] = ()
    runtimes: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether the file has errors."""
        return any(diagnostic.severity == "error" for diagnostic in self.diagnostics)


def to_bytes(outcome: FileOutcome) -> bytes:
    """Return an outcome as one line of JSON, followed by the texts of the jobs."""
    jobs = [(job.key, len(job.text), job.secrets, [_of_claim(claim) for claim in job.claims]) for job in outcome.jobs]
    diagnostics = [_of_diagnostic(diagnostic) for diagnostic in outcome.diagnostics]
    head = (outcome.documents, outcome.keys, jobs, diagnostics, outcome.uses, outcome.runtimes)
    return b"\n".join((json.dumps(head).encode(), b"".join(job.text for job in outcome.jobs)))


def from_bytes(data: bytes) -> FileOutcome:
    """Return the outcome that `to_bytes` has serialized."""
    end = data.index(b"\n")
    # Decode first: for bytes, the library would detect the encoding.
    documents, keys, jobs, diagnostics, uses, runtimes = json.loads(data[:end].decode())
    at, outcomes = end + 1, []
    for key, length, secrets, claims in jobs:
        text = data[at : at + length]
        at += length
        outcomes.append(JobOutcome(tuple(key), text, tuple(secrets), tuple(Claim(*claim) for claim in claims)))
    return FileOutcome(
        tuple(documents),
        tuple(map(tuple, keys)),
        tuple(outcomes),
        tuple(map(_diagnostic, diagnostics)),
        tuple(map(tuple, uses)),
        tuple(runtimes),
    )


def _of_claim(claim: Claim) -> tuple[object, ...]:
    return claim.jobset, claim.namespace, claim.service, claim.needed, claim.written


def _of_diagnostic(d: Diagnostic) -> tuple[object, ...]:
    source = (d.source.file, d.source.line, d.source.column, d.source.origin) if d.source is not None else None
    return d.code, d.severity, d.message, d.hint, d.object, d.path, source


def _diagnostic(fields: Sequence[Any]) -> Diagnostic:
    code, severity, message, hint, label, path, source = fields
    return Diagnostic(code, severity, message, hint, label, path, Source(*source) if source else None)
