"""Jobs whose pods need more at once than a ResourceQuota of their namespace allows.

The JobSet and its Jobs are accepted, and the pods above the quota are never created; only events say so. What other jobs
in the namespace use is not known. What a quota or LimitRange refuses of a single pod is in
`trainc.pods.admission_plugins`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.api.admission import pod_usage, read_amounts
from trainc.api.cluster import Dump
from trainc.api.documents import label_of
from trainc.api.findings import Finding, Hint
from trainc.api.kube import Quantity, Unchecked, mapping, names
from trainc.features.cluster.fits.pods import amount, amount_with_unit, written_amount
from trainc.features.cluster.fits.workload import PodSet, Workload

RESOURCE_QUOTA = "resource-quota"


def exceeded_quotas(workload: Workload, dump: Dump) -> Iterator[Finding]:
    """The quotas of the namespace that the pods which run at the same time exceed, though a single one does not."""
    quotas = dump.of("ResourceQuota").by_namespace.get(workload.namespace, [])
    if not quotas:
        return
    ranges = dump.of("LimitRange").by_namespace.get(workload.namespace, [])
    classes = dump.of("PriorityClass").items()
    default = next((name for (_, name), document in classes if document.get("globalDefault") is True), "")
    for quota in quotas:
        used = [
            (pod_set, pod_usage(quota, pod_set.spec, str(pod_set.spec.get("priorityClassName") or default), ranges))
            for pod_set in workload.pod_sets
            if pod_set.count
        ]
        for key, hard in read_amounts(mapping(quota.get("spec")).get("hard")).items():
            counted = [(pod_set, usage[key]) for pod_set, usage in used if key in usage]
            # Pod sets that others wait for run before them, each on its own.
            groups = [
                [pair for pair in counted if not pair[0].awaited],
                *([pair] for pair in counted if pair[0].awaited),
            ]
            over = [group for group in groups if _total(group) > hard.nanos]
            if over and all(amount.nanos <= hard.nanos for _, amount in counted):
                yield _finding(workload, quota, key, hard, over[0])


def _total(group: Sequence[tuple[PodSet, Quantity]]) -> int:
    return sum(used.nanos * pod_set.count for pod_set, used in group)


def _finding(
    workload: Workload, quota: Unchecked, key: str, hard: Quantity, group: Sequence[tuple[PodSet, Quantity]]
) -> Finding:
    name = mapping(quota.get("metadata")).get("name")
    base = "pods" if key == "count/pods" else key.removeprefix("requests.").removeprefix("limits.")
    total = Quantity(_total(group), hard.family)
    kind = " as limits" if key.startswith("limits.") else ""
    message = (
        f"the pods need {amount_with_unit(base, amount(base, total))}{kind} at once, and ResourceQuota {name} allows {_bare(base, hard)} ({key}) "
        f"in namespace {workload.namespace}"
    )
    hint = f"raise spec.hard of the ResourceQuota to {_bare(base, total)}"
    largest = max(group, key=lambda pair: pair[1].nanos * pair[0].count)[0]
    trainers = [pair for pair in group if pair[0].step == names.TRAINER]
    if len(trainers) == 1:
        largest, used = trainers[0]
        left = hard.nanos - (total.nanos - used.nanos * largest.count)
        if used.nanos and left >= used.nanos:
            fewer = left // used.nanos
            message += f"; {_bare(base, used * fewer)} would fit: numNodes {fewer}"
            hint = f"write numNodes: {fewer}, or {hint}"
    hint = Hint(hint, objects=((label_of(quota), ("spec", "hard", key)),))
    return Finding("ExceedsQuota", "error", message, hint, ("spec", "replicatedJobs", largest.index))


def _bare(base: str, quantity: Quantity) -> str:
    return written_amount(base, amount(base, quantity))
