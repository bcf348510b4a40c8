"""The base of a change under review: what its trainc.yaml loosens, and which findings nobody may silence for himself."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from trainc.cli.command import Arguments
from trainc.cli.revisions import copy_of_revision, here
from trainc.cli.settings import Settings, limits_of
from trainc.findings import Diagnostic, Source
from trainc.findings.compile_error import CompileError
from trainc.project.boundaries import describe_loosening
from trainc.project.configuration import Configuration, merge_diagnostics
from trainc.project.settings_file import read_configuration
from trainc.reading.git import REVISION_HINT, merge_base
from trainc.reading.opening import CONFIGURATION_FILE
from trainc.startup.records import replace

NO_BASE = "none"


def under_base(settings: Mapping[str, Settings], arguments: Arguments) -> tuple[dict[str, Settings], list[Diagnostic]]:
    """Have what administrators decide judged by the rules of the base too, and say what the change loosens.

    `settings` are those of each environment. Without a base that can be read, the result has an error.
    """
    if arguments.base in (None, NO_BASE):
        return dict(settings), []
    try:
        base = _settings_at(arguments)
    except CompileError as error:
        return dict(settings), [no_base(error.diagnostics[0], "trainc.yaml", arguments.base)]
    at_base = {name: base.environments.get(name, base) for name in settings}
    strict = {name: replace(env_settings, rules_at_base=at_base[name].rules) for name, env_settings in settings.items()}
    diagnostics = {
        name: list(_about(at_base[name], env_settings.configuration, arguments.base))
        for name, env_settings in settings.items()
    }
    return strict, merge_diagnostics(diagnostics)


def _settings_at(arguments: Arguments) -> Configuration:
    """The trainc.yaml at the base, in which nothing but that is read. Raises CompileError."""
    repository = here()
    commit = merge_base(repository, arguments.base)
    folders = [repository.prefix]
    while folders[-1] not in ("", os.curdir):
        folders.append(os.path.dirname(folders[-1].rstrip(os.sep)))
    files = [os.path.join(folder, CONFIGURATION_FILE) for folder in folders]
    if arguments.config:
        files = [os.path.relpath(os.path.realpath(arguments.config), os.path.realpath(repository.top))]
    with copy_of_revision(commit, arguments, files) as copy:
        if copy.links:
            copy.add()
        config = copy.arguments.config
        if config and not os.path.isfile(config):
            return Configuration()
        return read_configuration([], config, limits_of(arguments))


def _about(before: Configuration, after: Configuration, base: str) -> Iterator[Diagnostic]:
    source = None if after.file is None else Source(os.path.normpath(after.file), 1, 1)
    hint = f"rules about what administrators decide, such as PolicyDenied, count only as {base} has them"
    for sentence in describe_loosening(before, after):
        about = hint if sentence.startswith("`rules`") else ""
        yield Diagnostic(
            "SettingsLoosened", "info", f"since {base}: {sentence.rstrip('.')}", about, CONFIGURATION_FILE, "", source
        )


def no_base(refused: Diagnostic, compared: str, base: str | None) -> Diagnostic:
    """The error that what is to be compared with the base cannot be, with what to fetch."""
    message = f"there is no base to compare {compared} with: {refused.message}"
    hint, (remote, slash, branch) = refused.hint, (base or "").removeprefix("refs/remotes/").partition("/")
    if refused.code == "NoSuchRevision" and hint == REVISION_HINT:
        fetch = f"git fetch {remote} {branch}" if slash else "git fetch"
        hint = f"run `{fetch}` (in GitHub Actions, set `fetch-depth: 0`)"
    return Diagnostic("NoBase", "error", message, f"{hint}, or trust the files as they are with --base none")
