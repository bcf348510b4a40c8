"""The SSH key pair with which mpirun logs in, mounted from a Secret that trainc names but never fills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.ir.info import Info
from trainc.ir.podset import Item
from trainc.ir.provided_secret import ProvidedSecret
from trainc.ir.trainjob import TrainJob

VOLUME = "mpi-ssh-auth"
# (key in the Secret, file name, mode). The private key is group-readable for runtimes that run as non-root.
_FILES = (
    ("ssh-privatekey", "id_rsa", 0o640),
    ("ssh-publickey", "id_rsa.pub", 0o644),
    ("ssh-publickey", "authorized_keys", 0o644),
)
_DEFAULT_MODE = 0o400


def secret_name(job: TrainJob) -> str:
    """Return the name of the Secret with the key pair."""
    return f"{job.name if job.new_keys else job.plain_name}-mpi-ssh-auth"


def provided_secret(job: TrainJob) -> ProvidedSecret:
    """Return the Secret that the pods expect. The key type is the one that the controller generates, ECDSA P-521."""
    return ProvidedSecret(
        name=secret_name(job),
        type="kubernetes.io/ssh-auth",
        purpose="the SSH key pair that mpirun uses to reach the nodes",
        files=(("ssh-privatekey", "id_ecdsa"), ("ssh-publickey", "id_ecdsa.pub")),
        make="ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -f id_ecdsa",
        key_pair=True,
    )


def volumes(job: TrainJob, info: Info) -> tuple[Item, ...]:
    """Return the volume with the key pair; releases since 2.3 set file modes."""
    modes = info.release.mpi_file_modes
    items = [{"key": key, "path": path, **({"mode": mode} if modes else {})} for key, path, mode in _FILES]
    secret = {"secretName": secret_name(job), "items": items, **({"defaultMode": _DEFAULT_MODE} if modes else {})}
    return ({"name": VOLUME, "secret": secret},)


def mount(policy: Mapping[str, Any]) -> Item:
    """Return the mount of the keys, at the policy's sshAuthMountPath."""
    return {"name": VOLUME, "mountPath": policy.get("sshAuthMountPath", "/root/.ssh")}
