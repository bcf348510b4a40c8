"""Lints that compare processes with devices: idle devices, and processes without one."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding, Path, remove, write
from trainc.ir.commands.launcher import Launch, Option
from trainc.ir.entrypoints import About, container_path
from trainc.kube.devices import VISIBLE, Accelerator, accelerator_of
from trainc.lints.training import AS_DEVICES, Training

# Words for "as many processes as devices", which launchers resolve on the node.
_AS_DEVICES = (*AS_DEVICES, "")


def processes(training: Training) -> Iterator[Finding]:
    """Yield findings about the number of processes, from options, numProcPerNode and variables."""
    if training.devices:
        yield from _hidden(training)
    counted = False
    for start in training.line.starts:
        launch = start.launch
        if launch is None or not (training.native(launch.launcher) or training.nodes == 1):
            continue
        per_node, total = launch.given(launch.launcher.per_node), launch.given(launch.launcher.total)
        counted = counted or per_node is not None or total is not None
        if per_node is not None:
            yield from _per_node(training, launch, per_node)
        elif total is not None:
            yield from _total(training, launch, total)
        elif launch.launcher.total and (machines := launch.given(launch.launcher.nodes)) is not None:
            yield from _divided(training, launch, machines)
    if not counted and training.entry.trains and training.devices:
        yield from _requested(training)


def _per_node(training: Training, launch: Launch, option: Option) -> Iterator[Finding]:
    value = training.value(option.value or "", launch)
    if value is None or value == "PET_NPROC_PER_NODE":
        return
    requested, _, _ = _requested_numbers(training)
    if value.isdecimal() and training.devices:
        yield from _compared(training, option, int(value))
    elif (
        requested is not None
        and requested not in (_requested_words(training), value)
        and value not in training.variables
    ):
        message = f"{option.written} {value} overrides numProcPerNode, which is {requested}"
        hint = remove("remove the flag, and set numProcPerNode instead", option.word)
        yield training.finding("TorchrunArgOverridesPolicy", "warning", message, hint, option.index)


def _requested_words(training: Training) -> str | None:
    requested, _, _ = _requested_numbers(training)
    return requested if requested in (*_AS_DEVICES, "cpu") else None


def _total(training: Training, launch: Launch, option: Option) -> Iterator[Finding]:
    value = training.value(option.value or "", launch)
    if value is None or not value.isdecimal() or launch.given(launch.launcher.hosts | launch.launcher.own_way):
        return
    if training.devices:
        # accelerate takes one machine for all if it is not given their number.
        whole = not launch.launcher.nodes or launch.given(launch.launcher.nodes) is not None
        yield from _compared(training, option, int(value), whole=whole)


def _divided(training: Training, launch: Launch, machines: Option) -> Iterator[Finding]:
    """Yield a finding for accelerate's default, which is the devices of one pod for all machines together."""
    count = training.processes(launch)
    if not count or count >= training.devices or launch.given(launch.launcher.own_way) is not None:
        return
    total = training.devices * training.nodes
    message = (
        f"without --num_processes, accelerate divides the {training.devices} of {training.device} of a pod by the number of "
        f"machines: {count} per pod, so {training.devices - count} stay idle"
    )
    yield training.finding("IdleDevices", "warning", message, f"add --num_processes={total}", machines.index)


def _compared(training: Training, option: Option, count: int, whole: bool = False) -> Iterator[Finding]:
    """Yield a finding if the processes do not match the devices of a pod or, with `whole`, of the job."""
    devices = training.devices * (training.nodes if whole else 1)
    where = f"on {training.nodes} nodes" if whole else "per pod"
    if _fit(training, count, devices) or (count < devices and _side_by_side(training)):
        return
    code, rest = _difference(count, devices)
    message = f"{option.written} {count}: {count} processes for {devices} of {training.device} {where}, so {rest}"
    hint = option.instead(devices, f"write {devices}, or remove the flag to use one process per device")
    yield training.finding(code, "warning", message, hint, option.index)


def _fit(training: Training, count: int, devices: int) -> bool:
    """Return whether so many processes use so many devices: for most kinds, one each."""
    kind = accelerator_of(training.device) or Accelerator("device")
    return count < 1 or (kind.alone and count == 1) or devices <= count <= devices * kind.most


def _difference(count: int, devices: int) -> tuple[str, str]:
    """Return a code and the consequence. It is never an error: processes that do not compute may share a device."""
    if count < devices:
        return "IdleDevices", f"{devices - count} stay idle"
    return "MoreProcessesThanDevices", f"{count - devices} find none"


