"""What `fits` and `check` share: the jobs of a run, asked of the cluster in a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trainc.findings import Diagnostic, has_errors
from trainc.options import Options
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
    manifests: Sequence[Mapping[str, Any]], documents: Sequence[Document], cluster: str, options: Options
) -> ClusterVerdicts:
    """Check whether the cluster described in a folder can admit the JobSets in `manifests` and `documents`.

    Of two JobSets with the same name, the compiled one counts.
    """
    from trainc.features.fits.answer import fits
    from trainc.features.fits.placing_findings import place_in_input, place_in_snapshot
    from trainc.features.fits.workload import job_name, place

    snapshot, problems = read_paths([cluster], options.limits, everything=True)
    if has_errors(problems):
        return ClusterVerdicts(None, problems)  # What could not be read would be reported as missing, too.
    jobsets = {job_name(*place(one)): one for one in manifests if one.get("kind") == "JobSet"}
    homes = {}
    for document in documents:
        namespace, name = place(document.data)
        job = job_name(namespace or options.namespace or "", name)
        if document.data.get("kind") in _JOB_KINDS:
            homes[job] = document
        elif document.data.get("kind") == "JobSet" and job not in jobsets:
            jobsets[job] = document.data
            homes.setdefault(job, document)
    ordered = [jobsets[job] for job in sorted(jobsets)]
    found = fits(ordered, [document.data for document in snapshot])
    problems += place_in_snapshot(found.diagnostics, snapshot)
    if has_errors(problems):
        return ClusterVerdicts(None, problems)
    findings = [one for fit in found.alone for one in fit.diagnostics]
    return ClusterVerdicts(found, [*problems, *place_in_input(findings, homes, ordered, snapshot)])
