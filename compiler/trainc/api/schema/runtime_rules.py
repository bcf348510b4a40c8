"""Rules of Trainer's runtime webhooks for jobs with an ancestor label.

Source: kubeflow/trainer pkg/webhooks/trainingruntime_webhook.go and clustertrainingruntime_webhook.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.api.documents import Json
from trainc.api.names import ANCESTOR_LABEL, DATASET_INITIALIZER, LAUNCHER, MODEL_INITIALIZER, NODE, TRAINER
from trainc.api.releases import Since
from trainc.diagnostics import Finding, Path

# The required container in jobs of each ancestor step.
REQUIRED_CONTAINER = Since[str](
    {
        "2.1": {TRAINER: NODE, DATASET_INITIALIZER: DATASET_INITIALIZER, MODEL_INITIALIZER: MODEL_INITIALIZER},
    }
)
# Jobs that must have one replica regardless of their label.
ONE_REPLICA = Since[bool](
    {
        "2.0": {LAUNCHER: True},
        "2.1": {LAUNCHER: False},
    }
)
# Labels, with their values, that exempt a runtime from the webhook.
EXEMPT = Since[str](
    {
        "2.3": {"trainer.kubeflow.org/webhook-validation": "disabled"},
    }
)

_STEPS = (TRAINER, DATASET_INITIALIZER, MODEL_INITIALIZER)


def runtime_rules(document: Json, release: str) -> list[Finding]:
    """Return all reasons why the webhook of `release` would reject a runtime with a valid schema.

    Runtimes with a label that exempts them from the webhook (since 2.3, all shipped runtimes) have none.
    """
    labels = document["metadata"].get("labels") or {}
    if any(labels.get(label) == value for label, value in EXEMPT.at(release).items()):
        return []
    spec = ((document.get("spec") or {}).get("template") or {}).get("spec") or {}
    found: list[Finding] = []
    for index, job in enumerate(spec.get("replicatedJobs") or ()):
        path: Path = ("spec", "template", "spec", "replicatedJobs", index)
        found.extend(_job_rules(job, path, release))
    return found


def _job_rules(job: Json, path: Path, release: str) -> Iterator[Finding]:
    template = job["template"]
    ancestor = ((template.get("metadata") or {}).get("labels") or {}).get(ANCESTOR_LABEL, "")
    single = ancestor in _STEPS or ONE_REPLICA.at(release).get(job["name"], False)
    replicas = job.get("replicas")
    if single and replicas not in (None, 1):
        message = f"job {job['name']} has {replicas} replicas; only 1 is supported"
        hint = "set replicas: 1; for more pods, use numNodes in mlPolicy or in the TrainJob"
        yield Finding("ReplicasNotOne", "error", message, hint=hint, path=(*path, "replicas"), about="runtime")
    wanted = REQUIRED_CONTAINER.at(release).get(ancestor)
    if wanted is not None:
        yield from _container_rule(job, ancestor, wanted, path)


def _container_rule(job: Json, ancestor: str, wanted: str, path: Path) -> Iterator[Finding]:
    pod = (((job["template"].get("spec") or {}).get("template") or {}).get("spec")) or {}
    if all(container["name"] != wanted for container in pod.get("containers") or ()):
        message = f"job {job['name']} has the ancestor label {ancestor}, but no container called {wanted}"
        where = (*path, "template", "spec", "template", "spec", "containers")
        hint = f"rename its main container to {wanted}, or remove the label"
        yield Finding("MissingAncestorContainer", "error", message, hint=hint, path=where, about="runtime")
