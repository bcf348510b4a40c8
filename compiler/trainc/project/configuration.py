"""trainc.yaml: what a repository has decided once, so that nobody has to type it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, get_args

from trainc.findings import CompileError, Diagnostic, Path, format_path
from trainc.findings.policy import RULES_SCHEMA, Problem, Rule, read_rules
from trainc.kube.kueue import MINORS, checked_kueue
from trainc.kube.releases import KUBERNETES, RELEASES, normalize_kubernetes, normalize_release
from trainc.options import Delivery, Gang, Limits, SecretsMode, Semantics
from trainc.reading.document import Document
from trainc.reading.files import Exclude
from trainc.reading.opening import OUTSIDE_HINT, error_reason, folders_upward, is_inside, read_file, root_around
from trainc.reading.yaml_reader import read_documents
from trainc.startup.records import dataclass, field, replace

# os.path, not pathlib: it starts faster.


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
    kueue: str | None = None
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


# The keys of trainc.yaml as a table: what each holds, what is wrong with a value, and the JSON Schema for editors.


Schema: TypeAlias = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}


@dataclass(frozen=True, slots=True)
class Key:
    """A key: its effect, its schema, and, for invalid values, a short description of the problem and a suggestion."""

    name: str
    about: str
    schema: Schema
    check: Callable[[Any], tuple[str, str] | None]


def _one_of(*choices: str) -> Callable[[Any], tuple[str, str] | None]:
    return lambda value: None if value in choices else (f"invalid value {value!r}", f"choose {' or '.join(choices)}")


def _is_minor(normalize: Callable[[str], str]) -> Callable[[Any], tuple[str, str] | None]:
    def check(value: Any) -> tuple[str, str] | None:
        try:
            normalize(value if isinstance(value, str) else repr(value))
        except ValueError as error:
            return f"invalid value {value!r}", str(error)
        return None if isinstance(value, str) else (f"invalid value {value!r}", f'write it in quotes: "{value}"')

    return check


def _is(kind: type, hint: str) -> Callable[[Any], tuple[str, str] | None]:
    return lambda value: None if isinstance(value, kind) and value != "" else (f"invalid value {value!r}", hint)


def _is_texts(value: Any) -> tuple[str, str] | None:
    right = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return None if right else ("expected a list of strings", "write one item per line, each after `- `")


def _is_overlay(value: Any) -> tuple[str, str] | None:
    return None if isinstance(value, str) else _is_texts(value)


_A_TEXT = _is(str, "write a string, in quotes if it looks like a number or a boolean")
_A_FOLDER = _is(str, "write the path of a folder")
_OR_TEXTS: Schema = {"type": ["string", "array"], "items": _TEXT}
KEYS: tuple[Key, ...] = (
    Key("sources", "Files and folders with TrainJobs: what is compiled when no PATH is given.", _TEXTS, _is_texts),
    Key("runtimes", "Folders with runtimes; they come before the built-in ones.", _TEXTS, _is_texts),
    Key("overlay", "The overlay to apply, or several in order.", _OR_TEXTS, _is_overlay),
    Key("release", f"The Trainer release, in quotes: {', '.join(RELEASES)}.", _TEXT, _is_minor(normalize_release)),
    Key(
        "semantics",
        "What to compile: what belongs in git, or exactly what the controller creates.",
        {"enum": list(get_args(Semantics))},
        _one_of(*get_args(Semantics)),
    ),
    Key(
        "secrets",
        "Where the SSH keys that MPI pods mount come from.",
        {"enum": list(get_args(SecretsMode))},
        _one_of(*get_args(SecretsMode)),
    ),
    Key("keygenImage", "The image that generates keys with `secrets: presync-job`.", _TEXT, _A_TEXT),
    Key(
        "delivery",
        "The tool that applies the manifests.",
        {"enum": list(get_args(Delivery))},
        _one_of(*get_args(Delivery)),
    ),
    Key("syncOptions", "Sync options for each job; see `trainc help sync-options`.", _TEXTS, _is_texts),
    Key(
        "nameHash",
        "Whether names end in a hash of the job's content.",
        {"type": "boolean"},
        _is(bool, "write true or false, without quotes"),
    ),
    Key(
        "gang",
        "What schedules the pods of a gang together: the runtime's scheduler, or Kubernetes 1.37 itself.",
        {"enum": list(get_args(Gang))},
        _one_of(*get_args(Gang)),
    ),
    Key(
        "kubernetes",
        f"The Kubernetes minor of the cluster, in quotes: {', '.join(KUBERNETES)}.",
        _TEXT,
        _is_minor(normalize_kubernetes),
    ),
    Key(
        "kueue",
        f"The Kueue version of the cluster, in quotes: {' or '.join(MINORS)}, or one with a patch, such as 0.19.6.",
        _TEXT,
        _is_minor(checked_kueue),
    ),
    Key("policies", "Folders with the cluster's ValidatingAdmissionPolicies and their bindings.", _TEXTS, _is_texts),
    Key("plugins", "Plugins of other distributions to use, by name.", _TEXTS, _is_texts),
    Key("output", "The folder for the manifests, one file per TrainJob.", _TEXT, _A_FOLDER),
    Key("cluster", "The folder with a snapshot of queues and nodes, for `trainc fits`.", _TEXT, _A_FOLDER),
    Key("exclude", "Globs, as in .gitignore, of files and folders that are not read.", _TEXTS, _is_texts),
    Key(
        "rules",
        "The severity of diagnostics, by code: error, warning, info or ignore.",
        dict(RULES_SCHEMA),
        _A_TEXT,
    ),
)
BY_NAME: Mapping[str, Key] = {key.name: key for key in KEYS}
ENVIRONMENTS = "environments"
_ABOUT_ENVIRONMENTS = "Environments by name, each with the keys that differ from the top level."
NAMES = (*BY_NAME, ENVIRONMENTS)


def problems_of(data: Mapping[str, Any], path: Path = ()) -> Iterator[Problem]:
    """Problems with the settings at `path` of trainc.yaml: where, what, and what to write instead."""
    known = tuple(BY_NAME) if path else NAMES
    for name, value in data.items():
        where = (*path, name)
        if name not in known:
            from trainc.findings.text import did_you_mean

            hint = did_you_mean(str(name), known) or f"known keys: {', '.join(known)}"
            yield where, f"unknown key in {'an environment' if path else 'trainc.yaml'}", hint
        elif name == ENVIRONMENTS:
            yield from _in_environments(value)
        elif name == "rules":
            yield from read_rules(value, where, "")[1]
        elif wrong := BY_NAME[name].check(value):
            yield where, *wrong


def _in_environments(value: Any) -> Iterator[Problem]:
    if not isinstance(value, Mapping) or not value:
        yield (
            (ENVIRONMENTS,),
            "environments must be a mapping",
            "write `NAME: {overlay: DIR, output: DIR}`, one per line",
        )
        return
    outputs: dict[str, str] = {}
    for name, settings in value.items():
        where = (ENVIRONMENTS, name)
        if not isinstance(settings, Mapping):
            yield where, "an environment must be a mapping", f"write `{name}: {{overlay: DIR, output: DIR}}`"
            continue
        yield from problems_of(settings, where)
        output = str(settings.get("output", ""))
        if output and outputs.setdefault(output, name) != name:
            yield (
                (*where, "output"),
                f"{output} is also the output of {outputs[output]}",
                "use a different folder for each",
            )


def configuration_schema(dialect: str) -> Schema:
    """The JSON Schema of trainc.yaml, in the dialect with the given URI."""
    properties = {key.name: {"description": key.about, **key.schema} for key in KEYS}
    environment = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    properties[ENVIRONMENTS] = {
        "description": _ABOUT_ENVIRONMENTS,
        "type": "object",
        "minProperties": 1,
        "additionalProperties": environment,
    }
    return {
        "$schema": dialect,
        "title": "Settings of trainc",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
