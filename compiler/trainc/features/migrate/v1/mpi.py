"""MPIJob: what the MPI Operator adds to the pod templates of the launcher and its hosts.

Trainer's MPI policy generates the hostfile, the keys and the Open MPI variables. What it does not support (Intel MPI,
MPICH, discover_hosts.sh, launchers without hosts) is written out as a ConfigMap, a Secret name, and variables.
Source: kubeflow/mpi-operator pkg/controller/mpi_job_controller.go (v0.8.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.features.migrate.v1.job import Job, Role, changes, differs
from trainc.features.migrate.v1.layout import Group, Layout
from trainc.findings import Finding
from trainc.kube.documents import Json

_CONFIG = "mpi-job-config"
_CONFIG_PATH = "/etc/mpi"
_HOSTFILE = f"{_CONFIG_PATH}/hostfile"
_DISCOVERY = "discover_hosts.sh"
_KEYS = "ssh-auth"
_ROOT = "/root/.ssh"
_ATTEMPTS = "-o ConnectionAttempts=10"
_SSHD = ["/usr/sbin/sshd", "-De"]
# The (variable, value) pairs of each implementation; the number of slots is added if it has a variable for that.
_OF_IMPLEMENTATION: dict[str, tuple[tuple[tuple[str, str], ...], str | None]] = {
    "OpenMPI": (
        (
            ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
            ("OMPI_MCA_orte_default_hostfile", _HOSTFILE),
            ("OMPI_MCA_plm_rsh_args", _ATTEMPTS),
        ),
        "OMPI_MCA_orte_set_default_slots",
    ),
    "Intel": (
        (("I_MPI_HYDRA_HOST_FILE", _HOSTFILE), ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", _ATTEMPTS)),
        "I_MPI_PERHOST",
    ),
    "MPICH": ((("HYDRA_HOST_FILE", _HOSTFILE), ("HYDRA_LAUNCH_EXTRA_ARGS", _ATTEMPTS)), None),
}


def implementation(job: Job) -> str:
    """OpenMPI, Intel or MPICH."""
    return str(job.spec.get("mpiImplementation") or "OpenMPI")


def slots(job: Job) -> int:
    """The number of processes per host."""
    given = job.spec.get("slotsPerWorker")
    return 1 if given is None else int(given)


def launcher_works(job: Job) -> bool:
    """Whether the launcher is also a host."""
    return bool(job.spec.get("runLauncherAsWorker"))


def has_policy(layout: Layout) -> bool:
    """Whether Trainer's MPI policy provides what the operator provided."""
    job = layout.job
    texts = str([role.template for role in job.roles])
    reads_index = layout.groups[-1].by_job
    plain = implementation(job) == "OpenMPI" and slots(job) > 0 and _DISCOVERY not in texts
    # A job stands behind those that it waits for, and Trainer writes the hostfile in the order of the jobs.
    in_order = not (launcher_works(job) and waits_for_workers(job))
    return plain and in_order and len(layout.groups) > 1 and not reads_index


def waits_for_workers(job: Job) -> bool:
    """Whether the launcher is created only once the workers are ready."""
    return job.spec.get("launcherCreationPolicy") == "WaitForWorkersReady"


def policy(job: Job) -> dict[str, Any]:
    """Trainer's MPI policy for the job."""
    fields: dict[str, Any] = {"mpiImplementation": "OpenMPI", "numProcPerNode": slots(job)}
    if launcher_works(job):
        fields["runLauncherAsNode"] = True
    return {**fields, "sshAuthMountPath": keys_path(job)}


def keys_path(job: Job) -> str:
    """The path where the keys are mounted."""
    return str(job.spec.get("sshAuthMountPath") or _ROOT)


