"""Why jobs of a dump do not run: the cause, where it stands, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from trainc.api.cluster import Dump, live_objects
from trainc.api.documents import opening
from trainc.api.findings import Path, Source
from trainc.api.kube import POD_SPEC, Json, documents, mapping, names, objects
from trainc.api.records import dataclass, pattern

Key: TypeAlias = tuple[str, str, str]  # kind, namespace, name
# What conditions, states and events mean, each as a sentence about the object and what to do. Conditions are listed by kind,
# by type with status, and by reason ("" for any other).
DATA: Json = opening.read_data(__file__, "reasons.json")
# Kinds and groups, from the inside out: what a pod says is more often the cause than what is said of its job.
_KINDS = {"Pod": "", "PodGroup": "scheduling.volcano.sh", "Job": "batch", "Workload": names.KUEUE_GROUP, "JobSet": "jobset.x-k8s.io", "TrainJob": "trainer.kubeflow.org"}  # fmt: skip
# Hints to look where the dump shows a cause anyway.
_LOOK_INSIDE = ("check its JobSet and pods", "check the exit code and logs of its pods")
# A deactivated Workload has two reasons in one: DeactivatedDueTo<reason of DeactivationTarget>.
_DEACTIVATED = "DeactivatedDueTo"
_ENDED = {"Complete", "Completed", "Failed"}
_PRIORITY = "kueue.x-k8s.io/priority-class"
# Labels that JobSet's controller sets on Jobs and pods.
_JOBSET, _STEP = "jobset.sigs.k8s.io/jobset-name", "jobset.sigs.k8s.io/replicatedjob-name"
# What reasons.json calls the settings that are not of a pod.
_SETTINGS: Mapping[str, Path] = {
    "queue": ("metadata", "labels", names.QUEUE_LABEL),
    "priority": ("metadata", "labels", _PRIORITY),
    "suspend": ("spec", "suspend"),
    "failurePolicy": ("spec", "failurePolicy"),
    "startupPolicy": ("spec", "startupPolicy"),
    "ttlSecondsAfterFinished": ("spec", "ttlSecondsAfterFinished"),
}
_OF_CONTAINERS = ("image", "command", "env", "resources")
_NAMED_RESOURCE = pattern(r"quota for ([a-z0-9.-]+/[a-z0-9.-]+|cpu|memory)|Insufficient ([a-z0-9./-]*[a-z0-9])")
_RESTARTS_ARE_MANY = 3


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why an object of a dump does not run: the object and the field that say so, and what to do (`hint`).

    `setting` is the path in the JobSet of what could change it, empty if nothing there could. `source` is the line that
    sets it in git, or the line of a log; None where that is not known.
    """

    object: str
    cause: str
    path: str = ""
    source: Source | None = None
    hint: str = ""
    setting: Path = ()


class _Cause(NamedTuple):
    """A cause as it is found: `setting` is its name or its path, and `container` the container that has it."""

    object: Key
    cause: str
    path: str
    hint: str
    setting: str | Path = ""
    container: str = ""


def why(objects: Sequence[Json]) -> list[Waiting]:
    """Say why TrainJobs, JobSets, Workloads, Jobs and pods of a dump do not run.

    `objects` is what `kubectl get -o yaml` prints, as Lists or single objects. What runs is not mentioned.
    """
    return [waiting for found in causes_by_job(Dump.of_objects(objects)).values() for waiting in found]


def causes_by_job(dump: Dump) -> dict[str, list[Waiting]]:
    """The causes by job, `namespace/name`: that of the TrainJob, or what a JobSet, Job or pod belongs to otherwise."""
    return _Why(dump).by_job()