def _side_by_side(training: Training) -> bool:
    """Return whether a script runs several programs at the same time, each with some of the devices."""
    return training.line.background and len(training.line.ran("launcher", "python", "code")) > 1


def _requested(training: Training) -> Iterator[Finding]:
    """Yield findings about numProcPerNode, or about what Trainer sets without it, if no option overrides it."""
    requested, path, about = _requested_numbers(training)
    if training.policy not in ("torch", "mpi"):
        return
    if training.policy == "torch" and requested in (None, *_AS_DEVICES):
        yield from _uncounted(training)
        return
    if requested is None or not requested.isdecimal() or (training.policy == "mpi" and about == "runtime"):
        return  # In a runtime for MPI, 1 means as many as there are devices.
    count, devices = int(requested), training.devices
    if _fit(training, count, devices):
        return
    hint = write(devices, ", or remove numProcPerNode to use one process per device")
    code, rest = _difference(count, devices)
    message = f"{count} processes for {devices} of {training.device} per pod, so {rest}"
    yield Finding(code, "warning", message, hint=hint, path=path, about=about)


def _uncounted(training: Training) -> Iterator[Finding]:
    """Yield a finding for devices that Trainer does not count: those without `gpu` in their name.

    Without them, the number of processes is that of the CPUs, or 1 (ir/devices.py).
    """
    value = training.variables.get("PET_NPROC_PER_NODE") or ""
    reads = any(launch.launcher.reads for launch in training.line.launches)
    if not reads or not value.isdecimal() or _fit(training, int(value), training.devices):
        return
    count, devices = int(value), training.devices
    code, rest = _difference(count, devices)
    message = (
        f"Trainer does not count {training.device}, whose name has no gpu in it, and starts {count} "
        f"process{'es' if count != 1 else ''} for {devices} per pod, so {rest}"
    )
    hint = f"set numProcPerNode: {devices} in spec.trainer"
    job, entry = training.job, training.entry
    requested = job.trainer.resources_per_node or {}
    for kind in ("limits", "requests"):
        if training.device in (requested.get(kind) or {}):
            path: Path = ("spec", "trainer", "resourcesPerNode", kind, training.device)
            yield Finding(code, "warning", message, hint=hint, path=path)
            return
    path, about = container_path(job, training.info, entry.pod_set.name, entry.container.name, "resources")
    yield Finding(code, "warning", message, hint=hint, path=path, about=about)


def _requested_numbers(training: Training) -> tuple[str | None, Path, About]:
    """Return numProcPerNode with its path and document; None as its value if it is not set."""
    requested = training.job.trainer.num_proc_per_node
    if requested is not None:
        return str(requested), ("spec", "trainer", "numProcPerNode"), "trainjob"
    requested = (training.info.policy(training.policy) or {}).get("numProcPerNode") if training.policy else None
    path = ("spec", "mlPolicy", training.policy, "numProcPerNode")
    return (None if requested is None else str(requested)), path, "runtime"


def _hidden(training: Training) -> Iterator[Finding]:
    """Yield a finding for a variable that hides some of the devices from the processes."""
    own = training.variables
    if VISIBLE.keys().isdisjoint(own) and not any(start.variables for start in training.line.starts):
        return
    for name, devices in VISIBLE.items():
        if training.device not in devices:
            continue
        shown = own.get(name)
        if shown is not None and _fewer(shown, training.devices):
            path, about = training.variable_place(name)
            yield Finding("IdleDevices", "warning", *_hidden_words(training, name, shown), path, about=about)
        for start in () if _side_by_side(training) else training.line.ran("launcher", "python"):
            inline = start.variables.get(name)
            if inline is not None and inline != shown and _fewer(inline, training.devices):
                words = _hidden_words(training, name, inline)
                yield training.finding("IdleDevices", "warning", *words, start.program.index)


def _fewer(shown: str, devices: int) -> bool:
    listed = [part for part in shown.replace(" ", "").split(",") if part]
    return (
        "$" not in shown
        and shown != "all"
        and (not listed or listed[0] in ("-1", "none", "void") or len(listed) < devices)
    )


def _hidden_words(training: Training, name: str, shown: str) -> tuple[str, str]:
    message = f"{name} is {shown!r}, which hides devices from the program: the pod has {training.devices} of {training.device}"
    return message, remove(f"remove {name}: a pod only sees the devices that it requests")