def variables(layout: Layout, group: Group) -> list[dict[str, Any]]:
    """The variables that the operator sets in the first container, without those that Trainer's policy sets."""
    job = layout.job
    made: list[dict[str, Any]] = [{"name": "K_MPI_JOB_ROLE", "value": group.role.lower}]
    if group.role.name == "Launcher":
        if not has_policy(layout):
            given, slots_variable = _OF_IMPLEMENTATION[implementation(job)]
            made += [{"name": name, "value": value} for name, value in given]
            made += [{"name": slots_variable, "value": str(slots(job))}] if slots_variable else []
        if not launcher_works(job):
            made += [
                {"name": "NVIDIA_VISIBLE_DEVICES", "value": ""},
                {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": ""},
            ]
    return made


def variables_of_policy(job: Job) -> frozenset[str]:
    """The variables that Trainer's policy sets, which the job must therefore omit."""
    given, slots_variable = _OF_IMPLEMENTATION[implementation(job)]
    return frozenset((*(name for name, _ in given), *filter(None, (slots_variable,))))


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
        if job.namespace:
            dns = spec.get("dnsConfig") or {}
            domain = f"{job.name}.{job.namespace}.svc.cluster.local"
            changed["dnsConfig"] = {**dns, "searches": [*(dns.get("searches") or ()), domain]}
    if not has_policy(layout):
        extra = list(_volumes(layout, group))
        changed["volumes"] = [*(spec.get("volumes") or ()), *(volume for volume, _ in extra)]
        main["volumeMounts"] = [*(main.get("volumeMounts") or ()), *(mount for _, mount in extra)]
    return {**changed, "containers": [main, *spec["containers"][1:]]}


def _volumes(layout: Layout, group: Group) -> Iterator[tuple[Json, Json]]:
    job, path = layout.job, keys_path(layout.job)
    files = (("ssh-privatekey", "id_rsa"), ("ssh-publickey", "id_rsa.pub"), ("ssh-publickey", "authorized_keys"))
    items = [{"key": key, "path": name} for key, name in files]
    mode = {"defaultMode": 0o600} if path == _ROOT else {}
    yield (
        {"name": _KEYS, "secret": {"secretName": secret_name(job), "items": items, **mode}},
        {"name": _KEYS, "mountPath": path},
    )
    if group.role.name == "Launcher":
        keys = (("hostfile", 0o444), (_DISCOVERY, 0o555))
        shown = [{"key": key, "path": key, "mode": mode} for key, mode in keys]
        yield (
            {"name": _CONFIG, "configMap": {"name": _config_name(job), "items": shown}},
            {"name": _CONFIG, "mountPath": _CONFIG_PATH},
        )


def secret_name(job: Job) -> str:
    """The name of the Secret with the keys, which is the same as under Trainer's policy."""
    return f"{job.name}-mpi-ssh-auth"


def _config_name(job: Job) -> str:
    return f"{job.name}-config"


def config_map(layout: Layout) -> dict[str, Any]:
    """A ConfigMap with the hostfile and a script that lists the same hosts."""
    job = layout.job
    pods = [pod for group in layout.groups for pod in group.pods if pod[0] == "worker" or launcher_works(job)]
    suffix = f".{job.namespace}.svc" if job.namespace else ""
    hosts = [f"{layout.hosts[pod]}{suffix}" for pod in pods]
    line = "{} slots={}\n" if implementation(job) == "OpenMPI" else "{}:{}\n"
    data = {
        "hostfile": "".join(line.format(host, slots(job)) for host in hosts),
        _DISCOVERY: "".join(("#!/bin/sh\n", *(f"echo {host}\n" for host in hosts))),
    }
    namespace = {"namespace": job.namespace} if job.namespace else {}
    metadata = {"name": _config_name(job), **namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def depends_on(layout: Layout, group: Group) -> dict[str, Any]:
    """The dependencies of the launcher."""
    if not waits_for_workers(layout.job) or group.role.name != "Launcher" or len(layout.groups) == 1:
        return {}
    return {"dependsOn": [{"name": layout.groups[1].name, "status": "Ready"}]}


def differences(layout: Layout) -> Iterator[Finding]:
    """Differences between a JobSet and the MPI Operator, and what the user must provide."""
    job = layout.job
    launcher = job.role("Launcher")
    assert launcher is not None
    if has_policy(layout):
        return
    yield from _by_hand(job, launcher)
    if _DISCOVERY in str(launcher.template):
        message = f"{_DISCOVERY} listed the running hosts; now it always lists all of them"
        hint = "keep the number of workers fixed: a lost host is not removed from the list"
        yield differs(launcher.path, message, hint)
    if implementation(job) != "OpenMPI" and job.namespace is None:
        message = (
            f"{implementation(job)} reaches the launcher by its short host name, for which trainc needs the namespace"
        )
        hint = "set metadata.namespace in the MPIJob, then migrate it again"
        yield differs(("metadata", "namespace"), message, hint)


def _by_hand(job: Job, launcher: Role) -> Iterator[Finding]:
    message = f"Trainer has no policy for this launcher; the hostfile is in ConfigMap {_config_name(job)} instead"
    hint = "apply the ConfigMap together with the job, and update it when the number of workers changes"
    yield changes(launcher.path, message, hint)
    message = (
        f"the MPI Operator created the SSH keys; now the pods mount Secret {secret_name(job)}, which you create once"
    )
    make = "ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -f id_ecdsa && kubectl create secret generic "
    files = "--type=kubernetes.io/ssh-auth --from-file=ssh-privatekey=id_ecdsa --from-file=ssh-publickey=id_ecdsa.pub"
    yield differs(("spec", "sshAuthMountPath"), message, f"{make}{secret_name(job)} {files}")
