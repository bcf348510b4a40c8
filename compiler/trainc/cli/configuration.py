"""trainc.yaml: what a repository has decided once, so that nobody has to type it."""

# os.path, not pathlib: it starts faster.

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.diagnostics import CompileError, Diagnostic, Path, format_path
from trainc.diagnostics.policy import Rule, read_rules
from trainc.options import Delivery, Gang, Limits, SecretsMode, Semantics
from trainc.reading.confinement import OUTSIDE_HINT, folders_upward, is_inside, root_around
from trainc.reading.document import Document
from trainc.reading.file_filter import Exclude
from trainc.reading.opening import error_reason, read_file
from trainc.reading.yaml_reader import read_documents
from trainc.startup.records import dataclass, field, replace

FILE_NAME = "trainc.yaml"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings of one trainc.yaml; None if unset. Paths are relative to the current folder."""

    file: str | None = None
    sources: tuple[str, ...] | None = None
    runtimes: tuple[str, ...] | None = None
    overlay: tuple[str, ...] | None = None
    release: str | None = None
    semantics: Semantics | None = None
    secrets: SecretsMode | None = None
    delivery: Delivery | None = None
    keygen_image: str | None = None
    name_hash: bool | None = None
    sync_options: tuple[str, ...] | None = None
    plugins: tuple[str, ...] | None = None
    gang: Gang | None = None
    kubernetes: str | None = None
    output: str | None = None
    cluster: str | None = None
    policies: tuple[str, ...] = ()
    exclude: Exclude = Exclude()
    rules: tuple[Rule, ...] = ()
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
    problems = list(_problems(document))
    if not problems and not limits.allow_outside:
        problems = list(_leading_outside(document, os.path.dirname(file), root))
    if problems:
        raise CompileError(problems)
    from trainc.cli.configuration_keys import ENVIRONMENTS

    folder = os.path.dirname(file)
    decided = _read_settings(document.data, folder)
    found = Configuration(file, **decided)
    environments = {
        name: replace(found, **_read_settings(own, folder, found), environment=name)
        for name, own in document.data.get(ENVIRONMENTS, {}).items()
    }
    return replace(found, environments=environments)


def _read_settings(data: Mapping[str, Any], folder: str, around: Configuration = Configuration()) -> dict[str, Any]:
    """The fields of a Configuration. An environment adds its rules to those of the surrounding file, `around`."""
    from trainc.cli.configuration_keys import BY_NAME

    values: dict[str, Any] = {_FIELDS.get(key, key): value for key, value in data.items() if key in BY_NAME}
    for key in _PATHS:
        if key in data:
            # In trainc.yaml, `-` is a file name; it means standard input only on the command line.
            paths = [data[key]] if isinstance(data[key], str) else data[key]
            values[key] = tuple(os.path.join(folder or os.curdir if path == "-" else folder, path) for path in paths)
    values |= {_FIELDS.get(key, key): tuple(data[key]) for key in _LISTS if key in data}
    values |= {key: os.path.join(folder, data[key]) for key in _PLACES if key in data}
    values["exclude"] = Exclude(folder, (*around.exclude.globs, *values.get("exclude", ())))
    if "delivery" in data and "syncOptions" not in data and data["delivery"] != around.delivery:
        values["sync_options"] = None  # They belong to a different tool.
    values["rules"] = (*around.rules, *read_rules(data.get("rules", {}), ("rules",), folder)[0])
    return values


def _search(paths: Sequence[str]) -> str | None:
    """The nearest trainc.yaml, searching upwards from the folder that contains all input, wherever trainc is run.

    The search ends at the folder with `.git` and skips folders of other users: see `folders_upward`.
    """
    folders = [os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path)) for path in paths if path != "-"]
    start = os.path.commonpath(folders) if folders else os.getcwd()
    files = (os.path.join(folder, FILE_NAME) for folder in folders_upward(start))
    found = next(filter(os.path.isfile, files), None)
    return None if found is None else os.path.relpath(found)


def _leading_outside(document: Document, folder: str, root: str) -> Iterator[Diagnostic]:
    """Errors about the paths in a valid trainc.yaml."""
    from trainc.cli.configuration_keys import ENVIRONMENTS

    parts: dict[tuple[str, ...], Any] = {
        (ENVIRONMENTS, name): own for name, own in document.data.get(ENVIRONMENTS, {}).items()
    }
    for above, key in ((above, key) for above in ((), *parts) for key in (*_PATHS, *_PLACES)):
        value = (parts[above] if above else document.data).get(key, ())
        for path in [value] if isinstance(value, str) else value:
            if key == "output" and ".git" in os.path.normpath(path).casefold().split(os.sep):
                hint = "choose another folder"
                yield _wrong(document, (*above, key), f"{path} is inside the .git folder", hint)
            if not is_inside(os.path.join(folder, path), root):
                wrong = _wrong(document, (*above, key), f"{path} is outside the repository", OUTSIDE_HINT)
                yield replace(wrong, code="OutsideRoot")


def _read(file: str, limits: Limits) -> Document:
    try:
        documents, problems = read_documents(read_file(file, limits.file_bytes), file, limits)
    except OSError as error:
        message = f"{file} cannot be read: {error_reason(error)}"
        raise CompileError(
            [Diagnostic("InvalidConfiguration", "error", message, "check the path given to --config")]
        ) from None
    if problems:
        raise CompileError(problems)
    if len(documents) > 1:
        raise CompileError(
            [_wrong(documents[1], (), "trainc.yaml must be a single document", "remove the other documents")]
        )
    return documents[0] if documents else Document.of({})


def _problems(document: Document) -> Iterator[Diagnostic]:
    if "apiVersion" in document.data and "kind" in document.data:
        hint = "rename this file, or pass the settings file with --config FILE"
        yield _wrong(document, ("kind",), f"this is a {document.data['kind']}, not a trainc settings file", hint)
        return
    from trainc.cli.configuration_keys import problems_of

    for path, message, hint in problems_of(document.data):
        yield _wrong(document, path, message, hint)


def _wrong(document: Document, path: Path, message: str, hint: str) -> Diagnostic:
    where = format_path(path)
    return Diagnostic("InvalidConfiguration", "error", message, hint, FILE_NAME, where, document.locate(path))


_PATHS = ("sources", "runtimes", "overlay", "policies")
_PLACES = ("output", "cluster")
_LISTS = ("syncOptions", "plugins", "exclude")
# Keys that differ from the name of their field.
_FIELDS = {"syncOptions": "sync_options", "keygenImage": "keygen_image", "nameHash": "name_hash"}
