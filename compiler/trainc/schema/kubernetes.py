"""Fields of a JobSet's pods and claims that a Kubernetes minor lacks or deprecates.

JobSet's CRD has the fields of the Kubernetes version that it was built for. An older API server accepts the JobSet, but
drops unknown fields from the Jobs and claims created from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from trainc.findings import Finding, Path, remove
from trainc.kube.documents import POD_SPEC, Json, items, mapping, pod_spec_of, with_value
from trainc.kube.releases import KUBERNETES, Span
from trainc.schema.shapes import Struct
from trainc.schema.unknown_fields import Node, nodes
from trainc.startup.shipped import read_data

_ROOT = "jobset.JobSet"
# Fields that not every minor has, and those that are deprecated, with the minors; tools/scripts/generate_kubernetes.py writes them.
_TABLES = read_data(__file__, "kubernetes_fields.json")
FIELDS, DEPRECATED = (
    {field: Span(first, last[0] if last else None, KUBERNETES) for field, (first, *last) in _TABLES[name].items()}
    for name in ("fields", "deprecated")
)
# Replacements for deprecated fields; the default for other volume types is a claim.
_INSTEAD = {
    "core.PodSpec.serviceAccount": "use serviceAccountName",
    "core.LifecycleHandler.tcpSocket": "use exec, httpGet or sleep: a handler never opens a socket",
    "core.Volume.gitRepo": "clone the repository in an init container, into an emptyDir",
}
_CLAIM = "use a persistentVolumeClaim whose storage class has a CSI driver for it"


def kubernetes_findings(jobset: Json, minor: str, release: str) -> Iterator[Finding]:
    """Report fields that `minor` lacks or deprecates, with paths relative to the JobSet."""
    dropped: Path = ("", "")
    for node in nodes(Node(jobset, Struct(_ROOT), (), _ROOT), release):
        if node.path[: len(dropped)] == dropped:
            continue
        field = node.key.rpartition(".")[2]
        span, deprecated = FIELDS.get(node.key), DEPRECATED.get(node.key)
        if span is not None and minor not in span:
            dropped = node.path
            message = f"Kubernetes {minor} has no field {field} here: the API server silently drops it from the pods"
            hint = remove(f"remove it, or set --kubernetes {span.first} if the cluster is that new")
            if KUBERNETES.index(span.first) < KUBERNETES.index(minor):
                hint = remove(f"remove it: {span.last} was the last Kubernetes that had it")
            yield Finding("FieldNotInKubernetes", "error", message, hint, node.path)
        elif deprecated is not None and minor in deprecated:
            message = f"{field} is deprecated in Kubernetes {minor}"
            yield Finding("DeprecatedInKubernetes", "warning", message, _INSTEAD.get(node.key, _CLAIM), node.path)


# Differences between the pods of Trainer's and JobSet's CRDs in 2.2, where Trainer uses a newer Kubernetes.
#
# Pods in Trainer 2.2.1 have `schedulingGroup`, and in JobSet 0.11.1 `workloadRef` instead. The definitions are
# Trainer's, so JobSets are converted to that form before validation, and JobSet's own field is restored afterwards.
# Source: the CRDs of both at the tags that PORT.yaml pins, compared field by field.


_TRAINERS = "schedulingGroup"
_JOBSETS = "workloadRef"

# The value of JobSet's own field by the index of the replicated job.
References: TypeAlias = dict[int, Any]


def in_trainers_form(jobset: Mapping[str, Any], *, prune: bool) -> tuple[dict[str, Any], References, list[Finding]]:
    """Return the JobSet without its own field, the values of that, and a finding for each field that JobSet lacks.

    With `prune` these fields are dropped with a warning; otherwise they are errors.
    """
    references: References = {}
    findings: list[Finding] = []
    jobs = items(mapping(jobset.get("spec")).get("replicatedJobs"))
    changed = list(jobs)
    for index, job in enumerate(jobs):
        pod = pod_spec_of(job)
        if pod.get(_JOBSETS) is not None:
            references[index] = pod[_JOBSETS]
        if _TRAINERS in pod:
            findings.append(_unknown(("spec", "replicatedJobs", index, *POD_SPEC, _TRAINERS), prune))
        if _TRAINERS in pod or _JOBSETS in pod:
            changed[index] = with_value(job, POD_SPEC, {n: v for n, v in pod.items() if n not in (_JOBSETS, _TRAINERS)})
    if changed == jobs:
        return dict(jobset), references, findings
    return with_value(jobset, ("spec", "replicatedJobs"), changed), references, findings


def with_references(jobset: dict[str, Any], references: References) -> dict[str, Any]:
    """Restore JobSet's own field; its contents are not validated."""
    if not references:
        return jobset
    jobs = [
        with_value(job, (*POD_SPEC, _JOBSETS), references[index]) if index in references else job
        for index, job in enumerate(jobset["spec"]["replicatedJobs"])
    ]
    return with_value(jobset, ("spec", "replicatedJobs"), jobs)


def _unknown(path: Path, prune: bool) -> Finding:
    message = f"the JobSet of Trainer 2.2 has no field {_TRAINERS} here, although Trainer 2.2 itself has"
    hint = remove("remove it, or compile with --release 2.3, whose JobSet has it")
    return Finding("UnknownField", "warning" if prune else "error", message + "; it is dropped" * prune, hint, path)
