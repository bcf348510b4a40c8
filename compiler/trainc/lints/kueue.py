"""Kueue's rules, without Kueue: labels that it reads, where topology requests belong, and what its webhook refuses.

Source: kubernetes-sigs/kueue pkg/controller/jobframework (validation.go, tas_validation.go), apis/kueue/v1beta2
workload_types.go (MaxItems of podSets), pkg/controller/constants/constants.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from trainc.api import names
from trainc.api.name_forms import LABEL_LIMIT, is_dns1123_subdomain, is_qualified_name
from trainc.diagnostics import Finding, Path, Severity
from trainc.ir.entrypoints import JOBS, About
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob

Json = Mapping[str, Any]
_DOMAIN = "kueue.x-k8s.io/"
_PRIORITY = f"{_DOMAIN}priority-class"
_TIME = f"{_DOMAIN}max-exec-time-seconds"
_LABELS = frozenset(
    f"{_DOMAIN}{name}"
    for name in (
        *("queue-name", "priority-class", "max-exec-time-seconds", "prebuilt-workload-name", "managed", "job-uid"),
        *("multikueue-origin", "pod-group-name", "podset", "workload", "concurrent-admission-parent"),
    )
)
_REQUIRED, _PREFERRED, _UNCONSTRAINED, _SLICE, _SLICE_SIZE, _LEVELS, _GROUP = _TOPOLOGY = tuple(
    f"{_DOMAIN}podset-{name}"
    for name in (
        *("required-topology", "preferred-topology", "unconstrained-topology", "slice-required-topology"),
        *("slice-size", "slice-required-topology-constraints", "group-name"),
    )
)
_ANNOTATIONS = frozenset(
    (
        *_TOPOLOGY,
        *(
            f"{_DOMAIN}{name}"
            for name in (
                *("elastic-job", "priority-boost", "prebuilt-workload-name", "job-owner-gvk", "job-owner-name"),
                *("safe-to-forcefully-delete", "workload-allowed-resource-flavors", "component-workload-index"),
                *("retriable-in-group", "pod-group-total-count", "pod-group-fast-admission", "pod-group-serving"),
                *("pod-index-offset", "pod-group-pod-index-label", "role-hash", "workload", "admission-gated-by"),
            )
        ),
    )
)
_BOOLEANS = frozenset(("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"))
_MOST_POD_SETS = 18
_TEMPLATE_METADATA: Path = ("spec", "template", "metadata")


def kueue(job: TrainJob, info: Info) -> Iterator[Finding]:
    """What Kueue would refuse, ignore or wait for in vain. Looks at sized pod sets."""
    queued = names.QUEUE_LABEL in {**info.labels, **job.labels}
    for field, own, runtimes in (
        ("labels", job.labels, _metadata(info, "labels")),
        ("annotations", job.annotations, _metadata(info, "annotations")),
    ):
        for key, value in own.items():
            yield from _key(field, key, str(value), ("metadata", field, key), "trainjob")
        for key, value in runtimes.items():
            if own.get(key) != value:
                yield from _key(field, key, str(value), (*_TEMPLATE_METADATA, field, key), "runtime")
    yield from _nested(info)
    yield from _requests(info, queued)
    if queued:
        yield from _of_queued(job, info)


def _metadata(info: Info, field: str) -> Mapping[str, str]:
    """What of the JobSet's metadata may be the runtime's."""
    return info.labels if field == "labels" else info.annotations


@lru_cache(maxsize=512)
def _concerns_kueue(field: str, key: str) -> bool:
    """Whether a label or annotation is Kueue's, or may be meant to be."""
    return key in _LABELS or key in _TOPOLOGY or (key not in _ANNOTATIONS and bool(_meant(key, field)))


def _key(field: str, key: str, value: str, path: Path, about: About) -> Iterator[Finding]:
    """One label or annotation of the job."""
    if not _concerns_kueue(field, key):
        return
    if field == "labels" and key in _LABELS:
        yield from _value(key, value, path, about)
    elif field == "annotations" and key in _TOPOLOGY:
        message = f"Kueue reads {key} in the pods' template alone, and nobody passes it on"
        yield Finding("MisplacedTopologyRequest", "warning", message, hint=_snippet(key, value), path=path, about=about)
    elif field == "annotations" and key in _LABELS and key not in _ANNOTATIONS:
        message = f"Kueue reads {key} among the labels, and this is an annotation"
        yield Finding(
            "MisspeltKueueName",
            "warning",
            message,
            hint=f"move it to labels: {{{key}: {value}}}",
            path=path,
            about=about,
        )
    elif key not in _LABELS | _ANNOTATIONS and (meant := _meant(key, field)):
        message = f"Kueue reads no {field[:-1]} {key!r}"
        hint = f"did you mean {meant}?" if meant != "?" else f"Kueue's are {', '.join(sorted(_LABELS)[:3])}, ..."
        yield Finding("MisspeltKueueName", "warning", message, hint=hint, path=path, about=about)


