"""JobSets that are sources themselves: no TrainJob makes them, so they are written as they are."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.admission.admit import check_each_rendered
from trainc.compilation import CompiledJob
from trainc.emit.name_hash import name_in_file
from trainc.findings import Finding
from trainc.kube.documents import identity_of
from trainc.kube.names import JOB_KINDS, JOBSET_API
from trainc.pipeline.inputs import Inputs
from trainc.pipeline.session import Outcome, Session
from trainc.reading.document import Document


def raw_jobsets(inputs: Inputs, namespace: str) -> tuple[Document, ...]:
    """Return the JobSets that are sources themselves: no TrainJob makes them.

    `namespace` is that of documents which set none.
    """
    jobsets = [d for d in inputs.documents if d.data.get("kind") == "JobSet" and d.data.get("apiVersion") == JOBSET_API]
    if not jobsets:
        return ()
    jobs = [document.data for document in (*inputs.documents, *inputs.elsewhere, *inputs.unselected)]
    keys = {identity_of(job) for job in jobs if job.get("kind") in JOB_KINDS}
    keys |= {(space or namespace, name) for space, name in keys}

    def is_raw(document: Document) -> bool:
        space, name = identity_of(document.data)
        plain = name.rpartition("-")[0]
        names = {name, name_in_file(name, f"{plain}.yaml")}
        is_made = any((at, one) in keys for one in names for at in (space, space or namespace))
        return bool(name) and not is_made

    return tuple(filter(is_raw, jobsets))


def outcomes_of(session: Session) -> Iterator[Outcome]:
    """Yield the outcome of each in a session, as of jobs. What is wrong with one that a change leaves as it is at the base is no error."""
    if not session.jobsets:
        return
    checks = check_each_rendered(session.index.other_documents, session.options, list(session.cluster or ()))
    ids, seen = {id(document) for document in session.jobsets}, dict[tuple[str, str], Document]()
    for document, of_admission in checks:
        if id(document) not in ids:
            continue
        space, name = identity_of(document.data)
        job = CompiledJob(space or session.options.namespace or "", name, (document.data,), (), document.file)
        key = job.namespace, job.name
        if key in seen:
            where = seen[key].locate(("metadata", "name")) or seen[key].file
            message = f"JobSet {'/'.join(filter(None, key))} is defined twice; the first one is at {where}"
            hint = "rename or remove one of them"
            yield None, [document.diagnose(Finding("DuplicateTrainJob", "error", message, hint, ("metadata", "name")))]
            continue
        seen[key] = document
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
