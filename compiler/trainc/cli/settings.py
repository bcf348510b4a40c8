"""Arguments and trainc.yaml together: what a command works with. An argument wins over the file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from trainc.cli.command import Arguments, UsageError
from trainc.findings import CompileError, Diagnostic, has_errors, sort_diagnostics
from trainc.findings.policy import Policy
from trainc.options import Limits, Options, layered
from trainc.project.configuration import Configuration, read_configuration
from trainc.reading.files import is_overlay_folder
from trainc.startup.records import dataclass, fields, replace

if TYPE_CHECKING:
    from trainc.pipeline.inputs import Inputs, Step
    from trainc.project.overlays.load import Loaded
    from trainc.reading.document import Document


@dataclass(frozen=True, slots=True)
class Settings:
    """The input, the compile options, and the remaining settings of trainc.yaml."""

    paths: Sequence[str]
    runtimes: Sequence[str]
    overlays: Sequence[Loaded]
    options: Options
    configuration: Configuration
    output: str | None = None
    # Whether the input is everything that trainc.yaml names, so that jobs missing from it have been deleted.
    whole: bool = False

    def policy(self, stdin: bytes = b"") -> Policy:
        """The rules for diagnostics: from trainc.yaml, overridden by overlays, overridden by comments."""
        from trainc.reading.ignores import Comments

        rules = (*self.configuration.rules, *(rule for overlay in self.overlays for rule in overlay.rules))
        return Policy(rules, Comments(stdin))

    def read(
        self,
        stdin: BinaryIO,
        skip: str | None = None,
        step: Step | None = None,
        *,
        everything: bool = False,
        extra_documents: Sequence[Document] = (),
    ) -> Inputs:
        """Read the input without entering the folder `skip`, and without unrelated files unless `everything` is set."""
        from trainc.pipeline.inputs import read_inputs

        return read_inputs(
            self.paths,
            self.runtimes,
            self.options,
            overlays=self.overlays,
            stdin=stdin,
            skip=skip,
            step=step,
            exclude=self.configuration.exclude,
            everything=everything,
            extra_documents=extra_documents,
        )


def settings_of(arguments: Arguments) -> Settings:
    """The settings of a command that reads input. Raises UsageError for conflicting arguments, and CompileError."""
    configuration = read_configuration(arguments.paths, arguments.config, limits_of(arguments))
    if arguments.env:
        # A revision may predate the environment.
        configuration = configuration.environments.get(arguments.env[0], configuration)
    named = [path for path in arguments.paths if is_overlay_folder(path)]
    given = [path for path in arguments.paths if path not in named]
    chosen = [*named, *(arguments.overlay or ())]
    overlays = _overlays(chosen or configuration.overlay or (), limits_of(arguments))
    # An overlay with resources defines its own input, like a kustomization.
    has_resources = any(overlay.has_resources for overlay in overlays)
    paths = given or ([] if named and has_resources else configuration.sources)
    if paths is None:
        paths = [] if has_resources else ["."]
    runtimes = arguments.runtimes or configuration.runtimes or ()
    options = _options(arguments, configuration, overlays)
    # The output folder in trainc.yaml belongs to the overlay in trainc.yaml; other overlays must not write to it.
    output = None if chosen and configuration.overlay else configuration.output
    whole = configuration.file is not None and not arguments.paths and output is not None
    return Settings(paths, runtimes, overlays, options, configuration, output, whole)


def _overlays(paths: Sequence[str], limits: Limits) -> Sequence[Loaded]:
    if not paths:
        return ()
    from trainc.project.overlays.load import load_overlays

    overlays, problems = load_overlays(paths, limits)
    if has_errors(problems):
        raise CompileError(problems)
    return overlays


def _options(arguments: Arguments, configuration: Configuration, overlays: Sequence[Loaded]) -> Options:
    """The options from trainc.yaml, overridden by overlays, overridden by arguments."""
    chosen = layered(_options_set(configuration), *(overlay.settings for overlay in overlays), _options_set(arguments))
    try:
        options = Options(**chosen, limits=limits_of(arguments))
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.plugins:
        from trainc.plugins.registry import choose

        _, problems = choose(options.plugins)
        if problems:
            raise CompileError(problems)
    return options


def _options_set(source: Arguments | Configuration) -> dict[str, Any]:
    """The fields of Options that are set in the arguments or in trainc.yaml."""
    values = {option.name: getattr(source, option.name, None) for option in fields(Options) if option.name != "limits"}
    if options := getattr(source, "sync_option", None):
        values["sync_options"] = tuple(options)
    return {name: value for name, value in values.items() if value is not None}


def limits_of(arguments: Arguments) -> Limits:
    """The input limits that were requested, with the default for all others."""
    raised = {limit.name: getattr(arguments, limit.name, None) for limit in fields(Limits)}
    return replace(Limits(), **{name: value for name, value in raised.items() if value is not None})


# The environments of trainc.yaml: which of them a command is about, and what there is to say of all of them together.


def environments_of(arguments: Arguments) -> list[Arguments]:
    """The arguments, once for each environment to process; unchanged if there are none.

    Without PATH and --overlay, all environments are processed. Raises CompileError if trainc.yaml is invalid, and
    UsageError if it does not define an environment given by --env.
    """
    known = read_configuration(arguments.paths, arguments.config, limits_of(arguments)).environments
    for name in arguments.env or ():
        if name not in known:
            from trainc.findings.text import did_you_mean

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

    Diagnostics at the same line are the same, even if overlays change the name or namespace of the object. Several
    objects of one environment can have the same problem at the same line, such as that of their runtime.
    """
    first: dict[object, Diagnostic] = {}
    where: dict[object, list[str]] = {}
    for name, diagnostics in found.items():
        repeated: Counter[object] = Counter()
        for d in sort_diagnostics(diagnostics):
            alike = (d.code, d.severity, d.message, d.hint, d.path, d.source, "" if d.source else d.object)
            key = (alike, repeated[alike])
            repeated[alike] += 1
            first.setdefault(key, d)
            names = where.setdefault(key, [])
            if name not in names:
                names.append(name)
    return sort_diagnostics(
        d if len(where[key]) == len(found) else replace(d, environments=tuple(where[key])) for key, d in first.items()
    )