def _meant(key: str, field: str) -> str:
    """The name of Kueue's that a key is nearly; "?" where only its domain is Kueue's; empty where it is none of it."""
    from trainc.diagnostics.near_names import edits

    domain, slash, name = key.rpartition("/")
    known = [k.removeprefix(_DOMAIN) for k in (_LABELS if field == "labels" else _LABELS | _ANNOTATIONS)]
    kueues = (
        domain.lower() in ("kueue", "kueues")
        or domain.lower().startswith(("kueue.", "queue.x-k8s"))
        or (bool(slash) and edits(domain.lower(), _DOMAIN[:-1], 3) <= 3)
    )
    near = _near(name, known)
    if kueues:
        return f"{_DOMAIN}{near}" if near else "?"
    plain = name.lower().replace("_", "-")
    if (not slash and plain in ("queue-name", "kueue-queue-name", "kueue-queue")) or (
        slash and plain == "queue-name" and edits(domain, _DOMAIN[:-1], 4) <= 4
    ):
        return names.QUEUE_LABEL
    return ""


def _near(name: str, known: list[str]) -> str:
    from trainc.diagnostics.near_names import misspelt

    lower = name.lower()
    shorter = {
        "queue": "queue-name",
        "queuename": "queue-name",
        "priority": "priority-class",
        "priorityclassname": "priority-class",
        "priority-class-name": "priority-class",
        "localqueue": "queue-name",
        "local-queue": "queue-name",
        "queue-names": "queue-name",
    }
    if lower.replace("_", "-") in shorter:
        return shorter[lower.replace("_", "-")]
    return misspelt(name, known, 2) or (name if name in known else "")


def _value(key: str, value: str, path: Path, about: About) -> Iterator[Finding]:
    if key in (names.QUEUE_LABEL, _PRIORITY) and value and not is_dns1123_subdomain(value):
        what = "queue" if key == names.QUEUE_LABEL else "priority class"
        better = value.lower().replace("_", "-").strip("-.")
        message = f"no {what} can be called {value!r}, and Kueue refuses the job"
        hint = f"write {better}" if is_dns1123_subdomain(better) else "use lower-case letters, digits, '-' and '.'"
        yield Finding("InvalidKueueValue", "error", message, hint=hint, path=path, about=about)
    elif key == names.QUEUE_LABEL and not value:
        message = "the queue's name is empty: Kueue does not manage the job"
        yield Finding(
            "InvalidKueueValue",
            "warning",
            message,
            hint="name the LocalQueue, or drop the label",
            path=path,
            about=about,
        )
    elif key == _TIME and not (value.isascii() and value.isdecimal() and int(value) > 0):
        message = f"{value!r} is not a number of seconds, and Kueue refuses the job"
        yield Finding(
            "InvalidKueueValue",
            "error",
            message,
            hint='write a whole number of 1 or more, as "86400"',
            path=path,
            about=about,
        )


def _snippet(key: str, value: str) -> str:
    return (
        "write it under template.spec.replicatedJobs[].template.spec.template.metadata.annotations of the runtime or a "
        f"runtimePatch: {{{key}: {value!r}}}"
    )


