"""What Trainer's runtime webhooks demand of the jobs that carry an ancestor label.

Source: kubeflow/trainer pkg/webhooks/trainingruntime_webhook.go and clustertrainingruntime_webhook.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.diagnostics import Finding, Path
from trainc.ir.names import ANCESTOR_LABEL

Json = Mapping[str, Any]

_DISABLED_LABEL = "trainer.kubeflow.org/webhook-validation"
_REQUIRED_CONTAINER = {
    "trainer": "node",
    "dataset-initializer": "dataset-initializer",
    "model-initializer": "model-initializer",
}
_LAUNCHER = "launcher"


def runtime_rules(document: Json, release: str) -> list[Finding]:
    """Every reason why the webhook of `release` would refuse a runtime whose schema is in order.

    A label that opts out of the webhook (2.3, on all shipped runtimes) silences it here too.
    """
    labels = document["metadata"].get("labels") or {}
    if release == "2.3" and labels.get(_DISABLED_LABEL) == "disabled":
        return []
    spec = ((document.get("spec") or {}).get("template") or {}).get("spec") or {}
    found: list[Finding] = []
    for index, job in enumerate(spec.get("replicatedJobs") or ()):
        path: Path = ("spec", "template", "spec", "replicatedJobs", index)
        found.extend(_job_rules(job, path, release))
    return found


def _job_rules(job: Json, path: Path, release: str) -> Iterator[Finding]:
    template = job["template"]
    ancestor = ((template.get("metadata") or {}).get("labels") or {}).get(ANCESTOR_LABEL)
    known = ancestor in _REQUIRED_CONTAINER
    replicas = job.get("replicas")
    if replicas not in (None, 1) and (known or (release == "2.0" and job["name"] == _LAUNCHER)):
        message = f"job {job['name']} has {replicas} replicas; only 1 is supported"
        hint = "use mlPolicy.numNodes or the TrainJob's numNodes for more pods"
        yield Finding("ReplicasNotOne", "error", message, hint, (*path, "replicas"), "runtime")
    if known and release != "2.0":
        yield from _container_rule(job, str(ancestor), path)


def _container_rule(job: Json, ancestor: str, path: Path) -> Iterator[Finding]:
    pod = (((job["template"].get("spec") or {}).get("template") or {}).get("spec")) or {}
    wanted = _REQUIRED_CONTAINER[ancestor]
    if all(container["name"] != wanted for container in pod.get("containers") or ()):
        message = f"job {job['name']} is labelled {ancestor} but has no container {wanted}"
        where = (*path, "template", "spec", "template", "spec", "containers")
        hint = f"name its main container {wanted}, or remove the label"
        yield Finding("MissingAncestorContainer", "error", message, hint, where, "runtime")
