"""Local replacements for programs of an image, e.g. torchrun of the local Python, or ssh to pods that are processes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files

from trainc.api.jobs import JobSet
from trainc.api.kube import Json
from trainc.features.authoring.run.model import Machine

# The Python module that starts each program if it is not on the PATH.
_MODULES = {
    "torchrun": "torch.distributed.run",
    "tune": "torchtune._cli.tune",
    "accelerate": "accelerate.commands.accelerate_cli",
}
_LAUNCHED = re.compile(rf"(?<![\w./-])({'|'.join(_MODULES)})(?![\w.=-])|-m\s+(torch)\.distributed\.run\b")
_INTERPRETERS = ("python", "python3")
# The real programs would affect this machine: here sshd only waits, and ssh starts its command as a local process.
ALWAYS = ("ssh", "sshd")
# Modules whose presence decides how torchtune is replaced.
MODULES_LOOKED_UP = ("torch", "torchtune", "accelerate")
PROGRAMS_LOOKED_UP = (*_INTERPRETERS, *_MODULES, "ssh", "mpirun")
# The programs are files in the folder `programs`, of which `tune_ranks` follows the argument handling of `tune run`
# without the recipe: pytorch/torchtune torchtune/_cli/run.py.
_TUNE_FILE, _ACCELERATE_FILE = "tune_ranks.py", "accelerate_here.py"
# torchrun and accelerate start their ranks with the interpreter that PYTHON_EXEC names (torch/distributed/run.py): this one
# gives each rank an output of its own, so that trainc knows whose lines these are.
RANK_PYTHON, RANKS, RANK_LINE = "python-of-a-rank", "TRAINC_RANKS", b"\x01trainc rank "
# Variables for programs whose nodes are all on one machine.
_ONE_MACHINE = {
    # Python then says where it is when it is aborted, which shows where a rank hangs.
    "PYTHONFAULTHANDLER": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def local_variables(machine: Machine) -> dict[str, str]:
    """The variables that every program gets by default; its own take precedence."""
    return {**_ONE_MACHINE, **(_AS_ROOT if machine.is_root else {})}


def stand_ins(machine: Machine, hosts: str, variables: Iterable[str]) -> dict[str, str]:
    """The contents of the replacement programs, which come first on the PATH, by name.

    `hosts` is the pattern of the pods' host names; `variables` are the names that the containers set.
    """
    python = interpreter(machine)
    # The pattern in the syntax of grep -E.
    extended = hosts.replace("(?:", "(").replace(r"\d", "[0-9]").replace(r"\-", "-")
    ssh = _program("ssh").format(hosts=shlex.quote(extended), variables=" ".join(variables) or "_")
    texts = {"sshd": _program("sshd"), "ssh": ssh}
    for name, words in _by_python(python, machine).items():
        if python and (machine.python or name not in machine.programs):
            texts[name] = f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'
    if "accelerate" in machine.programs and machine.launchers_python and not machine.python:
        texts["accelerate"] = (
            f'#!/bin/sh\nexec {shlex.quote(machine.launchers_python)} {machine.workdir}/bin/{_ACCELERATE_FILE} "$@"\n'
        )
    if "accelerate" in texts:
        texts[_ACCELERATE_FILE] = _program(_ACCELERATE_FILE)
    if of_ranks := machine.python or machine.launchers_python or ("torchrun" in texts and python):
        texts[RANK_PYTHON] = _program(RANK_PYTHON).replace("{RANKS}", RANKS).replace("{python}", shlex.quote(of_ranks))
    return {**texts, _TUNE_FILE: _program(_TUNE_FILE)} if stands_in_for_recipe("tune", texts, machine) else texts


def _program(name: str) -> str:
    return files(__package__).joinpath("programs", name.removesuffix(".py")).read_text("utf-8")


def interpreter(machine: Machine) -> str:
    """The Python of the programs that are replaced; empty if there is none."""
    return machine.python or machine.programs.get("python3") or machine.programs.get("python") or ""


def uses_launcher(manifests: Iterable[Json]) -> bool:
    """Return whether a container's command names a launcher of Python's."""
    jobs = (job for jobset in JobSet.among(manifests) for job in jobset.jobs)
    all_containers = (container for job in jobs for _, container in job.containers)
    words = (word for c in all_containers for word in (*c.get("command", ()), *c.get("args", ())))
    return any(_LAUNCHED.search(str(word)) for word in words)


def missing_launchers(command: Iterable[str], machine: Machine) -> Iterator[tuple[str, str]]:
    """The launchers in a command line that the interpreter does not have, each with the package that it lacks."""
    for match in dict.fromkeys(hit[0] for word in command for hit in _LAUNCHED.finditer(word)):
        name = match if match in _MODULES else "torchrun"
        package = _MODULES[name].partition(".")[0]
        needed = "torch" if name == "tune" else package
        if needed in machine.missing and (machine.python or name not in machine.programs):
            yield match, needed


def stands_in_for_recipe(name: str, texts: Mapping[str, str], machine: Machine) -> bool:
    """Return whether a program is a torchtune recipe that is replaced by one that does not train."""
    return name == "tune" and name in texts and "torchtune" in machine.missing


def _by_python(python: str, machine: Machine) -> dict[str, list[str]]:
    started = {name: [python, "-m", module] for name, module in _MODULES.items()}
    if "torchtune" in machine.missing:
        started["tune"] = [python, f"{machine.workdir}/bin/{_TUNE_FILE}"]
    started["accelerate"] = [python, f"{machine.workdir}/bin/{_ACCELERATE_FILE}"]
    for name in [*started]:
        needs = {"torch"} if name == "tune" else {"torch", _MODULES[name].partition(".")[0]}
        if needs & machine.missing:
            del started[name]
    return {**{name: [python] for name in _INTERPRETERS}, **started}
