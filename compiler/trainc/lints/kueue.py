"""Lints for Kueue: the labels that it reads, the place of topology requests, and the rules of its webhook.

Source: kubernetes-sigs/kueue pkg/controller/jobframework (validation.go, tas_validation.go), apis/kueue/v1beta2
workload_types.go (MaxItems of podSets), pkg/controller/constants/constants.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from trainc.findings import Finding, Path, suggest, write
from trainc.ir.entrypoints import JOBS, About
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube import names
from trainc.kube.kueue import NEW_ANNOTATIONS
from trainc.kube.names import is_dns1123_subdomain
from trainc.lints.kueue_topology import PLACING, PREFERRED, REQUIRED, SPREADING, topology_requests

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
_ANNOTATIONS = frozenset(
    (
        *PLACING,
        *(
            f"{_DOMAIN}{name}"
            for name in (
                *("elastic-job", "priority-boost", "prebuilt-workload-name", "job-owner-gvk", "job-owner-name"),
                *("safe-to-forcefully-delete", "workload-allowed-resource-flavors", "component-workload-index"),
                *("retriable-in-group", "pod-group-total-count", "pod-group-fast-admission", "pod-group-serving"),
                *("pod-index-offset", "pod-group-pod-index-label", "role-hash", "workload", "admission-gated-by"),
                *("wait-for-pods-ready", "pod-group-max-not-ready-count"),
            )
        ),
    )
)
_SINCE_0_20 = frozenset((SPREADING, f"{_DOMAIN}wait-for-pods-ready", f"{_DOMAIN}pod-group-max-not-ready-count"))
_MOST_POD_SETS = 18
_TEMPLATE_METADATA: Path = ("spec", "template", "metadata")


def kueue(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield findings for what Kueue would refuse, ignore or wait for in vain. Runs on sized jobs."""
    queued = names.QUEUE_LABEL in job.labels or names.QUEUE_LABEL in info.labels
    for field, own, runtimes in (
        ("labels", job.labels, _metadata(info, "labels")),
        ("annotations", job.annotations, _metadata(info, "annotations")),
    ):
        for key, value in own.items():
            if _concerns_kueue(field, key):
                yield from _key(field, key, str(value), ("metadata", field, key), "trainjob")
                yield from _too_new(key, ("metadata", field, key), "trainjob", info)
        for key, value in runtimes.items():
            if own.get(key) != value and _concerns_kueue(field, key):
                yield from _key(field, key, str(value), (*_TEMPLATE_METADATA, field, key), "runtime")
                yield from _too_new(key, (*_TEMPLATE_METADATA, field, key), "runtime", info)
    yield from _nested(info)
    yield from topology_requests(info, queued)
    if queued:
        yield from _of_queued(job, info)


def _metadata(info: Info, field: str) -> Mapping[str, str]:
    """Return the JobSet's labels or annotations that may come from the runtime."""
    return info.labels if field == "labels" else info.annotations


@lru_cache(maxsize=512)
def _concerns_kueue(field: str, key: str) -> bool:
    """Return whether a label or annotation is Kueue's, or may be intended as one of Kueue's."""
    if key in _LABELS or key in PLACING or key in _SINCE_0_20:
        return True
    return key not in _ANNOTATIONS and bool(_meant(key, field))


def _key(field: str, key: str, value: str, path: Path, about: About) -> Iterator[Finding]:
    """Yield findings about one label or annotation of the job that concerns Kueue."""
    if field == "labels" and key in _LABELS:
        yield from _value(key, value, path, about)
    elif field == "annotations" and key in PLACING:
        message = f"Kueue reads {key} only in the pod template, and it is not copied there"
        yield Finding("MisplacedTopologyRequest", "warning", message, hint=_snippet(key, value), path=path, about=about)
    elif field == "annotations" and key in _LABELS and key not in _ANNOTATIONS:
        message = f"{key} is a label for Kueue, and this is an annotation"
        yield Finding(
            "MisspeltKueueName",
            "warning",
            message,
            hint=f"move it to metadata.labels: {{{key}: {value}}}",
            path=path,
            about=about,
        )
    elif key not in _LABELS | _ANNOTATIONS and (meant := _meant(key, field)):
        message = f"Kueue does not know the {field[:-1]} {key!r}"
        hint = suggest(key, [meant]) if meant != "?" else f"use one of {', '.join(sorted(_LABELS)[:3])}, ..."
        yield Finding("MisspeltKueueName", "warning", message, hint=hint, path=path, about=about)


