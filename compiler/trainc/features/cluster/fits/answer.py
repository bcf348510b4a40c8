"""Answer, for each job, whether Kueue can ever admit it, and which of the jobs can be admitted together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from math import inf
from typing import Any, Literal, TypeAlias

from trainc.api.admission import pod_refusals
from trainc.api.cluster import Dump, kueue_versions
from trainc.api.findings import Diagnostic, Finding
from trainc.api.kube import Unchecked, mapping, releases
from trainc.api.records import dataclass, field, replace
from trainc.api.schema import unknown_fields
from trainc.features.cluster.fits import findings, scheduling
from trainc.features.cluster.fits.assigner import TOPOLOGY, Assigned, Assignment
from trainc.features.cluster.fits.claims import unmountable_claims
from trainc.features.cluster.fits.cluster import Cluster, ClusterQueue, Flavor
from trainc.features.cluster.fits.evictable import evictable_pods
from trainc.features.cluster.fits.inventory import TOO_FEW_NODES, Inventory, Shortfall
from trainc.features.cluster.fits.namespace_quotas import RESOURCE_QUOTA, exceeded_quotas
from trainc.features.cluster.fits.now import Moment
from trainc.features.cluster.fits.pods import PODS, times_in
from trainc.features.cluster.fits.references import NOTHING_CREATED, Created, missing_objects
from trainc.features.cluster.fits.shortfall import GAPS, PARTIAL_SLICE, left_in_domain, shortfall, unplaced_pods
from trainc.features.cluster.fits.snapshot import read_cluster
from trainc.features.cluster.fits.state import State
from trainc.features.cluster.fits.usage import dump_time, priority_of, read_usage, time_of
from trainc.features.cluster.fits.workload import Workload, job_name, jobset_identity, queue_of, refusals, workload_of

Verdict: TypeAlias = Literal[
    "fits", "never", "inactive", "refused", "admitted", "reserved", "preempts", "waits", "unknown"
]

_KUBE, _KUEUE = "kube-scheduler", "kueue"
PODS_REFUSED = "pods-refused"
# Causes of answers about now.
NO_QUEUE, NO_WORKLOADS, NO_PRIORITY_CLASS = "no-queue", "no-workloads", "priority-class-missing"
# Codes of refused pods that Kueue's verdict is about already.
_TOLD_BY_KUEUE = ("OutsideLimitRange", "RequestExceedsLimit")


@dataclass(frozen=True, slots=True)
class Fit:
    """The answer for one job, `namespace/name`.

    `verdict` for the job alone on the idle cluster is "fits", "never", "inactive" or "refused". For all jobs together,
    "fits" becomes "admitted" or "waits". It is "unknown" if the snapshot lacks a kind that the answer depends on. Now, it is
    "admitted", "reserved" (admission checks are left), "preempts" or "waits", also of what can never be admitted.
    `cause` is a stable identifier of the reason. `flavors` maps pod set -> resource -> ResourceFlavor; `borrows` says
    whether usage exceeds the queue's own quota; `topology` is "found", "not found", or None if it was not decisive;
    `places` maps pod set -> domain -> pods. `runs` says whether the pods are then accepted and placed, which Kueue does not
    check: ResourceQuotas and LimitRanges of the namespace, and the nodes when empty; None if that is not known. `pods` and `requests` (millicores, bytes, units) are charged to the quota,
    per pod set. `queue` is the LocalQueue. `scheduler` is "kueue", or "kube-scheduler" for a job without a queue, which
    "fits" if the nodes, when empty, can hold its pods. Only answers about now say that resources are free at the moment.

    Of answers about now, `chosen` says of each Workload that is evicted why Kueue chooses it, `missing` what the first
    attempt lacks, as `resource`, `flavor` and `more`, and `ahead` names the Workloads before it in its ClusterQueue. `tried`
    is False for a job that Kueue never looks at. `latest` is the time by which it starts, if that is certain as long as
    nothing else is submitted.
    """

    job: str
    verdict: Verdict
    cause: str | None = None
    flavors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    borrows: bool = False
    topology: Literal["found", "not found"] | None = None
    places: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    runs: bool | None = None
    pods: Mapping[str, int] = field(default_factory=dict)
    requests: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    queue: str = ""
    scheduler: str = _KUEUE
    diagnostics: tuple[Diagnostic, ...] = ()
    chosen: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[Mapping[str, str], ...] = ()
    ahead: tuple[str, ...] = ()
    tried: bool = True
    latest: str | None = None

    @property
    def preempts(self) -> tuple[str, ...]:
        """The Workloads that are evicted for the job."""
        return tuple(self.chosen)


@dataclass(frozen=True, slots=True)
class Fits:
    """The answers for all jobs in order, alone and together. `diagnostics` are about the snapshot.

    `now` is about the moment of the snapshot, `at`, each job as if it was the only new one; it is empty unless asked for.
    `moment` has what is in use, and `before` the answers without what was added to the snapshot.
    """

    alone: list[Fit]
    together: list[Fit]
    diagnostics: list[Diagnostic]
    now: list[Fit] = field(default_factory=list)
    at: str = ""
    moment: Moment | None = field(default=None, repr=False)
    before: Fits | None = field(default=None, repr=False)

    @property
    def is_of_all(self) -> bool:
        """Return whether all of the snapshot was read; what a judgement of it raised leaves the other answers as they are."""
        return all(d.severity != "error" or d.code == "WrongType" for d in self.diagnostics)


def fits(
    jobsets: Sequence[Unchecked],
    cluster: Sequence[Unchecked],
    kueue: str | None = None,
    *,
    now: bool = False,
    at: str | None = None,
) -> Fits:
    """Predict how Kueue treats `jobsets` in the cluster that the objects in `cluster` describe.

    `cluster` contains the output of `kubectl get -o yaml`, as Lists or single objects; other kinds are ignored. An
    invalid or incomplete snapshot raises no CompileError but is reported in the `diagnostics` of the result. `kueue` is
    the version of Kueue, such as "0.20"; without it, that of its image in a Deployment of the snapshot counts, or else
    0.19. Raises ValueError if it is not supported. With `now`, the Workloads of the snapshot are counted, too; it was made
    `at` a time such as "2026-09-01T12:00:00Z", or else at the newest time in it.
    """
    version = kueue_versions.normalize_kueue(kueue) if kueue else None
    names = [
        job_name(*jobset_identity(jobset)) if isinstance(mapping(jobset).get("metadata"), Mapping) else ""
        for jobset in jobsets
    ]
    named = list(zip(names, jobsets, strict=True))
    return fits_named(named, Dump.of_objects(cluster), kueue=version, now=now, at=at)


def fits_named(  # noqa: PLR0913 - two go by their names
    jobsets: Sequence[tuple[str, Unchecked]],
    dump: Dump,
    created: Created = NOTHING_CREATED,
    kueue: str | None = None,
    over: Callable[[str, Sequence[Any]], Iterable[Any]] = lambda _, jobs: jobs,
    *,
    now: bool = False,
    at: str | None = None,
) -> Fits:
    """Like `fits`, for JobSets under the names that their answers are to have: those of the TrainJobs.

    `created` are the objects that are created along with the JobSets, so that the cluster need not have them.
    `over` yields the jobs, and may say how many are judged.
    """
    cluster, problems = read_cluster(dump, kueue)
    state = scheduling.idle_state(cluster)
    judge, guard = _Judge(state, created), Finding.Guard("whether the cluster can run it", "its judgement")
    jobs, alone = list[_Job](), list[Fit]()
    for name, jobset in over("judging", jobsets):
        with guard(f"JobSet {name}"):
            job = _readable_job(name, jobset, cluster, created)
            alone.append(judge.judge(job))
        if len(alone) == len(jobs):
            job = _Job(name, verdict="unknown", cause="failed")
            alone.append(judge.judge(job))
        jobs.append(job)
    about_all = Finding.Guard("what the cluster can run", "the judgement of all jobs", ())
    with about_all(""):
        problems += findings.about_kueue(dump, kueue)
        problems += findings.about_snapshot(cluster, alone)
    answers = Fits(alone, _together(jobs, alone, state, guard), problems)
    if now:
        answers = replace(answers, now=[replace(fit, verdict="unknown", cause="failed") for fit in alone])
        with about_all(""):
            answers = _with_now(answers, jobs, state, at, guard)
    failed = {d.object: d for d in guard.diagnostics}
    alone = [replace(f, diagnostics=(*f.diagnostics, *filter(None, [failed.get(f"JobSet {f.job}")]))) for f in alone]
    return replace(answers, alone=alone, diagnostics=[*answers.diagnostics, *about_all.diagnostics])


def _with_now(answers: Fits, jobs: Sequence[_Job], idle: State, at: str | None, guard: Finding.Guard) -> Fits:
    """The answers together with those about the moment of the snapshot."""
    dump = idle.cluster.dump
    taken, stated = (at, True) if at else dump_time(dump)
    moment, seconds, problems = moment_at(taken, idle)
    taken = taken if seconds is not None else ""
    unseen = findings.unseen_workloads(dump, stated=stated)
    now = [*answers.now]
    for order, job in enumerate(jobs):
        with guard(f"JobSet {job.name}"):
            now[order] = _now(job, answers.alone[order], moment, seconds, is_known=unseen is None)
    diagnostics = [*answers.diagnostics, *problems, *([unseen] if unseen else [])]
    return replace(answers, now=now, at=taken, moment=moment, diagnostics=diagnostics)


def moment_at(taken: str, idle: State) -> tuple[Moment, float | None, list[Diagnostic]]:
    """The cluster when its dump was taken, that time in seconds, None if it is not known, and what is wrong with the dump."""
    try:
        seconds = time_of(taken)
    except ValueError:
        seconds = None
    usage, problems = read_usage(idle.cluster, seconds or 0)
    return Moment(idle, usage), seconds, problems


def _now(job: _Job, alone: Fit, moment: Moment, seconds: float | None, *, is_known: bool) -> Fit:
    """What becomes of one job now. A job with a Workload in the snapshot is not a new one."""
    workload, queue = job.workload, job.queue
    if alone.verdict in ("refused", "inactive", "unknown") or workload is None:
        return alone
    if alone.cause == NO_PRIORITY_CLASS or workload.unknown_class:
        verdict: Verdict = "waits" if alone.cause == NO_PRIORITY_CLASS else "unknown"
        return replace(alone, verdict=verdict, cause=NO_PRIORITY_CLASS, tried=False)
    if queue is None:
        return replace(alone, verdict="unknown", cause=NO_QUEUE)
    if not is_known:
        return replace(alone, verdict="unknown", cause=NO_WORKLOADS)
    there = moment.usage.of(workload.namespace, (workload.name, job.name.rpartition("/")[2]))
    if there and (known := moment.known(there)):
        return replace(alone, verdict=known[0], cause=known[1])
    fate = moment.fate_of(replace(workload, created=inf if seconds is None else seconds), queue, there)
    fit = _fit(job, _Outcome(fate.verdict, fate.cause or alone.cause, fate.assignment, alone.runs), alone.diagnostics)
    latest = None if fate.latest is None else datetime.fromtimestamp(fate.latest, UTC).isoformat()
    return replace(
        fit,
        chosen=fate.preempts,
        missing=fate.missing,
        ahead=fate.ahead,
        tried=fate.tried,
        latest=latest and latest.replace("+00:00", "Z"),
    )


@dataclass(frozen=True, slots=True)
class _Job:
    """A job before scheduling. `verdict` and `cause` are set if it never reaches the scheduler.

    `refused` says why the API server refuses its pods.
    """

    name: str
    workload: Workload | None = None
    queue: ClusterQueue | None = None
    verdict: Verdict = "fits"
    cause: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    refused: tuple[Diagnostic, ...] = ()


def _readable_job(name: str, jobset: Unchecked, cluster: Cluster, created: Created) -> _Job:
    """Read the job of a JobSet; a value of the wrong type or an unreadable amount makes it refused."""
    wrong = unknown_fields.find_wrong_type(jobset, "jobset.JobSet", releases.NEWEST_RELEASE)
    if wrong is None:
        plain = unknown_fields.without_nulls(jobset, "jobset.JobSet", releases.NEWEST_RELEASE)
        try:
            job = _job(name, plain, cluster)
        except ValueError:
            wrong = ()
        else:
            gaps = list(missing_objects(plain, cluster.dump, created))
            classes = [gap for gap in gaps if gap.kind == "WorkloadPriorityClass" and gap.certain]
            if classes and job.workload and job.workload.queue and job.verdict == "fits":
                never = findings.about_job(name, findings.without_class(classes))
                job = replace(
                    job, queue=None, verdict="never", cause=NO_PRIORITY_CLASS, diagnostics=(*job.diagnostics, *never)
                )
                gaps = [gap for gap in gaps if gap not in classes]
            absent = findings.missing(name, gaps)
            refused = findings.about_job(name, pod_refusals([plain], cluster.dump.for_pods, "error"))
            return replace(job, diagnostics=(*job.diagnostics, *absent), refused=tuple(refused))
    refusal = ("jobset-schema", wrong, "the JobSet has fields of the wrong type; `trainc check` lists them")
    reported = tuple(findings.refused_job(name, [refusal]))
    return _Job(name, verdict="refused", cause="jobset-schema", diagnostics=reported)


def _job(job: str, jobset: Unchecked, cluster: Cluster) -> _Job:
    namespace, queue = jobset_identity(jobset)[0], queue_of(jobset, cluster)
    refused = refusals(jobset, queue, cluster.kueue)
    if refused:
        return _Job(job, verdict="refused", cause=refused[0][0], diagnostics=tuple(findings.refused_job(job, refused)))
    workload = workload_of(jobset, queue, cluster)
    if not queue:
        return _Job(job, workload)
    priority, unknown_class = priority_of(
        jobset, cluster.dump, default_class=cluster.kueue in kueue_versions.DEFAULT_PRIORITY_CLASS
    )
    workload = replace(workload, priority=priority, unknown_class=unknown_class)
    local = cluster.local_queues.get((namespace, queue))
    behind = cluster.cluster_queues.get(local.cluster_queue) if local else None
    unexported = ""  # A kind that the snapshot lacks, and that would decide.
    if local is None:
        cause, is_exported = "local-queue-missing", not namespace or cluster.dump.covers("LocalQueue", namespace)
        unexported = "" if is_exported else "LocalQueue"
    elif behind is None and (not local.cluster_queue or "ClusterQueue" in cluster.unknown):
        cause, unexported = "cluster-queue-missing", "ClusterQueue"
    elif local.stopped:
        cause = "local-queue-stopped"
    elif behind is None:
        cause = "cluster-queue-missing"
    elif cluster.faults(behind):
        cause = "cluster-queue-inactive"
    else:
        return _Job(job, workload, behind)
    if unexported:
        return _Job(job, workload, None, "unknown", cause, (findings.undecided_job(job, unexported),))
    about = findings.inactive_queue(job, cause, workload, behind, cluster)
    return _Job(job, workload, None, "inactive", cause, (about,))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What becomes of a job: the verdict, what Kueue assigned, whether its pods run, and why it does not.

    `unknown` is a kind that the answer depends on and of which the snapshot has nothing.
    """

    verdict: Verdict
    cause: str | None = None
    assignment: Assignment | None = None
    runs: bool | None = None
    why: Shortfall | None = None
    unknown: str = ""


