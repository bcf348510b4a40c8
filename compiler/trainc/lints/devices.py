"""Lints for amounts: processes and devices that do not match, and amounts that are most likely a mistake."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from trainc.findings import Finding, Path, Severity, remove, suggest, write
from trainc.findings.text import edit_distance
from trainc.ir.commands.programs import Launch, Option
from trainc.ir.entrypoints import Entrypoint, is_gpu
from trainc.ir.info import About, Info
from trainc.ir.trainjob import TrainJob
from trainc.knowledge.tables import mentions
from trainc.kube.devices import (
    COUNT_LABELS,
    KNOWN,
    TYPE_LABELS,
    VISIBLE,
    Accelerator,
    accelerator_of,
    accelerators,
    is_slice,
    most_gpus,
    whole_units,
)
from trainc.kube.documents import Json
from trainc.kube.quantity import NANOS_PER_UNIT, Quantity, parse_quantity, whole_number
from trainc.lints.config_files import visible_files
from trainc.lints.training import AS_DEVICES, Training
from trainc.startup.typing import TypeAlias

# Words for "as many processes as devices", which launchers resolve on the node.
_AS_DEVICES = (*AS_DEVICES, "", "None")
# A code, a message and a hint.
Problem: TypeAlias = tuple[str, str, str]

# Servers of models, which a trainer asks for answers.
_SERVING = frozenset(("vllm-serve", "serve", "rollout", "vllm.entrypoints.openai.api_server", "sglang.launch_server"))
_MEBIBYTE = 1 << 20
_MOST_CORES = 1024
_MOST_DEVICES = 128


def processes(training: Training) -> Iterator[Finding]:
    """Yield findings about the number of processes, from options, numProcPerNode and variables."""
    if training.devices:
        yield from _hidden_devices(training)
        if training.line.background:
            yield from _shared_devices(training)
    counted = False
    for _, launch in training.launches:
        if not (training.native(launch.launcher) or training.nodes == 1):
            continue
        per_node, total = launch.find_option(launch.launcher.per_node), launch.find_option(launch.launcher.total)
        inner = training.started_by(launch)
        # What a launcher starts on each node may start the others there.
        nested = bool(inner.launches or inner.starts_of("shell") or any(w.endswith(".sh") for w in launch.program[:1]))
        nested = nested and launch.launcher.reaches == "hosts"
        counted = counted or nested or per_node is not None or total is not None
        if per_node is not None and not nested:
            yield from _check_per_node(training, launch, per_node)
        elif not nested and total is not None:
            count = whole_number(training.value(total.value or "", launch))
            elsewhere = launch.find_option(launch.launcher.hosts | launch.launcher.own_way)
            if training.devices and count is not None and not elsewhere:
                # accelerate takes one machine for all if it is not given their number.
                whole_job = not launch.launcher.nodes or launch.find_option(launch.launcher.nodes) is not None
                yield from _compare_processes(training, total, count, whole_job=whole_job)
    if not counted and training.entry.trains and training.devices:
        yield from _check_requested(training)


def _check_per_node(training: Training, launch: Launch, option: Option) -> Iterator[Finding]:
    value = training.value(option.value or "", launch)
    if value is None or value == "PET_NPROC_PER_NODE":
        return
    requested, count = str(training.info.processes.value), whole_number(value)
    total = launch.find_option(launch.launcher.total)
    if count is not None and total is not None and (whole_number(total.value) or 0) > count * training.nodes:
        return  # It exits.
    if count is not None and training.devices:
        yield from _compare_processes(training, option, count)
    elif requested not in (*_AS_DEVICES, "cpu", value) and value not in training.variables:
        message = f"{option.spelling} {value} overrides numProcPerNode, which is {requested}"
        hint = remove("remove the flag, and set numProcPerNode instead", option.word)
        yield training.finding("TorchrunArgOverridesPolicy", "warning", message, hint, option.index)


def _compare_processes(training: Training, option: Option, count: int, whole_job: bool = False) -> Iterator[Finding]:
    devices = training.devices * (pods := training.nodes if whole_job else 1)
    where = f"on {training.nodes} nodes" if whole_job else "per pod"
    if _fit(training, count, devices) or (count < devices and _side_by_side(training)):
        return
    code, consequence = _difference(count, devices)
    message = (
        f"{option.spelling} {count}: {count} processes for {devices} of {training.device} {where}, so {consequence}"
    )
    hint = option.instead(devices, f"write {devices}, or remove the flag to use one process per device")
    yield training.finding(code, _severity(training, count == pods), message, hint, option.index)


def _severity(training: Training, alone: bool) -> Severity:
    """Return that of idle devices: what mpirun starts `alone` on each node may use all of them, as HugeCTR does."""
    text = "\n".join([training.entry.image, training.text, *(file.text or "" for file in visible_files(training))])
    return "info" if alone and "mpirun" in training.text and not mentions("one device", text) else "warning"


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
    """Return whether others have some of the devices: programs beside it, vLLM, or the layers of a model of one process."""
    text = "\n".join([training.text, *(file.text or "" for file in visible_files(training))])
    if "use_vllm" in text or mentions("all devices", text):
        return True
    return training.line.background and len(training.line.starts_of("launcher", "python", "code", "unknown")) > 1


def _check_requested(training: Training) -> Iterator[Finding]:
    """Yield findings about numProcPerNode, or about what Trainer sets without it, if no option overrides it."""
    requested, size = str(training.info.processes.value), training.info.processes
    if training.starting is None or not training.starting.needed:
        return
    if training.policy == "torch" and requested in _AS_DEVICES:
        yield from _uncounted_devices(training)
        return
    count, devices = whole_number(requested), training.devices
    # In a runtime for MPI, 1 means as many as there are devices.
    means_all = training.policy == "mpi" and size.about == "runtime" and count == 1
    if count is None or means_all or _fit(training, count, devices) or (count == 1 and _side_by_side(training)):
        return
    hint = write(devices, ", or remove numProcPerNode to use one process per device")
    code, consequence = _difference(count, devices)
    message = f"{count} processes for {devices} of {training.device} per pod, so {consequence}"
    yield Finding(code, _severity(training, count == 1), message, hint, size.path, size.about)


def _uncounted_devices(training: Training) -> Iterator[Finding]:
    """Yield a finding for devices that Trainer does not count: those without `gpu` in their name.

    Without them, the number of processes is that of the CPUs, or 1 (ir/entrypoints.py).
    """
    count, devices = whole_number(training.variables.get("PET_NPROC_PER_NODE")), training.devices
    reads = any(launch.launcher.reads for launch in training.line.launches)
    if not reads or count is None or _fit(training, count, devices):
        return
    code, consequence = _difference(count, devices)
    message = (
        f"Trainer does not count {training.device}, whose name has no gpu in it, and starts {count} "
        f"process{'es' if count != 1 else ''} for {devices} per pod, so {consequence}"
    )
    hint = f"set numProcPerNode: {devices} in spec.trainer"
    requested = training.job.trainer.resources_per_node or {}
    kind = next((kind for kind in ("limits", "requests") if training.device in (requested.get(kind) or {})), "")
    path: Path = ("spec", "trainer", "resourcesPerNode", kind, training.device)
    yield Finding(code, "warning", message, hint, *((path, "trainjob") if kind else training.entry.at("resources")))


def _hidden_devices(training: Training) -> Iterator[Finding]:
    env = training.variables
    if VISIBLE.keys().isdisjoint(env) and not any(start.variables for start in training.line.starts):
        return
    for name in [name for name, devices in VISIBLE.items() if training.device in devices]:
        visible = env.get(name)
        if visible is not None and _fewer(visible, training.devices):
            code, message, hint = _hidden(training, name, visible)
            yield Finding(code, "warning", message, hint, *training.entry.variable_path(name))
        for start in () if _side_by_side(training) else training.line.starts_of("launcher", "python"):
            inline = start.variables.get(name)
            if inline is not None and inline != visible and _fewer(inline, training.devices):
                code, message, hint = _hidden(training, name, inline)
                yield training.finding(code, "warning", message, hint, start.program.index)


def _shared_devices(training: Training) -> Iterator[Finding]:
    """Yield a finding for a trainer on a device that a server beside it has, by the variables of both."""
    name = next((name for name, devices in VISIBLE.items() if training.device in devices), "")
    taken: dict[str, str] = {}
    for start in reversed(training.line.starts):
        if not _SERVING.isdisjoint(start.argv[:4]):
            taken |= dict.fromkeys(_listed(start.variables.get(name)), start.argv[0])
    for start in training.line.starts_of("launcher", "python", "unknown") if taken else ():
        both = sorted(_listed(start.variables.get(name)) & taken.keys())
        if both and _SERVING.isdisjoint(start.argv[:4]):
            message = f"{name} gives the device {both[0]} to {taken[both[0]]} and to the trainer, which needs devices of its own"
            hint = f"write other devices than {', '.join(both)} for the trainer"
            yield training.finding("MoreProcessesThanDevices", "warning", message, hint, start.program.index)


def _listed(visible: str | None) -> frozenset[str]:
    return frozenset(part.strip() for part in (visible or "").split(",") if part.strip().isdecimal())


def _fewer(visible: str, devices: int) -> bool:
    listed = [part for part in visible.replace(" ", "").split(",") if part]
    fewer = not listed or listed[0] in ("-1", "none", "void") or len(listed) < devices
    return fewer and "$" not in visible and visible != "all"


def _hidden(training: Training, name: str, visible: str) -> Problem:
    hint = remove(f"remove {name}: a pod only sees the devices that it requests")
    shown = sum(bool(part.strip()) for part in visible.split(","))
    started = max((training.processes(launch) or 0 for _, launch in training.launches), default=0)
    if 0 < shown < started <= training.devices:
        few = f"{shown} device{'s' * (shown != 1)}"
        message = f"{name} is {visible!r}, which shows {few} to {started} processes: the others find none, and exit"
        return "MoreProcessesThanDevices", message, hint
    message = f"{name} is {visible!r}, which hides devices from the program: the pod has {training.devices} of {training.device}"
    return "IdleDevices", message, hint


def no_nodes(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning for a job without pods."""
    message = "numNodes is 0: the job has no pods and completes at once without training anything"
    hint = "write 1 or more; to hold the job back, set suspend: true"
    yield Finding("UnlikelyAmount", "warning", message, hint, ("spec", "trainer", "numNodes"))


