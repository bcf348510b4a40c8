"""Local replacements for programs of an image, e.g. torchrun of the local Python, or ssh to pods that are processes."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from trainc.features.run.model import Machine

# The Python module that starts each program if it is not on the PATH.
_MODULES = {
    "torchrun": "torch.distributed.run",
    "tune": "torchtune._cli.tune",
    "accelerate": "accelerate.commands.launch",
}
_INTERPRETERS = ("python", "python3")
# The real programs would affect this machine: here sshd only waits, and ssh starts its command as a local process.
ALWAYS = ("ssh", "sshd")
# Modules whose presence decides how torchtune is replaced.
MODULES_LOOKED_UP = ("torch", "torchtune")
PROGRAMS_LOOKED_UP = (*_INTERPRETERS, *_MODULES, "ssh", "mpirun")
_SSHD = """\
#!/bin/sh
# The pods of the job are processes of one machine, which need no SSH: this one waits for the end of the job.
exec tail -f /dev/null
"""
_SSH = """\
#!/bin/sh
# Starts what a launcher would start over SSH, without the variables of the launcher's container, as sshd would.
while [ $# -gt 0 ]; do
  case "$1" in
    -[BbcDEeFIiJLlmOopQRSWw]) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
host=$1
if ! printf '%s\\n' "$host" | grep -Eqx {hosts}; then
  echo "ssh: $host is not a pod of this job" >&2
  exit 255
fi
shift
unset {variables}
exec /bin/sh -c "$*"
"""
# Follows the argument handling of `tune run` without the recipe: pytorch/torchtune torchtune/_cli/run.py.
_TUNE = """\
# Used where torchtune is not installed: the ranks of `tune run` meet and sum, and nothing is trained.
import sys


def meet(recipe):
    import torch
    import torch.distributed as ranks

    ranks.init_process_group("gloo")
    total = torch.ones(1)
    ranks.all_reduce(total)
    print(f"rank {ranks.get_rank()} meets {int(total)} of {ranks.get_world_size()} ranks, in place of {recipe}", flush=True)
    ranks.destroy_process_group()


def launch(words):
    from torch.distributed import run

    if words[:1] != ["run"]:
        sys.exit("tune: torchtune is not on this machine; of its commands, only `tune run` has a stand-in")
    arguments = run.get_args_parser().parse_args(words[1:])
    recipe = arguments.training_script
    arguments.training_script, arguments.training_script_args = __file__, ["--rank", recipe]
    run.run(arguments)


meet(sys.argv[2]) if sys.argv[1:2] == ["--rank"] else launch(sys.argv[1:])
"""
_TUNE_FILE = "tune_ranks.py"
# Variables for programs whose nodes are all on one machine.
_ONE_MACHINE = {
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def local_variables(machine: Machine) -> dict[str, str]:
    """The variables that every program gets by default; its own take precedence."""
    return {**_ONE_MACHINE, **(_AS_ROOT if machine.is_root else {})}


def stand_ins(machine: Machine, hosts: str, variables: Iterable[str]) -> dict[str, str]:
    """The contents of the replacement programs, which come first on the PATH, by name.

    `hosts` is the pattern of the pods' host names; `variables` are the names that the containers set.
    """
    python = machine.python or machine.programs.get("python3") or machine.programs.get("python") or ""
    texts = {
        "sshd": _SSHD,
        "ssh": _SSH.format(hosts=shlex.quote(_extended(hosts)), variables=" ".join(variables) or "_"),
    }
    for name, words in _by_python(python, machine).items():
        if python and (machine.python or name not in machine.programs):
            texts[name] = f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'
    return {**texts, _TUNE_FILE: _TUNE} if stands_in_for_recipe("tune", texts, machine) else texts


def stands_in_for_recipe(name: str, texts: Mapping[str, str], machine: Machine) -> bool:
    """Whether a program is a torchtune recipe that is replaced by one that does not train."""
    return name == "tune" and name in texts and "torchtune" in machine.missing


def _by_python(python: str, machine: Machine) -> dict[str, list[str]]:
    started = {name: [python, "-m", module] for name, module in _MODULES.items()}
    if "torchtune" in machine.missing:
        started["tune"] = [python, f"{machine.workdir}/bin/{_TUNE_FILE}"]
    if "torch" in machine.missing:
        del started["tune"]
    return {**{name: [python] for name in _INTERPRETERS}, **started}


def _extended(pattern: str) -> str:
    """Convert a Python pattern to the syntax of grep -E."""
    return pattern.replace("(?:", "(").replace(r"\d", "[0-9]").replace(r"\-", "-")
