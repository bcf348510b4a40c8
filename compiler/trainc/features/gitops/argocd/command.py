"""What `trainc cmp` does."""

from __future__ import annotations

import json
import os

from trainc import __version__
from trainc.api.arguments import Arguments, Status, Streams, UsageError, command
from trainc.api.command import report
from trainc.api.documents import files
from trainc.api.findings import CompileError, Diagnostic
from trainc.api.records import pattern
from trainc.api.settings import settings_file
from trainc.features.gitops.argocd.files import text_of
from trainc.features.gitops.argocd.parameters import PARAMETERS, read_parameters


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print manifests, parameters or a file."""
    for name in ("base_image", "index_url"):
        value, flag = getattr(arguments, name), f"--{name.replace('_', '-')}"
        if value and arguments.print != "Dockerfile":
            raise UsageError(f"{flag} needs --print Dockerfile")
        if value and not pattern(r"[!-~]+").fullmatch(value):
            raise UsageError(f"argument {flag}: {value!r} has spaces or characters that cannot be printed")
    if arguments.print:
        text = text_of(arguments.print, __version__, arguments.base_image, arguments.index_url)
        streams.write(text)
        return Status.DONE
    try:
        return _generate(arguments, streams) if arguments.action == "generate" else _announce(streams)
    except CompileError as error:
        return report(error.diagnostics, arguments, streams)


def _generate(arguments: Arguments, streams: Streams) -> Status:
    """Run `trainc build` with the parameters of the Application."""
    from trainc.api.command import run as build

    parameters = read_parameters(os.environ)
    report(parameters.diagnostics, arguments, streams)
    build_arguments = command.arguments_of("build", ["--output", "-", "--color", arguments.color])
    if "overlay" not in parameters.arguments and files.is_overlay_folder(os.curdir):
        build_arguments.paths = [os.curdir]
    reporting = {"quiet": arguments.quiet, "verbose": arguments.verbose}
    for name, value in (reporting | parameters.arguments).items():
        setattr(build_arguments, name, value)
    base = settings_file.read_configuration(build_arguments.paths, None)
    chosen = [base.environments.get(name, base) for name in build_arguments.env or ()] or [base]
    if any(env.rebuild == "changed-jobs" for env in chosen):  # Nothing is kept where every refresh compiles all jobs.
        message = "trainc.yaml sets `rebuild: changed-jobs`, but as a plugin trainc compiles all jobs at each refresh"
        hint = "let Argo CD apply the output folder as it is in git, without the plugin, or set `rebuild: all`"
        raise CompileError([Diagnostic("KeepsNothing", "error", message, hint, base.file or "")])
    return build(build_arguments, streams)


def _announce(streams: Streams) -> Status:
    """Print the parameters as announced to Argo CD's UI; their defaults are the values in trainc.yaml."""
    configuration = settings_file.read_configuration([], None)
    configured = {"overlay": configuration.overlay, "runtimes": configuration.runtimes, **configuration.options}
    announced = []
    for parameter in PARAMETERS:
        announcement, value = parameter.announcement, configured.get(parameter.argument)
        if announcement["collectionType"] == "array" and value is not None:
            announcement["array"] = [] if isinstance(value, bool | str) else list(value)
        elif value is not None:
            announcement["string"] = str(value).lower() if isinstance(value, bool) else value
        announced.append(announcement)
    streams.write(json.dumps(announced, indent=2) + "\n")
    return Status.DONE
