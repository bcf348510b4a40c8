"""What `fits`, `check`, `report` and the language server share: the jobs of a run, asked of the cluster in a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from trainc.compilation import CompiledJob
from trainc.findings import Diagnostic, has_errors
from trainc.options import Options
from trainc.reading.cluster import Dump
from trainc.reading.document import Document
from trainc.reading.files import read_paths
from trainc.startup.records import dataclass

if TYPE_CHECKING:
    from trainc.features.fits.answer import Fits

_JOB_KINDS = ("TrainJob", "TrainingJob")


@dataclass(frozen=True, slots=True)
class ClusterVerdicts:
    """The answers, None if the snapshot does not allow any, and the diagnostics with their locations."""

    answers: Fits | None
    diagnostics: list[Diagnostic]


def judge_jobs(
    compiled: Iterable[CompiledJob],
    documents: Sequence[Document],
    cluster: str,
    options: Options,
    read: tuple[list[Document], list[Diagnostic]] | None = None,
) -> ClusterVerdicts:
    """Check whether the cluster described in a folder can admit the compiled jobs, and the JobSets in `documents`.

    Jobs go by the names of their TrainJobs, with which the documents are found too: those of JobSets may have a hash.
    A JobSet that was rendered from a compiled job does not count. `read` is what is in the folder, if that is known.
    """
    from trainc.features.fits.answer import fits_named
    from trainc.features.fits.placing_findings import place_in_input, place_in_snapshot
    from trainc.features.fits.workload import job_name, place

    snapshot, problems = read or read_paths([cluster], options.limits, everything=True)
    if has_errors(problems):
        return ClusterVerdicts(None, problems)  # What could not be read would be reported as missing, too.
    jobsets: dict[str, Mapping[str, Any]] = {
        job_name(one.namespace, one.name): manifest
        for one in compiled
        for manifest in one.manifests
        if manifest["kind"] == "JobSet"
    }
    homes: dict[str, Document] = {}
    for document in documents:
        if document.data.get("kind") in _JOB_KINDS:
            namespace, name = place(document.data)
            homes[job_name(namespace or options.namespace or "", name)] = document
    for job, document in _rendered(documents, jobsets, options):
        jobsets[job] = _with_namespace(document.data, options)
        homes.setdefault(job, document)
    found = fits_named(sorted(jobsets.items()), Dump.of_documents(snapshot))
    problems += place_in_snapshot(found.diagnostics, snapshot)
    if has_errors(problems):
        return ClusterVerdicts(None, problems)
    findings = [one for fit in found.alone for one in fit.diagnostics]
    return ClusterVerdicts(found, [*problems, *place_in_input(findings, homes, jobsets, snapshot)])


def _rendered(
    documents: Sequence[Document], compiled: Mapping[str, Mapping[str, Any]], options: Options
) -> list[tuple[str, Document]]:
    """The JobSets of the input that were not compiled just now, by the names of their TrainJobs as far as known."""
    jobsets = [document for document in documents if document.data.get("kind") == "JobSet"]
    if not jobsets:
        return []
    from trainc.emit.name_hash import name_in_file
    from trainc.features.fits.workload import job_name, place

    found: dict[str, Document] = {}
    known = {*compiled, *(job_name(*place(jobset)) for jobset in compiled.values())}
    for document in jobsets:
        namespace, name = place(document.data)
        namespace = namespace or options.namespace or ""
        own, plain = job_name(namespace, name), job_name(namespace, name_in_file(name, document.file))
        if own not in known and plain not in known:
            found[_unused(own if plain in found else plain, found)] = document
    return list(found.items())


def _unused(job: str, found: Mapping[str, Document]) -> str:
    """A name for a job: `llm-*`, and `llm-* (2)` for the next whose name the API server generates."""
    numbered = (f"{job} ({number})" for number in count(2))
    return job if job not in found else next(name for name in numbered if name not in found)


def _with_namespace(jobset: Mapping[str, Any], options: Options) -> Mapping[str, Any]:
    """A JobSet in the namespace of the options, if it has none of its own."""
    metadata = jobset.get("metadata")
    if not options.namespace or not isinstance(metadata, dict) or metadata.get("namespace"):
        return jobset
    return {**jobset, "metadata": {**metadata, "namespace": options.namespace}}
