"""Mode `sealed`: copies a SealedSecret that the user has created from the input to the output.

Only fields that cannot contain plain text are copied, so that a mistake in the input is refused and not published.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.api.documents import Json, Manifest
from trainc.diagnostics import Finding
from trainc.emit.secrets.mode import Provision
from trainc.ir.provided_secret import ProvidedSecret
from trainc.ir.trainjob import TrainJob
from trainc.options import Options

_API = "bitnami.com/v1alpha1"
_SPEC_FIELDS = ("encryptedData", "template")
_RSA_BLOCKS = (256, 384, 512, 1024)
_TEMPLATE_FIELDS = ("type", "immutable", "metadata")


def pass_sealed(job: TrainJob, secret: ProvidedSecret, others: Sequence[Json], options: Options) -> Provision:
    """Return the SealedSecret with the Secret's name and namespace, or an error that says how to create it."""
    found = [document for document in others if _is_for(document, secret.name, job.namespace)]
    if not found:
        return Provision(findings=(_missing(job, secret),))
    problems = tuple(_problems(found[0], secret, job))
    if problems:
        return Provision(findings=problems)
    return Provision((_clean_secret(found[0], job, secret),), tuple(_left_out(found[0], secret)))


def _is_for(document: Json, name: str, namespace: str) -> bool:
    metadata = _mapping(document.get("metadata"))
    named = (metadata.get("name"), metadata.get("namespace") or "") == (name, namespace)
    return named and document.get("kind") == "SealedSecret" and document.get("apiVersion") == _API


def _missing(job: TrainJob, secret: ProvidedSecret) -> Finding:
    place = f" in namespace {job.namespace!r}" if job.namespace else " without a namespace"
    return Finding(
        "SealedSecretMissing",
        "error",
        f"the input has no SealedSecret {secret.name!r}{place} with {secret.purpose}",
        hint=f"create it and add it to the input: {_seal(job, secret)}",
    )


def _seal(job: TrainJob, secret: ProvidedSecret) -> str:
    """Return the command that creates the key pair, seals it for one name and namespace, and deletes it again."""
    files = " ".join(file for _, file in secret.files)
    return (
        f"{secret.make} && {secret.create(job.namespace)} --dry-run=client -o yaml"
        f" | kubeseal --cert pub-cert.pem --format yaml > {secret.name}.sealed.yaml; rm -f {files}"
    )


def _problems(document: Json, secret: ProvidedSecret, job: TrainJob) -> Iterator[Finding]:
    spec = _mapping(document.get("spec"))
    template = _mapping(spec.get("template"))
    encrypted = _mapping(spec.get("encryptedData"))
    if not isinstance(spec.get("template", {}), Mapping):
        yield _unusable(secret, job, "spec.template is not a mapping")
    for key in secret.keys:
        if key not in encrypted:
            yield _unusable(secret, job, f"spec.encryptedData has no {key!r}")
    for key, value in encrypted.items():
        if not _is_ciphertext(value):
            yield _unusable(secret, job, f"spec.encryptedData[{key!r}] is not a value written by kubeseal")
    for field in sorted({*spec} - {*_SPEC_FIELDS}):
        yield _unusable(secret, job, f"spec.{field} could contain plain text")
    for field in sorted({*template} - {*_TEMPLATE_FIELDS}):
        yield _unusable(secret, job, f"spec.template.{field} could contain plain text")
    if template.get("type", secret.type) != secret.type:
        yield _unusable(secret, job, f"spec.template.type is {template['type']!r}, but the pods expect {secret.type}")


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


def _left_out(document: Json, secret: ProvidedSecret) -> Iterator[Finding]:
    template = _mapping(_mapping(document["spec"]).get("template"))
    for place, metadata in (("", document["metadata"]), ("spec.template.", _mapping(template.get("metadata")))):
        lost = [
            key for field in ("labels", "annotations") for key in _mapping(metadata.get(field)) if key not in _SCOPES
        ]
        if lost:
            yield Finding(
                "SealedSecretTrimmed",
                "info",
                f"{', '.join(lost)} in {place}metadata of the SealedSecret {secret.name!r} is not copied to the output",
                hint="no action needed: only fields that are certain to be ciphertext are copied",
            )


def _unusable(secret: ProvidedSecret, job: TrainJob, why: str) -> Finding:
    return Finding(
        "SealedSecretUnusable",
        "error",
        f"the SealedSecret {secret.name!r} cannot be used: {why}",
        hint=f"seal it again: {_seal(job, secret)}",
    )


def _clean_secret(document: Json, job: TrainJob, secret: ProvidedSecret) -> Manifest:
    """Return the SealedSecret without labels, annotations and all other fields that have not been checked."""
    template = _mapping(document["spec"].get("template"))
    # The ciphertext is bound to its scope, so the scope must be kept in both places.
    scope = {k: v for k, v in _mapping(document["metadata"].get("annotations")).items() if k in _SCOPES and v == "true"}
    annotations = {"annotations": scope} if scope else {}
    return {
        "apiVersion": _API,
        "kind": "SealedSecret",
        "metadata": {**job.named(secret.name), **annotations},
        "spec": {
            "encryptedData": dict(document["spec"]["encryptedData"]),
            "template": {
                "type": secret.type,
                **({"immutable": True} if template.get("immutable") is True else {}),
                "metadata": {**job.named(secret.name), **annotations},
            },
        },
    }


_SCOPES = ("sealedsecrets.bitnami.com/namespace-wide", "sealedsecrets.bitnami.com/cluster-wide")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
