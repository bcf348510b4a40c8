"""Mode `existing`: the Secret is referred to, and whoever looks after the cluster makes it."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.diagnostics import Finding
from trainc.emit.secrets.mode import Json, Provision
from trainc.ir.provided_secret import ProvidedSecret
from trainc.ir.trainjob import TrainJob
from trainc.options import Options


def refer(job: TrainJob, secret: ProvidedSecret, others: Sequence[Json], options: Options) -> Provision:
    """No object; an info says what the Secret has to hold and how one is made."""
    message = f"pods mount the Secret {secret.name!r} of type {secret.type} with {' and '.join(secret.keys)}: "
    hint = f"where it does not exist yet: {secret.make} && {secret.create(job.namespace)}"
    return Provision(
        findings=(Finding("SecretNeeded", "info", f"{message}{secret.purpose}; it is not part of the output", hint),)
    )
