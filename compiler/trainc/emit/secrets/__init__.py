"""Secrets modes: where the Secrets that pods mount come from. No mode ever handles key material."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, cast

from trainc.ir.trainjob import TrainJob
from trainc.options import Options, SecretsMode

if TYPE_CHECKING:
    from trainc.api.documents import Json
    from trainc.emit.secrets.mode import Mode, Provision
    from trainc.ir.provided_secret import ProvidedSecret

# The module in this folder and the function of each mode, imported only if a job has a Secret.
_MODES: Mapping[SecretsMode, tuple[str, str]] = {
    "existing": ("mode", "refer"),
    "external-secrets": ("mode", "generate"),
    "sealed": ("sealed", "pass_sealed"),
    "presync-job": ("presync_job", "make_before_sync"),
}
# Modes that create a new key pair for each name. In the others, the Secret exists already and keeps its name.
_MAKE_NEW_KEYS: frozenset[SecretsMode] = frozenset({"external-secrets"})

__all__ = ["makes_new_keys", "provide"]


def makes_new_keys(mode: SecretsMode) -> bool:
    """Return whether the names of Secrets with key pairs include a job's name hash."""
    return mode in _MAKE_NEW_KEYS


def provide(job: TrainJob, secrets: Sequence[ProvidedSecret], others: Sequence[Json], options: Options) -> Provision:
    """Return the objects that provide a job's Secrets, and findings that say what the user has to do.

    `others` are the documents of the input that are neither TrainJobs nor runtimes, among which SealedSecrets are looked
    up. Only key pairs can be created in a cluster; all other Secrets must exist.
    """
    from trainc.emit.secrets.mode import Provision

    provisions = [_mode(options.secrets if s.key_pair else "existing")(job, s, others, options) for s in secrets]
    return Provision(
        tuple(manifest for provision in provisions for manifest in provision.manifests),
        tuple(finding for provision in provisions for finding in provision.findings),
    )


def _mode(name: SecretsMode) -> Mode:
    module, function = _MODES[name]
    return cast("Mode", getattr(import_module(f"trainc.emit.secrets.{module}"), function))
