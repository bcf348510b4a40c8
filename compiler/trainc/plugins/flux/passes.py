"""The passes of Flux: a Flux Framework cluster inside the job, with its broker configuration and start scripts.

Source: kubeflow/trainer pkg/runtime/framework/plugins/flux. The scripts themselves are trainc's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from string import Template

from trainc.findings import Finding
from trainc.ir.entrypoints import ambiguous_gpus, gpus, resources_per_node
from trainc.ir.info import Container, Info, Item, PodSet, ProvidedSecret
from trainc.ir.provenance import derived
from trainc.ir.release import controller_panics
from trainc.ir.trainjob import TrainJob, subdomain
from trainc.kube import names
from trainc.kube.documents import Json, Manifest
from trainc.plugins.plugin import Passes
from trainc.reading import opening
from trainc.startup.records import replace

# Volumes and mounts of a Flux job.


INSTALL_DIR = "/mnt/flux"
CONFIG_DIR = "/etc/flux-config"
CURVE_DIR = "/curve"
SHARED_MEMORY_DIR = "/dev/shm"  # noqa: S108 - a mount in the pod, not a file of ours


def _config_map_name(job: TrainJob) -> str:
    return derived(f"{job.name}-flux-entrypoint", job.name)


def _curve_secret_name(job: TrainJob) -> str:
    return derived(f"{job.plain_name}-flux-curve", job.plain_name)


# The settings of the Flux cluster that are read from variables.
_DEFAULTS = {
    "FLUX_VIEW_IMAGE": "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy",
    "FLUX_NETWORK_DEVICE": "eth0",
    "FLUX_QUEUE_POLICY": "fcfs",
}


def _settings(job: TrainJob, info: Info) -> dict[str, str]:
    """Return the settings: defaults, then the runtime's variables, then the TrainJob's.

    A variable with `valueFrom` is ignored in the runtime, and counts as empty in the TrainJob.
    """
    settings = {name: info.made(value, rule=f"{name} is not set") for name, value in _DEFAULTS.items()}
    container = info.trainer_container
    for variable in container.env if container else ():
        if variable["name"] in settings and "valueFrom" not in variable:
            settings[variable["name"]] = variable.get("value", settings[variable["name"]])
    for variable in job.trainer.env:
        if variable["name"] in settings:
            settings[variable["name"]] = variable.get("value", "")
    return settings


def _span(size: int) -> str:
    return "0" if size == 1 else f"0-{size - 1}"


# The two scripts of a Flux job: one installs Flux and its configuration, the other starts the brokers.
#
# Both are trainc's own, written from Flux's administrator guide and the behavior of Trainer's plugin: an init
# container copies Flux into a shared volume, each host starts a broker, and the lead broker runs the command.


ENTRYPOINT = ("/bin/bash", f"{CONFIG_DIR}/entrypoint.sh")
INSTALL = ("/bin/bash", f"{CONFIG_DIR}/init.sh")

_BROKER_PORT = 8050


@cache
def _template(file: str) -> Template:
    return Template(opening.read_text(__file__, file))


def _filled(file: str, **values: object) -> str:
    return _template(file).substitute(install=INSTALL_DIR, **values)


def scripts(job: TrainJob, info: Info) -> dict[str, str]:
    """Return both scripts, by file name.

    The controller assumes that the replicated job is `node` and that the subdomain is the job's name, and gives each
    task all devices of the node, so that only one task fits; `gitops` uses the real ones, and divides the devices.
    """
    settings, node = _settings(job, info), info.pod_set_in_role(names.NODE)
    requested, devices = info.nodes.requested, gpus(resources_per_node(job, info))
    nodes: int = requested if requested is not None else (node.count if node else 1)
    processes: int = info.processes.value if info.processes.path else info.made(1, rule="numProcPerNode is not set: 1")
    prefix = f"{job.name}-{node.name if node and info.gitops else names.NODE}-0"
    domain = subdomain(job, info) if info.gitops else job.name
    hosts = f"{prefix}-[{_span(nodes)}]"
    broker = _filled(
        "broker.toml.in",
        port=_BROKER_PORT,
        device=settings["FLUX_NETWORK_DEVICE"],
        domain=f"{domain}.{job.namespace}.svc.{info.cluster_domain}" if job.namespace else domain,
        hosts=hosts,
        queue=settings["FLUX_QUEUE_POLICY"],
    ).rstrip()
    per_task = max(1, devices // max(1, processes)) if info.gitops else devices
    entrypoint = _filled(
        "entrypoint.sh.in",
        curve=CURVE_DIR,
        hosts=hosts,
        resources=f"--cores={_span(processes)}" + (f" --gpu={_span(devices)}" if devices else ""),
        lead=f"{prefix}-0",
        flags=f"-N {nodes} -n {processes * nodes}" + (f" -g {per_task}" if devices else ""),
        # The controller passes one word, which the shell must split; `gitops` passes separate words.
        command='"$@"' if info.gitops else "$*",
    )
    installer = _filled("init.sh.in", nodes=nodes, broker=broker)
    hosted = (job.name, nodes)
    no_devices, deviation = "" if devices else "no GPU is requested", "flux-command-words" if info.gitops else ""
    entrypoint = info.made(entrypoint, *hosted, processes, devices, rule=no_devices, deviation=deviation)
    chosen = (settings["FLUX_NETWORK_DEVICE"], settings["FLUX_QUEUE_POLICY"])
    installer = info.made(installer, *hosted, domain, job.namespace, *chosen)
    return {"entrypoint.sh": entrypoint, "init.sh": installer}


INSTALLER = "flux-installer"


def validate(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield errors for invalid process counts, and for an init container with the reserved name."""
    if info.gitops:
        yield from ambiguous_gpus(job, info)
    reads_job = info.gitops or info.release.flux_checks_trainer_processes
    processes = info.processes.value if reads_job and info.processes.path else policy.get("numProcPerNode", 1)
    path = ("spec", "trainer", "numProcPerNode")
    if not isinstance(processes, int):  # The words of earlier releases, which `gitops` still reads.
        message = f"numProcPerNode is {processes!r}; Flux needs a number of processes per node"
        hint = "write a number without quotes, such as numProcPerNode: 8"
        yield Finding("InvalidNumProcPerNode", "error", message, hint, path)
    elif processes < 1:
        message = f"numProcPerNode is {processes}; Flux needs at least one process per node"
        yield Finding("InvalidNumProcPerNode", "error", message, "set it to 1 or more", path)
    node = info.pod_set_in_role(names.NODE)
    if node is not None and any(container.name == INSTALLER for container in node.init_containers):
        message = f"the runtime has an init container {INSTALLER!r}, a name that Flux's installer needs"
        hint = "rename or remove the runtime's init container"
        yield Finding("ReservedInitContainer", "error", message, hint, ("spec", "trainer", "initContainers"))