def _nested(info: Info) -> Iterator[Finding]:
    """Kueue's names on jobs and pods inside the JobSet."""
    for index, replicated in enumerate(info.template.get("replicatedJobs", ())):
        template = replicated["template"]
        own: Path = (*JOBS, index, "template", "metadata")
        for key, value in ((template.get("metadata") or {}).get("annotations") or {}).items():
            if key in _TOPOLOGY:
                message = f"Kueue reads {key} in the pods' template alone, and this is the Job's"
                yield Finding(
                    "MisplacedTopologyRequest",
                    "warning",
                    message,
                    hint=_snippet(key, value),
                    path=(*own, "annotations", key),
                    about="runtime",
                )
        pods = ((template.get("spec") or {}).get("template") or {}).get("metadata") or {}
        for metadata, path in (
            (template.get("metadata") or {}, own),
            (pods, (*JOBS, index, "template", "spec", "template", "metadata")),
        ):
            for key in (names.QUEUE_LABEL, _PRIORITY):
                if key in (metadata.get("labels") or {}):
                    message = f"Kueue queues the JobSet as a whole and does not read {key} here"
                    hint = f"write it in the TrainJob's metadata: labels: {{{key}: {metadata['labels'][key]}}}"
                    yield Finding(
                        "MisspeltKueueName", "warning", message, hint=hint, path=(*path, "labels", key), about="runtime"
                    )
            if path is not own:
                for key in metadata.get("annotations") or {}:
                    if key not in _ANNOTATIONS and _meant(key, "annotations"):
                        from trainc.diagnostics.near_names import misspelt

                        near = misspelt(key, _TOPOLOGY, 3)
                        message = f"Kueue reads no annotation {key!r}"
                        hint = (
                            f"did you mean {near}?"
                            if near
                            else f"a topology is asked for with {_REQUIRED} or {_PREFERRED}"
                        )
                        yield Finding(
                            "MisspeltKueueName",
                            "warning",
                            message,
                            hint=hint,
                            path=(*path, "annotations", key),
                            about="runtime",
                        )


def _requests(info: Info, queued: bool) -> Iterator[Finding]:
    """The topology requests of every pod template, and the groups that they form."""
    severity: Severity = "error" if queued else "warning"
    groups: dict[str, list[tuple[int, Json, Path]]] = {}
    for index, (replicated, pod_set) in enumerate(
        zip(info.template.get("replicatedJobs", ()), info.pod_sets, strict=True)
    ):
        metadata = ((replicated["template"].get("spec") or {}).get("template") or {}).get("metadata") or {}
        asked = {key: str(value) for key, value in (metadata.get("annotations") or {}).items() if key in _TOPOLOGY}
        if not asked:
            continue
        path: Path = (*JOBS, index, "template", "spec", "template", "metadata", "annotations")
        pods = pod_set.count * pod_set.replicas
        for key, message, hint in _problems(asked, pods):
            yield Finding("InvalidTopologyRequest", severity, message, hint=hint, path=(*path, key), about="runtime")
        if _GROUP in asked:
            groups.setdefault(asked[_GROUP], []).append((pods, asked, (*path, _GROUP)))
        if not queued:
            key = next(iter(asked))
            message = f"{key} is read by Kueue alone, and the job names no queue"
            yield Finding(
                "TopologyWithoutQueue",
                "info",
                message,
                hint=f"add the label {names.QUEUE_LABEL} to the TrainJob",
                path=(*path, key),
                about="runtime",
            )
    for name, members in groups.items():
        if message := _group_problem(name, members):
            hint = "a group is a launcher of one pod and its nodes, with the same topology"
            yield Finding("InvalidTopologyRequest", severity, message, hint=hint, path=members[0][2], about="runtime")


def _problems(asked: Mapping[str, str], pods: int) -> Iterator[tuple[str, str, str]]:
    kinds = [key for key in (_REQUIRED, _PREFERRED, _UNCONSTRAINED) if key in asked]
    if len(kinds) > 1:
        yield (
            kinds[1],
            f"a pod template asks for one of required, preferred and unconstrained topology, not {len(kinds)}",
            "keep one of them",
        )
    for key in (_REQUIRED, _PREFERRED, _SLICE):
        if key in asked and not _is_label_name(asked[key]):
            yield (
                key,
                f"{asked[key]!r} cannot be the label of a topology level",
                "write one as cloud.provider.com/topology-rack",
            )
    if _UNCONSTRAINED in asked and asked[_UNCONSTRAINED] not in _BOOLEANS:
        yield _UNCONSTRAINED, f"{asked[_UNCONSTRAINED]!r} is neither true nor false", 'write "true"'
    yield from _slice_problems(asked, pods)
    if _GROUP in asked:
        if asked[_GROUP].isdecimal():
            yield _GROUP, "a group's name must not be a number", "begin it with a letter"
        for key in (_SLICE, _SLICE_SIZE, _LEVELS):
            if key in asked:
                yield _GROUP, f"a group may not be cut into slices, and {key} is there", "drop one of them"
                break
        if _REQUIRED not in asked and _PREFERRED not in asked:
            yield _GROUP, "a group needs a required or preferred topology", f"add {_REQUIRED}"


