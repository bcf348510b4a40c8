"""Why a job of the cluster waits or fails, as far as its conditions, Kueue's Workload, its pods and events in a dump say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.api.cluster import Dump, live_objects
from trainc.api.findings import Path
from trainc.api.kube import POD_SPEC, Json, documents, mapping, names, objects
from trainc.api.records import dataclass, pattern

# Labels that JobSet's controller sets on jobs and pods.
_JOBSET = "jobset.sigs.k8s.io/jobset-name"
_STEP = "jobset.sigs.k8s.io/replicatedjob-name"
_MOST_SHOWN = 5
_NAMED_RESOURCE = pattern(r"quota for ([a-z0-9.-]+/[a-z0-9.-]+|cpu|memory)")
_IMAGE_REASONS = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")


@dataclass(frozen=True, slots=True)
class Wait:
    """A reason: who says so, its message, and what could change it: the path in the JobSet, and its location in git."""

    by: str
    reason: str
    message: str
    path: Path = ()
    location: str = ""

    def __str__(self) -> str:
        return f"{self.by}: {': '.join(filter(None, (self.reason, self.message)))}"


class Waiting:
    """What a dump has about the jobs in it, by namespace and JobSet."""

    def __init__(self, dump: Dump) -> None:
        """Index the Workloads, pods, Jobs and events of a dump."""
        self._has_workloads = bool(dump.of_group(names.KUEUE_GROUP, "Workload"))
        self._workloads: dict[tuple[str, str], Json] = {}
        for (namespace, _), document in dump.of_group(names.KUEUE_GROUP, "Workload").items():
            owner = live_objects.controller_of(document)
            if owner is not None and owner.get("kind") == "JobSet":
                self._workloads[namespace, str(owner.get("name"))] = document
        self._parts: dict[tuple[str, str], list[tuple[str, str, Json]]] = {}
        for kind in ("Job", "Pod"):
            for (namespace, name), document in dump.of(kind).items():
                jobset = namespace, str(live_objects.labels_of(document).get(_JOBSET))
                self._parts.setdefault(jobset, []).append((kind, name, document))
        self._events: dict[tuple[str, str, str], list[Json]] = {}
        for (namespace, _), event in dump.of("Event").items():
            about = mapping(event.get("involvedObject")) or mapping(event.get("regarding"))
            if event.get("type") == "Warning":
                key = str(about.get("namespace") or namespace), str(about.get("kind")), str(about.get("name"))
                self._events.setdefault(key, []).append(event)

    def reasons(self, live: Json, manifest: Json) -> tuple[Wait, ...]:
        """Why a JobSet of the cluster waits or fails; `manifest` is the one of git. Each reason is given once."""
        metadata = mapping(live.get("metadata"))
        key = str(metadata.get("namespace") or ""), str(metadata.get("name"))
        failed = (condition for condition in live_objects.true_conditions(live) if condition.get("type") == "Failed")
        waits = [Wait("JobSet", str(c.get("reason") or ""), _line(c.get("message"))) for c in failed]
        waits += [*self._of_queue(key, live, manifest), *self._of_pods(key, manifest)]
        return tuple(dict.fromkeys((*waits, *self._of_events(key))))[:_MOST_SHOWN]

    def _of_queue(self, key: tuple[str, str], live: Json, manifest: Json) -> Iterator[Wait]:
        suspended = mapping(live.get("spec")).get("suspend") is True
        if not suspended:
            return
        queue = live_objects.labels_of(live).get(names.QUEUE_LABEL)
        workload = self._workloads.get(key)
        if workload is None:
            if queue is None:
                in_git = mapping(manifest.get("spec")).get("suspend") is True
                reason = "git says suspend: true" if in_git else "it was suspended by hand, and no queue will admit it"
                yield Wait("JobSet", "", reason, ("spec", "suspend") if in_git else ())
            elif self._has_workloads:
                path = ("metadata", "labels", names.QUEUE_LABEL)
                yield Wait("Kueue", "", "it has no Workload: Kueue does not manage it", path)
            return
        if mapping(workload.get("spec")).get("active") is False:
            yield Wait("Kueue", "Inactive", "the Workload was deactivated (spec.active: false)")
        status = mapping(workload.get("status"))
        for condition in objects(status.get("conditions")):
            kind, holds = condition.get("type"), condition.get("status") == "True"
            if (kind == "QuotaReserved" and not holds) or (kind == "Evicted" and holds):
                message = _line(condition.get("message"))
                yield Wait("Kueue", str(condition.get("reason") or kind), message, _field_of_quota(message, manifest))
        for check in objects(status.get("admissionChecks")):
            if check.get("state") not in ("Ready", None):
                name = f"admission check {check.get('name')} is {check.get('state')}"
                yield Wait("Kueue", name, _line(check.get("message")))

    def _of_pods(self, key: tuple[str, str], manifest: Json) -> Iterator[Wait]:
        for kind, _, pod in self._parts.get(key, ()):
            if kind != "Pod":
                continue
            step = str(live_objects.labels_of(pod).get(_STEP))
            for condition in objects(mapping(pod.get("status")).get("conditions")):
                if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
                    path = _field_of_container(manifest, step, "", "resources")
                    reason, message = str(condition.get("reason") or ""), _line(condition.get("message"))
                    yield Wait(f"pods of {step}", reason, message, path)
            for field in ("initContainerStatuses", "containerStatuses"):
                for status in objects(mapping(pod.get("status")).get(field)):
                    yield from _of_container(status, step, manifest)

    def _of_events(self, key: tuple[str, str]) -> Iterator[Wait]:
        for kind, name in (("JobSet", key[1]), *((kind, name) for kind, name, _ in self._parts.get(key, ()))):
            for event in self._events.get((key[0], kind, name), ()):
                # The same event about each pod or Job of a step is one reason.
                if event.get("reason") != "FailedScheduling" and kind != "Pod":
                    yield Wait(kind, str(event.get("reason") or ""), _line(event.get("message")))


def _of_container(status: Json, step: str, manifest: Json) -> Iterator[Wait]:
    name = str(status.get("name"))
    waiting = mapping(mapping(status.get("state")).get("waiting"))
    reason = str(waiting.get("reason") or "")
    if reason and reason not in ("PodInitializing", "ContainerCreating"):
        path = _field_of_container(manifest, step, name, "image" if reason in _IMAGE_REASONS else "")
        yield Wait(f"container {name} of {step}", reason, _line(waiting.get("message")), path)
    for state in (mapping(status.get("state")), mapping(status.get("lastState"))):
        ended = mapping(state.get("terminated"))
        if ended.get("exitCode") not in (None, 0):
            killed = ended.get("reason") == "OOMKilled"
            path = _field_of_container(manifest, step, name, "resources" if killed else "")
            reason, code = str(ended.get("reason") or "Error"), f"exit code {ended.get('exitCode')}"
            yield Wait(f"container {name} of {step}", reason, code, path)


def _line(message: Any) -> str:
    return " ".join(str(message or "").split())


def _field_of_quota(message: str, manifest: Json) -> Path:
    """The field that asks for the resource that a message names; otherwise the queue."""
    if match := _NAMED_RESOURCE.search(message):
        for path, container in _containers(manifest):
            for kind in ("limits", "requests"):
                if match[1] in mapping(mapping(container.get("resources")).get(kind)):
                    return (*path, "resources", kind, match[1])
    return ("metadata", "labels", names.QUEUE_LABEL)


def _field_of_container(manifest: Json, step: str, name: str, field: str) -> Path:
    """A field of a container, or the container if it does not have the field; without a name, of its first one."""
    for path, container in _containers(manifest, step):
        if not name or container.get("name") == name:
            return (*path, field) if field in container else path
    return ()


def _containers(manifest: Json, step: str | None = None) -> Iterator[tuple[Path, Json]]:
    for i, job in enumerate(objects(mapping(manifest.get("spec")).get("replicatedJobs"))):
        if step is None or job.get("name") == step:
            pod = documents.pod_spec_of(job)
            for kind in ("containers", "initContainers"):
                for j, container in enumerate(objects(pod.get(kind))):
                    yield ("spec", "replicatedJobs", i, *POD_SPEC, kind, j), container
