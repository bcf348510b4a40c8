"""Fields of a JobSet's pods and claims that a Kubernetes minor lacks or deprecates.

JobSet's CRD has the fields of the Kubernetes version that it was built for. An older API server accepts the JobSet, but
drops unknown fields from the Jobs and claims created from it.
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
            hint = f"remove it, or set --kubernetes {span.first} if the cluster is that new"
            if KUBERNETES.index(span.first) < KUBERNETES.index(minor):
                hint = f"remove it: {span.last} was the last Kubernetes that had it"
            yield Finding("FieldNotInKubernetes", "error", message, hint, node.path)
        elif deprecated is not None and minor in deprecated:
            message = f"{field} is deprecated in Kubernetes {minor}"
            yield Finding("DeprecatedInKubernetes", "warning", message, _INSTEAD.get(node.key, _CLAIM), node.path)
