"""Why jobs of a dump do not run: the cause, where it stands, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from trainc.api.cluster import Dump, live_objects
from trainc.api.documents import opening
from trainc.api.findings import Source
from trainc.api.kube import Json, mapping, names, objects
from trainc.api.records import dataclass

Key: TypeAlias = tuple[str, str, str]  # kind, namespace, name
# What conditions, states and events mean, each as a sentence about the object and what to do. Conditions are listed by kind,
# by type with status, and by reason ("" for any other).
DATA: Json = opening.read_data(__file__, "reasons.json")
_PRIORITY = "kueue.x-k8s.io/priority-class"
_RESTARTS_ARE_MANY = 3


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why an object of a dump does not run: the object and the field that say so, and what to do (`hint`).

    `source` is the line that it was read from, None for objects that do not come from files.
    """

    object: str
    cause: str
    path: str = ""
    source: Source | None = None
    hint: str = ""


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
        groups = (("trainer.kubeflow.org", "TrainJob"), ("jobset.x-k8s.io", "JobSet"), (names.KUEUE_GROUP, "Workload"), ("batch", "Job"), ("", "Pod"))  # fmt: skip
        self.objects: dict[Key, Json] = {
            (kind, namespace, name): document
            for group, kind in groups
            for (namespace, name), document in dump.of_group(group, kind).items()
        }
        self.events: dict[Key, list[tuple[Key, Json]]] = {}
        for (namespace, name), event in dump.of("Event").items():
            about = mapping(event.get("involvedObject")) or mapping(event.get("regarding"))
            key = str(about.get("kind")), str(about.get("namespace") or namespace), str(about.get("name"))
            if event.get("type") == "Warning":
                self.events.setdefault(key, []).append((("Event", namespace, name), event))
        self.workloads = {self.owner(key): key for key in self.objects if key[0] == "Workload"}

    def owner(self, key: Key) -> Key:
        """The object of the dump, or named by one, that an object was made for at last."""
        seen = set()
        while key not in seen:
            seen.add(key)
            document = self.objects.get(key, {})
            made_by = live_objects.controller_of(document) or next(iter(objects(mapping(document.get("metadata")).get("ownerReferences"))), None)  # fmt: skip
            if made_by:
                key = str(made_by.get("kind")), key[1], str(made_by.get("name"))
        return key

    def by_job(self) -> dict[str, list[Waiting]]:
        found: dict[str, dict[Waiting, None]] = {}
        for key, document in self.objects.items():
            _, namespace, name = self.owner(key)
            causes = found.setdefault(f"{namespace}/{name}".lstrip("/"), {})
            # One cause of many pods of a job is listed once.
            known = {waiting.cause for waiting in causes}
            causes.update({waiting: None for waiting in self._causes(key, document) if waiting.cause not in known})
        return {job: list(causes) for job, causes in sorted(found.items()) if causes}

    def _causes(self, key: Key, document: Json) -> Iterator[Waiting]:
        kind, status = key[0], mapping(document.get("status"))
        ended = {str(c.get("type")) for c in live_objects.true_conditions(document)}
        if kind == "Workload":
            yield from self._of_workload(key, document)
            return
        yield from _of_conditions(key, status, kind)
        if kind in ("TrainJob", "JobSet"):
            yield from self._of_job(key, document)
        if kind == "JobSet":
            yield from _of_steps(key, document)
        if kind == "Pod":
            yield from _of_pod(key, status)
        if not ended & {"Complete", "Completed", "Failed"}:
            yield from self._of_events(key)

    def _of_job(self, key: Key, document: Json) -> Iterator[Waiting]:
        spec, labels = mapping(document.get("spec")), live_objects.labels_of(document)
        done = {str(c.get("type")) for c in live_objects.true_conditions(document)} & {
            "Complete",
            "Completed",
            "Failed",
        }
        if done:
            if spec.get("ttlSecondsAfterFinished") is not None:
                cause = f"it has ended, and is deleted {spec['ttlSecondsAfterFinished']} seconds later: as long as git has it, it would then run again"
                yield _waiting(key, cause, "spec.ttlSecondsAfterFinished", "remove the job from git once it has ended")
            return
        queue, owner = labels.get(names.QUEUE_LABEL), self.owner(key)
        if owner != key or owner in self.workloads:
            return
        if queue and self.dump.of_group(names.KUEUE_GROUP, "Workload"):
            name = labels.get(_PRIORITY)
            if (
                name
                and self.dump.covers("WorkloadPriorityClass")
                and not self.dump.get("WorkloadPriorityClass", "", str(name))
            ):
                cause = f"WorkloadPriorityClass {name} does not exist, so Kueue makes no Workload for it"
                yield _waiting(key, cause, f'metadata.labels["{_PRIORITY}"]', "create the class, or change the label")
            elif spec.get("suspend") is True:
                cause = "Kueue has made no Workload for it, although it names a queue"
                hint = "check its events; is Kueue's integration for this kind turned on?"
                yield _waiting(key, cause, f'metadata.labels["{names.QUEUE_LABEL}"]', hint)
        elif key[0] == "TrainJob" and not mapping(document.get("status")) and spec.get("suspend") is not True:
            yield _waiting(
                key,
                "Trainer's controller has not acted on it",
                "status",
                "is the controller running? `trainc doctor` checks",
            )

    def _of_workload(self, key: Key, document: Json) -> Iterator[Waiting]:
        spec, status = mapping(document.get("spec")), mapping(document.get("status"))
        held = {str(c.get("type")): c.get("status") for c in objects(status.get("conditions"))}
        found = list(_of_conditions(key, status, "Workload"))
        if held.get("Finished") == "True":
            yield from (waiting for waiting in found if 'type="Finished"' in waiting.path)
            return
        yield from found
        if spec.get("active") is False and not any(
            held.get(kind) == "True" for kind in ("Evicted", "DeactivationTarget")
        ):
            yield _waiting(key, "it was deactivated", "spec.active", "set spec.active: true to queue it again")
        if held.get("QuotaReserved") != "True":
            yield from self._of_queues(key, str(spec.get("queueName") or ""))
            if "QuotaReserved" not in held and not found and spec.get("active") is not False:
                hint = "check the jobs before it in its queue: `trainc fits --now` lists them"
                yield _waiting(
                    key, "Kueue has not tried it yet: it is behind others in its queue", "status.conditions", hint
                )
        for i, check in enumerate(objects(status.get("admissionChecks"))):
            if check.get("state") in ("Pending", "Retry", "Rejected"):
                cause = with_message(f"admission check {check.get('name')} is {check['state']}", check.get("message"))
                hint = (
                    "check what the check waits for"
                    if check["state"] != "Rejected"
                    else "correct what the check objects to"
                )
                yield _waiting(key, cause, f"status.admissionChecks[{i}].state", hint)
        yield from self._of_events(key)

    def _of_queues(self, key: Key, name: str) -> Iterator[Waiting]:
        local = self.dump.get("LocalQueue", key[1], name)
        if local is None:
            if self.dump.covers("LocalQueue", key[1]):
                yield _waiting(
                    key,
                    f"there is no LocalQueue {name} in its namespace",
                    "spec.queueName",
                    "create it, or change the label of the job",
                )
            return
        cluster_queue = str(mapping(local.get("spec")).get("clusterQueue"))
        behind = self.dump.get("ClusterQueue", "", cluster_queue)
        if behind is None and self.dump.covers("ClusterQueue"):
            cause = f"LocalQueue {name} points to ClusterQueue {cluster_queue}, which does not exist"
            yield _waiting(
                ("LocalQueue", key[1], name),
                cause,
                "spec.clusterQueue",
                "create it, or point the LocalQueue to another one",
            )
        for at, queue in ((("LocalQueue", key[1], name), local), (("ClusterQueue", "", cluster_queue), behind or {})):
            known = list(_of_conditions(at, mapping(queue.get("status")), "Queue"))
            yield from known
            policy = mapping(queue.get("spec")).get("stopPolicy")
            if policy not in (None, "None") and not known:
                yield _waiting(
                    at,
                    f"it is stopped (stopPolicy: {policy})",
                    "spec.stopPolicy",
                    "ask the administrator of the queues",
                )

    def _of_events(self, key: Key) -> Iterator[Waiting]:
        for place, event in self.events.get(key, ()):
            message = str(event.get("message") or "")
            known = (meaning for words, *meaning in DATA["events"] if words.casefold() in message.casefold())
            meaning = next(known, DATA["event reasons"].get(str(event.get("reason"))))
            if meaning:
                yield _waiting(place, with_message(f"{key[0]} {key[2]}: {meaning[0]}", message), "message", meaning[1])


