"""Compare two sets of manifests: match objects, compare them, judge the changes, and sum up, in that order."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet

from trainc.api.admission import updates
from trainc.api.findings import Finding, counted, first_of
from trainc.api.jobs import JobSet, ReplicatedJob
from trainc.api.kube import Manifest, bounds, documents, mapping, names, objects
from trainc.api.output import name_hash, yaml_writer
from trainc.api.records import replace
from trainc.features import ask
from trainc.features.gitops.diff import delivery, model
from trainc.features.gitops.diff.changes import Change, compare_manifests
from trainc.features.gitops.diff.delivery import REFUSED, DeliveryMethod, Outcome, Verdict, effective_method, verdict_on
from trainc.features.gitops.diff.model import (
    Diff,
    Facts,
    JobDiff,
    JobPairs,
    ObjectDiff,
    Pair,
    Side,
    Status,
    group_jobs,
    sum_of,
)

# Notes on consequences that no single field or outcome shows, as full sentences.

_ENDED = ("deleted", "re-created", "lost")
_SUSPEND = "suspend it first: the update is refused while it runs"


def add_notes(job: JobDiff, group: JobPairs, deliveries: Sequence[DeliveryMethod]) -> JobDiff:
    """`job` with the notes that apply to these delivery methods, most urgent first."""
    notes = [
        *_lost_job(job, group, deliveries),
        *_data(job, group, deliveries),
        *_gang_apart_from_pods(job, deliveries),
        *_running(job, deliveries),
        *_order(job, deliveries),
        *_queue(job, deliveries),
    ]
    found = _object(job, "JobSet")
    messages = (refusal.message for m in deliveries for refusal in (found.verdicts[m.id].refusals if found else ()))
    aside = next((message for message in messages if message.startswith("Kueue")), "")
    waits = any(job.outcomes[method.id] == "needs-suspend" for method in deliveries)
    return replace(job, notes=tuple(notes), aside=f"{aside}: suspend it first" if aside else _SUSPEND * waits)


def overall_notes(
    groups: Sequence[JobPairs],
    jobs: Sequence[JobDiff],
    rules: updates.JobSetRules,
    deliveries: Sequence[DeliveryMethod],
) -> tuple[str, ...]:
    """Notes on unchanged jobs, which an unrelated sync may affect too."""
    if all(job.status == "unchanged" for job in jobs):
        return ()
    notes = []
    same = [g for g, job in zip(groups, jobs, strict=True) if g.jobset and g.jobset.after and not job.objects]
    if same and delivery.ARGOCD_REPLACE in deliveries:
        notes.append(
            f"{delivery.ARGOCD_REPLACE.label} also re-creates {counted(len(same), 'job')} without changes in the same sync, unless the "
            "Application sets ApplyOutOfSyncOnly=true or contains only the changed job."
        )
    blocked = [g.name for g in same if _lasting(g)]
    if blocked and delivery.ARGOCD_REPLACE in deliveries:
        notes.append(
            f"Of these, {first_of(blocked)} cannot come back: claims with whenDeleted: Retain stay, and JobSet refuses a new "
            "job of that name while they are there."
        )
    # An annotation of a JobSet may choose another way for it.
    by_client = [(g, g.jobset.after) for g in same if g.jobset and g.jobset.after]
    by_client = [(g, a) for g, a in by_client if any(effective_method(m, a, a).apply == "client" for m in deliveries)]
    if bare := [group.name for group, after in by_client if rules.leaves_out_defaults(after)]:
        notes.append(
            f"{counted(len(bare), 'job')} without changes ({first_of(bare)}) leave out fields that JobSet's webhook fills in on "
            "creation, so a client-side apply would remove them and be refused. Write the defaults into the manifests."
        )
    return tuple(notes)


def _lost_job(job: JobDiff, group: JobPairs, deliveries: Sequence[DeliveryMethod]) -> Iterator[str]:
    if "lost" not in (job.outcomes[method.id] for method in deliveries):
        return
    claims = _lasting(group)
    if claims:
        stays, them = ("stays", "it") if len(claims) == 1 else ("stay", "them")
        yield (
            f"The {_claims(claims)} {stays} when the old JobSet is deleted (whenDeleted: Retain). JobSet then refuses the "
            f"new one, in this sync and every later one, until someone deletes {them}. Compile with --name-hash, which "
            "gives each version its own claims."
        )
    else:
        yield (
            "The new JobSet is invalid. A tool that deletes before it creates, such as Flux with force, ends the "
            "training and cannot start the new one."
        )


def _lasting(group: JobPairs) -> list[str]:
    pair = group.jobset
    if pair is None or pair.before is None or pair.after is None or pair.renamed:
        return []
    return delivery.lasting_claims(pair.before, pair.after)


def _data(job: JobDiff, group: JobPairs, deliveries: Sequence[DeliveryMethod]) -> Iterator[str]:
    """Data that is deleted with the old JobSet: the claims it owns, and volumes with the lifetime of a pod."""
    old = group.jobset.before if group.jobset else None
    if old is None or not any(job.outcomes[method.id] in _ENDED for method in deliveries):
        return
    claims = delivery.claims_that_go(old)
    if claims:
        yield (
            f"Data is lost with the old job: it owns the {_claims(claims)}, and the cluster deletes what it owns "
            "(whenDeleted: Delete). Copy the data first, or set whenDeleted: Retain before the "
            "job is created."
        )
        if "re-created" in (job.outcomes[method.id] for method in deliveries) and not (
            group.jobset and group.jobset.renamed
        ):
            yield (
                "A claim goes only when the last pod that uses it has ended: until then JobSet refuses the new job, and a "
                "later sync creates it."
            )
    volumes = _ephemeral_volumes(old)
    if volumes:
        yield f"Data is lost with the old pods: that of the ephemeral {'volume' if len(volumes) == 1 else 'volumes'} {first_of(volumes)}."


def _claims(names: Sequence[str]) -> str:
    return f"claim {names[0]}" if len(names) == 1 else f"claims {first_of(names)}"


def _ephemeral_volumes(jobset: Manifest) -> list[str]:
    """Volumes whose claims are owned by a pod. An emptyDir is not listed: its users expect it to be scratch space."""
    pods = map(documents.pod_spec_of, objects(mapping(jobset.get("spec")).get("replicatedJobs")))
    volumes = (
        str(volume.get("name")) for pod in pods for volume in objects(pod.get("volumes")) if "ephemeral" in volume
    )
    return list(dict.fromkeys(volumes))


def _gang_apart_from_pods(job: JobDiff, deliveries: Sequence[DeliveryMethod]) -> Iterator[str]:
    """The PodGroup is updated but the JobSet is not."""
    jobset = _object(job, "JobSet")
    piecemeal = [method for method in deliveries if method.tool in ("kubectl", "argocd")]
    sizes = [
        (c.before, c.after)
        for d, c in _changes(job, "PodGroup")
        if delivery.is_size(c.path) and _is_updated(d, piecemeal)
    ]
    if jobset is None or not any(jobset.verdicts[method.id].outcome in REFUSED for method in piecemeal):
        return
    for before, after in sizes:
        if isinstance(before, int) and isinstance(after, int):
            waits = "a restarted pod waits for pods that never exist"
            fate = waits if after > before else "a restart no longer waits for all pods"
            yield (
                f"kubectl and Argo CD update the PodGroup before the JobSet is refused: the gang then requires {after} "
                f"pods instead of {before}, and {fate}. Flux validates all objects first and applies none."
            )


def _running(job: JobDiff, deliveries: Sequence[DeliveryMethod]) -> Iterator[str]:
    """What becomes of a job, and of the pods, that run now."""
    for _, change in _changes(job, "JobSet"):
        if change.path == ("spec", "suspend") and change.after is True:
            yield "Suspending the job deletes its running pods; when it is resumed, training continues from its last checkpoint."
        if change.path == ("spec", "ttlSecondsAfterFinished") and change.after is not None:
            yield (
                f"The JobSet is deleted {change.after} s after it ends. A GitOps tool then finds it missing and creates "
                "it again, and training runs a second time."
            )
    jobset = _object(job, "JobSet")
    if jobset and jobset.status == "removed" and delivery.KUBECTL in deliveries:
        yield "kubectl apply deletes nothing: the job keeps running until you delete it."
    if jobset and jobset.renamed:
        old, new = jobset.renamed
        yield (
            f"{new} starts while {old} is still running; the tool deletes {old} when it prunes, and {delivery.KUBECTL.label} never does. Until then "
            "both need GPUs."
        )
    if any(c.path[0] == "spec" and _is_updated(d, deliveries) for d, c in _changes(job, "PodGroup")):
        yield (
            "A changed PodGroup takes effect at once: running pods keep running, and pods that are scheduled from now "
            "on, such as after a restart, follow the new values."
        )
    changed = sorted({diff.key.name for diff, change in _changes(job, "ConfigMap") if change.path[0] != "metadata"})
    if changed:
        yield (
            f"Running pods see the new contents of {first_of(changed)} within about a minute if it is mounted as a folder, "
            "otherwise after a restart. A process that has already read the file does not read it again."
        )


def _order(job: JobDiff, deliveries: Sequence[DeliveryMethod]) -> Iterator[str]:
    for diff in job.objects:
        for move in diff.moves:
            refused = not diff.changes and any(diff.verdicts[m.id].outcome in REFUSED for m in deliveries)
            consequence = (
                " That changes nothing, but JobSet compares lists in order and refuses the update." if refused else ""
            )
            yield f"the items of {documents.format_field(move.path)} are in a different order.{consequence}"


def _queue(job: JobDiff, deliveries: Sequence[DeliveryMethod]) -> Iterator[str]:
    jobset = _object(job, "JobSet")
    refusals = (refusal for method in deliveries for refusal in (jobset.verdicts[method.id].refusals if jobset else ()))
    for refusal in dict.fromkeys(refusals):
        if refusal.code == "WebhookDefaultMissing":
            yield (
                "The new manifest leaves out fields that JobSet's webhook fills in on creation, and an apply that sends whole "
                "lists removes them: write the defaults into the manifest."
            )
            return
        if refusal.message.startswith("Kueue"):
            yield f"{refusal.message} ({documents.format_field(refusal.path)})."


def _is_updated(diff: ObjectDiff, deliveries: Sequence[DeliveryMethod]) -> bool:
    """Return whether the object is updated in place and the update is not refused."""
    return any(diff.verdicts[method.id].outcome == "in-place" for method in deliveries)


def _changes(job: JobDiff, kind: str) -> Iterator[tuple[ObjectDiff, Change]]:
    for diff in job.objects:
        if diff.key.kind == kind:
            yield from ((diff, change) for change in diff.changes)


def _object(job: JobDiff, kind: str) -> ObjectDiff | None:
    return next((diff for diff in job.objects if diff.key.kind == kind), None)


_QUIET: tuple[Outcome, ...] = ("nothing", "in-place")


def compare(  # noqa: PLR0913, PLR0917 - what is compared, by which rules, and who is told how far it is
    before: Side,
    after: Side,
    rules: updates.JobSetRules,
    deliveries: Sequence[DeliveryMethod],
    release: str,
    over: Callable[[str, Sequence[JobPairs]], Iterable[JobPairs]] = lambda _, groups: groups,
) -> model.Diff:
    """Compare two sets of manifests, and predict what the cluster that `rules` describe does about the changes.

    JobSets must have passed their schema; the inputs are not modified. The first of `deliveries` is the configured one;
    the notes cover all of them. `release` is the Trainer release that the rules belong to.
    `over` yields the jobs, and may say how many are compared.
    """
    method, shown_methods = deliveries[0], tuple(method for method in delivery.DELIVERY_METHODS if method in deliveries)
    groups = model.group_by_job(model.pair_objects(before.manifests, after.manifests, (before.names, after.names)))
    # A JobSet that is a source keeps its name, and so does one with a hash in it.
    named = {*before.raw, *after.raw, *before.names}
    guard = Finding.Guard("what changes in it", "the comparison")
    compared = list[tuple[JobPairs, JobDiff]]()
    for group in over("comparing", groups):
        with guard(f"{group.pairs[-1].key.kind} {documents.qualified(group.namespace, group.name)}"):
            compared.append((group, _job_diff(group, rules, shown_methods, named)))
    groups = tuple(group for group, _ in compared)
    jobs = with_renames(groups, [job for _, job in compared])
    changed = tuple(job for job in jobs if job.objects)
    return model.Diff(
        before.label,
        after.label,
        release,
        method,
        shown_methods,
        changed,
        len(jobs) - len(changed),
        sum_of((model.Versions(model.Totals(), model.Totals()), *(job.totals for job in jobs))),
        (*_repetitions(before, after), *overall_notes(groups, jobs, rules, shown_methods)),
        group_jobs(changed, method),
        model.Review((("", tuple(guard.diagnostics)),)),
    )


def _repetitions(*sides: Side) -> list[str]:
    return [
        f"{side.label} contains {name} more than once; the last one is used."
        for side in sides
        for name in model.find_duplicates(side.manifests)
    ]


def _job_diff(
    group: JobPairs, rules: updates.JobSetRules, deliveries: Sequence[DeliveryMethod], named: Container[tuple[str, str]]
) -> JobDiff:
    objects = [_object_diff(pair, rules) for pair in group.pairs if pair.before != pair.after]
    before = group.jobset.before if group.jobset else None
    is_named = before is not None and (group.namespace, before["metadata"]["name"]) in named
    objects = hold_back_job(objects if is_named else with_new_names(group, objects, rules))
    # Some cluster may refuse an object although its fields look unchanged.
    refused = [any(v.refusals and v.outcome not in _QUIET for v in o.verdicts.values()) for o in objects]
    shown = tuple(o for o, is_refused in zip(objects, refused, strict=True) if o.status != "unchanged" or is_refused)
    # An object added or removed next to a surviving JobSet, such as another scheduler's PodGroup, does not end the job.
    deciding = [o for o in shown if o.status not in {"added", "removed"}] or shown
    sides = ("before",) if all(pair.before is pair.after for pair in group.pairs) else ("before", "after")
    jobsets = [JobSet.read(getattr(group.jobset, side, None) or {}) for side in sides]
    totals = [_totals(group, side, jobset) for side, jobset in zip(sides, jobsets, strict=True)]
    job = JobDiff(
        kind=group.pairs[-1].key.kind,
        namespace=group.namespace,
        name=group.name,
        status=_status(group, shown),
        objects=shown,
        outcomes={
            method.id: delivery.worst(o.verdicts[method.id].outcome for o in deciding)
            for method in delivery.DELIVERY_METHODS
        },
        totals=model.Versions(totals[0], totals[-1]),
        steps_before=jobsets[0].jobs,
        steps_after=jobsets[-1].jobs,
        notes=(),
        facts=facts_of(jobsets[-1], group.manifests("after")) if group.pairs[-1].before is None else None,
    )
    return add_notes(job, group, deliveries) if shown else job


def _object_diff(pair: Pair, rules: updates.JobSetRules) -> ObjectDiff:
    if pair.before is None or pair.after is None:
        verdicts = verdict_on(pair.before, pair.after, (), rules)
        return ObjectDiff(pair.key, "added" if pair.before is None else "removed", (), (), verdicts)
    changes, moves = compare_manifests(pair.comparable(pair.before), pair.comparable(pair.after))
    verdicts = verdict_on(pair.before, pair.after, changes, rules)
    status: Status = "changed" if changes or pair.renamed else "unchanged"
    visible = tuple(map(_hide_secret, changes)) if pair.key.kind == "Secret" else changes
    return ObjectDiff(pair.key, status, visible, moves, verdicts, pair.renamed)


def _hide_secret(change: Change) -> Change:
    """A change of a Secret without its values."""
    if change.path[0] == "metadata":
        return change
    before, after = (None if value is None else "(not shown)" for value in (change.before, change.after))
    return replace(change, before=before, after=after)


def _status(group: JobPairs, objects: Sequence[ObjectDiff]) -> Status:
    main = group.pairs[-1]
    if main.before is None or main.after is None:
        return "added" if main.before is None else "removed"
    return "changed" if any(o.status != "unchanged" for o in objects) else "unchanged"


def _totals(group: JobPairs, side: str, jobset: JobSet) -> model.Totals | None:
    manifests = group.manifests(side)
    if not manifests or not group.jobset:
        return None
    return model.totals_of(jobset, [manifest for manifest in manifests if manifest["kind"] == "PodGroup"])


# How one refused object affects the others of its job, if the tool validates all of them before applying any.
#
# Source: fluxcd/pkg ssa/manager_apply.go (ApplyAll): a dry run of every object, and no apply if one of them fails.

_STOPS: tuple[Outcome, ...] = (*REFUSED, "lost")


def hold_back_job(objects: Sequence[ObjectDiff]) -> list[ObjectDiff]:
    """The objects of a job under Flux: if one is refused, none is applied."""
    for method in delivery.DELIVERY_METHODS:
        if method.tool == "flux" and any(diff.verdicts[method.id].outcome in _STOPS for diff in objects):
            objects = [_hold_back(diff, method.id) for diff in objects]
    return list(objects)


def _hold_back(diff: ObjectDiff, method: str) -> ObjectDiff:
    """Undo an update, creation or re-creation. Pruning happens after the apply, so it does not happen either."""
    verdict = diff.verdicts[method]
    if verdict.outcome in _STOPS or verdict.outcome == "re-created":
        return diff
    return replace(diff, verdicts={**diff.verdicts, method: Verdict("nothing", verdict.per_change)})


# With a content hash in the names, a job whose content changes becomes a new job, and the old one is removed.


def with_new_names(group: JobPairs, objects: Sequence[ObjectDiff], rules: updates.JobSetRules) -> list[ObjectDiff]:
    """Judge a job's objects again for hashed names: either all of them get a new name, or none does."""
    jobset = group.jobset
    if jobset is None or jobset.before is None or jobset.after is None or jobset.renamed or not objects:
        return list(objects)
    if name_hash.content_to_hash(group.manifests("before")) == name_hash.content_to_hash(group.manifests("after")):
        return list(objects)
    outcome: Outcome = "invalid" if rules.creation_refusals(jobset.after) else "re-created"
    pairs = {pair.key: pair for pair in group.pairs}
    return [_rename(diff, pairs[diff.key], outcome) for diff in objects]


