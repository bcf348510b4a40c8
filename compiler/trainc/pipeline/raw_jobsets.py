"""JobSets that are sources themselves: no TrainJob makes them, so they are written as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.admission.admit import check_each_rendered
from trainc.compilation import CompiledJob
from trainc.emit.name_hash import plain_name
from trainc.findings import Diagnostic, Finding
from trainc.kube.documents import identity_of
from trainc.kube.names import JOB_KINDS, JOBSET_API
from trainc.pipeline.session import Outcome, Session
from trainc.reading.document import Document


def raw_jobsets(documents: Sequence[Document], namespace: str, others: Sequence[Document] = ()) -> tuple[Document, ...]:
    """Return the JobSets that are sources themselves: no TrainJob makes them, not one of `others` either.

    `namespace` is that of documents which set none.
    """
    jobsets = [d for d in documents if d.data.get("kind") == "JobSet" and d.data.get("apiVersion") == JOBSET_API]
    if not jobsets:
        return ()
    jobs = [document.data for document in (*documents, *others)]
    keys = {identity_of(job) for job in jobs if job.get("kind") in JOB_KINDS}
    keys |= {(space or namespace, name) for space, name in keys}

    def is_raw(document: Document) -> bool:
        space, name = identity_of(document.data)
        names = {name, plain_name(name)}
        is_made = any((at, one) in keys for one in names for at in (space, space or namespace))
        return bool(name) and not is_made

    return tuple(filter(is_raw, jobsets))


def repeated(jobsets: Sequence[Document], namespace: str) -> Iterator[tuple[Document, Diagnostic]]:
    """Yield each JobSet whose name an earlier one has, with the error about it."""
    seen = dict[tuple[str, str], Document]()
    for document in jobsets:
        space, name = identity_of(document.data)
        key = space or namespace, name
        if (first := seen.setdefault(key, document)) is not document:
            where = first.locate(("metadata", "name")) or first.file
            message = f"JobSet {'/'.join(filter(None, key))} is defined twice; the first one is at {where}"
            hint = "rename or remove one of them"
            yield (
                document,
                document.diagnose(Finding("DuplicateTrainJob", "error", message, hint, ("metadata", "name"))),
            )


def outcomes_of(session: Session) -> Iterator[Outcome]:
    """Yield the outcome of each in a session, as of jobs. What is wrong with one that a change leaves as it is at the base is no error."""
    if not session.jobsets:
        return
    ids, namespace = {id(document) for document in session.jobsets}, session.options.namespace or ""
    again = {id(document): diagnostic for document, diagnostic in repeated(session.jobsets, namespace)}
    others, around = session.index.other_documents, list(session.cluster or ())
    for document, of_admission in check_each_rendered(others, session.options, around, lambda d: id(d) in ids):
        space, name = identity_of(document.data)
        job = CompiledJob(space or namespace, name, (document.data,), (), document.file)
        key = job.namespace, job.name
        if id(document) in again:
            yield None, [again[id(document)]]
            continue
        for judge in filter(None, (session.judge, session.judge_at_base)):
            found = [document.diagnose(finding, label) for label, finding in judge(job.manifests)]
            of_admission += [d for d in found if d not in of_admission]
        diagnostics = session.rules(of_admission, False)
        errors = [d for d in diagnostics if d.severity == "error"]
        if errors and session.keeping is not None and session.keeping.is_as_at_base(*key, job.manifests):
            session.keeping.refused[key] = errors
            yield job, [d for d in diagnostics if d.severity != "error"]
        else:
            yield None if errors else job, diagnostics
