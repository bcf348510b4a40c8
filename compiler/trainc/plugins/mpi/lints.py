"""Lints for MPI jobs that never finish or run different images, and detectors of the controller's MPI defects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.findings import Finding, Path
from trainc.ir.entrypoints import container_path
from trainc.ir.info import Info, launcher_is_node
from trainc.ir.trainjob import TrainJob
from trainc.kube import names
from trainc.kube.documents import JOBS
from trainc.kube.names import full_name, split_image
from trainc.plugins.plugin import Detect
from trainc.startup.patterns import pattern


def mpi_nodes_awaited(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning if success, or the launcher, awaits the end of the nodes: they run sshd, so that it never comes."""
    node, launcher = info.pod_set_in_role(names.NODE), info.pod_set_in_role(names.LAUNCHER)
    if node is None or launcher is None:
        return
    for index, replicated in enumerate(info.template.get("replicatedJobs") or ()):
        for i, awaited in enumerate(replicated.get("dependsOn") or () if replicated["name"] == launcher.name else ()):
            if (awaited.get("name"), awaited.get("status")) == (node.name, "Complete"):
                message = f"the launcher waits for {node.name!r} to complete, whose sshd never exits: it never starts"
                path = (*JOBS, index, "dependsOn", i, "status")
                yield Finding("MPINodesAwaited", "warning", message, "write `status: Ready`", path, "runtime")
    policy = info.template.get("successPolicy") or {}
    targets = policy.get("targetReplicatedJobs") or [p.name for p in info.pod_sets]
    if node.name not in targets or policy.get("operator") == "Any":
        return
    message = (
        f"the JobSet waits for {node.name!r}, whose sshd never exits: the nodes keep running after the launcher is done"
    )
    hint = f"add to the runtime's spec.template.spec: successPolicy: {{operator: All, targetReplicatedJobs: [{launcher.name}]}}"
    yield Finding("MPINodesAwaited", "warning", message, hint, ("spec", "template", "spec", "successPolicy"), "runtime")


# A command that only waits, and another way to the nodes than ssh.
_WAITS = pattern(
    r"(?:\S*sh\s+-\w*c\s+)?(?:set -\w+;?\s+|exec\s+|\S*/)?(?:sleep\s+\S+|tail\s+-[fF]\s+/dev/null|while\s+(?:true|:)\s*+;?\s*+do\s+sleep\s+\w+\s*+;?\s*+done)\s*+;?\s*+"
)
_OTHER_WAYS = ("rsh_agent", "kubexec", "kubectl", "launcher ssh_off", "I_MPI_HYDRA_BOOTSTRAP")


def mpi_nodes_without_ssh(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning if the nodes only wait: mpirun reaches them by ssh, and nothing answers there."""
    node, launcher = info.pod_set_in_role(names.NODE), info.pod_set_in_role(names.LAUNCHER)
    container = node.main_container if node is not None else None
    if node is None or launcher is None or container is None or node is info.trainer:
        return
    text = " ".join(map(str, (*container.command, *container.fields.get("args", ()))))
    starting = f"{job.trainer.command} {job.trainer.args} {[c.fields for p in (node, launcher) for c in p.containers]}"
    if _WAITS.fullmatch(text) and not any(way in starting for way in _OTHER_WAYS):
        message = f"the containers of {node.name!r} run {text!r}, and no sshd, so mpirun reaches no node and exits"
        hint = "write command: [/usr/sbin/sshd, -De], or remove the command if the image starts sshd itself"
        location = container_path(job, info, node.name, container.name, "command")
        yield Finding("CommandCannotStart", "warning", message, hint, *location)


def mpi_images_differ(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning if the launcher has another image than the nodes: the TrainJob's, or another version of the runtime's."""
    node, launcher = info.pod_set_in_role(names.NODE), info.pod_set_in_role(names.LAUNCHER)
    image = None if info.release.mpi_image_reaches_node else job.trainer.image
    if node is None or launcher is None or node is info.trainer:
        return
    first = launcher.main_container
    own = str(first.fields.get("image") or "") if first and not job.trainer.image else ""
    container = node.main_container
    other = container and container.fields.get("image")
    if first and own and other and own != other and full_name(own) == full_name(other):
        here, there = (split_image(each)[1] or "another version" for each in (own, other))
        name = full_name(own).rpartition("/")[2]
        versions = (
            f"{here} of {name}, and the nodes {there}" if here != there else f"another digest of {name} than the nodes"
        )
        message = f"the launcher has {versions}: mpirun and the orted that it starts there have to be of one version"
        hint = f"write the same image in {launcher.name!r} and in {node.name!r}"
        # The image itself may be at the line of a mirror, which is another one in each environment.
        yield Finding(
            "MPIImagesDiffer", "warning", message, hint, *container_path(job, info, launcher.name, first.name)
        )
    elif other and image and launcher.ancestor == names.TRAINER and other != image:
        message = f"only the launcher gets this image, but mpirun starts the program on the nodes, which keep {other}"
        hint = f"use a runtime whose job {node.name!r} has this image, too"
        yield Finding("MPIImagesDiffer", "warning", message, hint, ("spec", "trainer", "image"))


def _launcher_multiplied(job: TrainJob, info: Info) -> Path | None:
    launcher = info.pod_set_in_role(names.LAUNCHER)
    return ("spec", "runtimeRef") if launcher is not None and launcher.count > 1 else None


def _extra_host(job: TrainJob, info: Info) -> Path | None:
    both = info.pod_set_in_role(names.LAUNCHER) and info.pod_set_in_role(names.NODE)
    requested = info.nodes.requested
    is_one = requested is not None and requested <= 1
    return ("spec", "trainer", "numNodes") if launcher_is_node(info.ml_policy) and both and is_one else None


# The version of Open MPI in the name or tag of an image: openmpi:5.0.7, openmpi5, train:ompi-v5.
_OPEN_MPI = pattern(r"(?i)(?:open-?mpi|ompi)[-_.:/]?v?(\d+)")


# Since this version, mpirun is PRTE's.
_PRTE_SINCE = 5


def _hostfile_unread(job: TrainJob, info: Info) -> Path | None:
    launcher = info.pod_set_in_role(names.LAUNCHER)
    container = launcher.main_container if launcher else None
    if info.release.mpi_successors or container is None:
        return None
    own = job.trainer.image if launcher is info.trainer else None
    named = _OPEN_MPI.search(own or container.fields.get("image", ""))
    if named is None or int(named[1]) < _PRTE_SINCE:
        return None
    return ("spec", "trainer", "image") if own else ("spec", "runtimeRef")


DETECTORS: Mapping[str, Detect] = {
    "mpi-variables-of-open-mpi-5": _hostfile_unread,
    "mpi-nodes-size-the-nodes": _launcher_multiplied,
    "mpi-one-node-is-one-host": _extra_host,
}
