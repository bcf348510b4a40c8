"""Mode `presync-job`: an Argo CD hook generates the key pair in the cluster before the first sync, and never again.

The Secret is not part of the Application, so it is not pruned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api.documents import Json, Manifest
from trainc.diagnostics import Finding
from trainc.emit.secrets.mode import Provision
from trainc.ir.provided_secret import ProvidedSecret
from trainc.ir.trainjob import TrainJob
from trainc.options import Options

_RBAC = "rbac.authorization.k8s.io"
# The name is passed in a variable, so that the script is the same for all jobs.
_SCRIPT = """\
if kubectl get secret "$SECRET_NAME" >/dev/null 2>&1; then
  echo "$SECRET_NAME exists"
  exit 0
fi
ssh-keygen -q -t ecdsa -b 521 -m PEM -N "" -f /keys/id
kubectl create secret generic "$SECRET_NAME" --type "$SECRET_TYPE" \\
  --from-file ssh-privatekey=/keys/id --from-file ssh-publickey=/keys/id.pub
"""


def make_before_sync(job: TrainJob, secret: ProvidedSecret, others: Sequence[Json], options: Options) -> Provision:
    """Return a Job, and the RBAC objects that let it create the Secret, as hooks that run before everything else."""
    findings = tuple(_problems(job, options))
    if findings:
        return Provision(findings=findings)
    name = f"{job.plain_name}-ssh-keygen"
    role: Manifest = {
        **_hook(job, name, "Role", f"{_RBAC}/v1"),
        "rules": [
            # RBAC cannot restrict `create` by name, because the name is not known when the request is authorized.
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [secret.name], "verbs": ["get"]},
        ],
    }
    binding: Manifest = {
        **_hook(job, name, "RoleBinding", f"{_RBAC}/v1"),
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": job.namespace}],
    }
    keygen: Manifest = {
        **_hook(job, name, "Job", "batch/v1", done="BeforeHookCreation,HookSucceeded"),
        "spec": {"backoffLimit": 2, "template": {"spec": _pod(name, secret, str(options.keygen_image))}},
    }
    return Provision((_hook(job, name, "ServiceAccount", "v1"), role, binding, keygen))


def _problems(job: TrainJob, options: Options) -> Iterator[Finding]:
    if not options.keygen_image:
        yield Finding(
            "KeygenImageMissing",
            "error",
            "secrets mode presync-job needs an image with ssh-keygen and kubectl, and none is set",
            hint="set one with --keygen-image, or use another --secrets mode",
        )
    if options.delivery != "argocd":
        yield Finding(
            "PreSyncNeedsArgoCD",
            "error",
            f"presync-job generates the key pair in an Argo CD hook, which {options.delivery} does not run",
            hint="use --delivery argocd, or another --secrets mode",
        )
    if not job.namespace:
        yield Finding(
            "NamespaceMissing",
            "error",
            "presync-job needs the namespace of the job to bind a role to its service account",
            hint="set metadata.namespace, or compile with --namespace",
            path=("metadata",),
        )


def _hook(job: TrainJob, name: str, kind: str, api: str, done: str = "BeforeHookCreation") -> Manifest:
    annotations = {
        "argocd.argoproj.io/hook": "PreSync",
        "argocd.argoproj.io/hook-delete-policy": done,
    }
    return {"apiVersion": api, "kind": kind, "metadata": {**job.named(name), "annotations": annotations}}


def _pod(account: str, secret: ProvidedSecret, image: str) -> dict[str, Any]:
    return {
        "serviceAccountName": account,
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "keygen",
                "image": image,
                "command": ["sh", "-ec"],
                "args": [_SCRIPT],
                "env": [{"name": "SECRET_NAME", "value": secret.name}, {"name": "SECRET_TYPE", "value": secret.type}],
                "volumeMounts": [{"name": "keys", "mountPath": "/keys"}],
            }
        ],
        "volumes": [{"name": "keys", "emptyDir": {"medium": "Memory"}}],
    }
