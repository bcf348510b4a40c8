"""What a Kubernetes minor makes of a JobSet's pods and claims: fields that it does not know, and those it has deprecated.

JobSet's CRD has the fields of the Kubernetes that JobSet was built for. An older API server takes the JobSet, and drops
what it does not know from the Jobs and claims that are made of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.api.documents import Json
from trainc.api.releases import KUBERNETES
from trainc.api.schema.kubernetes_fields import DEPRECATED, FIELDS
from trainc.api.schema.shapes import Struct
from trainc.api.schema.walking import Node, nodes
from trainc.diagnostics import Finding, Path

_ROOT = "jobset.JobSet"
# What to write instead; a volume of a kind that is not named here takes a claim.
_INSTEAD = {
    "core.PodSpec.serviceAccount": "use serviceAccountName",
    "core.LifecycleHandler.tcpSocket": "use exec, httpGet or sleep: a handler never opens a socket",
    "core.Volume.gitRepo": "clone the repository in an init container, into an emptyDir",
}
_CLAIM = "use a persistentVolumeClaim whose storage class has a CSI driver for it"


def kubernetes_findings(jobset: Json, minor: str, release: str) -> Iterator[Finding]:
    """Fields of a JobSet that `minor` lacks, or has deprecated, with paths inside the JobSet."""
    dropped: Path = ("", "")
    for node in nodes(Node(jobset, Struct(_ROOT), (), _ROOT), release):
        if node.path[: len(dropped)] == dropped:
            continue
        field = node.key.rpartition(".")[2]
        span, deprecated = FIELDS.get(node.key), DEPRECATED.get(node.key)
        if span is not None and minor not in span:
            dropped = node.path
            message = f"Kubernetes {minor} has no field {field} here: the API server silently drops it from the pods"
            hint = f"remove it, or set --kubernetes {span.first} if the cluster is that new"
            if KUBERNETES.index(span.first) < KUBERNETES.index(minor):
                hint = f"remove it: {span.last} was the last Kubernetes that had it"
            yield Finding("FieldNotInKubernetes", "error", message, hint, node.path)
        elif deprecated is not None and minor in deprecated:
            message = f"{field} is deprecated in Kubernetes {minor}"
            yield Finding("DeprecatedInKubernetes", "warning", message, _INSTEAD.get(node.key, _CLAIM), node.path)
