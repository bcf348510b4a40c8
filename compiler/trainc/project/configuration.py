"""trainc.yaml: what a repository has decided once, so that nobody has to type it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.findings import CompileError, Diagnostic, Finding, Path
from trainc.findings.policy import Rule, read_rules
from trainc.options import Limits, layered
from trainc.project.settings import ENVIRONMENTS, INPUT, TRAINC_YAML, read_options
from trainc.reading.document import Document
from trainc.reading.files import Exclude
from trainc.reading.opening import OUTSIDE_HINT, error_reason, folders_upward, is_inside, read_file, root_around
from trainc.reading.yaml_reader import read_documents
from trainc.startup.records import dataclass, field, replace

# os.path, not pathlib: it starts faster.


FILE_NAME = "trainc.yaml"
CODE = "InvalidConfiguration"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings of one trainc.yaml; None if unset. Paths are relative to the current folder.

    `options` are the compile options, by their names in `Options`.
    """

    file: str | None = None
    sources: tuple[str, ...] | None = None
    runtimes: tuple[str, ...] | None = None
    overlay: tuple[str, ...] | None = None
    output: str | None = None
    rebuild: str = "all"
    adopted: tuple[str, ...] = ()
    cluster: str | None = None
    policies: tuple[str, ...] = ()
    exclude: Exclude = Exclude()
    rules: tuple[Rule, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    # The environment's own name, or all environments of the file.
    environment: str = ""
    environments: Mapping[str, Configuration] = field(default_factory=dict)


def read_configuration(paths: Sequence[str], named: str | None, limits: Limits = Limits()) -> Configuration:
    """Read the file given by `--config`, or the nearest trainc.yaml above all of `paths`. Raises CompileError.

    Its paths must stay inside the surrounding repository, unless the limits allow otherwise.
    """
    file = named or _search(paths)
    if file is None:
        return Configuration()
    root = root_around(os.path.dirname(file) or os.curdir)
    if not named and not limits.allow_outside and not is_inside(file, root):
        message = f"{file} is a symlink to a file outside the repository"
        raise CompileError([Diagnostic("OutsideRoot", "error", message, OUTSIDE_HINT)])
    document = _read(file, limits)
    folder = os.path.dirname(file)
    data, findings = TRAINC_YAML.check(document.data)
    own, problems = _read_settings(data, folder, Configuration(file))
    findings += problems
    environments: dict[str, Configuration] = {}
    for name, settings in data.get(ENVIRONMENTS, {}).items():
        found, problems = _read_settings(settings, folder, own)
        findings += [replace(problem, path=(ENVIRONMENTS, name, *problem.path)) for problem in problems]
        environments[name] = replace(found, environment=name)
    findings += _same_output(data)
    if not findings and not limits.allow_outside:
        findings += _leading_outside(data, folder, root)
    if findings:
        raise CompileError([document.place(finding, FILE_NAME) for finding in findings])
    return replace(own, environments=environments)


def _read_settings(data: Mapping[str, Any], folder: str, around: Configuration) -> tuple[Configuration, list[Finding]]:
    """Return `around` with the settings that the file or an environment sets instead, and problems with their values.

    An environment adds its rules and globs to those of the file.
    """
    values: dict[str, Any] = {
        key: tuple(data[key]) if isinstance(data[key], list) else data[key] for key in INPUT if key in data
    }
    for key in _PATHS:
        if key in data:
            # In trainc.yaml, `-` is a file name; it means standard input only on the command line.
            paths = [data[key]] if isinstance(data[key], str) else data[key]
            values[key] = tuple(os.path.join(folder or os.curdir if path == "-" else folder, path) for path in paths)
    values |= {key: os.path.join(folder, data[key]) for key in _FOLDERS if key in data}
    values["exclude"] = Exclude(folder, (*around.exclude.globs, *data.get("exclude", ())))
    values["adopted"] = (*around.adopted, *data.get("adopted", ()))
    rules, problems = read_rules(data.get("rules", {}), folder, CODE)
    values["rules"] = (*around.rules, *rules)
    options, wrong = read_options(data, "trainc.yaml", CODE)
    return replace(around, **values, options=layered(around.options, options)), [*problems, *wrong]


def _search(paths: Sequence[str]) -> str | None:
    """The nearest trainc.yaml, searching upwards from the folder that contains all input, wherever trainc is run.

    The search ends at the folder with `.git` and skips folders of other users: see `folders_upward`.
    """
    folders = [os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path)) for path in paths if path != "-"]
    start = os.path.commonpath(folders) if folders else os.getcwd()
    files = (os.path.join(folder, FILE_NAME) for folder in folders_upward(start))
    found = next(filter(os.path.isfile, files), None)
    return None if found is None else os.path.relpath(found)


def _leading_outside(data: Mapping[str, Any], folder: str, root: str) -> Iterator[Finding]:
    """Errors about the paths in a valid trainc.yaml."""
    parts: dict[Path, Any] = {
        (): data,
        **{(ENVIRONMENTS, name): own for name, own in data.get(ENVIRONMENTS, {}).items()},
    }
    for above, key in ((above, key) for above in parts for key in (*_PATHS, *_FOLDERS)):
        value = parts[above].get(key, ())
        for path in [value] if isinstance(value, str) else value:
            if key == "output" and ".git" in os.path.normpath(path).casefold().split(os.sep):
                yield _wrong((*above, key), f"{path} is inside the .git folder", "choose another folder")
            if not is_inside(os.path.join(folder, path), root):
                message = f"{path} is outside the repository"
                yield Finding("OutsideRoot", "error", message, OUTSIDE_HINT, (*above, key))


def _read(file: str, limits: Limits) -> Document:
    try:
        documents, problems = read_documents(read_file(file, limits.file_bytes), file, limits)
    except OSError as error:
        message = f"{file} cannot be read: {error_reason(error)}"
        raise CompileError([Diagnostic(CODE, "error", message, "check the path given to --config")]) from None
    if problems:
        raise CompileError(problems)
    if len(documents) > 1:
        wrong = _wrong((), "trainc.yaml must be a single document", "remove the other documents")
        raise CompileError([documents[1].place(wrong, FILE_NAME)])
    document = documents[0] if documents else Document.of({})
    if "apiVersion" in document.data and "kind" in document.data:
        hint = "rename this file, or pass the settings file with --config FILE"
        wrong = _wrong(("kind",), f"this is a {document.data['kind']}, not a trainc settings file", hint)
        raise CompileError([document.place(wrong, FILE_NAME)])
    return document


def _same_output(data: Mapping[str, Any]) -> Iterator[Finding]:
    outputs: dict[str, str] = {}
    for name, settings in data.get(ENVIRONMENTS, {}).items():
        output = settings.get("output")
        if output and outputs.setdefault(output, name) != name:
            message = f"{output} is also the output of {outputs[output]}"
            yield _wrong((ENVIRONMENTS, name, "output"), message, "use a different folder for each")


def _wrong(path: Path, message: str, hint: str) -> Finding:
    return Finding(CODE, "error", message, hint, path)


_PATHS = ("sources", "runtimes", "overlay", "policies")
_FOLDERS = ("output", "cluster")
