"""The containers of a job as they will run, and where each of their fields was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trainc.findings import Finding, Path, Severity, suggest
from trainc.findings.text import correct_spelling
from trainc.ir.commands.programs import SHELLS
from trainc.ir.info import About, Container, Info, PodSet
from trainc.ir.provenance import derived
from trainc.ir.trainjob import NO_TRAINER, Trainer, TrainJob
from trainc.kube import names
from trainc.kube.devices import KNOWN
from trainc.kube.documents import JOBS, POD_SPEC
from trainc.kube.quantity import parse_quantity
from trainc.startup.records import dataclass
from trainc.startup.typing import Any

_TRAINER: Path = ("spec", "trainer")
_LONG_FLAGS_WITH_VALUE = frozenset(("--rcfile", "--init-file"))


@dataclass(frozen=True, slots=True)
class Entrypoint:
    """A container of a job.

    `path` is its path in the runtime. `trains` means that the TrainJob's `spec.trainer` configures it, and `trainer` is
    that configuration, which is empty for all other containers. `argv` are the command line without the image's
    entrypoint, which runs if there is no command; `text` is all of it, to see whether something occurs in it. If it runs
    a `script` of the input, `argv` has its text behind -c.
    """

    job: TrainJob
    info: Info
    pod_set: PodSet
    container: Container
    path: Path
    trains: bool
    trainer: Trainer
    argv: tuple[str, ...]
    text: str
    script: Any = None

    @classmethod
    def of(cls, job: TrainJob, info: Info, pod_set: PodSet, container: Container, path: Path) -> Entrypoint:
        """Return a container, with the trainer's settings if the TrainJob configures it."""
        trains = path[-2] == "containers" and pod_set.ancestor == names.TRAINER and container.name == pod_set.main
        settings = job.trainer if trains else NO_TRAINER
        command, args = settings.command, settings.args
        argv = (
            *map(str, container.command if command is None else command),
            *map(str, container.fields.get("args", ()) if args is None else args),
        )
        return cls(job, info, pod_set, container, path, trains, settings, argv, " ".join(argv))

    @property
    def image(self) -> str:
        """The image, or empty if there is none."""
        return self.trainer.image or str(self.container.fields.get("image", ""))

    @property
    def command(self) -> Sequence[str]:
        """The command, or empty if the image's entrypoint is used."""
        requested = self.trainer.command
        return self.container.command if requested is None else requested

    @property
    def args(self) -> Sequence[str]:
        """The args, or empty if there are none."""
        requested = self.trainer.args
        return self.container.fields.get("args", ()) if requested is None else requested

    def word_path(self, index: int) -> tuple[Path, About]:
        """Return the path of `argv[index]`, and which object it is in."""
        index = 0 if self.script is not None else index
        field, before = ("command", 0) if index < len(self.command) else ("args", len(self.command))
        if getattr(self.trainer, field) is not None:
            return (*_TRAINER, field, index - before), "trainjob"
        return (*self.path, field, index - before), "runtime"

    def at(self, *steps: Step) -> tuple[Path, About]:
        """Return the path of a field of the container, and which object it is in."""
        return container_path(self.job, self.info, self.pod_set.name, self.container.name, *steps)

    def image_path(self) -> tuple[Path, About]:
        """Return the path of the image, and which object it is in."""
        return ((*_TRAINER, "image"), "trainjob") if self.trainer.image else self.at("image")

    def variable_path(self, name: str) -> tuple[Path, About]:
        """Return the path of a variable of the container, and which object it is in."""
        return variable_path(self.job, self.info, self.pod_set, self.container.name, name)

    def finding(self, code: str, severity: Severity, message: str, hint: str, index: int) -> Finding:
        """Return a finding about `argv[index]`, or about the line of the script that it names."""
        finding = Finding(code, severity, message, hint, *self.word_path(index))
        return finding if self.script is None else self.script.named_in(finding)

    @property
    def shell(self) -> bool:
        """Return whether the container runs a shell script: `bash -c`, also behind env, timeout or tini."""
        return shell_script(self.argv) is not None