def _of_conditions(key: Key, status: Json, kind: str) -> Iterator[Waiting]:
    for condition in objects(status.get("conditions")):
        of_type, reason = str(condition.get("type")), str(condition.get("reason") or "")
        meanings = DATA["conditions"].get(kind, {}).get(f"{of_type} {condition.get('status')}", {})
        if meaning := meanings.get(reason, meanings.get("")):
            cause = with_message(meaning[0], condition.get("message"))
            yield _waiting(key, cause, f'status.conditions[type="{of_type}"].reason', meaning[1])


def _of_steps(key: Key, document: Json) -> Iterator[Waiting]:
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
                yield _waiting(key, cause, path, f"check the pods of {needed.get('name')}")
    restarts = status.get("restarts")
    if isinstance(restarts, int) and restarts >= _RESTARTS_ARE_MANY:
        most = mapping(spec.get("failurePolicy")).get("maxRestarts")
        cause = f"it was restarted {restarts} times" + (f" of {most}" if isinstance(most, int) else "")
        yield _waiting(key, cause, "status.restarts", "check the logs of the pod that failed first")


def _of_pod(key: Key, status: Json) -> Iterator[Waiting]:
    if status.get("reason") in ("Evicted", "NodeLost", "Preempting", "Shutdown", "Terminated"):
        cause = with_message(f"its node ended it ({status['reason']})", status.get("message"))
        yield _waiting(key, cause, "status.reason", "check the node; a job that saves checkpoints can go on from there")
    for field in ("initContainerStatuses", "containerStatuses"):
        for i, container in enumerate(objects(status.get(field))):
            state, name = mapping(container.get("state")), container.get("name")
            waiting = mapping(state.get("waiting"))
            if meaning := DATA["container"].get(str(waiting.get("reason"))):
                cause = with_message(f"container {name}: {meaning[0]}", waiting.get("message"))
                yield _waiting(key, cause, f"status.{field}[{i}].state.waiting", meaning[1])
            for part, ended in (("state", state), ("lastState", mapping(container.get("lastState")))):
                yield from _of_end(
                    key, name, mapping(ended.get("terminated")), f"status.{field}[{i}].{part}.terminated"
                )


def _of_end(key: Key, name: Any, ended: Json, path: str) -> Iterator[Waiting]:
    code = ended.get("exitCode")
    if not isinstance(code, int) or code == 0:
        return
    out_of_memory = ended.get("reason") == "OOMKilled"
    unknown = ("its program failed", "check its logs")
    meaning = DATA["out of memory"] if out_of_memory else DATA["exit codes"].get(str(code), unknown)
    cause = with_message(f"container {name}: {meaning[0]}, exit code {code}", ended.get("message"))
    yield _waiting(key, cause, path, meaning[1])


_LONGEST = 300


def with_message(sentence: str, message: Any) -> str:
    """A sentence with what the cluster says about it, on one line."""
    line = " ".join(str(message or "").split())
    return f"{sentence}: {line[:_LONGEST]}{'…' if len(line) > _LONGEST else ''}" if line else sentence


def _waiting(key: Key, cause: str, path: str, hint: str) -> Waiting:
    kind, namespace, name = key
    return Waiting(f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}", cause, path, None, hint)
