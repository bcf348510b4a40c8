"""Locate findings about built objects in the input: provenance tells which line set the field in question.

Explaining a job takes longer than compiling it, so this is done only for jobs with such a finding.
"""

from __future__ import annotations

from collections.abc import Mapping

from trainc.explain.model import ExplainedObject
from trainc.explain.replay import Recorder
from trainc.findings import Diagnostic, Path, Report, Source
from trainc.pipeline.compiler import Result, assemble
from trainc.pipeline.session import Session, diagnose_at_source
from trainc.pipeline.valid_document import ValidDocument
from trainc.reading.document import NOT_OF_MIRRORS
from trainc.startup.records import replace

# Origins that copy values from a document unchanged; a plugin only derives values from them.
_COPIED = ("runtime", "overlay", "patch", "trainjob")


def place_built(result: Result) -> list[Diagnostic]:
    """Locate a job's findings about built objects; those without a line of their own are reported at its home.

    An info stays there, since there is nothing to fix.
    """
    placed, findings = diagnose_at_source(result), result.report.about_objects()
    in_files = any(d is not None and d.document.file for d in (result.job, result.runtime))
    if not in_files or all(finding.severity == "info" for finding in findings):
        return placed
    assert result.lowered is not None
    recorder = Recorder()
    recorder.on_lowered(result)
    assemble(result.lowered, Report(), recorder)
    steps = {str(step) for finding in findings for way in (finding.path, *finding.numbers) for step in way}
    explanation = recorder.explanation(steps.__contains__)
    objects = {str(explained.name): explained for explained in explanation.objects}
    sources: dict[str, dict[Path, Source | None]] = {}
    for i, finding in enumerate(findings):
        built = finding.built_by or finding.about
        if finding.severity != "info" and built in objects:
            if built not in sources:
                sources[built] = _sources_by_path(objects[built])
            known, path = sources[built], finding.source_path or finding.path
            ways = [_nearest(known, path), *map(known.get, finding.numbers)]
            file = result.job.document.file
            source = next((way for way in ways if way and way.file == file), ways[0])
            if path not in known and path[-2:-1] == ("labels",):  # Of what the job writes beside others, it lacks one.
                siblings = (at for way, at in known.items() if way[:-1] == path[:-1] and at and at.file == file)
                source = next(siblings, source)
            placed[i] = replace(placed[i], source=source or placed[i].source)
            if finding.code in NOT_OF_MIRRORS:
                placed[i] = _as_written(placed[i], finding.path, objects[built], result)
    return placed


def _as_written(diagnostic: Diagnostic, path: Path, described: ExplainedObject, result: Result) -> Diagnostic:
    """Place a diagnostic about an image where somebody wrote it."""
    documents = {checked.label: checked.document for checked in (result.job, result.runtime) if checked is not None}
    given = (one for field in described.fields if field.index == path for one in field.origin.inputs)
    for one in given:
        if one.object in documents:
            return documents[one.object].as_written(diagnostic, one.index)
    return diagnostic


def source_of(described: ExplainedObject, path: Path) -> Source | None:
    """Where the field was written. A missing field, or one that holds others, resolves to the nearest one."""
    return _nearest(_sources_by_path(described), path)


def explained_jobset(session: Session, job: ValidDocument) -> ExplainedObject | None:
    """The JobSet of a TrainJob, for `source_of`, which compiles the job again; None if it cannot be compiled."""
    recorder = Recorder()
    replace(session, keeping=None, judge=None).compile(job, recorder)
    objects = recorder.explanation().objects if recorder.stages else ()
    return next((described for described in objects if described.name.kind == "JobSet"), None)


def _sources_by_path(described: ExplainedObject) -> dict[Path, Source | None]:
    """Where each field was written; one that holds others, where the first of them was, if possible unchanged."""
    sources: dict[Path, Source | None] = {}
    fields = [(one, next((i.source for i in one.origin.inputs if i.source), None)) for one in described.fields]
    copied = [(field, source) for field, source in fields if source and field.origin.kind in _COPIED]
    for field, source in (*copied, *(pair for pair in fields if pair[1]), *fields):
        for length in range(2, len(field.index) + 1):
            sources.setdefault(field.index[:length], source)
    return sources


def _nearest(sources: Mapping[Path, Source | None], path: Path) -> Source | None:
    return next((sources[path[:end]] for end in range(len(path), 1, -1) if path[:end] in sources), None)
