"""Lines above a job: what it runs, what the cluster does about the change, and whether its queue can admit it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api.editing import edits
from trainc.api.findings import Source, counted
from trainc.api.jobs import CompiledJob
from trainc.api.kube import documents
from trainc.features import ask
from trainc.features.authoring.lsp.names import RUNTIME, mentions, references
from trainc.features.authoring.lsp.snapshot import Built, Snapshot


def lenses(snapshot: Snapshot, before: Sequence[Sequence[CompiledJob]] | None) -> list[tuple[edits.Range, str]]:
    """The lines above every document of the file; `before` are its jobs in git's HEAD, for each environment."""
    texts: dict[Source | None, list[str]] = {}
    for number, built in enumerate(snapshot.built):
        where = f"{built.environment}: " if len(snapshot.built) > 1 else ""
        earlier = before[number] if before is not None and number < len(before) else None
        for source, text in _of_built(built, snapshot.fits, earlier):
            texts.setdefault(source, []).append(where + text)
    result: list[tuple[edits.Range, str]] = []
    for document in snapshot.documents:
        source = document.locate(())
        line = source.line - 1 if source is not None else 0
        start_of_line = edits.Range(edits.Position(line, 0), edits.Position(line, 0))
        about = texts.get(source, [])
        for mention in mentions(document):
            if mention.defines and mention.symbol[0] == RUNTIME:
                count = len(references(snapshot, mention))
                about.append(counted(count, "TrainJob") + (" uses it" if count == 1 else " use it"))
        result += [(start_of_line, text) for text in dict.fromkeys(about)]
    return result


def _of_built(
    built: Built, fits: Sequence[Any], before: Sequence[CompiledJob] | None
) -> Iterator[tuple[Source | None, str]]:
    # By name alone: overlays may have changed the namespace.
    homes: dict[str, list[Source | None]] = {}
    for valid_document in built.session.jobs:
        homes.setdefault(valid_document.data["metadata"]["name"], []).append(valid_document.document.locate(()))
    old = {(job.namespace, job.name): job for job in before or ()}
    summary, fate_between, lines_of = ask("graph", "summary"), ask("diff", "fate"), ask("fits", "lines")
    lines_by_job = lines_of(fits) if lines_of is not None else {}
    for job in built.compiled:
        texts = []
        is_jobset = any(manifest["kind"] == "JobSet" for manifest in job.manifests)
        if summary is not None and is_jobset and (line := summary(job.manifests)):
            texts.append(line)
        texts += lines_by_job.get(documents.qualified(job.namespace, job.name), ())
        if fate_between is not None and before is not None:
            earlier = old.get((job.namespace, job.name))
            manifests = earlier.manifests if earlier is not None else ()
            texts.append(f"{fate_between(manifests, job.manifests, built.session.options)} against HEAD")
        yield from ((home, text) for home in dict.fromkeys(homes.get(job.name, ())) for text in texts)
