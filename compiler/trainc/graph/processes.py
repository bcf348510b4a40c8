"""The processes in a step's pods: the launcher, its workers and their ranks, read from the manifests alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainc.api.documents import Json
from trainc.graph.model import Step
from trainc.ir.commands.launcher import Launch
from trainc.ir.commands.programs import base
from trainc.ir.commands.started import CommandLine, read_command
from trainc.plugins.registry import programs

# The environment variable that identifies each framework, and its policy.
_FRAMEWORKS = {
    "PET_NNODES": "torch",
    "OMPI_MCA_orte_set_default_slots": "mpi",
    "JAX_NUM_PROCESSES": "jax",
    "DMLC_NUM_WORKER": "xgboost",
}


def process_text(pod: Json, pods: int, devices: int) -> str:
    """`torchrun, 8 processes per pod, 32 ranks`; empty if the step uses no known framework."""
    for container in pod.get("containers", ()):
        env = {str(v["name"]): v.get("value") for v in container.get("env", ())}
        policy = next((policy for variable, policy in _FRAMEWORKS.items() if variable in env), None)
        words = tuple(map(str, (*container.get("command", ()), *container.get("args", ()))))
        if policy is not None and words:
            return _text(read_command(words, programs(policy)), policy, env, pods, devices)
    return ""


def _text(line: CommandLine, policy: str, env: Mapping[str, str | None], pods: int, devices: int) -> str:
    launch = line.launches[-1] if line.launches else None
    program = launch.launcher.name if launch is not None else _program(line)
    each, ranks = _counts(launch, policy, env, pods, devices)
    counts = [f"{each:,} process{'' if each == 1 else 'es'} per pod"] if each else []
    counts += [f"{ranks:,} rank{'' if ranks == 1 else 's'}"] if ranks else []
    return ", ".join([program, *counts])


def _program(line: CommandLine) -> str:
    found = line.ran("python", "code", "unknown")
    return base(found[-1].words[found[-1].program.index]) if found else "the image's own command"


def _counts(
    launch: Launch | None, policy: str, env: Mapping[str, str | None], pods: int, devices: int
) -> tuple[int, int]:
    """Processes per pod and per step; 0 if unspecified."""
    if policy == "xgboost":
        return 0, int(env.get("DMLC_NUM_WORKER") or 0)
    if policy == "mpi":
        return 0, _number(launch.given(launch.launcher.total) if launch else None)
    if policy == "jax" or launch is None:
        return 1, pods if policy == "jax" else 0
    requested = launch.given(launch.launcher.per_node)
    each = _number(requested) or _parse_count(env.get("PET_NPROC_PER_NODE"), devices)
    return each, each * pods


def _parse_count(value: str | None, devices: int) -> int:
    """A number, or a word that stands for the number of devices in the pod."""
    return int(value) if value and value.isdecimal() else devices


def _number(option: Any) -> int:
    return int(option.value) if option is not None and option.value and option.value.isdecimal() else 0


def summary(steps: Sequence[Step]) -> str:
    """Describe the training step: `4 pods x 8 GPUs, torchrun, 8 processes per pod, 32 ranks, rendezvous at ...`."""
    from trainc.graph.model import size

    step = next((step for step in steps if step.runs), None)
    if step is None:
        return ""
    meeting = [f"rendezvous at {step.rendezvous[0].address}"] if step.rendezvous else []
    return ", ".join([size(step).replace("\N{MULTIPLICATION SIGN}", "x"), step.runs, *meeting])
