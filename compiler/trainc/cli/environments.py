"""The environments of trainc.yaml: which of them a command is about, and what there is to say of all of them together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from trainc.cli.command import Arguments, UsageError
from trainc.cli.configuration import read_configuration
from trainc.cli.settings import limits_of
from trainc.diagnostics import Diagnostic, sort_diagnostics
from trainc.reading.files import is_overlay_folder
from trainc.startup.records import replace


def environments_of(arguments: Arguments) -> list[Arguments]:
    """The arguments, once for each environment to process; unchanged if there are none.

    Without PATH and --overlay, all environments are processed. Raises CompileError if trainc.yaml is invalid, and
    UsageError if it does not define an environment given by --env.
    """
    known = read_configuration(arguments.paths, arguments.config, limits_of(arguments)).environments
    for name in arguments.env or ():
        if name not in known:
            from trainc.diagnostics.near_names import did_you_mean

            hint = did_you_mean(name, known) or f"known environments: {', '.join(known) or 'none'}"
            raise UsageError(f"trainc.yaml has no environment {name!r}; {hint}")
    chosen = arguments.env or (() if arguments.paths or arguments.overlay else known)
    return [Arguments(**{**vars(arguments), "env": [name]}) for name in dict.fromkeys(chosen)] or [arguments]


def environments_of_sides(arguments: Arguments) -> list[Arguments]:
    """Like `environments_of`, for the two sides of a diff: a revision without a path does not count as PATH.

    A folder that contains the output of several environments stands for all of them.
    """
    paths = [word for word in arguments.sides if not word.startswith("git:") or word.count(":") > 1]
    local = [word for word in paths if not word.startswith("git:")]
    found = environments_of(Arguments(**{**vars(arguments), "paths": local}))
    if len(paths) == 1 and local and not arguments.env:
        known = read_configuration(local, arguments.config, limits_of(arguments)).environments
        outputs = {
            name: each.output for name, each in known.items() if each.output and _is_below(each.output, local[0])
        }
        # Sources belong to every environment, unless an overlay selects one.
        sources = () if arguments.overlay or is_overlay_folder(local[0]) else known
        found = [
            Arguments(**{**vars(arguments), "env": [name], "sides": [outputs.get(name, local[0])]})
            for name in outputs or sources
        ] or found
    return found


def _is_below(path: str, folder: str) -> bool:
    real, above = os.path.realpath(path), os.path.realpath(folder)
    return real == above or real.startswith(above + os.sep)


def environment_name(arguments: Arguments) -> str:
    """The environment that the arguments select; empty if none."""
    return arguments.env[0] if arguments.env else ""


def merge_diagnostics(found: Mapping[str, Sequence[Diagnostic]]) -> list[Diagnostic]:
    """Merge the diagnostics of several environments in order; those that all share are reported once, without a name.

    Diagnostics at the same line are the same, even if overlays change the name or namespace of the object.
    """
    first: dict[object, Diagnostic] = {}
    where: dict[object, list[str]] = {}
    for name, diagnostics in found.items():
        for d in sort_diagnostics(diagnostics):
            key = (d.code, d.severity, d.message, d.hint, d.path, d.source, "" if d.source else d.object)
            first.setdefault(key, d)
            names = where.setdefault(key, [])
            if name not in names:
                names.append(name)
    return sort_diagnostics(
        d if len(where[key]) == len(found) else replace(d, environments=tuple(where[key])) for key, d in first.items()
    )
