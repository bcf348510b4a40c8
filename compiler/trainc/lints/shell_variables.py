"""A lint for shell variables that nothing expands: Kubernetes expands only `$(NAME)`, and passes `$NAME` unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.findings import Finding
from trainc.ir.entrypoints import Entrypoint
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.registry import enabled
from trainc.startup.patterns import pattern

# Uppercase names only: `$ref` in JSON and `${model.size}` of a configuration tool are not environment variables.
_VARIABLE = pattern(r"(?<![\\$])\$(?:\{([A-Z_][A-Z0-9_]*)\}|([A-Z_][A-Z0-9_]*))")


def unexpanded_shell_variables(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    """Yield a warning for each word with a shell variable that no shell will expand."""
    # A cheap test first: almost no command line has a `$`.
    if "$" in "".join(entry.words) and not entry.shell:
        yield from _in_words(entry.words, entry, job, info)


def _in_words(words: Sequence[str], entrypoint: Entrypoint, job: TrainJob, info: Info) -> Iterator[Finding]:
    for index, word in enumerate(words):
        names = list(dict.fromkeys(braced or bare for braced, bare in _VARIABLE.findall(word)))
        if names:
            path, about = entrypoint.place(index)
            yield Finding(
                "UnexpandedShellVariable",
                "warning",
                f"no shell runs this command, so {word!r} is passed to the program without being expanded",
                "; ".join(_hint(name, entrypoint, job, info) for name in names),
                path,
                about=about,
            )


def _hint(name: str, entrypoint: Entrypoint, job: TrainJob, info: Info) -> str:
    for plugin in enabled(info.plugins) if entrypoint.trains else ():
        if name in plugin.shell_names and plugin.policy_of(job, info) is not None:
            return f"write $({plugin.shell_names[name]}) for {name}, or remove the flag: the runtime sets the value"
    if any(variable["name"] == name for variable in entrypoint.container.env):
        return f"write $({name}), which Kubernetes expands"
    return f"write $({name}) and set {name} in env, or run the command through sh -c"