class _Why:
    def __init__(self, dump: Dump) -> None:
        self.dump = dump
        self.objects: dict[Key, Json] = {
            (kind, namespace, name): document
            for kind, group in _KINDS.items()
            for (namespace, name), document in dump.of_group(group, kind).items()
        }
        self.events: dict[Key, list[tuple[Key, Json]]] = {}
        for (namespace, name), event in dump.of("Event").items():
            about = mapping(event.get("involvedObject")) or mapping(event.get("regarding"))
            key = str(about.get("kind")), str(about.get("namespace") or namespace), str(about.get("name"))
            if event.get("type") == "Warning":
                self.events.setdefault(key, []).append((("Event", namespace, name), event))
        self._owners: dict[Key, Key] = {}
        self.workloads = {self.owner(key): key for key in self.objects if key[0] == "Workload"}

    def owner(self, key: Key) -> Key:
        """The object of the dump, or named by one, that an object was made for at last."""
        seen: dict[Key, None] = {}
        while key not in seen and key not in self._owners:
            seen[key] = None
            document = self.objects.get(key, {})
            if jobset := live_objects.labels_of(document).get(_JOBSET):
                key = "JobSet", key[1], str(jobset)
                continue
            made_by = live_objects.controller_of(document) or next(iter(objects(mapping(document.get("metadata")).get("ownerReferences"))), None)  # fmt: skip
            if made_by:
                key = str(made_by.get("kind")), key[1], str(made_by.get("name"))
        last = self._owners.get(key, key)
        self._owners.update(dict.fromkeys(seen, last))
        return last

    def by_job(self) -> dict[str, list[Waiting]]:
        found: dict[str, dict[str, Waiting]] = {}
        for key, document in self.objects.items():
            _, namespace, name = self.owner(key)
            causes = found.setdefault(f"{namespace}/{name}".lstrip("/"), {})
            jobset = self.objects.get(("JobSet", namespace, name), {})
            step = live_objects.labels_of(document).get(_STEP)
            new = [cause for cause in self._causes(key, document) if not causes or cause.hint not in _LOOK_INSIDE]
            for each in new:
                # One cause of many pods of a job is listed once.
                if each.cause not in causes:
                    setting = _path_of(each, jobset, step)
                    causes[each.cause] = Waiting(_label(each.object), each.cause, each.path, None, each.hint, setting)
        return {job: list(causes.values()) for job, causes in sorted(found.items()) if causes}

    def _causes(self, key: Key, document: Json) -> Iterator[_Cause]:
        kind, status = key[0], mapping(document.get("status"))
        if kind == "Workload":
            yield from self._of_workload(key, document)
            return
        held = kind in ("TrainJob", "JobSet") and self._is_queued(key, document)
        events = [] if _types(document) & _ENDED else list(self._of_events(key))
        yield from events
        if kind == "Pod":
            yield from self._of_pod(key, document)
        if kind == "JobSet":
            yield from _of_steps(key, document)
        yield from (w for w in _of_conditions(key, status, kind) if not held or 'type="Suspended"' not in w.path)
        if kind in ("TrainJob", "JobSet"):
            yield from self._of_job(key, document, is_reported=bool(events))

    def _is_queued(self, key: Key, document: Json) -> bool:
        """Return whether something else than the job itself suspends it: Kueue, or the TrainJob that it was made for."""
        owner = self.owner(key)
        return owner != key or owner in self.workloads or names.QUEUE_LABEL in live_objects.labels_of(document)

    def _of_job(self, key: Key, document: Json, *, is_reported: bool) -> Iterator[_Cause]:
        spec, labels = mapping(document.get("spec")), live_objects.labels_of(document)
        if _types(document) & _ENDED:
            if spec.get("ttlSecondsAfterFinished") is not None:
                cause = f"it has ended, and is deleted {spec['ttlSecondsAfterFinished']} seconds later: as long as git has it, it would then run again"
                yield _Cause(
                    key,
                    cause,
                    "spec.ttlSecondsAfterFinished",
                    "remove the job from git once it has ended",
                    "ttlSecondsAfterFinished",
                )
            return
        if self.owner(key) != key:
            return
        is_suspended = spec.get("suspend") is True
        if labels.get(names.QUEUE_LABEL) or key in self.workloads:
            yield from self._of_queued(key, labels, is_suspended=is_suspended)
        elif key[0] == "TrainJob" and not mapping(document.get("status")) and not is_suspended and not is_reported:
            hint = "is the controller running? `trainc doctor` checks"
            yield _Cause(key, "Trainer's controller has not acted on it", "status", hint)

    def _of_queued(self, key: Key, labels: Json, *, is_suspended: bool) -> Iterator[_Cause]:
        """What a job that names a queue lacks beside what its Workload says, which is suspended if it has one."""
        workload, name = self.objects.get(self.workloads.get(key, key), {}), labels.get(_PRIORITY)
        queue_label, classes = f'metadata.labels["{names.QUEUE_LABEL}"]', "WorkloadPriorityClass"
        if key in self.workloads:
            if is_suspended and "Admitted" in _types(workload):
                hint = (
                    f"check Kueue's log: does it know this version of {key[0]}s? `trainc doctor` compares the versions"
                )
                yield _Cause(key, "Kueue has admitted it, and it is still suspended", "spec.suspend", hint)
        elif not self.dump.of_group(names.KUEUE_GROUP, "Workload"):
            if is_suspended:
                cause = "it waits for Kueue, whose Workloads the dump does not have"
                yield _Cause(key, cause, queue_label, "add them: `trainc help dump`", "queue")
        elif name and self.dump.covers(classes) and not self.dump.get(classes, "", str(name)):
            cause = f"WorkloadPriorityClass {name} does not exist, so Kueue makes no Workload for it"
            yield _Cause(
                key, cause, f'metadata.labels["{_PRIORITY}"]', "create the class, or change the label", "priority"
            )
        elif is_suspended:
            cause = "Kueue has made no Workload for it, although it names a queue"
            yield _Cause(
                key, cause, queue_label, "check its events; is Kueue's integration for this kind turned on?", "queue"
            )

    def _of_workload(self, key: Key, document: Json) -> Iterator[_Cause]:
        spec, status = mapping(document.get("spec")), mapping(document.get("status"))
        held = {str(c.get("type")): c for c in objects(status.get("conditions"))}
        is_true = _types(document)
        found = list(_of_conditions(key, status, "Workload"))
        if "Finished" in is_true:
            yield from (cause for cause in found if 'type="Finished"' in cause.path)
            return
        if spec.get("active") is False:
            yield _deactivated(key, held)
            return
        yield from self._of_events(key)
        reported: set[str] = set()
        for i, check in enumerate(objects(status.get("admissionChecks"))):
            if check.get("state") in ("Pending", "Retry", "Rejected"):
                cause = with_message(f"admission check {check.get('name')} is {check['state']}", check.get("message"))
                hint = (
                    "correct what the check objects to" if check["state"] == "Rejected" else "check what it waits for"
                )
                if check["state"] != "Pending":
                    reported = {"AdmissionCheck", "Pending", "UnsatisfiedAdmissionChecks"}
                    if at := mapping(status.get("requeueState")).get("requeueAt"):
                        hint += f"; Kueue queues the job again at {at}"
                yield _Cause(key, cause, f"status.admissionChecks[{i}].state", hint)
        has_quota = "QuotaReserved" in is_true
        queues = [] if has_quota else list(self._of_queues(key, str(spec.get("queueName") or "")))
        yield from queues
        for each in found:
            condition = next((c for kind, c in held.items() if f'type="{kind}"' in each.path), {})
            kind, reason = str(condition.get("type")), str(condition.get("reason"))
            follows = kind in ("Admitted", "PodsReady") and held.get("QuotaReserved", {}).get("status") == "False"
            is_known = reason in reported or (queues and "is inactive" in str(condition.get("message")))
            if not follows and not is_known:
                yield each
        if not has_quota and "QuotaReserved" not in held and not found and not queues:
            hint = "check the jobs before it in its queue: `trainc fits --now` lists them"
            yield _Cause(key, "Kueue has not tried it yet: it is behind others in its queue", "status.conditions", hint)

    def _of_queues(self, key: Key, name: str) -> Iterator[_Cause]:
        local = self.dump.get("LocalQueue", key[1], name)
        if local is None:
            if self.dump.covers("LocalQueue", key[1]):
                yield _Cause(
                    key,
                    f"there is no LocalQueue {name} in its namespace",
                    "spec.queueName",
                    "create it, or change the label of the job",
                    "queue",
                )
            return
        cluster_queue = str(mapping(local.get("spec")).get("clusterQueue"))
        behind = self.dump.get("ClusterQueue", "", cluster_queue)
        if behind is None and self.dump.covers("ClusterQueue"):
            cause = f"LocalQueue {name} points to ClusterQueue {cluster_queue}, which does not exist"
            yield _Cause(
                ("LocalQueue", key[1], name),
                cause,
                "spec.clusterQueue",
                "create it, or point the LocalQueue to another one",
                "queue",
            )
        for check in self.dump.of("AdmissionCheck").values():
            name_of_check = str(mapping(check.get("metadata")).get("name"))
            if behind and name_of_check in _checks_of(behind):
                at = ("AdmissionCheck", "", name_of_check)
                yield from _of_conditions(at, mapping(check.get("status")), "AdmissionCheck")
        is_reported = False
        for at, queue in ((("ClusterQueue", "", cluster_queue), behind or {}), (("LocalQueue", key[1], name), local)):
            known = list(_of_conditions(at, mapping(queue.get("status")), "Queue"))
            # The LocalQueue only repeats what the ClusterQueue is said to lack.
            yield from (w for w in known if not is_reported or "its ClusterQueue is not active" not in w.cause)
            policy = mapping(queue.get("spec")).get("stopPolicy")
            if policy not in (None, "None") and not known:
                yield _Cause(
                    at,
                    f"{at[0]} {at[2]}: it is stopped (stopPolicy: {policy})",
                    "spec.stopPolicy",
                    "ask the administrator of the queues",
                    "queue",
                )
            is_reported = bool(known)

    def _of_pod(self, key: Key, document: Json) -> Iterator[_Cause]:
        """What a pod's claims, its node and its containers say."""
        for volume in objects(mapping(document.get("spec")).get("volumes")):
            claim = mapping(volume.get("persistentVolumeClaim")).get("claimName")
            if claim and mapping(document.get("status")).get("phase") == "Pending":
                yield from self._of_events(("PersistentVolumeClaim", key[1], str(claim)))
        yield from _of_pod(key, mapping(document.get("status")))

    def _of_events(self, key: Key) -> Iterator[_Cause]:
        for place, event in self.events.get(key, ()):
            message = str(event.get("message") or "")
            known = (meaning for words, *meaning in DATA["events"] if words.casefold() in message.casefold())
            meaning = next(known, DATA["event reasons"].get(str(event.get("reason"))))
            if meaning:
                yield _Cause(place, with_message(f"{key[0]} {key[2]}: {meaning[0]}", message), "message", *meaning[1:])


