"""What the jobs of other files claim, for what only all jobs together show: two that write to one folder, or share a name.

A thousand jobs take seconds to compile, so that an editor has some of them compiled whenever nobody types.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainc.compilation import CompiledJob
from trainc.diagnostics import Diagnostic
from trainc.lints.duplicate_subdomain import Claim, Services, claims_of
from trainc.lints.registry import lint_all_jobs
from trainc.pipeline.session import Session
from trainc.pipeline.valid_document import ValidDocument
from trainc.reading.document import Document
from trainc.startup.records import dataclass

# How many jobs with unknown claims are compiled at a time.
_AT_ONE_TIME = 50


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A job of another file: its position in the order of all jobs, and its claims."""

    order: tuple[str, str]
    file: str
    claims: tuple[Claim, ...]


class Neighbours:
    """The known claims, keyed by the content of a job and its context; they are kept when files are read again."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str, str], Neighbour | None] = {}
        self._last: list[Neighbour] = []

    def learn(self, session: Session, jobs: Sequence[Document], around: Sequence[Document]) -> bool:
        """Compile some of the new `jobs` against the documents `around` them; return whether all are known."""
        surroundings = hash(repr([document.data for document in around]))
        keys = {(surroundings, document.file, repr(document.data)): document for document in jobs}
        unknown = [key for key in keys if key not in self._known]
        for key in unknown[:_AT_ONE_TIME]:
            self._known[key] = _neighbour(session, keys[key])
        self._known = {key: found for key, found in self._known.items() if key in keys}
        # Of several jobs with the same name, only the first one is compiled.
        first: dict[tuple[str, str], Neighbour] = {}
        for found in filter(None, map(self._known.get, keys)):
            first.setdefault(found.order, found)
        self._last = list(first.values())
        return len(unknown) <= _AT_ONE_TIME

    def beyond(self, files: set[str]) -> Iterator[Neighbour]:
        """The claims known at the last call of `learn`, except those from some files."""
        return (found for found in self._last if found.file not in files)


def _neighbour(session: Session, document: Document) -> Neighbour | None:
    """The claims of the job in a document; None if it does not compile."""
    own = session.with_jobs([document])
    for job in own.jobs:
        compiled, _ = own.compile(job)
        if compiled is not None:
            order = compiled.namespace, compiled.name
            return Neighbour(order, document.file, tuple(claims_of(compiled.manifests)))
    return None


def compile_among(session: Session, neighbours: Neighbours) -> tuple[list[CompiledJob], list[Diagnostic]]:
    """Compile the jobs of a session; diagnostics include conflicts with all other jobs."""
    compiled: list[CompiledJob] = []
    found: list[Diagnostic] = []
    entries: list[tuple[tuple[str, str], ValidDocument | None, Sequence[Claim]]] = []
    for job in session.jobs:
        outcome, diagnostics = session.compile(job)
        found += diagnostics
        if outcome is not None:
            compiled.append(outcome)
            entries.append(((outcome.namespace, outcome.name), job, list(claims_of(outcome.manifests))))
    files = {job.document.file for job in session.jobs}
    known = {order for order, _, _ in entries}
    entries += [(one.order, None, one.claims) for one in neighbours.beyond(files) if one.order not in known]
    services: Services = {}
    for _, home, claims in sorted(entries, key=_order):
        between = list(lint_all_jobs(claims, services, session.options))
        if home is not None:
            found += session.rules([home.place_built(*about) for about in between], False)
    return compiled, found


def _order(entry: tuple[tuple[str, str], Any, Any]) -> tuple[str, str]:
    return entry[0]
