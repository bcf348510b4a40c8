"""Lines above a job: what it runs, what the cluster does about the change, and whether its queue can admit it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.compilation import CompiledJob
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
from trainc.findings import Source
from trainc.findings.text import counted
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Options
from trainc.reading.document import Document
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Lens:
    """A line of text above a range."""

    range: Range
    text: str


def lenses(snapshot: Snapshot, before: Sequence[Sequence[CompiledJob]] | None) -> list[Lens]:
    """The lenses of every document of the file; `before` are its jobs in git's HEAD, for each environment."""
    texts: dict[Source | None, list[str]] = {}
    for number, built in enumerate(snapshot.built):
        where = f"{built.environment}: " if len(snapshot.built) > 1 else ""
        earlier = before[number] if before is not None and number < len(before) else None
        for source, text in _of_built(built, snapshot.fits, earlier):
            texts.setdefault(source, []).append(where + text)
    found: list[Lens] = []
    for document in snapshot.documents:
        source = document.locate(())
        line = source.line - 1 if source is not None else 0
        place = Range(Position(line, 0), Position(line, 0))
        found += [Lens(place, text) for text in dict.fromkeys((*texts.get(source, ()), *_users(snapshot, document)))]
    return found


def _of_built(
    built: Built, fits: Sequence[Fit], before: Sequence[CompiledJob] | None
) -> Iterator[tuple[Source | None, str]]:
    """The texts about the jobs of one environment, each with the place of the job's document."""
    # By name alone: overlays may have changed the namespace.
    homes: dict[str, list[Source | None]] = {}
    for one in built.session.jobs:
        homes.setdefault(one.data["metadata"]["name"], []).append(one.document.locate(()))
    judged = {fit.job: fit for fit in fits}
    old = {(one.namespace, one.name): one for one in before or ()}
    for job in built.compiled:
        texts = list(_of_job(job, judged.get(job_name(job.namespace, job.name))))
        if before is not None:
            texts.append(_change(job, old.get((job.namespace, job.name)), built.session.options))
        yield from ((home, text) for home in dict.fromkeys(homes.get(job.name, ())) for text in texts)


def _of_job(job: CompiledJob, fit: Fit | None) -> Iterator[str]:
    if any(manifest["kind"] == "JobSet" for manifest in job.manifests) and (
        line := summary(read_graph(job.manifests).steps)
    ):
        yield line
    if fit is not None:
        yield _fit(fit)


def _fit(fit: Fit) -> str:
    queue = f"queue {fit.queue}" if fit.queue else "the cluster without a queue"
    flavors = sorted({flavor for by_resource in fit.flavors.values() for flavor in by_resource.values()})
    if fit.verdict == "fits":
        using = f", with {', '.join(flavors)}" if flavors else ""
        return f"fits {queue}{using}{', borrowing' if fit.borrows else ''}"
    return f"{fit.verdict} in {queue}" + (f": {fit.cause}" if fit.cause else "")


def _change(job: CompiledJob, before: CompiledJob | None, options: Options) -> str:
    """What the delivery tool does with the job against what it was."""
    release, method = options.release or NEWEST_RELEASE, chosen_method(options)
    earlier = before.manifests if before is not None else []
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
