"""Locate findings about built objects in the input: provenance tells which line set the field in question.

Explaining a job takes longer than compiling it, so this is done only for jobs with such a finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainc.explain.model import ExplainedField, ExplainedObject
from trainc.explain.replay import Recorder, explanation
from trainc.findings import Diagnostic, Path, Report, Source
from trainc.pipeline.compiler import Result, assemble
from trainc.pipeline.session import diagnose_at_source
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
    objects = {str(explained.name): explained for explained in explanation(recorder).objects}
    for i, finding in enumerate(findings):
        built = finding.built_by or finding.about
        if finding.severity != "info" and built in objects:
            source = source_of(objects[built], finding.source_path or finding.path)
            placed[i] = replace(placed[i], source=source or placed[i].source)
    return placed


def source_of(described: ExplainedObject, path: Path) -> Source | None:
    """Where the field was written. A missing field, or one that holds others, resolves to the nearest one."""
    for length in range(len(path), 1, -1):
        below = [field for field in described.fields if field.index[:length] == path[:length]]
        if below:
            copied = [field for field in below if field.origin.kind in _COPIED]
            return next(_sources(copied), None) or next(_sources(below), None)
    return None


def _sources(fields: Iterable[ExplainedField]) -> Iterator[Source]:
    sources = (origin_input.source for field in fields for origin_input in field.origin.inputs)
    return (source for source in sources if source is not None)
