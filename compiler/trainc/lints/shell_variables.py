"""Shell variables that nothing expands: Kubernetes knows `$(NAME)` only, and passes `$NAME` on as it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.diagnostics import Finding
from trainc.ir.entrypoints import Entrypoint, entrypoints
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.startup.patterns import pattern

# Names as environment variables have them: `$ref` in JSON and `${model.size}` of a configuration tool are no variables.
_VARIABLE = pattern(r"(?<![\\$])\$(?:\{([A-Z_][A-Z0-9_]*)\}|([A-Z_][A-Z0-9_]*))")
# What other launchers call the values that are injected, by the names they are injected under.
_INJECTED = {
    "torch": {
        "MASTER_ADDR": "PET_MASTER_ADDR",
        "MASTER_PORT": "PET_MASTER_PORT",
        "NNODES": "PET_NNODES",
        "NUM_NODES": "PET_NNODES",
        "NODE_RANK": "PET_NODE_RANK",
        "NPROC_PER_NODE": "PET_NPROC_PER_NODE",
    },
    "jax": {
        "COORDINATOR_ADDRESS": "JAX_COORDINATOR_ADDRESS",
        "NUM_PROCESSES": "JAX_NUM_PROCESSES",
        "PROCESS_ID": "JAX_PROCESS_ID",
    },
}


def unexpanded_shell_variables(job: TrainJob, info: Info) -> Iterator[Finding]:
    """A warning for each word with a shell variable that no shell will see."""
    for entrypoint in entrypoints(job, info):
        # The search for a `$` is cheap, and almost every command line has none.
        words = entrypoint.words
        if "$" in "".join(words) and not entrypoint.shell:
            yield from _in_words(words, entrypoint, info)


def _in_words(words: Sequence[str], entrypoint: Entrypoint, info: Info) -> Iterator[Finding]:
    for index, word in enumerate(words):
        names = list(dict.fromkeys(braced or bare for braced, bare in _VARIABLE.findall(word)))
        if names:
            path, about = entrypoint.place(index)
            yield Finding(
                "UnexpandedShellVariable",
                "warning",
                f"no shell runs this command, so {word!r} reaches the program as it stands",
                "; ".join(_mend(name, entrypoint, info) for name in names),
                path,
                about=about,
            )


def _mend(name: str, entrypoint: Entrypoint, info: Info) -> str:
    for policy, injected in _INJECTED.items():
        if info.policy(policy) is not None and name in injected and entrypoint.trains:
            return f"write $({injected[name]}) for {name}, or drop the flag: the runtime injects the value"
    if any(variable["name"] == name for variable in entrypoint.container.env):
        return f"write $({name}), which Kubernetes expands"
    return f"write $({name}) and set {name} in env, or run the command through sh -c"
