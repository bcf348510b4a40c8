"""Lines above a job: what it runs, what the cluster does about the change, and whether its queue can admit it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.api.documents import Document
from trainc.api.findings import counted
from trainc.api.jobs import CompiledJob
from trainc.api.kube import NEWEST_RELEASE
from trainc.api.records import dataclass
from trainc.api.settings import Options
from trainc.features.diff.comparison import compare
from trainc.features.diff.delivery import chosen_method
from trainc.features.diff.model import Side
from trainc.features.diff.values import fate_of
from trainc.features.diff.verdicts import JobSetRules
from trainc.features.fits.answer import Fit
from trainc.features.fits.workload import job_name
from trainc.features.graph.model import read_graph, summary
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
                yield from (f"{where}{text}" for text in _of_job(job, built, snapshot.fits))
                if before is not None and number < len(before):
                    yield where + _change(job, before[number], built.session.options)
    yield from _users(snapshot, document)


def _is_of(job: CompiledJob, document: Document, built: Built) -> bool:
    """Whether a job was compiled from a document: overlays may have changed its name."""
    homes = (one.document for one in built.session.jobs if one.data["metadata"]["name"] == job.name)
    return any(home.file == document.file and home.locate(()) == document.locate(()) for home in homes)


def _of_job(job: CompiledJob, built: Built, fits: Sequence[Fit]) -> Iterator[str]:
    if any(manifest["kind"] == "JobSet" for manifest in job.manifests) and (
        line := summary(read_graph(job.manifests).steps)
    ):
        yield line
    for fit in fits:
        if fit.job == job_name(job.namespace, job.name):
            yield _fit(fit)


def _fit(fit: Fit) -> str:
    queue = f"queue {fit.queue}" if fit.queue else "the cluster without a queue"
    flavors = sorted({flavor for by_resource in fit.flavors.values() for flavor in by_resource.values()})
    if fit.verdict == "fits":
        using = f", with {', '.join(flavors)}" if flavors else ""
        return f"fits {queue}{using}{', borrowing' if fit.borrows else ''}"
    return f"{fit.verdict} in {queue}" + (f": {fit.cause}" if fit.cause else "")


def _change(job: CompiledJob, before: Sequence[CompiledJob], options: Options) -> str:
    """What the delivery tool does with the job against what it was."""
    release, method = options.release or NEWEST_RELEASE, chosen_method(options)
    same = [one for one in before if (one.namespace, one.name) == (job.namespace, job.name)]
    earlier = [manifest for one in same for manifest in one.manifests]
    diff = compare(Side("HEAD", earlier), Side("now", job.manifests), JobSetRules(release), [method], release)
    changed = [one for one in diff.jobs if one.status != "unchanged"]
    if not changed:
        return "unchanged against HEAD"
    return f"{fate_of(changed[0], method)} under {method.label.partition(',')[0]} against HEAD"


def _users(snapshot: Snapshot, document: Document) -> Iterator[str]:
    for mention in mentions(document):
        if mention.defines and mention.symbol[0] == RUNTIME:
            count = len(references(snapshot, mention))
            yield counted(count, "TrainJob") + (" uses it" if count == 1 else " use it")
