"""MPIJob: what the MPI Operator adds to the pod templates of the launcher and its hosts.

Trainer's MPI policy generates the hostfile, the keys and the Open MPI variables. What it does not support (Intel MPI,
MPICH, discover_hosts.sh, launchers without hosts) is written out as a ConfigMap, a Secret name, and variables.
Source: kubeflow/mpi-operator pkg/controller/mpi_job_controller.go (v0.8.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from trainc.api.findings import Finding
from trainc.api.kube import Json
from trainc.features.migration.v1.v1.job import DATA, UNKNOWN_NAME, Group, Job, Layout, changes, differs

_CONFIG = "mpi-job-config"
_CONFIG_PATH = "/etc/mpi"
_DISCOVERY = "discover_hosts.sh"
_CONFIG_NAME = "{}-config"
_KEYS = "ssh-auth"
# The name of the Secret with the keys, which is the same as under Trainer's policy.
_NAME_OF_KEYS = "{}-mpi-ssh-auth"
_ROOT = "/root/.ssh"
_SSHD = ["/usr/sbin/sshd", "-De"]


class Settings(NamedTuple):
    """What an MPIJob says of its launcher and hosts, with the operator's defaults."""

    implementation: str
    slots: int
    launcher_works: bool
    waits_for_workers: bool
    keys_path: str


def settings(job: Job) -> Settings:
    """The settings of an MPIJob."""
    spec = job.spec
    slots = spec.get("slotsPerWorker")
    return Settings(
        spec.get("mpiImplementation") or "OpenMPI",
        1 if slots is None else slots,
        bool(spec.get("runLauncherAsWorker")),
        spec.get("launcherCreationPolicy") == "WaitForWorkersReady",
        spec.get("sshAuthMountPath") or _ROOT,
    )


def has_policy(layout: Layout) -> bool:
    """Return whether Trainer's MPI policy provides what the operator provided."""
    mpi, texts = settings(layout.job), str([role.template for role in layout.job.roles])
    is_plain = mpi.implementation == "OpenMPI" and mpi.slots > 0 and _DISCOVERY not in texts
    # A job stands behind those that it waits for, and Trainer writes the hostfile in the order of the jobs.
    in_order = not (mpi.launcher_works and mpi.waits_for_workers)
    return is_plain and in_order and len(layout.groups) > 1 and not layout.groups[-1].by_job


def policy(job: Job) -> dict[str, Any]:
    """Trainer's MPI policy for the job."""
    mpi = settings(job)
    works = {"runLauncherAsNode": True} if mpi.launcher_works else {}
    counts = {"mpiImplementation": "OpenMPI", "numProcPerNode": mpi.slots}
    return {**counts, **works, "sshAuthMountPath": mpi.keys_path}


