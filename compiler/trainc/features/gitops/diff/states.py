"""What the dump of the base knows of the jobs that are compared: which have finished, and which have not started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainc.api.arguments import Arguments
from trainc.api.kube import Manifest, identity_of
from trainc.api.records import replace
from trainc.features.gitops.diff.comparison import with_each
from trainc.features.gitops.diff.model import Diff, JobDiff
from trainc.features.gitops.diff.sides import JobKey, ReadSide, sides_of


def states_between(before: ReadSide, after: ReadSide, arguments: Arguments) -> Mapping[JobKey, str]:
    """Return the states of JobSets by the dump of the revision that is compared with."""
    first, _ = sides_of(arguments)
    # A dump counts as of the branch itself.
    revision = first.revision and first.label.removeprefix("git:").partition(":")[0].removesuffix("...")
    if revision is None or first.label != before.label or None in (before.configuration.live, after.configuration.live):
        return {}
    from trainc.api.kept import kept

    return kept.states_of_jobsets(before.configuration, after.configuration, arguments, revision)


def with_states(diff: Diff, by_job: Mapping[JobKey, Sequence[Manifest]], states: Mapping[JobKey, str]) -> Diff:
    """Mark the jobs whose JobSet of before has finished, and say of none that has not started that it runs."""
    of_jobs = {key: {states.get(identity_of(one)) for one in of_job} for key, of_job in by_job.items() if states}

    def with_state(job: JobDiff) -> JobDiff:
        known = of_jobs.get((job.namespace, job.name), set())
        if not known & {"finished", "waiting"}:
            return job
        notes = [note for note in job.notes if "is still running" not in note]
        if "finished" not in known and len(notes) < len(job.notes):
            notes.append(
                "By the dump of `live`, it waits and has not started: nothing is lost, and the new one queues."
            )
        return replace(job, finished="finished" in known, notes=tuple(notes))

    return with_each(diff, with_state) if states else diff


def stays_ended(was: Manifest, now: Manifest) -> bool:
    """Return whether a JobSet that has finished does not run again: one that only gets other metadata, in place."""
    return identity_of(was) == identity_of(now) and was.get("spec") == now.get("spec")
