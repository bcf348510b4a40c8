"""Volumes and mounts of a Flux job."""

from __future__ import annotations

from trainc.ir.podset import Item
from trainc.ir.provided_secret import ProvidedSecret
from trainc.ir.release import Release
from trainc.ir.trainjob import TrainJob

INSTALL_DIR = "/mnt/flux"
CONFIG_DIR = "/etc/flux-config"
CURVE_DIR = "/curve"
SHARED_MEMORY_DIR = "/dev/shm"  # noqa: S108 - a mount in the pod, not a file of ours


def config_map_name(job: TrainJob) -> str:
    """Return the name of the ConfigMap with the scripts, which is also the name of its volume."""
    return f"{job.name}-flux-entrypoint"


def curve_secret_name(job: TrainJob) -> str:
    """Return the name of the Secret with `curve.cert`, with which the brokers authenticate each other."""
    return f"{job.plain_name}-flux-curve"


def curve_secret(job: TrainJob) -> ProvidedSecret:
    """Return the Secret with the certificate that the brokers expect. No secrets mode can create it."""
    return ProvidedSecret(
        name=curve_secret_name(job),
        type="Opaque",
        purpose="the certificate that Flux brokers use to authenticate each other",
        files=(("curve.cert", "curve.cert"),),
        make="flux keygen curve.cert",
    )


def volumes(job: TrainJob, release: Release) -> tuple[Item, ...]:
    """Return the volumes in the controller's order; releases since 2.3 add shared memory."""
    config = config_map_name(job)
    shared_memory: Item = {"name": "shared-memory", "emptyDir": {"medium": "Memory"}}
    return (
        {"name": "spack-install", "emptyDir": {}},
        {"name": "flux-install", "emptyDir": {}},
        {"name": config, "configMap": {"name": config, "defaultMode": 0o755}},
        *((shared_memory,) if release.flux_shared_memory else ()),
        {"name": "flux-curve", "secret": {"secretName": curve_secret_name(job), "defaultMode": 0o400}},
    )


def installer_mounts(job: TrainJob) -> tuple[Item, ...]:
    """Return the mounts of the init container, which installs Flux."""
    return (
        {"name": "flux-install", "mountPath": INSTALL_DIR},
        {"name": config_map_name(job), "mountPath": CONFIG_DIR, "readOnly": True},
    )


def node_mounts(job: TrainJob, release: Release) -> tuple[Item, ...]:
    """Return the mounts of the trainer's container. The controller mounts shared memory read-only."""
    shared_memory: Item = {"name": "shared-memory", "mountPath": SHARED_MEMORY_DIR, "readOnly": True}
    return (
        {"name": "flux-install", "mountPath": INSTALL_DIR},
        {"name": "spack-install", "mountPath": "/opt/software"},
        {"name": config_map_name(job), "mountPath": CONFIG_DIR, "readOnly": True},
        {"name": "flux-curve", "mountPath": CURVE_DIR, "readOnly": True},
        *((shared_memory,) if release.flux_shared_memory else ()),
    )
