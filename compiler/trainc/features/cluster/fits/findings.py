"""Diagnostics about jobs that cannot run and about incomplete snapshots, and their locations in the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from trainc.api.cluster import KINDS, Dump, kueue_versions
from trainc.api.documents import Document, label_of
from trainc.api.findings import Diagnostic, Finding, Hint, Path, Severity, did_you_mean, first_of, format_path
from trainc.api.kube import POD_SPEC, documents, mapping, names, objects, value_at
from trainc.api.records import pattern, replace
from trainc.features.cluster.fits.assigner import TOPOLOGY
from trainc.features.cluster.fits.cluster import Cluster, ClusterQueue, Flavor
from trainc.features.cluster.fits.inventory import NO_NODE, TOO_FEW_NODES, Shortfall
from trainc.features.cluster.fits.pods import shorten
from trainc.features.cluster.fits.references import Missing
from trainc.features.cluster.fits.shortfall import GAPS, PARTIAL_SLICE
from trainc.features.cluster.fits.snapshot import READ_KINDS, WORKLOADS, export_command
from trainc.features.cluster.fits.workload import QUEUE, PodSet, Refusal, Workload

if TYPE_CHECKING:
    from trainc.features.cluster.fits.answer import Fit

# Causes that go away when nodes are added.
NODES_MAY_COME = (NO_NODE, TOO_FEW_NODES, TOPOLOGY)
_QUEUE_PATH: Path = ("metadata", "labels", QUEUE)


def refused_job(job: str, refusals: list[Refusal]) -> list[Diagnostic]:
    """Why Kueue refuses a JobSet."""
    hint = "change the field, or Kueue's webhook rejects the JobSet"
    return [_about(job, "RefusedByKueue", message, hint, path) for _, path, message in refusals]


def inactive_queue(
    job: str, cause: str, workload: Workload, queue: ClusterQueue | None, cluster: Cluster
) -> Diagnostic:
    """Why a job's queue cannot admit anything."""
    namespace = workload.namespace
    local, label = cluster.local_queues.get((namespace, workload.queue)), f"LocalQueue {namespace}/{workload.queue}"
    decide: tuple[tuple[str, Path], ...] = ()
    if not namespace:
        message = "the job has no namespace, so its LocalQueue cannot be looked up"
        hint = "set metadata.namespace, or compile with --namespace"
    elif cause == "local-queue-missing":
        queue_names = [name for space, name in cluster.local_queues if space == namespace]
        message = f"there is no LocalQueue {workload.queue} in namespace {namespace}"
        there = f"the LocalQueues {', '.join(sorted(queue_names))}" if queue_names else "no LocalQueues"
        hint = did_you_mean(workload.queue, queue_names) or (
            f"the namespace has {there}: use a queue or a namespace that is there, or have one created"
        )
        decide = ((label, ()),)
    elif cause == "local-queue-stopped":
        message = f"{label} is stopped (stopPolicy)"
        hint, decide = "set stopPolicy: None on it, or use another queue", ((label, ("spec", "stopPolicy")),)
    elif queue is None:
        behind = local.cluster_queue if local else ""
        message = f"{label} points to ClusterQueue {behind}, which does not exist"
        decide = ((label, ("spec", "clusterQueue")), (f"ClusterQueue {behind}", ()))
        # Without the trait: the queue is misspelt where the cluster is described, not in the job.
        hint = str(did_you_mean(behind, cluster.cluster_queues)) or "create it, or point the LocalQueue to another one"
    else:
        faults = cluster.faults(queue)
        message = f"ClusterQueue {queue.name} is inactive: {'; '.join(fault.text for fault in faults)}"
        flavors = [cluster.flavors[name] for name in queue.flavors if name in cluster.flavors]
        topologies = (flavor.topology for flavor in flavors if flavor.topology not in cluster.topologies)
        nears = chain(
            (str(did_you_mean(name, cluster.flavors)) for name in queue.flavors if name not in cluster.flavors),
            (str(did_you_mean(name, cluster.topologies)) for name in topologies if name),
        )
        rest = "set `stopPolicy: None` on it" if queue.stopped else "fix this first"
        hint = next(filter(None, nears), f"{rest}: an inactive ClusterQueue admits nothing")
        first = next((fault for fault in faults if fault.missing), faults[0])
        decide = ((first.object, first.path), (first.missing, ()))
        if "Topology" in cluster.unknown and all(fault.missing.startswith("Topology") for fault in faults):
            hint = Hint(_export_hint(["Topology"]), objects=decide)
            diagnostic = _about(job, "QueueInactive", f"{message}, or it was not exported", hint)
            return replace(diagnostic, severity="info")
    return _about(job, "QueueInactive", message, Hint(hint, objects=decide), _QUEUE_PATH)


