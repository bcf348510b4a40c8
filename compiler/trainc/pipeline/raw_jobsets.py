"""JobSets that are sources themselves: no TrainJob makes them, so they are written as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trainc.admission.admit import check_each_rendered
from trainc.compilation import CompiledJob
from trainc.emit.name_hash import plain_name
from trainc.findings import Diagnostic, Finding
from trainc.kube.documents import identity_of, qualified
from trainc.kube.names import JOB_KINDS, JOBSET_API, TRAINER_GROUP
from trainc.output.ownership import is_marked_file
from trainc.pipeline.session import Outcome, Session
from trainc.reading.document import Document


def raw_jobsets(
    documents: Sequence[Document], namespace: str | None, others: Sequence[Document] = ()
) -> tuple[Document, ...]:
    """Return the JobSets that are sources themselves: not written by trainc, nor made by a TrainJob, here or in `others`.

    `namespace` is that of documents which set none.
    """
    jobsets = [d for d in documents if d.data.get("kind") == "JobSet" and d.data.get("apiVersion") == JOBSET_API]
    if not jobsets:
        return ()
    jobs = [document.data for document in (*documents, *others)]
    keys = {identity_of(job, default) for job in jobs if job.get("kind") in JOB_KINDS for default in ("", namespace)}

    def is_raw(document: Document) -> bool:
        spaces, name = (
            {identity_of(document.data, default)[0] for default in ("", namespace)},
            identity_of(document.data)[1],
        )
        is_made = any((space, one) in keys for one in (name, plain_name(name)) for space in spaces)
        # What a TrainJob makes has labels and owners that say so.
        is_made = is_made and TRAINER_GROUP in str(document.data)
        return bool(name) and not is_made and not _is_written_by_trainc(document.file)

    return tuple(filter(is_raw, jobsets))


def unknown_versions(documents: Iterable[Document]) -> Iterator[Diagnostic]:
    """Yield an error for each JobSet of a version that trainc does not know, which nothing else would say."""
    group = JOBSET_API.partition("/")[0]
    for document in documents:
        api = str(document.data.get("apiVersion"))
        if document.data.get("kind") == "JobSet" and api.startswith(f"{group}/") and api != JOBSET_API:
            finding = Finding(
                "UnknownAPIVersion", "error", f"there is no JobSet of {api}", f"write {JOBSET_API}", ("apiVersion",)
            )
            yield document.diagnose(finding)


def _is_written_by_trainc(file: str) -> bool:
    try:
        return is_marked_file(file)
    except OSError:  # Such as standard input.
        return False


def repeated(
    jobsets: Sequence[Document], namespace: str | None, documents: Iterable[Document] = ()
) -> Iterator[tuple[Document, Diagnostic]]:
    """Yield each JobSet whose name an earlier one has, and each TrainJob that has the name of one, with the error about it."""
    seen = dict[tuple[str, str], Document]()
    for document in (*jobsets, *(d for d in documents if jobsets and d.data.get("kind") in JOB_KINDS)):
        key, kind = identity_of(document.data, namespace), document.data["kind"]
        first = seen.setdefault(key, document) if kind == "JobSet" else seen.get(key, document)
        if first is not document:
            where = first.locate(("metadata", "name")) or first.file
            job = f"{kind} {qualified(*key)}"
            message, hint = f"{job} is defined twice; the first one is at {where}", "rename or remove one of them"
            if kind != "JobSet":
                message = f"{job} has the name of the JobSet at {where}: only one of them can be applied"
                hint = "rename the TrainJob, or delete that JobSet's file if the TrainJob is to take its place"
            finding = Finding("DuplicateTrainJob", "error", message, hint, ("metadata", "name"))
            yield document, document.diagnose(finding)


def outcomes_of(session: Session) -> Iterator[tuple[Document, Outcome]]:
    """Yield each in a session with its outcome, as of a job. What is wrong with one that a change leaves as it is at the base is no error."""
    if not session.jobsets:
        return
    ids, namespace = {id(document) for document in session.jobsets}, session.options.namespace
    again = {id(document): diagnostic for document, diagnostic in repeated(session.jobsets, namespace)}
    others, around = session.index.around.documents, list(session.cluster or ())
    for document, of_admission in check_each_rendered(others, session.options, around, lambda d: id(d) in ids):
        job = CompiledJob(*identity_of(document.data, namespace), (document.data,), (), document.file)
        key = job.namespace, job.name
        if id(document) in again:
            yield document, (None, [again[id(document)]])
            continue
        for judge in filter(None, (session.judge, session.judge_at_base)):
            found = [document.diagnose(finding, label) for label, finding in judge(job.manifests)]
            known = {*of_admission}
            of_admission += [d for d in found if d not in known]
        diagnostics = session.rules(of_admission, False)
        errors = [d for d in diagnostics if d.severity == "error"]
        if errors and session.keeping is not None and session.keeping.is_as_at_base(*key, job.manifests):
            session.keeping.refused[key] = errors
            yield document, (job, [d for d in diagnostics if d.severity != "error"])
        else:
            yield document, (None if errors else job, diagnostics)