def variables(layout: Layout, group: Group) -> list[dict[str, Any]]:
    """The variables that the operator sets in the first container, without those that Trainer's policy sets."""
    mpi = settings(layout.job)
    values = {"K_MPI_JOB_ROLE": group.role.lower}
    if group.role.name == "Launcher":
        values |= {} if has_policy(layout) else DATA["variables"][mpi.implementation]
        values |= {} if mpi.launcher_works else {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
    return [{"name": name, "value": value.format(slots=mpi.slots)} for name, value in values.items()]


def variables_of_policy(job: Job) -> frozenset[str]:
    """The variables that Trainer's policy sets, which the job must therefore omit."""
    return frozenset(DATA["variables"][settings(job).implementation])


def pod_spec(layout: Layout, group: Group, spec: Json) -> dict[str, Any]:
    """A pod spec of the group with the operator's additions."""
    job = layout.job
    changed = dict(spec)
    main = dict(spec["containers"][0])
    if spec.get("hostNetwork"):
        changed["dnsPolicy"] = "ClusterFirstWithHostNet"
    if group.role.name == "Worker":
        if not main.get("command") and not main.get("args"):
            main["command"] = list(_SSHD)
        if job.namespace and job.name != UNKNOWN_NAME:
            dns = spec.get("dnsConfig") or {}
            domain = f"{job.name}.{job.namespace}.svc.cluster.local"
            changed["dnsConfig"] = {**dns, "searches": [*(dns.get("searches") or ()), domain]}
    if not has_policy(layout):
        extra = list(_volumes(layout, group))
        changed["volumes"] = [*(spec.get("volumes") or ()), *(volume for volume, _ in extra)]
        main["volumeMounts"] = [*(main.get("volumeMounts") or ()), *(mount for _, mount in extra)]
    return {**changed, "containers": [main, *spec["containers"][1:]]}


def _volumes(layout: Layout, group: Group) -> Iterator[tuple[Json, Json]]:
    job, path = layout.job, settings(layout.job).keys_path
    files = (("ssh-privatekey", "id_rsa"), ("ssh-publickey", "id_rsa.pub"), ("ssh-publickey", "authorized_keys"))
    items = [{"key": key, "path": name} for key, name in files]
    mode = {"defaultMode": 0o600} if path == _ROOT else {}
    yield (
        {"name": _KEYS, "secret": {"secretName": _NAME_OF_KEYS.format(job.name), "items": items, **mode}},
        {"name": _KEYS, "mountPath": path},
    )
    if group.role.name == "Launcher":
        keys = (("hostfile", 0o444), (_DISCOVERY, 0o555))
        config_items = [{"key": key, "path": key, "mode": mode} for key, mode in keys]
        yield (
            {"name": _CONFIG, "configMap": {"name": _CONFIG_NAME.format(job.name), "items": config_items}},
            {"name": _CONFIG, "mountPath": _CONFIG_PATH},
        )


def config_map(layout: Layout) -> dict[str, Any]:
    """A ConfigMap with the hostfile and a script that lists the same hosts."""
    job = layout.job
    mpi = settings(job)
    pods = [pod for group in layout.groups for pod in group.pods if pod[0] == "worker" or mpi.launcher_works]
    suffix = f".{job.namespace}.svc" if job.namespace else ""
    addresses = layout.hosts()
    hosts = [f"{addresses[pod]}{suffix}" for pod in pods]
    line = "{} slots={}\n" if mpi.implementation == "OpenMPI" else "{}:{}\n"
    data = {
        "hostfile": "".join(line.format(host, mpi.slots) for host in hosts),
        _DISCOVERY: "".join(("#!/bin/sh\n", *(f"echo {host}\n" for host in hosts))),
    }
    namespace = {"namespace": job.namespace} if job.namespace else {}
    metadata = {"name": _CONFIG_NAME.format(job.name), **namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def depends_on(layout: Layout, group: Group) -> dict[str, Any]:
    """The dependencies of the launcher."""
    if not settings(layout.job).waits_for_workers or group.role.name != "Launcher" or len(layout.groups) == 1:
        return {}
    return {"dependsOn": [{"name": layout.groups[1].name, "status": "Ready"}]}


def differences(layout: Layout) -> Iterator[Finding]:
    """Differences between a JobSet and the MPI Operator, and what the user must provide."""
    job = layout.job
    launcher = job.role("Launcher")
    if launcher is None or has_policy(layout):
        return
    message = (
        f"Trainer has no policy for this launcher; the hostfile is in ConfigMap {_CONFIG_NAME.format(job.name)} instead"
    )
    hint = "apply the ConfigMap together with the job, and update it when the number of workers changes"
    yield changes(launcher.path, message, hint)
    message = f"the MPI Operator created the SSH keys; now you create Secret {_NAME_OF_KEYS.format(job.name)} once, and the pods mount it"
    make = "ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -f id_ecdsa && kubectl create secret generic "
    files = "--type=kubernetes.io/ssh-auth --from-file=ssh-privatekey=id_ecdsa --from-file=ssh-publickey=id_ecdsa.pub"
    yield differs(("spec", "sshAuthMountPath"), message, f"{make}{_NAME_OF_KEYS.format(job.name)} {files}")
    if _DISCOVERY in str(launcher.template):
        message = f"{_DISCOVERY} listed the running hosts; now it always lists all of them"
        hint = "keep the number of workers fixed: a lost host is not removed from the list"
        yield differs(launcher.path, message, hint)
    implementation = settings(job).implementation
    if implementation != "OpenMPI" and job.namespace is None:
        message = f"{implementation} needs the namespace, because it reaches the launcher by its short host name"
        hint = "set metadata.namespace in the MPIJob, then migrate it again"
        yield differs(("metadata", "namespace"), message, hint)
