"""The keys of trainc.yaml as a table: what each holds, what is wrong with a value, and the JSON Schema for editors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, get_args

from trainc.api.releases import KUBERNETES, RELEASES, normalize_kubernetes, normalize_release
from trainc.diagnostics import Path
from trainc.diagnostics.policy import RULES_SCHEMA, Problem, read_rules
from trainc.options import Delivery, Gang, SecretsMode, Semantics
from trainc.startup.records import dataclass

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
            from trainc.diagnostics.near_names import did_you_mean

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