def unlikely_amounts(entry: Entrypoint) -> Iterator[Finding]:
    """Yield a finding for each amount of a container that is most likely a mistake."""
    resources = entry.container.resources
    if not resources:
        return
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, amount in limits.items():
        if (problem := _unlikely(name, str(amount))) is not None:
            yield _finding(entry, ("limits", name), problem)
    for name, amount in requests.items():
        if limits.get(name) != amount and (problem := _unlikely(name, str(amount))) is not None:
            yield _finding(entry, ("requests", name), problem)
    if len(limits) > 1 or len(requests) > 1:
        yield from _kinds(entry)


def more_than_node(entry: Entrypoint) -> Iterator[Finding]:
    """Yield a warning for more GPUs than the nodes have that the pod template selects.

    A device plugin that shares GPUs offers more of them under the same name.
    """
    resources = entry.container.resources
    limits = resources.get("limits") or {}
    requested = [
        (name, count) for name, count in accelerators(resources).items() if not is_slice(name) and is_gpu(name)
    ]
    for label, values in _selected(entry.info.pod_spec(entry.pod_set.name)) if requested else ():
        has = most_gpus(label, values)
        name, count = requested[0]
        if has is None or count <= has:
            continue
        selected = " or ".join(values)
        capacity = (
            f"a node of type {selected} has {has}" if "instance-type" in label else f"{label} selects nodes with {has}"
        )
        message = f"the pod needs {count} of {name}, but {capacity}: no node ever has room for it"
        hint = f"select nodes with {count} or more"
        if entry.trains and has and count % has == 0:
            hint = f"write {name}: {has} and numNodes: {entry.pod_set.count * count // has}, or {hint}"
        kind = "limits" if name in limits else "requests"
        yield _finding(entry, (kind, name), ("MoreDevicesThanNode", message, hint))
        return


