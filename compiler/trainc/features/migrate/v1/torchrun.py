"""torchrun: whether a job is started by it, and what Trainer's torch policy then does in place of v1's variables."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from trainc.features.migrate.v1.environment import references
from trainc.features.migrate.v1.job import Job
from trainc.features.migrate.v1.layout import Layout
from trainc.features.migrate.v1.variables import is_number, processes_per_node
from trainc.kube.documents import Json
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

Variables: TypeAlias = Literal["keep", "torchrun", "auto"]

_LAUNCHER = pattern(r"\btorchrun\b|torch\.distributed\.(?:run|launch)\b")
_PYTHON = pattern(r"(?:.*/)?python3?")
# What the torch policy gives the container `node`.
_GIVEN = frozenset(f"PET_{name}" for name in ("NNODES", "NPROC_PER_NODE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"))
# What torchrun gives the processes that it starts.
_OF_PROCESSES = frozenset(("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))


@dataclass(frozen=True, slots=True)
class Launch:
    """How the main container starts. `replaces_python` says that torchrun does; `given` are variables left out."""

    has_policy: bool = False
    processes: int | None = None
    given: frozenset[str] = frozenset()
    replaces_python: bool = False

    def apply(self, container: dict[str, Any]) -> None:
        """Start `container` this way."""
        if self.replaces_python:
            container["command"] = with_torchrun(words(container))
            container.pop("args", None)


def launch_of(layout: Layout, choice: Variables) -> Launch:
    """How a job starts: by torchrun with Trainer's torch policy where that is equal, else as v1 started it."""
    job = layout.job
    if job.kind.name != "PyTorchJob" or not layout.is_single or job.spec.get("elasticPolicy") is not None:
        return Launch()
    container = job.main_of(layout.groups[0].role)
    if _LAUNCHER.search(" ".join(words(container))):
        return _launched(job, container)
    argv = words(container)
    # What the kubelet fills in is v1's; torchrun tells its processes only.
    takes_ranks = with_torchrun(argv) is not None and not references(argv) & _OF_PROCESSES
    if choice == "torchrun" and job.role("Master") is not None and takes_ranks:
        return Launch(True, 1, _GIVEN | _OF_PROCESSES, replaces_python=True)
    return Launch()


def words(container: Json) -> list[str]:
    """What a container runs, word by word."""
    return [*map(str, container.get("command") or ()), *map(str, container.get("args") or ())]


def _launched(job: Job, container: Json) -> Launch:
    processes = processes_per_node(job)
    if is_number(processes):
        return Launch(True, int(processes), _GIVEN)
    limits = (container.get("resources") or {}).get("limits") or {}
    # Without GPUs `auto` is the number of the node's processors to torchrun, and that of the limit to Trainer.
    has_gpus = sum("gpu" in name for name in limits) == 1
    return Launch(True, None, _GIVEN) if has_gpus and processes in ("auto", "gpu") else Launch()


def with_torchrun(argv: list[str]) -> list[str] | None:
    """`python x` as `torchrun x`; None where something else starts, or Python with options of its own."""
    if len(argv) < 2 or not _PYTHON.fullmatch(argv[0]):
        return None
    rest = argv[2:] if argv[1] == "-u" else argv[1:]
    starts_module = len(rest) > 1 and rest[0] == "-m"
    return ["torchrun", *rest] if rest and (starts_module or not rest[0].startswith("-")) else None