def shell_script(argv: Sequence[str]) -> str | None:
    """Return the script in a command line like `bash -c SCRIPT`; None if there is no shell, or it runs a file."""
    for i, word in enumerate(argv):
        if word.rpartition("/")[2] in SHELLS:
            return _script(argv[i + 1 :])
    return None


def _script(arguments: Sequence[str]) -> str | None:
    """Return the argument of `-c`: the first word that is neither a flag of the shell nor the value of one."""
    has_command = False
    flags = iter(arguments)
    for flag in flags:
        if not flag.startswith(("-", "+")):
            return flag if has_command else None
        letters = "" if flag.startswith("--") else flag[1:]
        has_command = has_command or "c" in letters
        if flag in _LONG_FLAGS_WITH_VALUE or "o" in letters.lower():
            next(flags, None)
    return None


def entrypoints(job: TrainJob, info: Info) -> Iterator[Entrypoint]:
    """Yield every container of every job; init containers come first within a job."""
    for index, pod_set in enumerate(info.pod_sets):
        pod = (*JOBS, index, *POD_SPEC)
        for i, container in enumerate(pod_set.init_containers):
            yield Entrypoint.of(job, info, pod_set, container, (*pod, "initContainers", i))
        for i, container in enumerate(pod_set.containers):
            yield Entrypoint.of(job, info, pod_set, container, (*pod, "containers", i))


# A key, or the field and value that identify a list item: ("name", "node").
Step = str | tuple[str, Any]


def pod_path(job: TrainJob, info: Info, pod_set: str, *steps: Step) -> tuple[Path, About]:
    """Return the path of `steps` below the pod spec of a replicated job, as far as it exists, and its object.

    This is where the field was written: in the TrainJob's last patch that sets it, or in the runtime.
    """
    for patched_job in (each for patch in reversed(job.patches) for each in patch.jobs):
        if patched_job.name == pod_set and (inner := _follow(patched_job.pod_spec, steps)) is not None:
            return (*patched_job.pod_path, *inner), "trainjob"
    index = next((i for i, p in enumerate(info.pod_sets) if p.name == pod_set), 0)
    return (*JOBS, index, *POD_SPEC, *(_follow(info.pod_spec(pod_set), steps, partly=True) or ())), "runtime"


def container_path(job: TrainJob, info: Info, pod_set: str, container: str, *steps: Step) -> tuple[Path, About]:
    """Like `pod_path`, below a container; init containers are only considered if no other container matches."""
    kinds = ("containers", "initContainers")
    kind = next((k for k in kinds if container in _places(info.pod_spec(pod_set).get(k, ()), "name")), kinds[0])
    return pod_path(job, info, pod_set, kind, ("name", container), *steps)


def variable_path(job: TrainJob, info: Info, pod_set: PodSet, container: str, name: str) -> tuple[Path, About]:
    """Return the path of a container's variable, in the TrainJob's trainer or initializer, a patch or the runtime."""
    is_trainer = container == pod_set.main and pod_set.ancestor == names.TRAINER
    if is_trainer and (index := _places(job.trainer.env, "name").get(name)) is not None:
        return ("spec", "trainer", "env", index), "trainjob"
    step = job.initializer(pod_set.ancestor or "") if container == pod_set.ancestor else None
    if step is not None and (index := _places(step.env, "name").get(name)) is not None:
        return ("spec", "initializer", container.partition("-")[0], "env", index), "trainjob"
    return container_path(job, info, pod_set.name, container, "env", ("name", name))


def _follow(value: Any, steps: tuple[Step, ...], *, partly: bool = False) -> Path | None:
    path: list[str | int] = []
    for step in steps:
        if isinstance(step, tuple):
            key: str | int | None = _places(value, step[0]).get(step[1]) if isinstance(value, (list, tuple)) else None
        else:
            key = step if isinstance(value, Mapping) and step in value else None
        if key is None:
            return tuple(path) if partly else None
        path.append(key)
        value = value[key]
    return tuple(path)