def _types(document: Json) -> set[str]:
    """The types of an object's conditions that are true."""
    return {str(condition.get("type")) for condition in live_objects.true_conditions(document)}


def _checks_of(queue: Json) -> set[str]:
    """The names of the admission checks of a ClusterQueue."""
    spec = mapping(queue.get("spec"))
    listed = objects(mapping(spec.get("admissionChecksStrategy")).get("admissionChecks"))
    of_v1beta1 = spec.get("admissionChecks")
    return {str(check.get("name")) for check in listed} | set(
        map(str, of_v1beta1 if isinstance(of_v1beta1, list) else ())
    )


def _deactivated(key: Key, held: Mapping[str, Json]) -> _Cause:
    """Why a Workload was deactivated: it never runs until somebody activates it."""
    by = held.get("Evicted") or held.get("DeactivationTarget") or held.get("Requeued") or {}
    reason = str(by.get("reason")).removeprefix(_DEACTIVATED)
    table = DATA["conditions"]["Workload"]
    known = table["DeactivationTarget True"].get(reason) or table["Evicted True"].get(reason)
    meaning, hint, *setting = known or ("", "set spec.active: true on the Workload to queue it again")
    if "spec.active" not in hint:
        hint += "; then set spec.active: true on the Workload"
    cause = with_message(f"it was deactivated{f': {meaning}' if meaning and meaning != 'it was deactivated' else ''}", by.get("message"))  # fmt: skip
    return _Cause(key, cause, "spec.active", hint, *setting)


