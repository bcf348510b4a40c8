"""Secrets modes as functions: from the Secret that pods expect to the objects that provide it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from trainc.api.documents import Json, Manifest
from trainc.diagnostics import Finding
from trainc.ir.provided_secret import ProvidedSecret
from trainc.ir.trainjob import TrainJob
from trainc.options import Options
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Provision:
    """Objects to emit together with the job's, and findings. Neither contains key material."""

    manifests: tuple[Manifest, ...] = ()
    findings: tuple[Finding, ...] = ()


Mode: TypeAlias = Callable[[TrainJob, ProvidedSecret, Sequence[Json], Options], Provision]


# Mode `existing`: the pods refer to a Secret that the cluster's administrator creates.


def refer(job: TrainJob, secret: ProvidedSecret, others: Sequence[Json], options: Options) -> Provision:
    """Return no objects, and an info that says what the Secret must contain and how to create it."""
    message = f"the pods mount the Secret {secret.name!r} of type {secret.type} with {' and '.join(secret.keys)}: "
    hint = f"create it if it does not exist: {secret.make} && {secret.create(job.namespace)}"
    return Provision(
        findings=(Finding("SecretNeeded", "info", f"{message}{secret.purpose}; it is not in the output", hint=hint),)
    )


# Mode `external-secrets`: the External Secrets Operator generates the key pair in the cluster, once.
#
# Source: external-secrets/external-secrets generators v1alpha1 SSHKey (since 0.19; ECDSA since 1.1) and ExternalSecret v1.


_GENERATORS_API = "generators.external-secrets.io/v1alpha1"


def generate(job: TrainJob, secret: ProvidedSecret, others: Sequence[Json], options: Options) -> Provision:
    """Return a generator and the ExternalSecret that uses it. The generated keys are never read back or changed."""
    generator: Manifest = {
        "apiVersion": _GENERATORS_API,
        "kind": "SSHKey",
        "metadata": job.named(secret.name),
        "spec": {"keyType": "ecdsa", "keySize": 521},
    }
    return Provision((generator, _external_secret(job, secret)))


def _external_secret(job: TrainJob, secret: ProvidedSecret) -> Manifest:
    private_key, public_key = secret.keys
    source = {"generatorRef": {"apiVersion": _GENERATORS_API, "kind": "SSHKey", "name": secret.name}}
    return {
        "apiVersion": "external-secrets.io/v1",
        "kind": "ExternalSecret",
        "metadata": job.named(secret.name),
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
