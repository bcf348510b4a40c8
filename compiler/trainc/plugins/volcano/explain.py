"""What `explain` says about Volcano: the gang's size, resources, queue and priority."""

from __future__ import annotations

from trainc.plugins.rows import (
    Ref,
    Row,
    Rows,
    Situation,
    gang_amounts,
    gang_deviation,
    gang_pods,
    gang_policy,
    job_name,
    jobset,
    namespace,
    pod_field,
    set_in_gang_policy,
)

_QUEUE = jobset("metadata", "annotations", "scheduling.volcano.sh/queue-name")


def _last_priority(s: Situation) -> list[Ref]:
    """Return the pods' priority class. If several replicated jobs have one, the last wins."""
    return list(pod_field("spec", "priorityClassName")(s))[-1:]


_PASS = (
    Row("...template.metadata.annotations", (job_name,)),
    Row("...template.spec.schedulerName", (gang_policy("volcano"),)),
)

_BUILD = (
    Row("metadata.name", (job_name,)),
    Row("metadata.namespace", (namespace,)),
    Row("spec.minMember", (set_in_gang_policy("volcano", "minMember", otherwise=gang_pods),), gang_deviation),
    Row("spec.minResources", (gang_amounts,), gang_deviation),
    Row("spec.queue", (set_in_gang_policy("volcano", "queue", otherwise=_QUEUE),)),
    Row("spec.priorityClassName", (set_in_gang_policy("volcano", "priorityClassName", otherwise=_last_priority),)),
    Row("spec.networkTopology", (lambda s: gang_policy("volcano", *s.path[1:])(s),)),
    Row("...", (gang_policy("volcano"),)),
)

ROWS: Rows = {"enforce_pod_group_policy": _PASS, "build": _BUILD}
