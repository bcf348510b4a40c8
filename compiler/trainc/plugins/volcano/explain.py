"""What `explain` says about Volcano: the gang's size, resources, queue and priority."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.plugins.rows import (
    JobSetField,
    Reading,
    Ref,
    Row,
    Rows,
    RuntimeField,
    Situation,
    gang_amounts,
    gang_deviation,
    gang_pods,
    gang_policy,
    job_name,
    namespace,
    replicated_job,
)


def _min_member(s: Situation) -> Iterator[Ref]:
    if "minMember" in (s.info.gang("volcano") or {}):
        yield RuntimeField(("spec", "podGroupPolicy", "volcano", "minMember"))
    else:
        yield from gang_pods(s)


def _annotation(key: str) -> Reading:
    def read(s: Situation) -> Iterator[Ref]:
        yield JobSetField(("metadata", "annotations", key))

    return read


def _queue(s: Situation) -> Iterator[Ref]:
    if "queue" in (s.info.gang("volcano") or {}):
        yield RuntimeField(("spec", "podGroupPolicy", "volcano", "queue"))
    else:
        yield from _annotation("scheduling.volcano.sh/queue-name")(s)


def _priority(s: Situation) -> Iterator[Ref]:
    """Yield the pods' priority class. If several replicated jobs have one, the last wins."""
    if "priorityClassName" in (s.info.gang("volcano") or {}):
        yield RuntimeField(("spec", "podGroupPolicy", "volcano", "priorityClassName"))
        return
    for pod_set in reversed(s.info.pod_sets):
        path = replicated_job(pod_set, "template", "spec", "template", "spec", "priorityClassName")
        if s.is_set(path):
            yield JobSetField(path)
            return


def _topology(s: Situation) -> Iterator[Ref]:
    yield RuntimeField(("spec", "podGroupPolicy", "volcano", *s.path[1:]))


_PASS = (
    Row("...template.metadata.annotations", (job_name,)),
    Row("...template.spec.schedulerName", (gang_policy("volcano"),)),
)

_BUILD = (
    Row("metadata.name", (job_name,)),
    Row("metadata.namespace", (namespace,)),
    Row("spec.minMember", (_min_member,), gang_deviation),
    Row("spec.minResources", (gang_amounts,), gang_deviation),
    Row("spec.queue", (_queue,)),
    Row("spec.priorityClassName", (_priority,)),
    Row("spec.networkTopology", (_topology,)),
    Row("...", (gang_policy("volcano"),)),
)

ROWS: Rows = {"enforce_pod_group_policy": _PASS, "build": _BUILD}
