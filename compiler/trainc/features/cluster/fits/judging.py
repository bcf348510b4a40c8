"""What `fits`, `check`, `report` and the language server share: the jobs of a run, asked of the cluster in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, count
from typing import Any

from trainc.api.cluster import Dump
from trainc.api.documents import Document, files, label_of, opening
from trainc.api.findings import Diagnostic, Finding, has_errors, policy
from trainc.api.jobs import CompiledJob, Session
from trainc.api.kube import Unchecked, names
from trainc.api.output import name_hash
from trainc.api.records import dataclass, replace
from trainc.api.settings import Limits, Options
from trainc.features.cluster.fits.answer import Fits, fits_named, moment_at
from trainc.features.cluster.fits.claims import shared_claims
from trainc.features.cluster.fits.findings import (
    is_about_queue,
    misspelt,
    place_in_input,
    place_in_snapshot,
    steps,
    with_rules,
    with_secrets,
)
from trainc.features.cluster.fits.forms import fits_by_job
from trainc.features.cluster.fits.now_forms import queues_now
from trainc.features.cluster.fits.references import created_by, left_out
from trainc.features.cluster.fits.scheduling import idle_state
from trainc.features.cluster.fits.snapshot import read_cluster
from trainc.features.cluster.fits.usage import dump_time
from trainc.features.cluster.fits.workload import job_name, jobset_identity


@dataclass(frozen=True, slots=True)
class ClusterVerdicts:
    """The answers, None if the snapshot does not allow any, and the diagnostics with their locations."""

    answers: Fits | None
    diagnostics: list[Diagnostic]


def judge_jobs(  # noqa: PLR0913 - two go by their names
    compiled: Sequence[CompiledJob],
    documents: Sequence[Document],
    cluster: str,
    options: Options,
    contents: tuple[list[Document], list[Diagnostic]] | None = None,
    *,
    session: Session | None = None,
    around: Sequence[Document] = (),
    over: Callable[[str, Sequence[Any]], Iterable[Any]] = lambda _, jobs: jobs,
    now: bool = False,
) -> ClusterVerdicts:
    """Check whether the cluster described in a folder can run the compiled jobs, and the JobSets in `documents`.

    Jobs go by the names of their TrainJobs, with which the documents are found too: those of JobSets may have a hash.
    A JobSet that was rendered from a compiled job does not count. `contents` is what is in the folder, if that is known.
    With the `session` that compiled the jobs, findings about fields of their pods are located where the field was written.
    `around` are further documents of the input. `over` yields the jobs, and may say how many are judged.
    """
    snapshot, problems = contents or files.read_paths([cluster], options.limits, everything=True)
    problems = [*map(_cut_off, problems), *misspelt(snapshot), *with_secrets(snapshot)]
    if has_errors(problems):
        return ClusterVerdicts(None, problems)  # What could not be read would be reported as missing, too.
    answers, guard = None, Finding.Guard("what the cluster can run", "reading this dump", ())
    with guard(cluster):
        built = [(job, manifest) for job in compiled for manifest in job.manifests]
        jobsets: dict[str, Mapping[str, Any]] = {
            job_name(job.namespace, job.name): manifest for job, manifest in built if manifest["kind"] == "JobSet"
        }
        homes: dict[str, Document] = {}
        for document in documents:
            if document.data.get("kind") in names.JOB_KINDS:
                homes[job_name(*jobset_identity(document.data, options.namespace))] = document
        for document in documents:
            if document.data.get("kind") == "JobSet":
                homes.setdefault(job_name(*jobset_identity(document.data)), document)
        for job, document in _find_rendered(documents, jobsets, options):
            jobsets[job] = _with_namespace(document.data, options)
            homes.setdefault(job, document)
        applied = [*(document.data for document in (*documents, *around)), *(manifest for _, manifest in built)]
        created = created_by(applied, options.namespace or "")
        if session is not None:
            left_out(created, [*documents, *around], [manifest for _, manifest in built], options.namespace or "")
        dump = Dump.of_documents(snapshot)
        fits = fits_named(sorted(jobsets.items()), dump, created, options.kueue, over, now=now)
        problems += place_in_snapshot(fits.diagnostics, snapshot)
        if not fits.is_of_all:
            return ClusterVerdicts(None, problems)
        answers = fits
        # The snapshot's own diagnostics say which kinds leave jobs undecided, once for all jobs.
        findings = [d for fit in fits.alone for d in fit.diagnostics if d.code != "SnapshotIncomplete"]
        findings, shared = shared_claims(with_rules(findings, snapshot))
        problems += place_in_snapshot(shared, snapshot)
        placed, others = _place_in_fields(findings, session) if session else ([], findings)
        return ClusterVerdicts(fits, [*problems, *place_in_input(others, homes, jobsets), *placed])
    return ClusterVerdicts(answers, [*problems, *guard.diagnostics])


def _cut_off(problem: Diagnostic) -> Diagnostic:
    """Say of a file that cannot be read at its last line that the rest is missing: nobody writes a snapshot by hand."""
    if problem.code != "YAMLSyntax" or problem.source is None:
        return problem
    try:
        text = opening.read_file(problem.source.file, Limits().file_bytes).decode(errors="replace")
    except OSError:
        return problem
    if text.endswith("\n") or problem.source.line < text.count("\n") + 1:
        return problem
    message = f"this file ends in the middle of this line ({problem.message}), so the rest of the cluster is missing"
    return replace(problem, message=message, hint="export it again")


def facts_for_report(
    compiled: Sequence[CompiledJob], documents: Sequence[Document], cluster: str, options: Options
) -> tuple[
    dict[str, tuple[str, str, dict[str, str]]],
    dict[tuple[str, str], tuple[str, dict[str, int]]],
    dict[str, Any],
    list[Diagnostic],
]:
    """What the report shows of a cluster, all empty if the snapshot cannot be read, and what has failed.

    For each job, the verdict in a word and in full, and the flavor of each of its pod sets; for each LocalQueue, by
    namespace and name, the ClusterQueue with its quotas by resource, over all flavors; what the queues hold now.
    """
    contents = files.read_paths([cluster], options.limits, everything=True)
    verdicts = judge_jobs(compiled, documents, cluster, options, contents)
    answers, failed = verdicts.answers, [d for d in verdicts.diagnostics if d.code == "WrongType"]
    if answers is None:
        return {}, {}, {}, failed
    texts = fits_by_job(answers)
    jobs: dict[str, tuple[str, str, dict[str, str]]] = {}
    for fit in answers.alone:
        flavors = {name: flavor for name, by in fit.flavors.items() for device, flavor in by.items() if "/" in device}
        verdict = "never runs" if fit.verdict == "fits" and fit.runs is False else fit.verdict
        jobs[fit.job] = verdict, texts[fit.job], flavors
    dump = Dump.of_documents(contents[0])
    cluster_state = read_cluster(dump)[0]
    taken = dump_time(dump)[0]
    quotas: dict[tuple[str, str], tuple[str, dict[str, int]]] = {}
    for key, local in cluster_state.local_queues.items():
        if queue := cluster_state.cluster_queues.get(local.cluster_queue):
            amounts: dict[str, int] = {}
            for (_, resource), quota in queue.quotas.items():
                amounts[resource] = amounts.get(resource, 0) + quota.nominal
            quotas[key] = queue.name, amounts
    moment, _, problems = moment_at(taken, idle_state(cluster_state))
    return jobs, quotas, queues_now(moment, taken, [problem.message for problem in problems]), failed


# What explains a field is slow, so of many jobs with the same problem all are located at their own documents.
_MOST_EXPLAINED = 100


def _place_in_fields(diagnostics: Sequence[Diagnostic], session: Session) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """Locate findings about fields of compiled pods at what wrote the field: a runtime, a patch, an overlay or the job.

    Returns those that were located, and the others.
    """
    by_job: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        if ".template.spec." in diagnostic.path:
            by_job.setdefault(diagnostic.object.removeprefix("JobSet "), []).append(diagnostic)
    if not by_job or len(by_job) > _MOST_EXPLAINED:
        return [], list(diagnostics)
    placed: list[Diagnostic] = []
    explained = set()
    for document in session.jobs:
        reported = by_job.get(job_name(*jobset_identity(document.data)))
        if reported:
            findings = [_finding(diagnostic) for diagnostic in reported]
            compiled = replace(
                session, rules=policy.keep_severities, keeping=None, judge=partial(_about_jobset, findings)
            )
            texts = {(diagnostic.code, diagnostic.message) for diagnostic in reported}
            found = [d for d in compiled.compile(document)[1] if (d.code, d.message) in texts]
            # Of all that the job says, its queue does not go with its runtime.
            of_queue = {d.message for d in reported if is_about_queue(d)}
            elsewhere = {
                d.message
                for d in found
                if d.message in of_queue and d.source and d.source.file != document.document.file
            }
            placed += [d for d in found if d.message not in elsewhere]
            explained |= {id(diagnostic) for diagnostic in reported if diagnostic.message not in elsewhere}
    return placed, [diagnostic for diagnostic in diagnostics if id(diagnostic) not in explained]


def _about_jobset(findings: Sequence[Finding], manifests: Sequence[Unchecked]) -> list[tuple[str, Finding]]:
    return [(label_of(m), finding) for m in manifests if m["kind"] == "JobSet" for finding in findings]


def _finding(diagnostic: Diagnostic) -> Finding:
    return Finding(diagnostic.code, diagnostic.severity, diagnostic.message, diagnostic.hint, steps(diagnostic.path))


def _find_rendered(
    documents: Sequence[Document], compiled: Mapping[str, Mapping[str, Any]], options: Options
) -> list[tuple[str, Document]]:
    """The JobSets of the input that were not compiled just now, by the names of their TrainJobs as far as known."""
    jobsets = [document for document in documents if document.data.get("kind") == "JobSet"]
    rendered: dict[str, Document] = {}
    compiled_names = {*compiled, *(job_name(*jobset_identity(jobset)) for jobset in compiled.values())}
    for document in jobsets:
        namespace, name = jobset_identity(document.data, options.namespace)
        full_name = job_name(namespace, name)
        plain_name = job_name(namespace, name_hash.name_in_file(name, document.file))
        if full_name not in compiled_names and plain_name not in compiled_names:
            job = full_name if plain_name in rendered else plain_name
            # `llm-*`, and `llm-* (2)` for the next whose name the API server generates.
            numbered = (f"{job} ({number})" for number in count(2))
            rendered[next(name for name in chain([job], numbered) if name not in rendered)] = document
    return list(rendered.items())


def _with_namespace(jobset: Mapping[str, Any], options: Options) -> Mapping[str, Any]:
    """A JobSet in the namespace of the options, if it has none of its own."""
    metadata = jobset.get("metadata")
    if not options.namespace or not isinstance(metadata, dict) or metadata.get("namespace"):
        return jobset
    return {**jobset, "metadata": {**metadata, "namespace": options.namespace}}


def never_admitted(
    jobsets: Sequence[Mapping[str, Any]], dump: Dump, kueue: str | None
) -> dict[tuple[str, str], list[Finding]]:
    """Why the queues in a dump can never admit JobSets, by their namespaces and names, with paths in the JobSet."""
    keys = {job_name(*jobset_identity(jobset)): jobset_identity(jobset) for jobset in jobsets}
    fits = fits_named([(job_name(*jobset_identity(jobset)), jobset) for jobset in jobsets], dump, kueue=kueue)
    return {keys[fit.job]: [_finding(d) for d in fit.diagnostics if d.severity == "error"] for fit in fits.alone}
