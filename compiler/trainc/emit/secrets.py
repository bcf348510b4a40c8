"""Secrets modes: where the Secrets that pods mount come from. No mode ever handles key material."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.findings import Finding
from trainc.ir.info import ProvidedSecret
from trainc.ir.provenance import derived
from trainc.ir.trainjob import TrainJob
from trainc.kube.documents import Json, Manifest, identity_of, mapping
from trainc.options import Options, SecretsMode
from trainc.reading.document import Surroundings
from trainc.startup.records import dataclass


def makes_new_keys(mode: SecretsMode) -> bool:
    """Return whether the names of Secrets with key pairs include a job's name hash.

    In the other modes, the Secret exists already and keeps its name.
    """
    return mode == "external-secrets"


def provide(job: TrainJob, secrets: Sequence[ProvidedSecret], around: Surroundings, options: Options) -> Provision:
    """Return the objects that provide a job's Secrets, and findings that say what the user has to do.

    SealedSecrets are looked up in the input. Only key pairs can be created in a cluster; all other Secrets must exist.
    """
    provisions = [_MODES[options.secrets if s.key_pair else "existing"](job, s, around, options) for s in secrets]
    manifests = tuple(manifest for provision in provisions for manifest in provision.manifests)
    return Provision(manifests, tuple(finding for provision in provisions for finding in provision.findings))


def service_accounts(job: TrainJob, accounts: Sequence[str], around: Surroundings) -> Iterator[Finding]:
    """Yield an info for each service account that pods use and the input does not create: without it, no pod is."""
    for name in sorted({*accounts} - {"default", *around.of("ServiceAccount", job.namespace)}):
        where = f" --namespace {job.namespace}" if job.namespace else ""
        message = f"the pods use the service account {name!r}, which is not in the output"
        hint = f"create it if it does not exist, with what it may do: kubectl create serviceaccount {name}{where}"
        yield Finding("ServiceAccountNeeded", "info", message, hint)


# Secrets modes as functions: from the Secret that pods expect to the objects that provide it.


@dataclass(frozen=True, slots=True)
class Provision:
    """Objects to emit together with the job's, and findings. Neither contains key material."""

    manifests: tuple[Manifest, ...] = ()
    findings: tuple[Finding, ...] = ()


Mode: TypeAlias = Callable[[TrainJob, ProvidedSecret, Surroundings, Options], Provision]


# Mode `existing`: the pods refer to a Secret that the cluster's administrator creates.


def refer(job: TrainJob, secret: ProvidedSecret, around: Surroundings, options: Options) -> Provision:
    """Return no objects, and an info that says what the Secret must contain and how to create it."""
    message = f"the pods mount the Secret {secret.name!r} of type {secret.type} with {' and '.join(secret.keys)}: "
    hint = f"create it if it does not exist: {secret.make} && {secret.create(job.namespace)}"
    finding = Finding("SecretNeeded", "info", f"{message}{secret.purpose}; it is not in the output", hint)
    return Provision(findings=(finding,))


# Mode `external-secrets`: the External Secrets Operator generates the key pair in the cluster, once.
#
# Source: external-secrets/external-secrets generators v1alpha1 SSHKey (since 0.19; ECDSA since 1.1) and ExternalSecret v1.


_GENERATORS_API = "generators.external-secrets.io/v1alpha1"


def generate(job: TrainJob, secret: ProvidedSecret, around: Surroundings, options: Options) -> Provision:
    """Return a generator and the ExternalSecret that uses it. The generated keys are never read back or changed."""
    generator: Manifest = {"apiVersion": _GENERATORS_API, "kind": "SSHKey", "metadata": job.metadata_for(secret.name)}
    generator["spec"] = {"keyType": "ecdsa", "keySize": 521}
    private_key, public_key = secret.keys
    source = {"generatorRef": {"apiVersion": _GENERATORS_API, "kind": "SSHKey", "name": secret.name}}
    external: Manifest = {
        "apiVersion": "external-secrets.io/v1",
        "kind": "ExternalSecret",
        "metadata": job.metadata_for(secret.name),
        "spec": {
            # A generator creates new keys on each refresh, after which running pods could no longer connect.
            "refreshPolicy": "CreatedOnce",
            "target": {
                "name": secret.name,
                "creationPolicy": "Owner",
                "immutable": True,
                "template": {
                    "type": secret.type,
                    "data": {private_key: "{{ .privateKey }}", public_key: "{{ .publicKey }}"},
                },
            },
            "dataFrom": [{"sourceRef": source}],
        },
    }
    return Provision((generator, external))