def _rename(diff: ObjectDiff, pair: Pair, outcome: Outcome) -> ObjectDiff:
    old = diff.verdicts[delivery.NAME_HASH.id]
    if pair.before is None or pair.after is None:
        return diff
    changes_hash = name_hash.what_changes_it(pair.before, pair.after)
    alone = tuple(
        outcome if changes_hash(change.path) else was for change, was in zip(diff.changes, old.per_change, strict=True)
    )
    return replace(diff, verdicts={**diff.verdicts, delivery.NAME_HASH.id: Verdict(outcome, alone)})


# Renamed jobs: a single job to its author, but two jobs to the cluster.


def with_renames(groups: Sequence[JobPairs], jobs: Sequence[JobDiff]) -> list[JobDiff]:
    """Add a note to jobs that only changed their name. `groups` are the jobs' objects, in the same order."""
    by_content: dict[str, tuple[list[int], list[int]]] = {}
    for i, (group, job) in enumerate(zip(groups, jobs, strict=True)):
        if job.status in ("removed", "added") and group.jobset is not None:
            content = _content(group, "before" if job.status == "removed" else "after")
            by_content.setdefault(content, ([], []))[job.status == "added"].append(i)
    result = list(jobs)
    for old, new in by_content.values():
        if len(old) == len(new) == 1:
            was, now = result[old[0]], result[new[0]]
            verb = "renamed" if was.namespace == now.namespace else "moved"
            goes = f"{now.label} has the same content: the job was {verb}, and training starts from the beginning under the new name."
            comes = f"{was.label} had the same content: the job was {verb}, and training starts from the beginning."
            result[old[0]] = replace(was, notes=(goes, *was.notes), aside=f"{verb} to {now.label}")
            result[new[0]] = replace(now, notes=(comes, *now.notes), aside=f"{verb} from {was.label}")
    return result