def never_runs(  # noqa: PLR0913, PLR0917 - all that is known about one job
    job: str, workload: Workload, why: Shortfall, cause: str | None, queue: ClusterQueue | None, scaler: str
) -> Diagnostic:
    """Why a job is never admitted, or why no node runs it once it is; a warning where nodes may be added."""
    index = next((pod_set.index for pod_set in workload.pod_sets if pod_set.name == why.pod_set), None)
    path: Path = _QUEUE_PATH if index is None else ("spec", "replicatedJobs", index)
    code, message = "NeverFits" if queue else "NoNodeFits", why.message
    if queue and cause in (NO_NODE, TOO_FEW_NODES, PARTIAL_SLICE):
        code = "UnschedulableAfterAdmission"
        message = f"ClusterQueue {queue.name} admits the job, which then keeps its quota and never runs: {message}"
    if why.selects:
        path = ("spec", "replicatedJobs", index or 0, *POD_SPEC, "nodeSelector", why.selects)
    if index is not None and why.resource:
        path = (*path, *_resource(next(p for p in workload.pod_sets if p.index == index), why.resource))
    severity: Severity = "error"
    if cause == GAPS:  # In a cluster that is not idle, Kueue may choose another domain.
        code, severity = "UnschedulableAfterAdmission", "warning"
    if cause in NODES_MAY_COME and (scaler or not why.certain):
        severity = "warning"
        message += f"; {scaler or 'a node that is not Ready or is cordoned'} may provide one that does"
    return replace(_about(job, code, message, why.hint, path), severity=severity)


def _resource(pod_set: PodSet, name: str) -> Path:
    """Where the first container that asks for a resource does so."""
    for n, container in enumerate(objects(pod_set.spec.get("containers"))):
        for part, amounts in mapping(container.get("resources")).items():
            if name in mapping(amounts):
                return (*POD_SPEC, "containers", n, "resources", part, name)
    return ("resources",)


def about_job(job: str, findings: Iterable[Finding]) -> list[Diagnostic]:
    """Findings with paths in the JobSet of a job."""
    return [replace(_about(job, f.code, f.message, f.hint, f.path), severity=f.severity) for f in findings]


def missing(job: str, absent: Iterable[Missing]) -> list[Diagnostic]:
    """What the cluster does not have, or may not have."""
    return about_job(job, (Finding("NotInCluster", gap.severity, str(gap), _missing(gap), gap.path) for gap in absent))


def _missing(gap: Missing) -> Hint:
    label = f"{gap.kind} {documents.qualified(gap.namespace, gap.name)}"
    return Hint(gap.hint, objects=() if gap.key else ((label, ()),))


def without_class(classes: Iterable[Missing]) -> Iterator[Finding]:
    """Kueue makes no Workload for a job whose WorkloadPriorityClass does not exist, and so never starts it."""
    for gap in classes:
        message = f"{gap}, so Kueue makes no Workload for the job and never starts it"
        yield Finding("NeverFits", "error", message, _missing(gap), gap.path)


