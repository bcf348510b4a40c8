"""Compare what git has with a dump of the cluster: drift, the states of jobs, and what a sync would do to them.

An object is matched by API group, kind, namespace and name. A field that Kueue, an admission webhook or the mark of a
GitOps tool accounts for is not drift.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Literal, TypeAlias

from trainc.api.admission import updates
from trainc.api.arguments import Arguments
from trainc.api.cluster import Dump, group_of, live_objects
from trainc.api.documents import label_of
from trainc.api.explained import explained_jobset, source_of
from trainc.api.findings import Diagnostic, Finding, Path, Source
from trainc.api.jobs import Session
from trainc.api.kube import Json, Manifest, documents, identity_of, mapping, names, releases
from trainc.api.records import dataclass, field, replace
from trainc.features import ask
from trainc.features.gitops.diff.changes import Change, compare_manifests, normalize, strip_server_fields
from trainc.features.gitops.diff.delivery import (
    REFUSED,
    DeliveryMethod,
    Outcome,
    chosen_method,
    effective_method,
    sync_outcome,
)
from trainc.features.gitops.diff.model import Names, plain_names
from trainc.features.gitops.diff.sides import JobKey, ManifestSet, ReadSide

Presence: TypeAlias = Literal["same", "drifted", "missing", "extra"]
# API group, kind, namespace and name.
Identity: TypeAlias = tuple[str, str, str, str]

# The kinds that the command of `trainc help dump` exports; of these, an object that is not in the dump is missing.
EXPORTED = ("JobSet", "TrainJob", "PodGroup", "ConfigMap")
# Their contents are never read.
_SECRETS = ("Secret",)
# What an API server fills in for the groups of gang schedulers. Source: volcano-sh/apis podgroups CRD.
_DEFAULTS = ((("PodGroup", ("spec", "queue")), "default"),)
# What explains a field compiles its job again, so of many only the first are located.
_MOST_EXPLAINED = 20
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class Drift:
    """A field that differs between git and the cluster.

    `path` is by index, in the live object or, for a field that it lacks, in that of git. `by` is the manager that set it,
    as far as known. `is_expected` says that Kueue or admission accounts for it.
    """

    path: Path
    field: Path
    kind: Literal["added", "removed", "changed"]
    git: Any
    live: Any
    by: str | None
    is_expected: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a job does not run: the object that says so, and what could change it: the path in the JobSet, and its place in git."""

    object: str
    cause: str
    hint: str
    path: Path = ()
    place: str = ""


@dataclass(frozen=True, slots=True)
class LiveObject:
    """An object of git, of the cluster, or of both.

    `sync` is what happens to it in a sync, and `successor` the name under which git has its job now. `source` is the file
    that the job was compiled from. `ttl` is that of a JobSet in git.
    """

    kind: str
    namespace: str
    name: str
    object: Presence
    drift: tuple[Drift, ...] = ()
    state: live_objects.State = "none"
    condition: Json | None = None
    waits: tuple[Wait, ...] = ()
    sync: Outcome = "nothing"
    successor: str = ""
    source: str = ""
    ttl: int | None = None

    @property
    def label(self) -> str:
        """`JobSet team-a/llm`."""
        return f"{self.kind} {self.job}"

    @property
    def job(self) -> str:
        """`team-a/llm`."""
        return documents.qualified(self.namespace, self.name)

    @property
    def is_finished(self) -> bool:
        """Return whether this is a job that has succeeded or failed."""
        return self.state in live_objects.FINISHED

    @property
    def restarts(self) -> bool:
        """Return whether a sync ends the job as it is and starts it from the beginning."""
        return self.kind == "JobSet" and self.object != "missing" and self.sync in ("re-created", "lost")