def _content(group: JobPairs, side: str) -> str:
    """What a job says on one side apart from its name and namespace."""
    plain = {getattr(group.jobset, side)["metadata"]["name"]: ""}
    manifests = [{**m, "metadata": {**m["metadata"], "namespace": ""}} for m in group.manifests(side)]
    return json.dumps([model.replace_hashed_names(manifest, plain) for manifest in manifests], sort_keys=True)


# What a reviewer asks of a job that is new: what it runs, where, for how long, and what it costs at most.

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
    requested = [(documents.qualified(*key), by_name[key]) for key in new if key in by_name]
    lines: Mapping[str, str] = where(requested, cluster, manifests)

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


def with_moves(diffs: Mapping[str, Diff], present: Mapping[str, AbstractSet[str]]) -> dict[str, Diff]:
    """Say of jobs that end in one environment and start in another one that they move.

    `present` are the jobs of each environment, which those of a new environment may repeat.
    """
    ended, started = (
        {job.label: name for name, diff in diffs.items() for job in diff.jobs if job.status == status}
        for status in ("removed", "added")
    )

    def moved(job: JobDiff) -> JobDiff:
        if job.label in ended and job.label in started and job.status in ("added", "removed"):
            aside = f"moves from {ended[job.label]} to {started[job.label]}"
            note = f"{job.label} {aside}, where it starts from the beginning."
            return replace(job, notes=(note, *job.notes), aside=aside)
        return job

    def repeated(name: str, diff: Diff) -> Iterator[str]:
        if not diff.unchanged and all(job.status == "added" for job in diff.jobs):
            for other, labels in present.items():
                if twice := [job.label for job in diff.jobs if other != name and job.label in labels]:
                    start = f"{counted(len(twice), 'job')} that {'starts' if len(twice) == 1 else 'start'} in {name}"
                    yield f"{start} {'is' if len(twice) == 1 else 'are'} in {other} too, and would run twice: {first_of(twice)}."

    noted = {name: replace(diff, notes=(*repeated(name, diff), *diff.notes)) for name, diff in diffs.items()}
    return {name: with_each(diff, moved) for name, diff in noted.items()}
