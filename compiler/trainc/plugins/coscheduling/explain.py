"""What `explain` says about coscheduling: the gang's label, size and resources."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.plugins.rows import (
    FixedRule,
    Ref,
    Row,
    Rows,
    Situation,
    gang_amounts,
    gang_deviation,
    gang_pods,
    gang_policy,
    job_name,
    namespace,
)


def _label_policy(s: Situation) -> Iterator[Ref]:
    """Yield the policy because of which pods have the label; in v2.0.1 it is any podGroupPolicy."""
    if s.info.gang("coscheduling") is None:
        yield FixedRule("pods are labeled for any podGroupPolicy (Trainer 2.0)")


_PASS = (Row("...template.metadata.labels", (job_name, _label_policy)),)

_BUILD = (
    Row("metadata.name", (job_name,)),
    Row("metadata.namespace", (namespace,)),
    Row("spec.minMember", (gang_pods,), gang_deviation),
    Row("spec.minResources", (gang_amounts,), gang_deviation),
    Row("spec.scheduleTimeoutSeconds", (gang_policy("coscheduling", "scheduleTimeoutSeconds"),)),
    Row("...", (gang_policy("coscheduling"),)),
)

ROWS: Rows = {"enforce_pod_group_policy": _PASS, "build": _BUILD}
