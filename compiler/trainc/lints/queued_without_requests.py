"""A lint for queued jobs that request nothing: Kueue admits them at once, without quota, flavor or node selector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trainc.findings import Finding
from trainc.kube import names
from trainc.kube.documents import Json, mapping, objects
from trainc.kube.quantity import pod_requests
from trainc.reading.document import label_of

_INITIALIZERS = (names.DATASET_INITIALIZER, names.MODEL_INITIALIZER)
# What makes a LimitRange set requests of containers that have none.
_DEFAULTS = ("default", "defaultRequest", "min", "max")


def queued_without_requests(manifests: Sequence[Json], limit_ranges: Iterable[Json]) -> Iterator[tuple[str, Finding]]:
    """Yield a warning for each JobSet with a queue whose pods request nothing, with the JobSet's label.

    Initializers do not count. A LimitRange of the namespace may set requests.
    """
    for manifest in manifests:
        metadata = mapping(manifest.get("metadata"))
        if manifest.get("kind") != "JobSet" or not mapping(metadata.get("labels")).get(names.QUEUE_LABEL):
            continue
        specs = [
            spec for job in objects(mapping(manifest.get("spec")).get("replicatedJobs")) for spec in _training(job)
        ]
        homes = (metadata.get("namespace"), None) if metadata.get("namespace") else ()
        own = (one for one in limit_ranges if not homes or mapping(one.get("metadata")).get("namespace") in homes)
        if not specs or any(map(_uses, specs)) or any(map(_sets_requests, own)):
            continue
        message = "the job requests no resources: Kueue admits it at once, without quota, flavor or node selector"
        hint = "write what each node uses: spec: {trainer: {resourcesPerNode: {requests: {cpu: 4, memory: 16Gi}}}}"
        path = ("metadata", "labels", names.QUEUE_LABEL)
        yield label_of(manifest), Finding("QueuedWithoutRequests", "warning", message, hint, path)


def _training(replicated_job: Json) -> Iterator[Json]:
    template = mapping(replicated_job.get("template"))
    if mapping(mapping(template.get("metadata")).get("labels")).get(names.ANCESTOR_LABEL) not in _INITIALIZERS:
        yield mapping(mapping(mapping(template.get("spec")).get("template")).get("spec"))


def _uses(spec: Json) -> bool:
    return bool(spec.get("resourceClaims")) or any(q.nanos for q in pod_requests(spec, limits_count=True).values())


def _sets_requests(limit_range: Json) -> bool:
    limits = objects(mapping(limit_range.get("spec")).get("limits"))
    return any(one.get("type") == "Container" and any(one.get(key) for key in _DEFAULTS) for one in limits)