def _of_conditions(key: Key, status: Json, kind: str) -> Iterator[_Cause]:
    for condition in objects(status.get("conditions")):
        of_type, reason = str(condition.get("type")), str(condition.get("reason") or "")
        meanings = DATA["conditions"].get(kind, {}).get(f"{of_type} {condition.get('status')}", {})
        if meaning := meanings.get(reason, meanings.get("")):
            cause, hint, *setting = meaning
            message = str(condition.get("message") or "")
            if reason in ("Pending", "Inadmissible"):
                cause, hint, *setting = next((known for words, *known in DATA["messages"] if words in message), meaning)
            if kind == "Pod" and (known := [row for words, *row in DATA["unschedulable"] if words in message]):
                hint, setting = "; ".join(what for what, _ in known), known[0][1:]
            if kind in ("Queue", "AdmissionCheck"):
                cause = f"{key[0]} {key[2]}: {cause}"
            yield _Cause(
                key, with_message(cause, message), f'status.conditions[type="{of_type}"].reason', hint, *setting
            )


def _of_steps(key: Key, document: Json) -> Iterator[_Cause]:
    """What a JobSet's replicated jobs wait for, and how often it was restarted."""
    spec, status = mapping(document.get("spec")), mapping(document.get("status"))
    steps = {str(step.get("name")): step for step in objects(status.get("replicatedJobsStatus"))}
    if spec.get("suspend") is True or status.get("terminalState"):
        return
    for i, job in enumerate(objects(spec.get("replicatedJobs"))):
        for j, needed in enumerate(objects(job.get("dependsOn"))):
            step = steps.get(str(needed.get("name")), {})
            field = "succeeded" if needed.get("status") == "Complete" else "ready"
            if not step.get(field) and not (field == "ready" and step.get("succeeded")):
                word = "complete" if field == "succeeded" else "ready"
                cause = f"{job.get('name')} starts only when {needed.get('name')} is {word}"
                path = f"spec.replicatedJobs[{i}].dependsOn[{j}]"
                yield _Cause(
                    key,
                    cause,
                    path,
                    f"check the pods of {needed.get('name')}",
                    ("spec", "replicatedJobs", i, "dependsOn", j),
                )
    restarts = status.get("restarts")
    if isinstance(restarts, int) and restarts >= _RESTARTS_ARE_MANY:
        most = mapping(spec.get("failurePolicy")).get("maxRestarts")
        cause = f"it was restarted {restarts} times" + (f" of {most}" if isinstance(most, int) else "")
        yield _Cause(key, cause, "status.restarts", "check the logs of the pod that failed first", "failurePolicy")