class _Judge:
    """Judges each job alone on the idle cluster; jobs of the same shape in the same queue are evaluated once."""

    def __init__(self, state: State, created: Created) -> None:
        self.state, self.created = state, created
        self.cluster = state.cluster
        self.inventory = Inventory(state.cluster.nodes, state.cluster.down_nodes)
        # Where Kueue adds up the nodes of a domain: the state in which it would not.
        wide = any(not tree.by_node for tree in state.trees.values())
        self.by_node = scheduling.idle_state(state.cluster, nodes_count=True) if wide else state
        self._outcomes: dict[tuple[str, str, str], _Outcome] = {}

    def judge(self, job: _Job) -> Fit:
        workload = job.workload
        if workload is None:
            return _fit(job, _Outcome(job.verdict, job.cause), job.diagnostics)
        refused = list(job.refused)
        quotas = findings.about_job(job.name, exceeded_quotas(workload, self.cluster.dump))
        if job.verdict != "fits":
            outcome = _Outcome(job.verdict, job.cause)
        else:
            outcome = self._of_queue(workload, job.queue) if job.queue else self._without_queue(workload)
            if outcome.cause in (scheduling.LIMIT_RANGE, scheduling.RESOURCES):
                refused = [d for d in refused if d.code not in _TOLD_BY_KUEUE]
            if (refused or quotas) and outcome.verdict == "fits":
                verdict: Verdict = "fits" if job.queue else "never"
                cause = outcome.cause or (PODS_REFUSED if refused else RESOURCE_QUOTA)
                outcome = replace(outcome, verdict=verdict, cause=cause, runs=False)
        no_space = outcome.cause == scheduling.NAMESPACE
        absent = [d for d in job.diagnostics if not (no_space and d.path == "metadata.namespace")]
        evicted: list[Diagnostic] = []
        if outcome.verdict in ("fits", "unknown") and outcome.runs is not False and outcome.why is None:
            assigned = outcome.assignment.pod_sets if outcome.assignment else ()
            flavors = {part.pod_set.name: self._flavors(part) for part in assigned}
            evictable = evictable_pods(workload, flavors, self.cluster, self.inventory)
            refused_later = findings.placed_by_flavors(workload, flavors)
            claims = unmountable_claims(workload, self.cluster.dump, self.created, self.inventory, flavors)
            evicted = findings.about_job(job.name, chain(evictable, refused_later, claims))
        return _fit(job, outcome, (*absent, *self._diagnostics(job, workload, outcome), *refused, *quotas, *evicted))

    def _of_queue(self, workload: Workload, queue: ClusterQueue) -> _Outcome:
        key = (workload.namespace, queue.name, workload.shape)
        if key not in self._outcomes:
            self._outcomes[key] = self._attempt(workload, queue)
        return self._outcomes[key]

    def _attempt(self, workload: Workload, queue: ClusterQueue) -> _Outcome:
        entry = scheduling.submit_alone(workload, queue, self.state)
        if entry.cause != scheduling.ADMITTED or entry.assignment is None:
            return _Outcome("never", entry.cause, why=shortfall(entry, queue, self.state, self.inventory))
        if scheduling.accepts_namespace(queue, workload.namespace, self.cluster) is None:
            return _Outcome("unknown", unknown="Namespace")
        if any(flavor.vague for assigned in entry.assignment.pod_sets for flavor in self._flavors(assigned)):
            kind = "ResourceFlavor" if "ResourceFlavor" in self.cluster.unknown else "Node"
            return _Outcome("unknown", unknown=kind)
        if "Node" in self.cluster.unknown or queue.runs_elsewhere(self.cluster):
            return _Outcome("fits", None, entry.assignment)
        cause, why = self._lacking(workload, queue, entry.assignment) or (None, None)
        if why is None:
            return _Outcome("fits", None, entry.assignment, runs=True)
        waits = cause in findings.NODES_MAY_COME and bool(queue.provisioner(self.cluster))
        return _Outcome("fits", cause, entry.assignment, runs=False if why.certain and not waits else None, why=why)

    def _lacking(self, workload: Workload, queue: ClusterQueue, assignment: Assignment) -> tuple[str, Shortfall] | None:
        """Why the pods of an admitted job never all run, as (cause, reason); None if they can."""
        for assigned in assignment.pod_sets:
            placed = sum(count for _, count in assigned.placement or ())
            if assigned.placement is not None and placed < assigned.pod_set.count:
                return PARTIAL_SLICE, unplaced_pods(assigned.pod_set, placed)
        if lacking := self.inventory.shortfall(
            workload,
            {assigned.pod_set.name: self._flavors(assigned) for assigned in assignment.pod_sets},
            lambda changed: scheduling.would_be_admitted(changed, queue, self.state),
        ):
            return lacking
        if all(part.placement is None or self.state.trees[part.tree].by_node for part in assignment.pod_sets):
            return None
        entry = scheduling.submit_alone(workload, queue, self.by_node)
        if entry.cause == TOPOLOGY:
            why = shortfall(entry, queue, self.by_node, self.inventory)
            return TOO_FEW_NODES, replace(why, certain=not self.cluster.down_nodes)
        return next(((GAPS, gap) for assigned in assignment.pod_sets if (gap := self._gaps(assigned))), None)

    def _gaps(self, assigned: Assigned) -> Shortfall | None:
        """Why the nodes of a domain do not hold what Kueue places there, although their sum would; None if they do."""
        if assigned.placement is None or self.state.trees[assigned.tree].by_node:
            return None
        tree, pod = self.by_node.trees[assigned.tree], (*assigned.pod_set.scheduled.items(), (PODS, 1))
        suitable = tree.matching(assigned.pod_set.pod)
        for values, count in assigned.placement:
            held = sum(times_in(pod, leaf.capacity) for leaf in tree.leaves_in(values) if leaf in suitable)
            if held < count:
                topology = self.cluster.flavors[assigned.tree].topology or ""
                return left_in_domain(assigned.pod_set, "/".join(values), count, held, topology)
        return None

    def _flavors(self, assigned: Assigned) -> list[Flavor]:
        return [self.cluster.flavors[name] for name in sorted({choice.flavor for choice in assigned.flavors.values()})]

    def _without_queue(self, workload: Workload) -> _Outcome:
        if "Node" in self.cluster.unknown:
            return _Outcome("unknown", unknown="Node")
        cause, why = self.inventory.shortfall(workload) or (None, None)
        if why is None:
            return _Outcome("fits", runs=True)
        unsure = self.cluster.scaler or not why.certain
        return _Outcome("unknown", cause, why=why) if unsure else _Outcome("never", cause, runs=False, why=why)

    def _diagnostics(self, job: _Job, workload: Workload, outcome: _Outcome) -> tuple[Diagnostic, ...]:
        if outcome.unknown:
            return (findings.undecided_job(job.name, outcome.unknown),)
        if outcome.why is None:
            return ()
        scaler = job.queue.provisioner(self.cluster) if job.queue else self.cluster.scaler
        return (findings.never_runs(job.name, workload, outcome.why, outcome.cause, job.queue, scaler),)