# Mode `presync-job`: an Argo CD hook generates the key pair in the cluster before the first sync, and never again.
#
# The Secret is not part of the Application, so it is not pruned.


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


def make_before_sync(job: TrainJob, secret: ProvidedSecret, around: Surroundings, options: Options) -> Provision:
    """Return a Job, and the RBAC objects that let it create the Secret, as hooks that run before everything else."""
    findings = tuple(_problems(job, options))
    if findings:
        return Provision(findings=findings)
    name = derived(f"{job.plain_name}-ssh-keygen", job.plain_name)
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
    container = {
        "name": "keygen",
        "image": str(options.keygen_image),
        "command": ["sh", "-ec"],
        "args": [_SCRIPT],
        "env": [{"name": "SECRET_NAME", "value": secret.name}, {"name": "SECRET_TYPE", "value": secret.type}],
        "volumeMounts": [{"name": "keys", "mountPath": "/keys"}],
    }
    pod = {"serviceAccountName": name, "restartPolicy": "Never", "containers": [container]}
    pod["volumes"] = [{"name": "keys", "emptyDir": {"medium": "Memory"}}]
    keygen = _hook(job, name, "Job", "batch/v1", done="BeforeHookCreation,HookSucceeded")
    keygen["spec"] = {"backoffLimit": 2, "template": {"spec": pod}}
    return Provision((_hook(job, name, "ServiceAccount", "v1"), role, binding, keygen))


def _problems(job: TrainJob, options: Options) -> Iterator[Finding]:
    if not options.keygen_image:
        message = "secrets mode presync-job needs an image with ssh-keygen and kubectl, and none is set"
        hint = "set one with --keygen-image, or use another --secrets mode"
        yield Finding("KeygenImageMissing", "error", message, hint)
    if options.delivery != "argocd":
        message = f"presync-job generates the key pair in an Argo CD hook, which {options.delivery} does not run"
        hint = "use --delivery argocd, or another --secrets mode"
        yield Finding("PreSyncNeedsArgoCD", "error", message, hint)
    if not job.namespace:
        message = "presync-job needs the namespace of the job to bind a role to its service account"
        hint = "set metadata.namespace, or compile with --namespace"
        yield Finding("NamespaceMissing", "error", message, hint, ("metadata",))


def _hook(job: TrainJob, name: str, kind: str, api: str, done: str = "BeforeHookCreation") -> Manifest:
    annotations = {"argocd.argoproj.io/hook": "PreSync", "argocd.argoproj.io/hook-delete-policy": done}
    return {"apiVersion": api, "kind": kind, "metadata": {**job.metadata_for(name), "annotations": annotations}}


# Mode `sealed`: copies a SealedSecret that the user has created from the input to the output.
#
# Only fields that cannot contain plain text are copied, so that a mistake in the input is refused and not published.


_API = "bitnami.com/v1alpha1"
_SPEC_FIELDS = ("encryptedData", "template")
_RSA_BLOCKS = (256, 384, 512, 1024)
_TEMPLATE_FIELDS = ("type", "immutable", "metadata")


