"""What `trainc cmp` does."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from trainc.api.arguments import Arguments, Status, Streams, UsageError, arguments_of
from trainc.api.command import report
from trainc.api.documents import is_overlay_folder
from trainc.api.findings import CompileError, Diagnostic
from trainc.api.records import pattern
from trainc.api.settings import read_configuration
from trainc.features.argocd.files import text_of
from trainc.features.argocd.parameters import PARAMETERS, Parameter, read_parameters


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print manifests, parameters or a file."""
    for name in ("base_image", "index_url"):
        value, flag = getattr(arguments, name), f"--{name.replace('_', '-')}"
        if value and arguments.print != "Dockerfile":
            raise UsageError(f"{flag} needs --print Dockerfile")
        if value and not pattern(r"[!-~]+").fullmatch(value):
            raise UsageError(f"argument {flag}: {value!r} has spaces or characters that cannot be printed")
    if arguments.print:
        from trainc import __version__

        text = text_of(arguments.print, __version__, arguments.base_image, arguments.index_url)
        streams.out.write(text.encode("utf-8", "backslashreplace"))
        return Status.DONE
    try:
        return _generate(arguments, streams) if arguments.action == "generate" else _announce(streams)
    except CompileError as error:
        report(error.diagnostics, arguments, streams)
        return Status.DIAGNOSED


def _generate(arguments: Arguments, streams: Streams) -> Status:
    """Run `trainc build` with the parameters of the Application."""
    from trainc.api.command import run as build

    read = read_parameters(os.environ)
    report(read.diagnostics, arguments, streams)
    settled = arguments_of("build", ["--output", "-", "--color", arguments.color])
    if "overlay" not in read.arguments and is_overlay_folder(os.curdir):
        settled.paths = [os.curdir]
    reporting = {"quiet": arguments.quiet, "verbose": arguments.verbose}
    for name, value in (reporting | read.arguments).items():
        setattr(settled, name, value)
    _refuse_to_keep(settled)
    return build(settled, streams)


def _refuse_to_keep(settled: Arguments) -> None:
    """Raise CompileError if jobs are to be kept as built: nothing is kept where every refresh compiles all jobs."""
    configuration = read_configuration(settled.paths, None)
    chosen = [configuration.environments.get(name, configuration) for name in settled.env or ()] or [configuration]
    if any(each.rebuild == "changed-jobs" for each in chosen):
        message = "trainc.yaml sets `rebuild: changed-jobs`, but as a plugin trainc compiles all jobs at each refresh"
        hint = "let Argo CD apply the output folder as it is in git, without the plugin, or set `rebuild: all`"
        raise CompileError([Diagnostic("KeepsNothing", "error", message, hint, configuration.file or "")])


def _announce(streams: Streams) -> Status:
    configuration = read_configuration([], None)
    configured = {"overlay": configuration.overlay, "runtimes": configuration.runtimes, **configuration.options}
    announced = [_announcement(each, configured.get(each.argument)) for each in PARAMETERS]
    streams.out.write((json.dumps(announced, indent=2) + "\n").encode("utf-8", "backslashreplace"))
    return Status.DONE


def _announcement(parameter: Parameter, configured: str | bool | Sequence[str] | None) -> dict[str, object]:
    """A parameter as announced to Argo CD's UI; `configured` is the value in trainc.yaml, used as the default."""
    announcement = parameter.announcement
    if configured is None:
        return announcement
    if announcement["collectionType"] == "array":
        return {**announcement, "array": list(configured) if not isinstance(configured, bool | str) else []}
    return {**announcement, "string": str(configured).lower() if isinstance(configured, bool) else configured}