def _selected(spec: Json) -> Iterator[tuple[str, list[str]]]:
    """Yield (label, values) for each label of nodes of which a pod needs one of these values."""
    labels = (*TYPE_LABELS, *COUNT_LABELS)
    for label, value in (spec.get("nodeSelector") or {}).items():
        if label in labels:
            yield label, [str(value)]
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1:
        return
    for expression in terms[0].get("matchExpressions") or ():
        if expression.get("key") in labels and expression.get("operator") == "In":
            yield expression["key"], [*map(str, expression.get("values") or ())]


@lru_cache(maxsize=1024)
def _unlikely(name: str, amount: str) -> Problem | None:
    try:
        quantity = parse_quantity(amount)
    except ValueError:
        return None
    if name in ("memory", "ephemeral-storage") or name.startswith("hugepages-"):
        return _bytes(name, amount, quantity)
    if name == "cpu" and quantity.units >= _MOST_CORES:
        message = f"cpu: {quantity.units} means {quantity.units} cores"
        return "UnlikelyAmount", message, f"write {quantity.units}m if you mean thousandths of a core"
    if "/" in name:
        return _device(name, quantity)
    return None


def _bytes(name: str, amount: str, quantity: Quantity) -> Problem | None:
    if quantity.nanos >= _MEBIBYTE * NANOS_PER_UNIT or (quantity.nanos <= 0 and name != "memory") or quantity.nanos < 0:
        return None
    digits = amount.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    if amount.endswith("m"):
        message = f"{name}: {amount} means thousandths of a byte"
        return "UnlikelyAmount", message, f"write {digits}Mi or {digits}Gi"
    message = f"{name}: {amount} means {quantity.units} bytes" if quantity.nanos else f"{name}: 0 means none at all"
    hint = write(f"{digits}Gi") if quantity.nanos and digits else "write an amount such as 16Gi"
    return "UnlikelyAmount", message, hint


