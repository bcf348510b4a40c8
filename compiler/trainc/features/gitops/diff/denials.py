"""Which jobs the policies of two sides deny."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from trainc.api.findings import counted, first_of, has_errors
from trainc.api.kube import documents, identity_of
from trainc.api.records import replace
from trainc.features.gitops.diff.sides import JobKey, ReadSide


def denials(before: ReadSide, after: ReadSide, finished: Collection[tuple[str, str]]) -> Iterator[str]:
    """Which jobs the policies of each side deny, by message, but for kept jobs that will not be built again."""
    for side in (before, after):
        if has_errors(side.policy_problems):
            first = next(d for d in side.policy_problems if d.severity == "error")
            where = f"{first.source.file}:{first.source.line}: " if first.source else ""
            yield f"The policies of {side.label} cannot be evaluated: {where}{first.message}."
            return
    was, now = _denials(before), _denials(after)
    built, known = after.manifest_set.by_job, before.manifest_set.by_job
    # What is kept is not built again, whatever a policy says of it.
    kept = {job for job, manifests in built.items() if after.keeps and known.get(job) == manifests}
    from trainc.api.kept import kept as keeping

    ended = {job for job in kept if any(identity_of(one) in finished for one in built[job])}
    ended |= {job for job in kept if keeping.is_frozen(before.configuration, job)}
    fates = [
        *(("{be} denied", message, jobs - was.get(message, set()) - kept) for message, jobs in now.items()),
        *(("would be refused if built again", m, (jobs - was.get(m, set())) & kept - ended) for m, jobs in now.items()),
        *(("{be} no longer denied", message, jobs - now.get(message, set())) for message, jobs in was.items()),
        *(("{be} denied as before", message, (jobs & was.get(message, set())) - kept) for message, jobs in now.items()),
    ]
    for fate, message, jobs in fates:
        if jobs:
            named = first_of([documents.qualified(*job) for job in sorted(jobs)])
            yield f"{counted(len(jobs), 'job')} {fate.format(be='is' if len(jobs) == 1 else 'are')}: {message} ({named})."


def _denials(side: ReadSide) -> dict[str, set[JobKey]]:
    """The jobs that each denial is about, by its message, under the severities that the user has configured."""
    denied: dict[str, set[JobKey]] = {}
    session = side.manifest_set.session
    if side.judge is None or session is None:
        return denied
    jobs, raw = side.manifest_set.trainjobs, session.sources
    for key, manifests in side.manifest_set.by_job.items():
        if key in jobs or key in raw:
            diagnose = jobs[key].diagnose_built if key in jobs else raw[key].diagnose
            findings = [replace(finding, about=label) for label, finding in side.judge(manifests)]
            for diagnostic in session.rules(map(diagnose, findings), False):
                if diagnostic.severity == "error":
                    denied.setdefault(diagnostic.message, set()).add(key)
    return denied