def _slice_problems(asked: Mapping[str, str], pods: int) -> Iterator[tuple[str, str, str]]:
    size = asked.get(_SLICE_SIZE)
    if size is not None and not (size.lstrip("+-").isdecimal() and size.isascii()):
        yield _SLICE_SIZE, f"{size!r} is not a number of pods", "write a whole number of 1 or more"
    elif size is not None and not 1 <= int(size) <= max(pods, 1):
        yield _SLICE_SIZE, f"a slice of {size} pods cannot be cut from {pods}", f"write a number from 1 to {pods}"
    if (_SLICE in asked) != (size is not None):
        missing, there = (_SLICE_SIZE, _SLICE) if _SLICE in asked else (_SLICE, _SLICE_SIZE)
        yield there, f"{there} says nothing without {missing}", f"add {missing}, or drop this"
    if _LEVELS in asked:
        yield from _level_problems(asked, pods)


def _level_problems(asked: Mapping[str, str], pods: int) -> Iterator[tuple[str, str, str]]:
    import json

    if _SLICE in asked or _SLICE_SIZE in asked:
        yield _LEVELS, f"it excludes {_SLICE} and {_SLICE_SIZE}", "keep one of the two ways"
    try:
        levels = json.loads(asked[_LEVELS])
        sizes = [int(level["size"]) for level in levels]
        labels = [str(level["topology"]) for level in levels]
    except (ValueError, TypeError, KeyError):
        yield _LEVELS, "it is not a JSON list of topology and size", 'write [{"topology": "cloud.com/rack", "size": 4}]'
        return
    wrong = not 1 <= len(levels) <= 3 or len(set(labels)) < len(labels) or any(size < 1 for size in sizes)
    if (
        wrong
        or any(outer % inner for outer, inner in zip(sizes, sizes[1:], strict=False))
        or (sizes and sizes[0] > pods)
    ):
        message = f"sizes {sizes} of levels {labels} do not fit {pods} pods or each other"
        yield _LEVELS, message, "name one to three levels, each with a size that divides the one before"


def _group_problem(name: str, members: list[tuple[int, Json, Path]]) -> str:
    if len(members) != 2:
        return f"the group {name!r} has {len(members)} pod sets, and Kueue places groups of exactly 2"
    if all(pods != 1 for pods, _, _ in members):
        return f"one of the two pod sets of group {name!r} must have one pod"
    first, second = ({key: asked.get(key) for key in (_REQUIRED, _PREFERRED)} for _, asked, _ in members)
    return "" if first == second else f"the pod sets of group {name!r} ask for different topologies"


def _is_label_name(value: str) -> bool:
    prefix, slash, name = value.rpartition("/")
    if slash and not is_dns1123_subdomain(prefix):
        return False
    return is_qualified_name(name) and len(name) <= LABEL_LIMIT


def _of_queued(job: TrainJob, info: Info) -> Iterator[Finding]:
    about: About = "trainjob" if names.QUEUE_LABEL in job.labels else "runtime"
    path: Path = (
        ("metadata", "labels", names.QUEUE_LABEL)
        if about == "trainjob"
        else (*_TEMPLATE_METADATA, "labels", names.QUEUE_LABEL)
    )
    count = len(info.pod_sets)
    if count > _MOST_POD_SETS:
        message = f"Kueue takes a job of at most {_MOST_POD_SETS} replicated jobs, and this one has {count}"
        yield Finding(
            "TooManyPodSets",
            "error",
            message,
            hint="use replicas or more pods of one job instead",
            path=path,
            about=about,
        )
    for index, replicated in enumerate(info.template.get("replicatedJobs", ())):
        awaited = [d["name"] for d in replicated.get("dependsOn") or () if d.get("status") == "Complete"]
        if awaited:
            message = f"Kueue reserves the devices of {replicated['name']!r} while {awaited[0]!r} still runs; with waitForPodsReady it evicts the job after its timeout"
            hint = "keep the timeout longer than the download, or download in a job of its own"
            yield Finding(
                "QueuedBehindInitializer", "info", message, hint=hint, path=(*JOBS, index, "dependsOn"), about="runtime"
            )