def _too_new(key: str, path: Path, about: About, info: Info) -> Iterator[Finding]:
    """Yield a finding for an annotation that the cluster's version of Kueue does not have yet."""
    if key in _SINCE_0_20 and info.kueue and info.kueue not in NEW_ANNOTATIONS:
        message = f"Kueue before 0.20 does not know the annotation {key!r}"
        yield Finding(
            "MisspeltKueueName", "warning", message, hint="upgrade Kueue, or remove it", path=path, about=about
        )


def _meant(key: str, field: str) -> str:
    """Return the name of Kueue's of which a key is a misspelling.

    "?" if only its domain is Kueue's, empty if it has nothing to do with Kueue.
    """
    from trainc.findings.text import edits

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
    from trainc.findings.text import misspelt

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
        message = f"{value!r} is not a valid name of a {what}, so Kueue refuses the job"
        hint = write(better) if is_dns1123_subdomain(better) else "use lowercase letters, digits, '-' and '.'"
        yield Finding("InvalidKueueValue", "error", message, hint=hint, path=path, about=about)
    elif key == names.QUEUE_LABEL and not value:
        message = "the name of the queue is empty, so Kueue does not manage the job"
        yield Finding(
            "InvalidKueueValue",
            "warning",
            message,
            hint="write the name of the LocalQueue, or remove the label",
            path=path,
            about=about,
        )
    elif key == _TIME and not (value.isascii() and value.isdecimal() and int(value) > 0):
        message = f"{value!r} is not a number of seconds, so Kueue refuses the job"
        yield Finding(
            "InvalidKueueValue",
            "error",
            message,
            hint='write a number of seconds in quotes, such as "86400"',
            path=path,
            about=about,
        )


def _snippet(key: str, value: str) -> str:
    return (
        "set it in template.spec.replicatedJobs[].template.spec.template.metadata.annotations of the runtime or a "
        f"runtimePatch: {{{key}: {value!r}}}"
    )


def _nested(info: Info) -> Iterator[Finding]:
    """Yield findings for Kueue's labels on jobs and pods inside the JobSet."""
    for index, replicated in enumerate(info.template.get("replicatedJobs", ())):
        template = replicated["template"]
        own: Path = (*JOBS, index, "template", "metadata")
        for key, value in ((template.get("metadata") or {}).get("annotations") or {}).items():
            if key in PLACING:
                message = f"Kueue reads {key} only in the pod template, and this is the Job template"
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
                    hint = f"set it in the TrainJob: metadata: {{labels: {{{key}: {metadata['labels'][key]}}}}}"
                    yield Finding(
                        "MisspeltKueueName", "warning", message, hint=hint, path=(*path, "labels", key), about="runtime"
                    )
            if path is not own:
                for key in metadata.get("annotations") or {}:
                    yield from _too_new(key, (*path, "annotations", key), "runtime", info)
                    if key not in _ANNOTATIONS and _meant(key, "annotations"):
                        from trainc.findings.text import misspelt

                        near = misspelt(key, PLACING, 3)
                        message = f"Kueue does not know the annotation {key!r}"
                        hint = suggest(key, [near]) if near else f"use {REQUIRED} or {PREFERRED} to request a topology"
                        yield Finding(
                            "MisspeltKueueName",
                            "warning",
                            message,
                            hint=hint,
                            path=(*path, "annotations", key),
                            about="runtime",
                        )


def _of_queued(job: TrainJob, info: Info) -> Iterator[Finding]:
    about: About = "trainjob" if names.QUEUE_LABEL in job.labels else "runtime"
    path: Path = (
        ("metadata", "labels", names.QUEUE_LABEL)
        if about == "trainjob"
        else (*_TEMPLATE_METADATA, "labels", names.QUEUE_LABEL)
    )
    count = len(info.pod_sets)
    if count > _MOST_POD_SETS:
        message = f"Kueue supports at most {_MOST_POD_SETS} replicated jobs in a JobSet, and this one has {count}"
        yield Finding(
            "TooManyPodSets",
            "error",
            message,
            hint="merge similar replicated jobs into one with more replicas or pods",
            path=path,
            about=about,
        )
    for index, replicated in enumerate(info.template.get("replicatedJobs", ())):
        awaited = [d["name"] for d in replicated.get("dependsOn") or () if d.get("status") == "Complete"]
        if awaited:
            message = f"Kueue reserves the devices of {replicated['name']!r} while {awaited[0]!r} still runs; with waitForPodsReady it evicts the job after its timeout"
            hint = "set the timeout longer than the download takes, or run the download as a separate job"
            yield Finding(
                "QueuedBehindInitializer", "info", message, hint=hint, path=(*JOBS, index, "dependsOn"), about="runtime"
            )
