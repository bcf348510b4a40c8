"""The passes of Flux: a Flux Framework cluster inside the job, with its broker configuration and start scripts.

Source: kubeflow/trainer pkg/runtime/framework/plugins/flux. The scripts themselves are trainc's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.api import names
from trainc.api.documents import Json, Manifest
from trainc.diagnostics import Finding
from trainc.ir.devices import ambiguous_gpus
from trainc.ir.info import Info
from trainc.ir.podset import Container, PodSet
from trainc.ir.provided_secret import ProvidedSecret
from trainc.ir.release import controller_panics
from trainc.ir.trainjob import TrainJob
from trainc.plugins.flux import scripts, volumes
from trainc.plugins.flux.cluster import Cluster, cluster
from trainc.plugins.plugin import Passes
from trainc.startup.records import replace

INSTALLER = "flux-installer"


def validate(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield errors for invalid process counts, and for an init container with the reserved name."""
    if info.gitops:
        yield from ambiguous_gpus(job, info)
    yield from _processes(job, policy.get("numProcPerNode", 1), info)
    node = info.pod_set_in_role(names.NODE)
    if node is not None and any(container.name == INSTALLER for container in node.init_containers):
        yield Finding(
            "ReservedInitContainer",
            "error",
            f"the runtime has an init container {INSTALLER!r}, a name that Flux's installer needs",
            "rename or remove the runtime's init container",
            ("spec", "trainer", "initContainers"),
        )


def build_failures(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield an error for a missing value without which the controller crashes."""
    if job.trainer is None or job.trainer.num_nodes is None:
        yield controller_panics("a Flux job needs the number of nodes", ("spec", "trainer"))


def _processes(job: TrainJob, policy_processes: int, info: Info) -> Iterator[Finding]:
    requested = job.trainer.num_proc_per_node if job.trainer else None
    processes = policy_processes
    if isinstance(requested, int) and (info.release.flux_checks_trainer_processes or info.gitops):
        processes = requested
    if processes < 1:
        yield Finding(
            "InvalidNumProcPerNode",
            "error",
            f"numProcPerNode is {processes}; Flux needs at least one process per node",
            "set it to 1 or more",
            ("spec", "trainer", "numProcPerNode"),
        )


def enforce_ml_policy(job: TrainJob, policy: Json, info: Info) -> Info:
    """Wrap the trainer's command, mount Flux and its configuration, and add the installer. PlainML sets the count."""
    broker = cluster(job, info)
    wrapped = (*scripts.ENTRYPOINT, *_original_command(job, info))
    info = replace(info, command=wrapped, args=() if info.gitops else None)
    node = info.pod_set_in_role(names.NODE)
    return info if node is None else info.with_pod_set(_configure(node, job, info, broker))


def _original_command(job: TrainJob, info: Info) -> tuple[str, ...]:
    """Return the command that Flux runs. The controller passes it as one unquoted word, `gitops` as separate words."""
    trainer, container = job.trainer, info.trainer_container
    template_command = container.command if container else ()
    template_args = tuple(container.fields.get("args", ())) if container else ()
    command = trainer.command if trainer and trainer.command is not None else None
    args = trainer.args if trainer and trainer.args is not None else None
    if info.gitops:
        return (
            *(template_command if command is None else command),
            *(template_args if args is None else args),
        )
    if command is None:
        command = template_command if info.release.flux_sees_template_command else ()
    return (" ".join((*command, *(args or ()))).strip(),)


def _configure(node: PodSet, job: TrainJob, info: Info, broker: Cluster) -> PodSet:
    installer = Container(
        {
            "name": INSTALLER,
            "image": broker.image,
            "command": list(scripts.INSTALL),
            "volumeMounts": list(volumes.installer_mounts(job)),
        }
    )
    if not broker.image and (info.gitops or info.release.init_container_ports_rebuilt):
        installer = installer.with_fields(image=None)
    node = node.with_volumes(volumes.volumes(job, info.release))
    node = replace(node, init_containers=(*node.init_containers, installer))
    return node.with_main(lambda container: container.with_mounts(volumes.node_mounts(job, info.release)))


def build(job: TrainJob, policy: Json, info: Info) -> Iterator[Manifest]:
    """Yield the ConfigMap with both scripts. The Secret with the curve certificate is never built: see `secrets`."""
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": job.named(volumes.config_map_name(job)),
        "data": scripts.render(cluster(job, info)),
    }


def secrets(job: TrainJob, policy: Json, info: Info) -> Iterator[ProvidedSecret]:
    """Yield the Secret with the curve certificate, which all node pods mount."""
    yield volumes.curve_secret(job)


PASSES = Passes(
    validate=validate,
    build_failures=build_failures,
    enforce_ml_policy=enforce_ml_policy,
    build=build,
    secrets=secrets,
)