def _together(jobs: Sequence[_Job], alone: Sequence[Fit], state: State, guard: Finding.Guard) -> list[Fit]:
    """All jobs, submitted in order. A waiting job may still be admitted when a later one is submitted.

    Without one that fails, the others are submitted again.
    """
    everyone = scheduling.Scheduler(state)
    entries: dict[int, scheduling.Entry] = {}
    for order, job in enumerate(jobs):
        if job.workload and job.queue:
            entries[order] = scheduling.Entry((order,), job.workload)
            with guard(f"JobSet {job.name}"):
                everyone.submit(entries[order], job.queue)
                continue
            unknown = replace(alone[order], verdict="unknown", cause="failed")
            others = [*jobs[:order], replace(job, workload=None), *jobs[order + 1 :]]
            return _together(others, [*alone[:order], unknown, *alone[order + 1 :]], state, guard)
    together = list(alone)
    for order, entry in entries.items():
        if entry.cause == scheduling.ADMITTED and alone[order].verdict != "unknown":
            together[order] = _fit(jobs[order], _Outcome("admitted", None, entry.assignment))
        elif alone[order].verdict == "fits":
            together[order] = _fit(jobs[order], _Outcome("waits", entry.cause))
    return together


def _fit(job: _Job, outcome: _Outcome, diagnostics: tuple[Diagnostic, ...] = ()) -> Fit:
    pod_sets = job.workload.pod_sets if job.workload else ()
    assigned = outcome.assignment.pod_sets if outcome.assignment else ()
    placements = ((part.pod_set.name, part.placement) for part in assigned if part.placement is not None)
    places = {name: {"/".join(values): count for values, count in placement} for name, placement in placements}
    queue = job.workload.queue if job.workload else ""
    return Fit(
        job.name,
        outcome.verdict,
        outcome.cause,
        outcome.assignment.chosen if outcome.assignment else {},
        bool(outcome.assignment and outcome.assignment.level),
        "found" if places else "not found" if outcome.cause == TOPOLOGY and outcome.verdict == "never" else None,
        places,
        outcome.runs,
        {pod_set.name: pod_set.count for pod_set in pod_sets},
        {pod_set.name: pod_set.total for pod_set in pod_sets},
        queue,
        _KUEUE if queue or outcome.verdict == "refused" else _KUBE,
        diagnostics,
    )