def _device(name: str, quantity: Quantity) -> Problem | None:
    if quantity.units > _MOST_DEVICES and name in KNOWN:
        return "UnlikelyAmount", f"{name}: {quantity.units} is more than any node has", "write the number per pod"
    meant = misspelt_device(name)
    if meant:
        message = f"there is no known device called {name}, so the pods may stay pending forever"
        return "UnlikelyResource", message, suggest(name, [meant])
    return None


def misspelt_device(name: str) -> str:
    """Return the known device of which `name` is a misspelling; empty if it is known itself, or similar to none."""
    if name in KNOWN or is_slice(name):
        return ""
    domain, _, device = name.partition("/")
    if domain == "nvidia.com" and device.startswith("mig"):
        return "nvidia.com/mig-1g.10gb"
    for candidate in sorted(KNOWN):
        known_domain, _, known_device = candidate.partition("/")
        if _nearly(domain, known_domain, is_domain=True) and _nearly(device, known_device):
            return candidate
    return ""


def _nearly(word: str, target: str, *, is_domain: bool = False) -> bool:
    """Return whether part of a name is the known one up to case, a letter or two, a plural or a missing ending."""
    word, target = word.lower(), target.lower()
    # One edit turns a short word into another one: acme.com is not amd.com.
    most = 0 if len(target) < 4 else 1 if len(target) < 9 else 2
    ends = {target, f"{target}s"} | (
        {target.partition(".")[0], f"k8s.{target}", target.replace(".com", ".io")} if is_domain else set()
    )
    return word in ends or edit_distance(word, target, most) <= most


def _kinds(entry: Entrypoint) -> Iterator[Finding]:
    """Yield a finding for devices of two kinds in one container: no node has both, or a GPU and a slice of it."""
    resources = entry.container.resources
    amounts = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}
    requested = [name for name in amounts if accelerator_of(name) is not None and whole_units(amounts[name]) > 0]
    makers = {name.partition("/")[0] for name in requested}
    if len(requested) > 1 and (len(makers) > 1 or any(map(is_slice, requested))):
        kind = "limits" if requested[1] in (resources.get("limits") or {}) else "requests"
        message = f"one container requests {' and '.join(sorted(requested))}, which no node has together"
        yield _finding(entry, (kind, requested[1]), ("UnlikelyResource", message, "keep one of them"))


def _finding(entry: Entrypoint, field: tuple[str, str], problem: Problem) -> Finding:
    kind, name = field
    code, message, hint = problem
    location: tuple[Path, About] = ("spec", "trainer", "resourcesPerNode", kind, name), "trainjob"
    requested = (entry.job.trainer.resources_per_node or {}).get(kind) or {}
    if name not in requested or not (entry.trains or entry.pod_set.role):
        location = entry.at("resources", kind, name)
    return Finding(code, "warning", message, hint, *location)
