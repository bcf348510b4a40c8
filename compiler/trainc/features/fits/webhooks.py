"""Why Kueue refuses a JobSet outright: its JobSet webhook, its Workload webhook and the schema of a Workload.

Source: kubernetes-sigs/kueue pkg/controller/jobframework/{validation,tas_validation}.go, pkg/webhooks/workload_webhook.go,
apis/kueue/v1beta2/workload_types.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TypeAlias

from trainc.api.kube import POD_SPEC, Json, names, parse_quantity
from trainc.api.records import pattern
from trainc.features.fits import workload
from trainc.features.fits.workload import (
    GROUP,
    PREFERRED,
    PREFIX,
    REQUIRED,
    SLICE_LAYERS,
    SLICE_LEVEL,
    SLICE_SIZE,
    UNCONSTRAINED,
)
from trainc.kube.kueue import DEFAULT, FALSE_REFUSED, PARTIAL_SLICES, SLICED_GROUPS

Annotations: TypeAlias = Mapping[str, str]
Place: TypeAlias = tuple[str | int, ...]
Refusal: TypeAlias = tuple[str, Place, str]

MOST_POD_SETS = 18
_MOST_LAYERS = 3
_LONGEST_LEVEL = 63
_MAX_SECONDS = f"{PREFIX}max-exec-time-seconds"
_PREBUILT = f"{PREFIX}prebuilt-workload-name"
_ELASTIC = f"{PREFIX}elastic-job"
_GATED = f"{PREFIX}admission-gated-by"
_INTEGER = pattern(r"[+-]?[0-9]+")
_UNSIGNED = pattern(r"[0-9]+")
_ANNOTATIONS_SIZE = 256 * 1024


def refusals(jobset: Json, queue: str, kueue: str = DEFAULT) -> list[Refusal]:
    """Every reason for refusing a JobSet, as (cause, path in the JobSet, message).

    The cause is "jobset-webhook", "workload-schema" or "workload-webhook"; each stage is reported only if the previous
    ones pass. Only a JobSet with a `queue` becomes a Workload. `kueue` is a step of kube.kueue.
    """
    first = _jobset_webhook(jobset, kueue)
    if reasons := [("jobset-webhook", *one) for one in first if not _defaulted(one[0], jobset, queue)]:
        return reasons
    for cause, rules in (("workload-schema", _workload_schema), ("workload-webhook", _workload_webhook)):
        if queue and (reasons := [(cause, *one) for one in rules(jobset)]):
            return reasons
    return []


def _defaulted(place: Place, jobset: Json, queue: str) -> bool:
    """Whether a refusal is about an empty queue name, which Kueue replaces by the queue `default` if that exists."""
    labels = (jobset.get("metadata") or {}).get("labels") or {}
    return bool(queue) and place == ("metadata", "labels", workload.QUEUE) and not labels.get(workload.QUEUE)


def _jobset_webhook(jobset: Json, kueue: str) -> Iterator[tuple[Place, str]]:
    metadata = jobset.get("metadata") or {}
    yield from _metadata(metadata.get("labels") or {}, metadata.get("annotations") or {})
    jobs = workload.replicated_jobs(jobset)
    for i, job in enumerate(jobs):
        for key, message in _topology(workload.pod_annotations(job), workload.pod_count(job), kueue):
            yield (*_pods(i), "metadata", "annotations", *((key,) if key else ())), message
    yield from _groups(jobs)


def _pods(i: int) -> Place:
    return ("spec", "replicatedJobs", i, *POD_SPEC[:-1])


def _metadata(labels: Annotations, annotations: Annotations) -> Iterator[tuple[Place, str]]:
    queue, seconds = labels.get(workload.QUEUE), labels.get(_MAX_SECONDS)
    if queue is not None and not names.is_subdomain(str(queue)):
        yield (
            ("metadata", "labels", workload.QUEUE),
            f"{queue!r} is not a valid LocalQueue name (a lowercase DNS name)",
        )
    if seconds is not None and not _positive(str(seconds)):
        yield ("metadata", "labels", _MAX_SECONDS), f"{seconds!r} is not a positive number of seconds"
    yield from _prebuilt(labels, annotations)
    if annotations.get(_ELASTIC) == "true":
        yield ("metadata", "annotations", _ELASTIC), "Kueue does not support elastic JobSets"
    if annotations.get(_GATED):
        yield from _gates(str(annotations[_GATED]))


def _positive(text: str) -> bool:
    return _INTEGER.fullmatch(text) is not None and 0 < int(text) < 2**63


def _prebuilt(labels: Annotations, annotations: Annotations) -> Iterator[tuple[Place, str]]:
    kind = "annotations" if annotations.get(_PREBUILT) else "labels"
    name = (annotations if kind == "annotations" else labels).get(_PREBUILT)
    if name is not None and not names.is_subdomain(str(name)):
        yield ("metadata", kind, _PREBUILT), f"{name!r} is not a valid Workload name (a lowercase DNS name)"


def _gates(value: str) -> Iterator[tuple[Place, str]]:
    gates = [gate.strip() for gate in value.split(",")] if value.strip() else []
    for gate in gates:
        domain, slash, path = gate.partition("/")
        if not (slash and names.is_subdomain(domain) and path) or len(gate) > _LONGEST_LEVEL:
            yield (
                ("metadata", "annotations", _GATED),
                f"{gate!r} is not a valid gate: write domain/name, at most 63 characters",
            )
    if len(set(gates)) != len(gates):
        yield ("metadata", "annotations", _GATED), "the list contains a gate twice"


def _topology(written: Annotations, count: int, kueue: str) -> Iterator[tuple[str, str]]:
    """Problems with the topology annotations of a pod template with `count` pods, as (annotation, message)."""
    if sum(key in written for key in (REQUIRED, PREFERRED, UNCONSTRAINED)) > 1:
        yield "", "only one of required, preferred and unconstrained topology can be set"
    for key in (REQUIRED, PREFERRED, SLICE_LEVEL):
        if key in written and not names.is_label_key(written[key]):
            yield key, f"{written[key]!r} is not a valid label of a topology level"
    if UNCONSTRAINED in written and written[UNCONSTRAINED] not in workload.BOOLEANS:
        yield UNCONSTRAINED, f"{written[UNCONSTRAINED]!r} is not a boolean, such as true"
    if kueue in FALSE_REFUSED and not workload.BOOLEANS.get(written.get(UNCONSTRAINED, "true"), True):
        yield UNCONSTRAINED, f"it cannot be {written[UNCONSTRAINED]!r}: leave it out instead"
    if GROUP in written:
        yield from _group_alone(written, kueue)
    yield from _slices(written, count)
    if SLICE_LAYERS in written:
        yield from _layers(written, count, kueue)


def _group_alone(written: Annotations, kueue: str) -> Iterator[tuple[str, str]]:
    if _UNSIGNED.fullmatch(written[GROUP]) and int(written[GROUP]) < 2**64:
        yield GROUP, "the name of a group cannot be a number"
    for key in (SLICE_SIZE, SLICE_LEVEL, SLICE_LAYERS):
        if key in written and kueue not in SLICED_GROUPS:
            yield GROUP, f"a group cannot have slices ({key})"
    if REQUIRED not in written and PREFERRED not in written:
        yield GROUP, f"a group needs {REQUIRED} or {PREFERRED}"


def _slices(written: Annotations, count: int) -> Iterator[tuple[str, str]]:
    size = written.get(SLICE_SIZE)
    if size is not None:
        if not _INTEGER.fullmatch(size) or not -(2**31) <= int(size) < 2**31:
            yield SLICE_SIZE, f"{size!r} is not a number"
        elif int(size) < 1:
            yield SLICE_SIZE, "a slice has at least one pod"
        elif int(size) > count:
            yield SLICE_SIZE, f"a slice of {size} pods is larger than the whole pod set of {count}"
        if SLICE_LEVEL not in written:
            yield SLICE_SIZE, f"it needs {SLICE_LEVEL}"
    elif SLICE_LEVEL in written:
        yield SLICE_LEVEL, f"it needs {SLICE_SIZE}"


def _layers(written: Annotations, count: int, kueue: str) -> Iterator[tuple[str, str]]:
    for key in (SLICE_LEVEL, SLICE_SIZE):
        if key in written:
            yield SLICE_LAYERS, f"it cannot be combined with {key}"
    try:
        layers = workload.slice_layers(written[SLICE_LAYERS])
    except ValueError as error:
        yield SLICE_LAYERS, f"it is not a JSON array of {{topology, size}}: {error}"
        return
    if not 1 <= len(layers) <= _MOST_LAYERS:
        yield SLICE_LAYERS, f"it needs one to three layers, not {len(layers)}"
        return
    for message in _layer_faults(layers):
        yield SLICE_LAYERS, message
    if layers[0][1] > count:
        yield SLICE_LAYERS, f"a slice of {layers[0][1]} pods is larger than the whole pod set of {count}"
    elif kueue in PARTIAL_SLICES and len(layers) > 1 and layers[0][1] > 0 and count % layers[0][1]:
        yield SLICE_LAYERS, f"with several layers, the {count} pods must divide into slices of {layers[0][1]}"


def _layer_faults(layers: list[tuple[str, int]]) -> Iterator[str]:
    for level, size in layers:
        if not names.is_label_key(level):
            yield f"{level!r} is not a valid label of a topology level"
        if size < 1:
            yield f"a layer has a size of {size}: a slice has at least one pod"
    for (_, outer), (_, inner) in pairwise(layers):
        if inner > 0 and abs(outer) % inner:
            yield f"a layer of {outer} pods cannot be divided into slices of {inner}"
    if len({level for level, _ in layers}) != len(layers):
        yield "two layers have the same level"


def _groups(jobs: list[Json]) -> Iterator[tuple[Place, str]]:
    groups: dict[str, list[int]] = {}
    for i, job in enumerate(jobs):
        written = workload.pod_annotations(job)
        if GROUP in written and (REQUIRED in written or PREFERRED in written):
            groups.setdefault(written[GROUP], []).append(i)
    for name, members in groups.items():
        place = (*_pods(members[0]), "metadata", "annotations", GROUP)
        if len(members) != 2:
            yield place, f"group {name!r} has {len(members)} replicated jobs: it must have exactly 2"
            continue
        if all(workload.pod_count(jobs[i]) != 1 for i in members):
            yield place, f"one of the two replicated jobs of group {name!r} must have a single pod"
        first, second = (_wanted(workload.pod_annotations(jobs[i])) for i in members)
        if first != second:
            yield place, f"both replicated jobs of group {name!r} must request the same topology"


def _wanted(written: Annotations) -> tuple[str | None, str | None]:
    return written.get(REQUIRED), None if REQUIRED in written else written.get(PREFERRED)


def _workload_schema(jobset: Json) -> Iterator[tuple[Place, str]]:
    jobs = workload.replicated_jobs(jobset)
    if not 1 <= len(jobs) <= MOST_POD_SETS:
        yield ("spec", "replicatedJobs"), f"{len(jobs)} replicated jobs: a Workload has 1 to {MOST_POD_SETS} pod sets"
    for i, job in enumerate(jobs):
        requested = workload.topology_request(workload.pod_annotations(job))
        levels: dict[str, list[str | None]] = {
            REQUIRED: [requested.required],
            PREFERRED: [requested.preferred],
            SLICE_LEVEL: [level for level, _ in requested.slices],
        }
        for key, values in levels.items():
            if any(name and len(name) > _LONGEST_LEVEL for name in values):
                yield (*_pods(i), "metadata", "annotations", key), "a topology level has at most 63 characters"
        if requested.group and len(requested.group) > 256:
            yield (*_pods(i), "metadata", "annotations", GROUP), "the name of a group has at most 256 characters"


def _workload_webhook(jobset: Json) -> Iterator[tuple[Place, str]]:
    for i, job in enumerate(workload.replicated_jobs(jobset)):
        template = workload.pod_template(job)
        yield from _template_metadata(template.get("metadata") or {}, (*_pods(i), "metadata"))
        pod = template.get("spec") or {}
        for place, resources in _resource_lists(pod):
            for name, value in resources.items():
                if name == "pods":
                    yield (*_pods(i), "spec", *place, name), "Kueue reserves the resource name `pods`"
                if parse_quantity(str(value)).nanos < 0:
                    yield (*_pods(i), "spec", *place, name), f"{value} is negative"


def _template_metadata(metadata: Json, place: Place) -> Iterator[tuple[Place, str]]:
    for key, value in (metadata.get("labels") or {}).items():
        if not names.is_label_key(key) or not names.is_label_value(str(value)):
            yield (*place, "labels", key), f"{key}: {value} is not a valid label"
    size = 0
    for key, value in (metadata.get("annotations") or {}).items():
        size += names.length(key) + names.length(str(value))
        if not names.is_label_key(key.lower()):
            yield (*place, "annotations", key), f"{key} is not a valid annotation name"
    if size > _ANNOTATIONS_SIZE:
        yield (*place, "annotations"), "the annotations are larger than 256 KiB"


def _resource_lists(pod: Json) -> Iterator[tuple[Place, Json]]:
    for kind in ("initContainers", "containers"):
        for i, container in enumerate(pod.get(kind) or ()):
            for part in ("requests", "limits"):
                yield (kind, i, "resources", part), (container.get("resources") or {}).get(part) or {}
    for part in ("requests", "limits"):
        yield ("resources", part), (pod.get("resources") or {}).get(part) or {}