@dataclass(frozen=True, slots=True)
class InGit:
    """One side of git: its objects, and the names and the source files of jobs by namespace and name of the JobSet.

    `locate` returns the place in git of a field of a JobSet, `FILE:LINE`, or an empty string. `never_admitted` has why a
    queue can never admit a JobSet, as `trainc fits` finds.
    """

    manifests: Sequence[Manifest]
    names: Names
    locate: Callable[[tuple[str, str], Path], str]
    sources: Mapping[tuple[str, str], str] = field(default_factory=dict)
    never_admitted: Mapping[tuple[str, str], Sequence[Wait]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LiveDiff:
    """The comparison of git with a cluster. `unknown` says what the dump does not tell; `git` and `dump` are the sides' names."""

    method: DeliveryMethod
    objects: tuple[LiveObject, ...]
    unknown: tuple[str, ...]
    git: str = ""
    dump: str = ""
    failures: tuple[Diagnostic, ...] = ()

    @property
    def has_drift(self) -> bool:
        """Return whether the cluster is not what git says. What no tool applied is nobody's drift."""
        return any(
            obj.object in ("drifted", "missing") or obj.sync not in ("nothing", "refused") for obj in self.objects
        )


def compare_live(deployed: InGit, coming: InGit, dump: Dump, method: DeliveryMethod, release: str) -> LiveDiff:
    """Compare `deployed`, which is what git has, with the cluster, and predict a sync of `coming`.

    Both are the same unless a change is under review. JobSets must have passed their schema.
    """
    comparison = _Comparison(deployed, coming, dump, method, updates.JobSetRules(release))
    return LiveDiff(method, *comparison.result(), failures=tuple(comparison.guard.diagnostics))


class _Comparison:
    """The parts of one comparison, indexed."""

    def __init__(
        self, deployed: InGit, coming: InGit, dump: Dump, method: DeliveryMethod, rules: updates.JobSetRules
    ) -> None:
        self._deployed, self._method, self._rules = deployed, method, rules
        self._git, self._coming = (
            {_identity(manifest): manifest for manifest in side.manifests} for side in (deployed, coming)
        )
        self.guard = Finding.Guard("what a sync does with it", "the comparison")
        self._live: dict[Identity, Manifest] = {_identity(manifest): dict(manifest) for manifest in dump}
        for identity, manifest in self._live.items():
            with self.guard(label_of(manifest)):
                self._live[identity] = _drop_malformed(manifest)
        # A dump of states alone (`trainc init --only dump`) says nothing about fields: they count as git has them.
        self._bare = {
            key
            for key, live in self._live.items()
            if key[1] == "JobSet" and "replicatedJobs" not in mapping(live.get("spec"))
        }
        for key in self._bare & self._git.keys():
            spec = {**self._git[key]["spec"], "suspend": mapping(self._live[key].get("spec")).get("suspend", False)}
            self._live[key] = {**self._live[key], **self._git[key], "spec": spec}
        self._spaces = {identity[2] for identity in self._live if identity[2]}
        self._successors = self._find_successors(coming)
        causes = ask("why", "causes")
        self._causes: Mapping[str, Sequence[Any]] = {}
        with self.guard("the dump"):
            self._causes = causes(dump) if causes else {}
        self._explained = 0

    def result(self) -> tuple[tuple[LiveObject, ...], tuple[str, ...]]:
        """The objects of git and those of the cluster that git lacks, and what is unknown."""
        objects, unknown = [], dict[str, None]()
        for identity, manifest in self._git.items():
            live = self._live.get(identity)
            if live is None and (reason := self._why_unknown(identity)):
                unknown[reason] = None
                continue
            with self.guard(label_of(manifest)):
                found = self._missing(identity, manifest) if live is None else self._both(identity, manifest, live)
                objects.append(found)
        for identity, live in self._live.items():
            with self.guard(label_of(live)):
                objects += [self._extra(identity, live)] if self._is_extra(identity, live) else []
        for kind in EXPORTED:
            if any(obj.kind == kind for obj in objects) and not any(identity[1] == kind for identity in self._live):
                unknown[f"the dump has no {kind} at all: the cluster has none, or they were not exported"] = None
        objects.sort(key=lambda obj: (obj.namespace, obj.name, obj.kind != "JobSet", obj.kind))
        return tuple(objects), tuple(unknown)

    def _why_unknown(self, identity: Identity) -> str:
        """Why nothing is known about an object that is not in the dump; empty if it is missing."""
        _, kind, namespace, _ = identity
        if (self._bare or kind not in EXPORTED) and not any(other[1] == kind for other in self._live):
            return f"the dump has no {kind}, so nothing is known about those in git"
        if namespace and self._spaces and namespace not in self._spaces and len(self._spaces) == 1:
            return f"the dump is of namespace {next(iter(self._spaces))}, so nothing is known about {namespace}"
        return ""

    def _both(self, identity: Identity, manifest: Manifest, live: Manifest) -> LiveObject:
        is_compared = manifest["kind"] not in _SECRETS and identity not in self._bare
        drift = tuple(self._drift(manifest, live)) if is_compared else ()
        drifted = any(not field_drift.is_expected for field_drift in drift)
        state, condition = live_objects.state_of(live)
        sync, successor = self._sync(identity, manifest, live, drifted)
        return LiveObject(
            *identity[1:],
            "drifted" if drifted else "same",
            drift,
            state,
            condition,
            tuple(self._waits(identity)) if state in ("suspended", "running", "failed") else (),
            sync,
            successor,
            self._deployed.sources.get(identity[2:], ""),
        )

    def _waits(self, identity: Identity) -> Iterator[Wait]:
        causes = self._causes.get(documents.qualified(*identity[2:]), ())
        waits = [Wait(cause.object, cause.cause, cause.hint, cause.setting) for cause in causes]
        for wait in (*waits, *self._deployed.never_admitted.get(identity[2:], ())):
            locatable = wait.path and self._explained < _MOST_EXPLAINED
            self._explained += bool(locatable)
            yield replace(wait, place=self._deployed.locate(identity[2:], wait.path)) if locatable else wait

    def _missing(self, identity: Identity, manifest: Manifest) -> LiveObject:
        desired = self._coming.get(identity)
        refused = desired is not None and desired["kind"] == "JobSet" and self._rules.creation_refusals(desired)
        sync: Outcome = "nothing" if desired is None else "invalid" if refused else "created"
        ttl = mapping(manifest.get("spec")).get("ttlSecondsAfterFinished") if identity[1] == "JobSet" else None
        source = self._deployed.sources.get(identity[2:], "")
        return LiveObject(*identity[1:], "missing", sync=sync, ttl=ttl if type(ttl) is int else None, source=source)

    def _extra(self, identity: Identity, live: Manifest) -> LiveObject:
        state, condition = live_objects.state_of(live)
        successor = self._successors.get(identity, "")
        pruned = live_objects.gitops_tool_of(live) and effective_method(self._method, live, None).prunes
        sync: Outcome = "re-created" if successor else "deleted" if pruned else "nothing"
        return LiveObject(*identity[1:], "extra", (), state, condition, (), sync, successor)

    def _is_extra(self, identity: Identity, live: Manifest) -> bool:
        """Return whether git could have it and does not: a job or gang that no controller made, or what a tool applied."""
        if identity in self._git or live_objects.controller_of(live) is not None:
            return False
        return identity[1] in ("JobSet", "TrainJob", "PodGroup") or (
            identity[1] == "ConfigMap" and bool(live_objects.gitops_tool_of(live))
        )

    # What a sync does.

    def _find_successors(self, coming: InGit) -> dict[Identity, str]:
        """JobSets of the cluster whose jobs have another name in what is to be applied."""
        by_job: dict[tuple[str, str], list[Identity]] = {}
        for identity in self._coming:
            if identity[1] == "JobSet" and identity not in self._live:
                key = identity[2:]
                by_job.setdefault((key[0], coming.names.get(key, key[1])), []).append(identity)
        successors: dict[Identity, str] = {}
        leaving = [i for i in self._live if i[1] == "JobSet" and i not in self._coming]
        for identity in leaving:
            key = identity[2:]
            job = self._deployed.names.get(key, key[1] if identity in self._git else "")
            if new := by_job.get((key[0], job)):
                successors[identity] = new[0][3]
        # Otherwise the names tell: one job of that name leaves, and one comes.
        assigned = {(identity[2], name) for identity, name in successors.items()}
        names: dict[str, tuple[list[str], list[str]]] = {}
        for identity in leaving:
            if identity not in successors:
                names.setdefault(identity[2], ([], []))[0].append(identity[3])
        for identity in (arrival for new in by_job.values() for arrival in new if arrival[2:] not in assigned):
            names.setdefault(identity[2], ([], []))[1].append(identity[3])
        plain = {namespace: plain_names(*sides) for namespace, sides in names.items()}
        coming_names = {(space, plain[space].get(name)): name for space, (_, new) in names.items() for name in new}
        for identity in leaving:
            short = plain.get(identity[2], {}).get(identity[3])
            if identity not in successors and short and (successor := coming_names.get((identity[2], short))):
                successors[identity] = successor
        return successors

    def _sync(self, identity: Identity, manifest: Manifest, live: Manifest, drifted: bool) -> tuple[Outcome, str]:
        if successor := self._successors.get(identity):
            return "re-created", successor
        desired = self._coming.get(identity)
        if desired is None:
            return "deleted" if effective_method(self._method, live, None).prunes else "nothing", ""
        if "deletionTimestamp" in mapping(live["metadata"]):
            return "re-created", ""
        applied = _last_applied(live) or manifest
        outcome = sync_outcome(self._method, live, applied, desired, self._rules)
        if not drifted and desired == manifest:
            # Sent again, it may undo what Kueue has set in the pods since: JobSet then refuses it.
            if outcome in REFUSED and names.QUEUE_LABEL in live_objects.labels_of(live):
                return "refused", ""
            return outcome if outcome == "re-created" else "nothing", ""
        return "re-created" if outcome == "in-place" and self._runs_again(live, desired) else outcome, ""

    def _runs_again(self, live: Manifest, desired: Manifest) -> bool:
        """Return whether a TTL that git adds deletes a job that has finished, which the GitOps tool then creates again."""
        given = "ttlSecondsAfterFinished" in desired.get("spec", {}) and self._method.tool != "kubectl"
        finished = live_objects.state_of(live)[0] in live_objects.FINISHED
        return given and finished and "ttlSecondsAfterFinished" not in live.get("spec", {})

    # What differs.

    def _drift(self, manifest: Manifest, live: Manifest) -> Iterator[Drift]:
        owners = live_objects.Owners(live)
        for change in compare_manifests(*self._normalize(manifest, live))[0]:
            for leaf in _by_key(change):
                path = leaf.old if leaf.kind == "removed" else leaf.new
                by = None if leaf.kind == "removed" else owners.of(path)
                if live_objects.is_mark(path, by):
                    continue
                if by is None:
                    kueues = leaf.kind != "removed" and live_objects.is_set_by_kueue(live, path)
                    by = live_objects.KUEUE if kueues and not owners.are_known else None
                else:
                    kueues = by.startswith(live_objects.KUEUE)
                # managedFields book what a CRD fills in to whoever creates the object client-side.
                by_default = ((live.get("kind"), path), leaf.after) in _DEFAULTS
                by_admission = leaf.kind == "added" and (by_default or (by is None and owners.are_known))
                by_admission &= path != ("metadata", "deletionTimestamp")
                resumed = (path, leaf.before, leaf.after) == (("spec", "suspend"), None, False)  # This is the default.
                yield Drift(path, leaf.path, leaf.kind, leaf.before, leaf.after, by, kueues or by_admission or resumed)

    def _normalize(self, manifest: Manifest, live: Manifest) -> tuple[Json, Json]:
        """Both sides in the form in which the API server compares them."""
        sides = strip_server_fields(manifest), strip_server_fields(live)
        if manifest["kind"] == "JobSet":
            sides = dict(self._rules.created(sides[0]).typed), dict(self._rules.put(sides[1])[0].typed)
        return normalize(sides[0]), normalize(sides[1])


def _identity(manifest: Json) -> Identity:
    metadata = mapping(manifest.get("metadata"))
    namespace, name = str(metadata.get("namespace") or ""), str(metadata.get("name"))
    return group_of(manifest), str(manifest.get("kind")), namespace, name


def _drop_malformed(manifest: Json) -> Manifest:
    """An object without what no API server prints: a spec, labels or annotations that are not mappings."""
    if not isinstance(manifest.get("apiVersion"), str):
        manifest = {**manifest, "apiVersion": ""}
    metadata = mapping(manifest["metadata"])
    odd = [key for key in ("labels", "annotations") if key in metadata and not isinstance(metadata[key], dict)]
    if odd or not isinstance(manifest.get("spec", {}), dict):
        manifest = {key: value for key, value in manifest.items() if key != "spec" or isinstance(value, dict)}
        manifest["metadata"] = {key: value for key, value in metadata.items() if key not in odd}
    return dict(manifest)


def _by_key(change: Change) -> Iterator[Change]:
    """A change of a whole mapping as changes of its keys, since each key may have another manager."""
    waiting = [change]
    while waiting:
        current = waiting.pop()
        value = current.after if current.before is None else current.before
        is_item = type(current.path[-1]) is not str  # An item of a list stays whole.
        if current.kind == "changed" or not isinstance(value, dict) or not value or is_item:
            yield current
        else:
            for key in reversed(value):
                before, after = (None, value[key]) if current.before is None else (value[key], None)
                waiting.append(Change((*current.path, key), before, after, (*current.old, key), (*current.new, key)))


def _last_applied(live: Manifest) -> Manifest | None:
    """What a client-side apply sent last, as it notes in an annotation."""
    try:
        applied = documents.read_json(str(live_objects.annotations_of(live).get(_LAST_APPLIED, "")))
    except ValueError:
        return None
    return applied if isinstance(applied, dict) and isinstance(applied.get("metadata"), dict) else None


# Read the dump of a cluster, and find where in git the jobs of a side come from.


def compare_with_dump(
    deployed: ReadSide, coming: ReadSide, arguments: Arguments, stdin: BinaryIO
) -> tuple[LiveDiff | None, list[Diagnostic]]:
    """Compare what git has with the dump that --live names; None if the dump cannot be read."""
    dump, problems = Dump.read(arguments.live, coming.options.limits, stdin)
    if dump is None:
        return None, problems
    jobs = [manifest for manifest in dump if manifest["kind"] in EXPORTED[:2]]
    is_empty = os.path.isfile(arguments.live) and not os.path.getsize(arguments.live)
    of_cluster = any({"status", "uid", "resourceVersion"} & {*job, *mapping(job["metadata"])} for job in jobs)
    if is_empty or (jobs and not of_cluster and not dump.of("JobSet")):
        what = "is empty" if is_empty else "has jobs without status, uid and resourceVersion: it is not from a cluster"
        hint = "write it with `kubectl get jobsets,trainjobs -A -o yaml`, and see that this succeeds"
        return None, [*problems, Diagnostic("SnapshotIncomplete", "error", f"{arguments.live} {what}", hint)]
    namespace = coming.options.namespace or ""
    sides = in_git(deployed.manifest_set, namespace), in_git(coming.manifest_set, namespace)
    sides = replace(sides[0], never_admitted=_never_admitted(sides[0], dump, coming.options.kueue)), sides[1]
    release = coming.options.release or releases.NEWEST_RELEASE
    method = chosen_method(coming.options)
    live_diff = compare_live(*sides, dump, method, release)
    return replace(live_diff, git=deployed.label, dump=arguments.live), [*problems, *live_diff.failures]


def in_git(manifest_set: ManifestSet, namespace: str) -> InGit:
    """A side with the places of its jobs. Objects without a namespace are in `namespace`."""
    rendered = {(key[0] or namespace, key[1]): document for key, document in manifest_set.rendered.items()}

    def locate(job: JobKey, path: Path) -> str:
        return _file_and_line(rendered[job].locate(path) if job in rendered else None)

    manifests = [_in_namespace(manifest, namespace) for manifest in manifest_set.manifests]
    pairs = zip(manifests, manifest_set.homes, strict=True)
    sources = {identity_of(manifest): file for manifest, (_, file) in pairs if manifest["kind"] == "JobSet" and file}
    in_sources = None if manifest_set.session is None else _in_sources(manifest_set, manifest_set.session)
    return InGit(manifests, manifest_set.names, in_sources or locate, sources)


def _never_admitted(deployed: InGit, dump: Dump, kueue: str | None) -> dict[JobKey, list[Wait]]:
    """Why the queues in the dump can never admit JobSets that are suspended; nothing if the dump has no queues."""
    judge = ask("fits", "never")
    if judge is None or not dump.of("ClusterQueue"):
        return {}
    waiting = []
    for manifest in deployed.manifests:
        if manifest["kind"] == "JobSet":
            metadata = manifest["metadata"]
            live = dump.get("JobSet", str(metadata.get("namespace") or ""), str(metadata["name"]))
            if live is not None and live_objects.state_of(live)[0] == "suspended":
                waiting.append(manifest)
    return {
        key: [
            Wait("trainc fits", f"{finding.code}: {finding.message}", finding.hint, finding.path)
            for finding in findings
        ]
        for key, findings in judge(waiting, dump, kueue).items()
    }


def _in_namespace(manifest: Manifest, namespace: str) -> Manifest:
    metadata = manifest["metadata"]
    if not namespace or metadata.get("namespace"):
        return manifest
    return {**manifest, "metadata": {**metadata, "namespace": namespace}}


def _in_sources(manifest_set: ManifestSet, session: Session) -> Callable[[JobKey, Path], str]:
    """Finds the line of a source that set a field, by compiling its job under observation."""
    jobs = manifest_set.trainjobs

    def locate(job: JobKey, path: Path) -> str:
        source = jobs.get((job[0], manifest_set.names.get(job, job[1])))
        jobset = explained_jobset(session, source) if source else None
        return _file_and_line(source_of(jobset, path) if jobset else None)

    return locate


def _file_and_line(source: Source | None) -> str:
    return f"{os.path.normpath(source.file)}:{source.line}" if source is not None and source.file else ""
