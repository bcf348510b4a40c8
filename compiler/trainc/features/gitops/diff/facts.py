"""What a reviewer asks of a job that is new: what it runs, where, for how long, and what it costs at most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from trainc.api.jobs import JobSet, ReplicatedJob
from trainc.api.kube import Manifest, bounds, documents, mapping, names, objects
from trainc.api.output import yaml_writer
from trainc.api.records import replace
from trainc.features import ask
from trainc.features.gitops.diff.model import Diff, Facts, JobDiff

_LONGEST_PROGRAM = 90


def facts_of(jobset: JobSet, pod_groups: Sequence[Manifest] = ()) -> Facts | None:
    """The facts about a JobSet; None for one without steps."""
    main, bound = bounds.main_step(jobset), bounds.bound_of(jobset)
    if main is None:
        return None
    labels = mapping(mapping(jobset.document.get("metadata")).get("labels"))
    queue = labels.get(names.QUEUE_LABEL) or next((mapping(g.get("spec")).get("queue") for g in pod_groups), "")
    cost = bound.gpu_hours if bound.devices else None
    return Facts(main.image, _program(main), str(queue or ""), bound.hours, cost)


def _program(job: ReplicatedJob) -> str:
    container = next(iter(objects(job.pod_spec.get("containers"))), {})
    words = [str(word) for name in ("command", "args") for word in documents.items(container.get(name))]
    text = " ".join(yaml_writer.inline(word) if "\n" not in word else "..." for word in words)
    return text if len(text) <= _LONGEST_PROGRAM else f"{text[:_LONGEST_PROGRAM]}..."


def with_places(diff: Diff, manifests: Sequence[Manifest], cluster: Sequence[Manifest] | None) -> Diff:
    """Add where new jobs fit in the cluster of trainc.yaml. `manifests` are those of the side after."""
    new = {(job.namespace, job.name): job for job in diff.jobs if job.facts is not None}
    where = ask("fits", "where") if cluster is not None and new else None
    if where is None:
        return diff
    jobsets = [manifest for manifest in manifests if manifest["kind"] == "JobSet"]
    by_name = {(str(m["metadata"].get("namespace") or ""), m["metadata"]["name"]): m for m in jobsets}
    requested = [("/".join(filter(None, key)), by_name[key]) for key in new if key in by_name]
    lines: Mapping[str, str] = where(requested, cluster)

    def placed(job: JobDiff) -> JobDiff:
        line = lines.get(job.label, "")
        return replace(job, facts=replace(job.facts, fits=line)) if job.facts is not None and line else job

    return with_each(diff, placed)


def with_each(diff: Diff, change: Callable[[JobDiff], JobDiff]) -> Diff:
    """Change each job of a comparison, also in its groups."""
    groups = [
        replace(group, members=tuple((name, change(job)) for name, job in group.members)) for group in diff.groups
    ]
    return replace(diff, jobs=tuple(map(change, diff.jobs)), groups=tuple(groups))


def with_moves(diffs: Mapping[str, Diff]) -> dict[str, Diff]:
    """Say of jobs that end in one environment and start in another one that they move."""
    ended, started = (
        {job.label: name for name, diff in diffs.items() for job in diff.jobs if job.status == status}
        for status in ("removed", "added")
    )

    def moved(job: JobDiff) -> JobDiff:
        if job.label in ended and job.label in started and job.status in ("added", "removed"):
            note = f"{job.label} moves from {ended[job.label]} to {started[job.label]}, where it starts from the beginning."
            return replace(job, notes=(note, *job.notes))
        return job

    return {name: with_each(diff, moved) for name, diff in diffs.items()}