def build_failures(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield an error for a missing value without which the controller crashes."""
    if info.nodes.requested is None:
        yield controller_panics("a Flux job needs the number of nodes", ("spec", "trainer"))


def enforce_ml_policy(job: TrainJob, policy: Json, info: Info) -> Info:
    """Wrap the trainer's command, mount Flux and its configuration, and add the installer. PlainML sets the count."""
    image = _settings(job, info)["FLUX_VIEW_IMAGE"]
    command = (*ENTRYPOINT, *_original_command(job, info))
    info = replace(info, command=command, args=() if info.gitops else None)
    node = info.pod_set_in_role(names.NODE)
    return info if node is None else info.with_pod_set(_configure(node, job, info, image))


def _original_command(job: TrainJob, info: Info) -> tuple[str, ...]:
    """Return the command that Flux runs. The controller passes it as one unquoted word, `gitops` as separate words."""
    command, args, container = job.trainer.command, job.trainer.args, info.trainer_container
    template_command = container.command if container else ()
    template_args = tuple(container.fields.get("args", ())) if container else ()
    if info.gitops:
        return (*(template_command if command is None else command), *(template_args if args is None else args))
    if command is None:
        command = template_command if info.release.flux_sees_template_command else ()
    words = (*command, *(args or ()))
    unseen = "" if words else "the image's own command, which trainc cannot see"
    return (info.made(" ".join(words).strip(), *words, rule=unseen),)


def _configure(node: PodSet, job: TrainJob, info: Info, image: str) -> PodSet:
    # The volume of the scripts is called like their ConfigMap. The controller mounts shared memory read-only.
    config_map, shared = _config_map_name(job), info.release.flux_shared_memory
    memory: Item = {"name": "shared-memory", "emptyDir": {"medium": "Memory"}}
    volumes: tuple[Item, ...] = (
        {"name": "spack-install", "emptyDir": {}},
        {"name": "flux-install", "emptyDir": {}},
        {"name": config_map, "configMap": {"name": config_map, "defaultMode": 0o755}},
        *((memory,) if shared else ()),
        {"name": "flux-curve", "secret": {"secretName": _curve_secret_name(job), "defaultMode": 0o400}},
    )
    install: Item = {"name": "flux-install", "mountPath": INSTALL_DIR}
    config: Item = {"name": config_map, "mountPath": CONFIG_DIR, "readOnly": True}
    mounts: tuple[Item, ...] = (
        install,
        {"name": "spack-install", "mountPath": "/opt/software"},
        config,
        {"name": "flux-curve", "mountPath": CURVE_DIR, "readOnly": True},
        *(({"name": "shared-memory", "mountPath": SHARED_MEMORY_DIR, "readOnly": True},) if shared else ()),
    )
    fields = {"name": INSTALLER, "image": image, "command": list(INSTALL), "volumeMounts": [install, config]}
    if not image and (info.gitops or info.release.init_container_ports_rebuilt):
        del fields["image"]
    node = node.with_volumes(volumes)
    node = replace(node, init_containers=(*node.init_containers, Container(fields)))
    return node.with_main(lambda container: container.with_mounts(mounts))


def build(job: TrainJob, policy: Json, info: Info) -> Iterator[Manifest]:
    """Yield the ConfigMap with both scripts."""
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": job.metadata_for(_config_map_name(job)),
        "data": scripts(job, info),
    }


def secrets(job: TrainJob, policy: Json, info: Info) -> Iterator[ProvidedSecret]:
    """Yield the Secret with the curve certificate, which all node pods mount and no secrets mode can create."""
    yield ProvidedSecret(
        name=_curve_secret_name(job),
        type="Opaque",
        purpose="the certificate that Flux brokers use to authenticate each other",
        files=(("curve.cert", "curve.cert"),),
        make="flux keygen curve.cert",
    )


PASSES = Passes(
    validate=validate, build_failures=build_failures, enforce_ml_policy=enforce_ml_policy, build=build, secrets=secrets
)