# Lists, and where in them the first item with a text in a field is: each of many findings asks for its own item.
_PLACES: dict[tuple[int, str], tuple[Any, int, dict[str, int]]] = {}


def _places(items: Any, field: str) -> dict[str, int]:
    known, length, places = _PLACES.get((id(items), field), (None, 0, {}))
    if known is not items or length != len(items):
        if len(_PLACES) > 100:
            _PLACES.clear()
        texts = [item.get(field) if isinstance(item, Mapping) else None for item in items]
        places = {text: i for i, text in reversed([*enumerate(texts)]) if isinstance(text, str)}
        _PLACES[id(items), field] = (items, len(items), places)
    return places


# Counts the processes that a node can run, from the devices and cores in its resources.
#
# Source: kubeflow/trainer pkg/runtime/runtime.go (GetNumGPUPerNode, ExtractResourcePerNodeFromRuntime).

Resources = Mapping[str, Any]


def resources_per_node(job: TrainJob, info: Info) -> Resources:
    """Return the resources of a node, for counting devices and cores.

    The controller uses the TrainJob's resources instead of the runtime's. `gitops` uses those of the resulting
    container.
    """
    if not info.gitops and job.trainer.resources_per_node is not None:
        return job.trainer.resources_per_node
    for pod_set in info.pod_sets:
        if pod_set.role == names.NODE or pod_set.ancestor == names.TRAINER:
            container = pod_set.main_container
            if container is not None:
                return container.resources
    return {}


def gpus(resources: Resources) -> int:
    """Return the devices per node, from requests or else from limits."""
    return _gpus_in(resources.get("requests")) or _gpus_in(resources.get("limits"))


def cpus(resources: Resources) -> int:
    """Return the cores per node, rounded up, from requests or else from limits."""
    return _amount(resources.get("requests"), "cpu") or _amount(resources.get("limits"), "cpu")


def count_deviation(job: TrainJob, info: Info) -> str:
    """Return the deviation that counts the devices of the resulting container, if those of the TrainJob differ."""
    requested = job.trainer.resources_per_node
    merged = info.trainer_container.resources if info.trainer_container else {}
    differs = info.gitops and requested is not None and requested != merged
    return "counts-from-merged-resources" if differs else ""


def ambiguous_gpus(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Report an error if two resources could determine the number of devices.

    The controller picks one at random (kubeflow/trainer pkg/runtime/runtime.go numGPU ranges over a map), so there is
    no right answer: an error with `gitops`, a warning with `controller`.
    """
    resources = resources_per_node(job, info)
    for kind in ("requests", "limits"):
        gpu_resources = sorted(name for name in resources.get(kind) or {} if is_gpu(name))
        if len(gpu_resources) > 1:
            requested = job.trainer.resources_per_node
            path: Path = ("spec", "trainer", "resourcesPerNode", kind) if requested else ("spec", "runtimeRef")
            hint = "keep one kind of GPU, or set spec.trainer.numProcPerNode"
            for name, amount in ((requested or {}).get(kind) or {}).items():
                if is_gpu(name) and (meant := correct_spelling(name, gpu_resources)):
                    path = (*path, name)
                    hint = suggest(name, [meant], f"did you mean {meant}? the runtime has it; write {meant}: {amount}")
                    if name in KNOWN and meant not in KNOWN:
                        hint = f"did you mean {name}? the runtime has {meant}, which no device plugin offers"
            message = f"{kind} list {' and '.join(gpu_resources)}; it is ambiguous which of them counts the processes per node"
            yield Finding("AmbiguousGPU", "error", message, hint, path)
            return


def is_gpu(resource: str) -> bool:
    """Return whether the controller treats a resource as a GPU."""
    return "gpu" in resource.lower()


def _gpus_in(amounts: Mapping[str, Any] | None) -> int:
    # If several names contain "gpu", the controller uses whichever its map yields first.
    return next((_amount(amounts, name) for name in amounts or {} if is_gpu(name)), 0)


def _amount(amounts: Mapping[str, Any] | None, name: str) -> int:
    value = (amounts or {}).get(name)
    return 0 if value is None else derived(parse_quantity(str(value)).units, value)
