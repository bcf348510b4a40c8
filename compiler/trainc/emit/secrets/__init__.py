"""Where the Secrets come from that pods mount: one file per mode, and none of them holds key material."""

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

# The module of each mode beside this one, imported where a job has a Secret, and its function.
_MODES: Mapping[SecretsMode, tuple[str, str]] = {
    "existing": ("mode", "refer"),
    "external-secrets": ("mode", "generate"),
    "sealed": ("sealed", "pass_sealed"),
    "presync-job": ("presync_job", "make_before_sync"),
}
# Modes that make a new key pair for each name; under the others Secrets are there already and keep theirs.
_MAKE_NEW_KEYS: frozenset[SecretsMode] = frozenset({"external-secrets"})

__all__ = ["makes_new_keys", "provide"]


def makes_new_keys(mode: SecretsMode) -> bool:
    """Whether Secrets with key pairs follow a job's name hash."""
    return mode in _MAKE_NEW_KEYS


def provide(job: TrainJob, secrets: Sequence[ProvidedSecret], others: Sequence[Json], options: Options) -> Provision:
    """The objects that provide a job's Secrets, and what is left for somebody to do.

    `others` are the input's documents that are neither TrainJob nor runtime: a SealedSecret is looked up there. Only
    key pairs can be made in a cluster; every other Secret has to exist.
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
