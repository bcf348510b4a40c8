"""Lines above a job: what it runs, what the cluster does about the change, and whether its queue can admit it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api.documents import Document
from trainc.api.findings import counted
from trainc.api.jobs import CompiledJob
from trainc.api.records import dataclass
from trainc.api.settings import Options
from trainc.features import ask
from trainc.features.lsp.names import RUNTIME, mentions, references
from trainc.features.lsp.snapshot import Built, Position, Range, Snapshot


@dataclass(frozen=True, slots=True)
class Lens:
    """A line of text above a range."""

    range: Range
    text: str


def lenses(snapshot: Snapshot, before: Sequence[Sequence[CompiledJob]] | None) -> list[Lens]:
    """The lenses of every document of the file; `before` are its jobs in git's HEAD, for each environment."""
    found: list[Lens] = []
    for document in snapshot.documents:
        source = document.locate(())
        line = source.line - 1 if source is not None else 0
        place = Range(Position(line, 0), Position(line, 0))
        found += [Lens(place, text) for text in dict.fromkeys(_lens_texts(snapshot, document, before))]
    return found


def _lens_texts(
    snapshot: Snapshot, document: Document, before: Sequence[Sequence[CompiledJob]] | None
) -> Iterator[str]:
    for number, built in enumerate(snapshot.built):
        where = f"{built.environment}: " if len(snapshot.built) > 1 else ""
        for job in built.compiled:
            if _is_of(job, document, built):
                yield from (f"{where}{text}" for text in _of_job(job, snapshot.fits))
                if before is not None and number < len(before):
                    yield from (where + text for text in _change(job, before[number], built.session.options))
    yield from _users(snapshot, document)


def _is_of(job: CompiledJob, document: Document, built: Built) -> bool:
    """Whether a job was compiled from a document: overlays may have changed its name."""
    homes = (one.document for one in built.session.jobs if one.data["metadata"]["name"] == job.name)
    return any(home.file == document.file and home.locate(()) == document.locate(()) for home in homes)


def _of_job(job: CompiledJob, fits: Sequence[Any]) -> Iterator[str]:
    summary, lines = ask("graph", "summary"), ask("fits", "lines")
    is_jobset = any(manifest["kind"] == "JobSet" for manifest in job.manifests)
    if summary is not None and is_jobset and (line := summary(job.manifests)):
        yield line
    if lines is not None:
        yield from lines(fits, job.namespace, job.name)


def _change(job: CompiledJob, before: Sequence[CompiledJob], options: Options) -> Iterator[str]:
    """What the delivery tool does with the job against what it was."""
    fate_between = ask("diff", "fate")
    if fate_between is None:
        return
    same = [one for one in before if (one.namespace, one.name) == (job.namespace, job.name)]
    earlier = [manifest for one in same for manifest in one.manifests]
    yield f"{fate_between(earlier, job.manifests, options)} against HEAD"


def _users(snapshot: Snapshot, document: Document) -> Iterator[str]:
    for mention in mentions(document):
        if mention.defines and mention.symbol[0] == RUNTIME:
            count = len(references(snapshot, mention))
            yield counted(count, "TrainJob") + (" uses it" if count == 1 else " use it")