def placed_by_flavors(workload: Workload, flavors: Mapping[str, Sequence[Flavor]]) -> Iterator[Finding]:
    """Kueue adds a flavor's tolerations and labels to an admitted job's, which are one value each: git's would replace it.

    What the pods have already, it does not add again; but one with tolerationSeconds it always adds.
    """
    for pod_set in workload.pod_sets:
        own = {_written(toleration) for toleration in pod_set.pod.get("tolerations") or ()}
        selector = pod_set.pod.get("nodeSelector") or {}
        for flavor in flavors.get(pod_set.name, ()):
            timed = any(toleration.get("tolerationSeconds") is not None for toleration in flavor.tolerations)
            added = timed or any(_written(toleration) not in own for toleration in flavor.tolerations)
            for field, what, one in (
                ("tolerations", "tolerations", own and added),
                ("nodeSelector", "node selectors", selector and not flavor.labels.keys() <= selector.keys()),
            ):
                if one:
                    message = (
                        f"ResourceFlavor {flavor.name} adds {what} to those of the pods: once Kueue has admitted the job, "
                        "JobSet refuses every further server-side apply of the unchanged file, and Flux stops the whole Kustomization"
                    )
                    hint = "leave the tolerations to the ResourceFlavor, and take them out of the pods"
                    if field == "nodeSelector":
                        hint = "write as much as affinity.nodeAffinity, which Kueue leaves alone, or leave it to the ResourceFlavor"
                    of_flavor: Path = ("spec", "tolerations" if field == "tolerations" else "nodeLabels")
                    hint = Hint(hint, objects=((f"ResourceFlavor {flavor.name}", of_flavor),))
                    path = ("spec", "replicatedJobs", pod_set.index, *POD_SPEC, field)
                    yield Finding("TolerationsOfFlavor", "warning", message, hint, path)