def pass_sealed(job: TrainJob, secret: ProvidedSecret, around: Surroundings, options: Options) -> Provision:
    """Return the SealedSecret with the Secret's name and namespace, or an error that says how to create it."""
    document = around.of("SealedSecret", job.namespace).get(secret.name)
    sealed = document.data if document is not None else {}
    if sealed.get("apiVersion") != _API or identity_of(sealed)[0] != job.namespace:
        where = f" in namespace {job.namespace!r}" if job.namespace else " without a namespace"
        message = f"the input has no SealedSecret {secret.name!r}{where} with {secret.purpose}"
        hint = f"create it and add it to the input: {_seal(job, secret)}"
        return Provision(findings=(Finding("SealedSecretMissing", "error", message, hint),))
    if flaws := [*_flaws(sealed, secret)]:
        hint = f"seal it again: {_seal(job, secret)}"
        message = f"the SealedSecret {secret.name!r} cannot be used: "
        return Provision(findings=tuple(Finding("SealedSecretUnusable", "error", message + why, hint) for why in flaws))
    template, findings = mapping(mapping(sealed["spec"]).get("template")), []
    for where, metadata in (("", sealed["metadata"]), ("spec.template.", mapping(template.get("metadata")))):
        keys = [key for field in ("labels", "annotations") for key in mapping(metadata.get(field))]
        if lost := ", ".join(key for key in keys if key not in _SCOPES):
            message = f"{lost} in {where}metadata of the SealedSecret {secret.name!r} is not copied to the output"
            hint = "no action needed: only fields that are certain to be ciphertext are copied"
            findings.append(Finding("SealedSecretTrimmed", "info", message, hint))
    return Provision((_clean_secret(sealed, job, secret),), tuple(findings))


def _seal(job: TrainJob, secret: ProvidedSecret) -> str:
    """Return the command that creates the key pair, seals it for one name and namespace, and deletes it again."""
    files = " ".join(file for _, file in secret.files)
    return (
        f"{secret.make} && {secret.create(job.namespace)} --dry-run=client -o yaml"
        f" | kubeseal --cert pub-cert.pem --format yaml > {secret.name}.sealed.yaml; rm -f {files}"
    )


def _flaws(document: Json, secret: ProvidedSecret) -> Iterator[str]:
    """Yield why a SealedSecret cannot be used."""
    spec = mapping(document.get("spec"))
    template, encrypted = mapping(spec.get("template")), mapping(spec.get("encryptedData"))
    if not isinstance(spec.get("template", {}), Mapping):
        yield "spec.template is not a mapping"
    yield from (f"spec.encryptedData has no {key!r}" for key in secret.keys if key not in encrypted)
    for key, value in encrypted.items():
        if not _is_ciphertext(value):
            yield f"spec.encryptedData[{key!r}] is not a value written by kubeseal"
    yield from (f"spec.{field} could contain plain text" for field in sorted({*spec} - {*_SPEC_FIELDS}))
    other_fields = sorted({*template} - {*_TEMPLATE_FIELDS})
    yield from (f"spec.template.{field} could contain plain text" for field in other_fields)
    if template.get("type", secret.type) != secret.type:
        yield f"spec.template.type is {template['type']!r}, but the pods expect {secret.type}"


def _is_ciphertext(value: Any) -> bool:
    """Return whether a value has kubeseal's format: the length of an RSA block, the block, and the ciphertext.

    Source: bitnami-labs/sealed-secrets pkg/crypto/crypto.go (HybridEncrypt).
    """
    try:
        data = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        return False
    block = int.from_bytes(data[:2], "big")
    return block in _RSA_BLOCKS and len(data) > 2 + block


def _clean_secret(document: Json, job: TrainJob, secret: ProvidedSecret) -> Manifest:
    """Return the SealedSecret without labels, annotations and all other fields that have not been checked."""
    template = mapping(document["spec"].get("template"))
    # The ciphertext is bound to its scope, so the scope must be kept in both places.
    scope = {k: v for k, v in mapping(document["metadata"].get("annotations")).items() if k in _SCOPES and v == "true"}
    annotations = {"annotations": scope} if scope else {}
    return {
        "apiVersion": _API,
        "kind": "SealedSecret",
        "metadata": {**job.metadata_for(secret.name), **annotations},
        "spec": {
            "encryptedData": dict(document["spec"]["encryptedData"]),
            "template": {
                "type": secret.type,
                **({"immutable": True} if template.get("immutable") is True else {}),
                "metadata": {**job.metadata_for(secret.name), **annotations},
            },
        },
    }


_SCOPES = ("sealedsecrets.bitnami.com/namespace-wide", "sealedsecrets.bitnami.com/cluster-wide")


_MODES: Mapping[SecretsMode, Mode] = {
    "existing": refer,
    "external-secrets": generate,
    "sealed": pass_sealed,
    "presync-job": make_before_sync,
}