def _of_pod(key: Key, status: Json) -> Iterator[_Cause]:
    if status.get("reason") in ("Evicted", "NodeLost", "Preempting", "Shutdown", "Terminated"):
        cause = with_message(f"its node ended it ({status['reason']})", status.get("message"))
        yield _Cause(key, cause, "status.reason", "check the node; a job that saves checkpoints can go on from there")
    for field in ("initContainerStatuses", "containerStatuses"):
        for i, container in enumerate(objects(status.get(field))):
            state, name = mapping(container.get("state")), container.get("name")
            waiting = mapping(state.get("waiting"))
            if known := DATA["container"].get(str(waiting.get("reason"))):
                meaning, hint, setting = known
                cause = with_message(f"container {name}: {meaning}", waiting.get("message"))
                yield _Cause(key, cause, f"status.{field}[{i}].state.waiting", hint, setting, str(name))
            for part, ended in (("state", state), ("lastState", mapping(container.get("lastState")))):
                yield from _of_end(
                    key, name, mapping(ended.get("terminated")), f"status.{field}[{i}].{part}.terminated"
                )


def _of_end(key: Key, name: Any, ended: Json, path: str) -> Iterator[_Cause]:
    code = ended.get("exitCode")
    if not isinstance(code, int) or code == 0:
        return
    out_of_memory = ended.get("reason") == "OOMKilled"
    unknown = ("its program failed", "check its logs", "command")
    meaning, hint, setting = DATA["out of memory"] if out_of_memory else DATA["exit codes"].get(str(code), unknown)
    cause = with_message(f"container {name}: {meaning}, exit code {code}", ended.get("message"))
    yield _Cause(key, cause, path, hint, setting, str(name))


_LONGEST = 300


def with_message(sentence: str, message: Any) -> str:
    """A sentence with what the cluster says about it, on one line."""
    line = " ".join(str(message or "").split())
    return f"{sentence}: {line[:_LONGEST]}{'…' if len(line) > _LONGEST else ''}" if line else sentence


def _label(key: Key) -> str:
    kind, namespace, name = key
    return f"{kind} {documents.qualified(namespace, name)}"


def _path_of(cause: _Cause, jobset: Json, step: Any) -> Path:
    """The path in a JobSet of the setting that a cause is about, of the replicated job `step`, or of any without one."""
    if not cause.setting or not isinstance(cause.setting, str):
        return cause.setting or ()
    if cause.setting in _SETTINGS:
        return _SETTINGS[cause.setting]
    of_step = [
        (("spec", "replicatedJobs", i), job)
        for i, job in enumerate(objects(mapping(jobset.get("spec")).get("replicatedJobs")))
        if step in (None, job.get("name"))
    ]
    if cause.setting not in _OF_CONTAINERS:
        return next(((*path, *POD_SPEC, cause.setting) for path, _ in of_step), ())
    containers = [
        ((*path, *POD_SPEC, kind, j), container)
        for path, job in of_step
        for kind in ("containers", "initContainers")
        for j, container in enumerate(objects(documents.pod_spec_of(job).get(kind)))
        if cause.container in ("", container.get("name"))
    ]
    if cause.setting == "resources" and (named := _NAMED_RESOURCE.search(cause.cause)):
        for path, container in containers:
            for kind in ("limits", "requests"):
                resource = named[1] or named[2]
                if resource in mapping(mapping(container.get("resources")).get(kind)):
                    return (*path, "resources", kind, resource)
    return next(((*path, cause.setting) for path, _ in containers), ())