def _written(toleration: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    return frozenset((key, str(value)) for key, value in toleration.items() if value not in ("", None))


def undecided_job(job: str, kind: str) -> Diagnostic:
    """A job cannot be judged because the snapshot has no object of `kind`."""
    message = f"the snapshot has no {kind}, so it is unknown whether this job fits"
    return replace(_about(job, "SnapshotIncomplete", message, _export_hint([kind])), severity="info")


def _about(job: str, code: str, message: str, hint: str, path: Path = ()) -> Diagnostic:
    return Diagnostic(code, "error", message, hint, f"JobSet {job}", format_path(path))


def _export_hint(kinds: Iterable[str]) -> str:
    return f"run in the folder of the snapshot: {export_command(kinds)} > more.yaml"


# Kinds that a cluster may well have none of.
_OPTIONAL = ("LimitRange", "ResourceQuota", "RuntimeClass")
_MOST_JOBS = 3


def about_snapshot(cluster: Cluster, alone: Sequence[Fit]) -> Iterator[Diagnostic]:
    """What a snapshot lacks, with the jobs whose answer depends on it, and what is not evaluated."""
    undecided: dict[str, list[str]] = {}
    for fit in alone:
        for diagnostic in fit.diagnostics:
            if diagnostic.code == "SnapshotIncomplete":
                undecided.setdefault(diagnostic.hint, []).append(fit.job)
    for kind in READ_KINDS:
        if jobs := undecided.get(_export_hint([kind])):
            count = "1 job fits" if len(jobs) == 1 else f"{len(jobs)} jobs fit"
            message = f"the snapshot has no {kind}, so it is unknown whether {count} ({shorten(jobs, _MOST_JOBS)})"
            yield Diagnostic("SnapshotIncomplete", "info", message, _export_hint([kind]), kind)
    absent = [kind for kind in _OPTIONAL if not cluster.dump.covers(kind)]
    if absent and alone and cluster.dump.covers("Namespace"):  # Lists by hand have none of these.
        message = f"the snapshot has no {', '.join(absent)}; trainc assumes that the cluster has none"
        yield Diagnostic("SnapshotIncomplete", "info", message, _export_hint(absent))
    for queue in cluster.cluster_queues.values():
        if queue.checks:
            message = f"its admission checks ({', '.join(queue.checks)}) are not evaluated; they run once it has reserved quota"
            yield Diagnostic("AdmissionCheckUnknown", "info", message, "", f"ClusterQueue {queue.name}")


def unseen_workloads(dump: Dump, *, stated: bool) -> Diagnostic | None:
    """What the snapshot lacks to say what is in use; None if it has it.

    The status of ClusterQueues counts their Workloads. Without one, a snapshot without Workloads is believed only if it
    says when it was made.
    """
    if dump.of_group(names.KUEUE_GROUP, "Workload"):
        return None
    statuses = [mapping(queue.get("status")) for queue in dump.of("ClusterQueue").values()]
    counted = [status.get("reservingWorkloads") or status.get("pendingWorkloads") or 0 for status in statuses if status]
    if (counted and not any(counted)) or (not counted and stated):
        return None
    message = "the snapshot has no Workload, so it is unknown what is in use"
    return Diagnostic(
        "SnapshotIncomplete",
        "warning",
        message,
        f"run in the folder of the snapshot: {WORKLOADS} > workloads.yaml",
        "Workload",
    )


def about_kueue(dump: Dump, requested: str | None) -> Iterator[Diagnostic]:
    """Return whether the cluster has another version of Kueue than the answers are for, or objects that it does not serve."""
    installed = dump.version(kueue_versions.IMAGE)
    version = kueue_versions.version_of(requested, installed)
    if installed and kueue_versions.step_of(version) != kueue_versions.step_of(installed):
        message = f"the answers are for Kueue {version}, and the cluster has {installed}"
        hint = f"set kueue: {kueue_versions.minor_of(installed)!r}, or no version at all"
        yield Diagnostic("OtherKueueVersion", "info", message, hint, "Deployment")
    elif installed and kueue_versions.minor_of(installed) not in kueue_versions.MINORS:
        nearest = kueue_versions.minor_of(kueue_versions.step_of(installed))
        message = f"the cluster has Kueue {installed}, and trainc knows {' and '.join(kueue_versions.MINORS)}: the answers are for {nearest}"
        yield Diagnostic("OtherKueueVersion", "info", message, f"set kueue: {nearest!r} to hide this", "Deployment")
    documents = (dump.list_all(kind) for kind, (group, _) in KINDS.items() if group == names.KUEUE_GROUP)
    apis = [(str(d.get("apiVersion")).rpartition("/")[2], d) for d in chain.from_iterable(documents)]
    if old := [d for api, d in apis if api not in ("v1beta2", "None")]:  # Lists by hand have none.
        api = str(old[0].get("apiVersion"))
        served = api.endswith("/v1beta1") and kueue_versions.step_of(version) in kueue_versions.V1BETA1
        severity: Severity = "info" if served else "warning"
        subject = "is" if len(old) == 1 else f"and {len(old) - 1} more are"
        until = (
            "is no longer served from 0.20 on"
            if served
            else " ".join(filter(None, ("Kueue", kueue_versions.minor_of(version), "does not serve")))
        )
        message = f"it {subject} of {api}, which {until}"
        hint = "write v1beta2, where cohort is cohortName, and whenCanBorrow and whenCanPreempt are MayStopSearch or TryNextFlavor"
        yield Diagnostic("OldKueueAPI", severity, message, hint, label_of(old[0]), "apiVersion")


# Locate diagnostics about jobs and snapshots: in the TrainJob that a JobSet was compiled from, or in the snapshot.

_STEP = pattern(r'\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.\[\]]+)')
# The fields in which a TrainJob states the requests of a part; the first one present is used.
_TRAINER = (("trainer", "numNodes"), ("trainer", "resourcesPerNode"), ("trainer",), ())
_INITIALIZER = (("initializer",), ())


def place_in_input(
    diagnostics: Iterable[Diagnostic],
    homes: Mapping[str, Document],
    jobsets: Mapping[str, Any],
) -> list[Diagnostic]:
    """Locate diagnostics about JobSets in the TrainJob or JobSet documents they come from, by the names of their answers."""
    placed = []
    for diagnostic in diagnostics:
        job, located = diagnostic.object.removeprefix("JobSet "), diagnostic
        if home := homes.get(job):
            path = _QUEUE_PATH if is_about_queue(diagnostic) else steps(diagnostic.path)
            path = path if home.data.get("kind") == "JobSet" else _in_trainjob(path, home, jobsets.get(job))
            no_queue = any(path == () and label.startswith("LocalQueue ") for label, path in diagnostic.objects)
            moved = home.locate(("metadata", "namespace")) if no_queue else None
            queue = home.locate(_QUEUE_PATH) if moved is not None else None
            if moved is not None and moved.file != (queue.file if queue else home.file):  # An overlay has set it.
                path = ("metadata", "namespace")
            located = replace(located, object=label_of(home.data), path=format_path(path), source=home.locate(path))
        placed.append(located)
    return placed


def is_about_queue(diagnostic: Diagnostic) -> bool:
    """Whether a job has a queue none of whose flavors has what its pods select."""
    return diagnostic.code in ("NeverFits", "UnschedulableAfterAdmission") and ".nodeSelector" in diagnostic.path


def with_rules(diagnostics: Iterable[Diagnostic], snapshot: Sequence[Document]) -> list[Diagnostic]:
    """Diagnostics whose hints end with the location of the object of the cluster that decides."""
    by_name = _by_name(snapshot)
    lists = [document for document in snapshot if document.data.get("kind") == "Cluster"]
    return [replace(diagnostic, hint=_with_rule(diagnostic, by_name, lists)) for diagnostic in diagnostics]


def _with_rule(diagnostic: Diagnostic, by_name: Mapping[str, Document], lists: Sequence[Document]) -> str:
    for label, path in diagnostic.objects:
        kind, _, name = label.partition(" ")
        if (document := by_name.get(label)) is not None and (source := document.locate(path)) is not None:
            where = f" ({label} is at {source.file}:{source.line})" if kind != "Node" else ""
            return source.refusing(Hint(diagnostic.hint + where))
        for document in lists if kind == "Node" else ():
            for n, node in enumerate(objects(document.data.get("nodes"))):
                if name.rpartition("-")[0] == node.get("name") and (source := document.locate(("nodes", n, *path[1:]))):
                    return source.refusing(diagnostic.hint)
    return diagnostic.hint


def _in_trainjob(path: Path, home: Document, jobset: Any) -> Path:
    """The TrainJob field that a path of its JobSet comes from, as far as it can be determined."""
    if path[:1] == ("metadata",):
        key = path[-1]
        metadata = (home.data.get("metadata") or {}).get(str(path[1])) if len(path) > 1 else None
        return path if isinstance(metadata, Mapping) and key in metadata else ("metadata", "name")
    if path[:2] != ("spec", "replicatedJobs") or len(path) < 3 or not isinstance(path[2], int):
        return ("metadata", "labels", QUEUE) if _has(home.data, ("metadata", "labels", QUEUE)) else ("metadata", "name")
    trainer = _TRAINER[1:] if "resources" in path else _TRAINER
    labels = value_at(jobset["spec"]["replicatedJobs"][path[2]], ("template", "metadata", "labels")) or {}
    choices = trainer if labels.get(names.ANCESTOR_LABEL, "") in (names.TRAINER, "") else _INITIALIZER
    return next(("spec", *choice) for choice in choices if _has(home.data, ("spec", *choice)) or not choice)


def _has(data: Any, path: Path) -> bool:
    for step in path:
        if not isinstance(data, Mapping) or step not in data:
            return False
        data = data[step]
    return True


def misspelt(documents: Sequence[Document]) -> Iterator[Diagnostic]:
    """What is of no kind of Kueue, and of one but for its spelling."""
    kinds = [kind for kind, (group, _) in KINDS.items() if group == names.KUEUE_GROUP]
    for document in documents:
        kind = str(document.data.get("kind"))
        is_of_kueue = str(document.data.get("apiVersion")).startswith(f"{names.KUEUE_GROUP}/")
        alike = [other for other in kinds if abs(len(other) - len(kind)) <= 1]
        if is_of_kueue and kind not in kinds and (near := did_you_mean(kind, alike, 0.9)):
            finding = Finding("SnapshotUnreadable", "error", f"Kueue has no kind {kind}", near, ("kind",))
            yield document.diagnose(finding)


def with_secrets(documents: Sequence[Document]) -> Iterator[Diagnostic]:
    """Warn of each file that has what is in Secrets: whoever reads the repository reads it, and trainc reads only the keys."""
    by_file: dict[str, list[Document]] = {}
    for document in documents:
        parts = [mapping(document.data.get(part)) for part in ("data", "stringData")]
        if (
            document.data.get("kind") == "Secret"
            and "apiVersion" in document.data
            and any(any(part.values()) for part in parts)
        ):
            by_file.setdefault(document.file, []).append(document)
    for found in by_file.values():
        first, names = found[0], [label_of(one.data).removeprefix("Secret ") for one in found]
        message = f"this file has what is in {first_of(names, 3)}, and everybody who reads the repository reads it"
        space, _, name = names[0].rpartition("/")
        keys = ", ".join(key for part in ("data", "stringData") for key in mapping(first.data.get(part)))
        listed = f"kind: Cluster, namespaces: {{{space}: {{secrets: {{{name}: [{keys}]}}}}}}"
        hint = f"trainc needs only the names of keys: list them by hand (`{listed}`), and replace what was pushed"
        where = "data" if "data" in first.data else "stringData"
        yield first.diagnose(Finding("SecretInSnapshot", "warning", message, hint, (where,)))


def place_in_snapshot(diagnostics: Iterable[Diagnostic], documents: Sequence[Document]) -> list[Diagnostic]:
    """Locate diagnostics about a snapshot in its files."""
    by_name, first_by_name = _by_name(documents), _by_name(documents[::-1])
    again: dict[tuple[str, str], list[Diagnostic]] = {}
    placed: list[Diagnostic] = []
    for d in diagnostics:
        document = by_name.get(d.object)
        located = d if document is None else replace(d, source=document.locate(steps(d.path)))
        if document is not None and d.code == "SnapshotTwice":
            other = first_by_name[d.object]
            if other.file == document.file and (at := other.locate(())):
                located = replace(located, hint=f"remove one of the two; the first one is at {at.file}:{at.line}")
            again.setdefault((other.file, document.file), []).append(located)
        else:
            placed.append(located)
    for (first, second), of_files in again.items():
        objects = first_of([d.object for d in of_files], 3)
        where, hint = f"{first} has twice", of_files[0].hint
        if first != second:
            where = f"both {first} and {second} have"
            hint = f"remove the older of the two exports: git rm {first}, or git rm {second}; of two clusters, move one to a folder of its own"
        message = f"{where} {objects}, so it is unknown which one counts, and nothing is compared with this cluster"
        placed.append(replace(of_files[0], object="", message=message, hint=hint))
    return placed


def _by_name(documents: Sequence[Document]) -> dict[str, Document]:
    return {label_of(document.data): document for document in documents}


def steps(path: str) -> Path:
    """Split a path in the notation of diagnostics into its steps."""
    return tuple(int(index) if index else key or word for index, key, word in _STEP.findall(path))
