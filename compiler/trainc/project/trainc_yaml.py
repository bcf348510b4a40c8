"""What trainc.yaml says: its schema, and the settings of the file and of its environments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainc.findings import Finding, Path, Source
from trainc.findings.policy import read_rules
from trainc.kube.documents import value_at
from trainc.kube.names import LABEL_VALUE_FORM, QUEUE_LABEL, is_label_value
from trainc.options import merge_layers
from trainc.project.budgets import Budget
from trainc.project.configuration import CODE, Configuration, Images, Selection
from trainc.project.settings import RULES, options_schema, read_options
from trainc.reading.document import Document
from trainc.reading.files import OVERLAY_FILE, Exclude, matching_paths
from trainc.reading.opening import OUTSIDE_HINT, is_below, is_git_folder, is_inside, read_data
from trainc.schema.document_kinds import WORD, DocumentKind, Schema, about, struct
from trainc.startup.records import replace

ENVIRONMENTS = "environments"
# What trainc.yaml and each of its environments hold beside compile options. Paths are relative to the file.
INPUT: Schema = {**read_data(__file__, "trainc_yaml.json"), "rules": RULES}
# The keys that hold paths, and those that hold a single one.
_PATHS = ("sources", "runtimes", "overlay", "policies")
_FOLDERS = ("output", "cluster")
_DUMP = ("live", "dump")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_KEYS = {**INPUT, **options_schema("trainc.yaml")}
# Each of them is compiled on its own.
_MOST_ENVIRONMENTS = 100
_ENVIRONMENTS = about(
    "Environments by name, each with the keys that differ from the top level.",
    {
        "type": "object",
        "minProperties": 1,
        "maxProperties": _MOST_ENVIRONMENTS,
        "additionalProperties": struct(_KEYS),
        "errorMessage": "write `NAME: {overlay: DIR, output: DIR}`, one per line",
    },
)
# Read before everything else, since another version may know other settings.
_VERSION = {"required-version": about("The versions of trainc that may be used, such as `>=0.2,<0.4`.", WORD)}
TRAINC_YAML = DocumentKind(
    "trainc.yaml", "trainc.yaml", CODE, struct({**_KEYS, **_VERSION, ENVIRONMENTS: _ENVIRONMENTS})
)


def settings_in_file(document: Document, file: str, root: str | None) -> tuple[Configuration, list[Finding]]:
    """Return the settings in a trainc.yaml and all problems; with `root`, its paths may not lead outside that folder."""
    folder = os.path.dirname(file)
    data, findings = TRAINC_YAML.check(document.data)
    top_level, problems = _read_settings(data, folder, Configuration(file), document.locate)
    findings += problems
    environments: dict[str, Configuration] = {}
    names = {
        name: os.path.normpath(of["output"]) if "output" in of else ""
        for name, of in data.get(ENVIRONMENTS, {}).items()
    }
    for name, settings in data.get(ENVIRONMENTS, {}).items():
        configuration, problems = _read_settings(settings, folder, top_level, document.locate, (ENVIRONMENTS, name))
        findings += [replace(problem, path=(ENVIRONMENTS, name, *problem.path)) for problem in problems]
        if not is_label_value(name):  # It is written into workflows and files of others.
            findings.append(
                _wrong((ENVIRONMENTS, name), f"{name!r} cannot name an environment", f"use {LABEL_VALUE_FORM}")
            )
        environments[name] = replace(configuration, environment=name, known_environments=names)
    findings += _same_output(data)
    if not findings:
        for configuration in environments.values() or [top_level]:
            findings += _output_among_sources(configuration)
    if not findings and root is not None:
        findings += _leading_outside(data, folder, root)
    return replace(top_level, environments=environments), findings


def _read_settings(
    data: Mapping[str, Any],
    folder: str,
    parent: Configuration,
    locate: Callable[[Path], Source | None],
    above: Path = (),
) -> tuple[Configuration, list[Finding]]:
    """Return `parent` with the settings that the file or an environment sets instead, and problems with their values.

    An environment adds its rules, globs and budgets to those of the file.
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
    no_input = [path for where, path in _named_paths(data) if where[-2:] == _DUMP or where[-2:-1] == ("software",)]
    no_input = [f"/{os.path.normpath(path)}" for path in no_input]
    values["exclude"] = Exclude(folder, (*parent.exclude.globs, *data.get("exclude", ()), *no_input))
    values["adopted"] = (*parent.adopted, *data.get("adopted", ()))
    outputs = list(filter(None, (parent.output, values.get("output"))))
    if "sources" in data:
        matches = (matching_paths(path, folder, values["exclude"], outputs) for path in values["sources"])
        values["sources"] = tuple(path for paths in matches for path in paths)
    if "live" in data:
        age = str(data["live"].get("maxAge", "1h"))
        values["live"] = os.path.join(folder, data["live"]["dump"]), int(age[:-1]) * _SECONDS[age[-1]]
    if "select" in data:
        values["select"] = _selection(data["select"], folder)
    frozen = {job: entry["reason"] for entry in data.get("frozen", ()) for job in entry["jobs"]}
    values["frozen"] = {**parent.frozen, **frozen}
    if "namespaces" in data:
        values["namespaces"] = {glob: tuple(names) for glob, names in data["namespaces"].items()}
    if "images" in data:
        allowed = tuple(registry.rstrip("/") for registry in data["images"].get("registries", ()))
        values["images"] = Images(data["images"].get("pinned", False), allowed)
    budgets = {
        glob: Budget(hours, locate((*above, "budgets", glob))) for glob, hours in data.get("budgets", {}).items()
    }
    values["budgets"] = {**parent.budgets, **budgets}
    rules, problems = read_rules(data.get("rules", {}), folder, CODE, guarded=True)
    values["rules"] = (*parent.rules, *rules)
    if "software" in data:
        values["software"] = {
            glob: os.path.join(folder, known) if isinstance(known, str) else known
            for glob, known in data["software"].items()
        }
    url = str(data.get("docsUrl", parent.docs_url))
    values["docs_url"] = values.pop("docsUrl", parent.docs_url)
    if url and not url.startswith(("https://", "http://")):
        problems.append(_wrong(("docsUrl",), f"{url} is not a web address", "write `docsUrl: https://HOST/PATH`"))
    options, wrong = read_options(data, "trainc.yaml", CODE)
    return replace(parent, **values, options=merge_layers(parent.options, options)), [*problems, *wrong]


def _selection(data: Mapping[str, Any], folder: str) -> Selection:
    labels = [*data.get("labels", {}).items(), *([(QUEUE_LABEL, data["queue"])] if data.get("queue") else [])]
    return Selection(
        tuple((name, (values,) if isinstance(values, str) else tuple(values)) for name, values in labels),
        tuple(data.get("namespaces", ())),
        Exclude(folder, tuple(data["paths"])) if "paths" in data else None,
    )


def _leading_outside(data: Mapping[str, Any], folder: str, root: str) -> Iterator[Finding]:
    """Errors about the paths in a valid trainc.yaml."""
    for field_path, path in _named_paths(data):
        if field_path[-1] == "output" and any(map(is_git_folder, os.path.normpath(path).replace("\\", "/").split("/"))):
            yield _wrong(field_path, f"{path} is inside the .git folder", "choose another folder")
        if not is_inside(os.path.join(folder, path), root):
            message = f"{path} is outside the repository"
            yield Finding("OutsideRoot", "error", message, OUTSIDE_HINT, field_path)


def missing_paths(document: Document, folder: str) -> dict[str, Source]:
    """Return the lines of a valid trainc.yaml with paths to read that do not exist, by path as trainc reads it."""
    joined = [(field_path, os.path.join(folder, path)) for field_path, path in _named_paths(document.data)]
    joined += [(at, os.path.join(path, OVERLAY_FILE)) for at, path in joined if "overlay" in at and os.path.isdir(path)]
    missing = {path: document.locate(field_path) for field_path, path in joined if not os.path.lexists(path)}
    return {path: source for path, source in missing.items() if source is not None}


def _named_paths(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield each path that the file or an environment names, and where."""
    parts: dict[Path, Any] = {
        (): data,
        **{(ENVIRONMENTS, name): settings for name, settings in data.get(ENVIRONMENTS, {}).items()},
    }
    for above, settings in parts.items():
        if (dump := value_at(settings, _DUMP)) is not None:
            yield (*above, *_DUMP), dump
        for glob, known in settings.get("software", {}).items():
            if isinstance(known, str):
                yield (*above, "software", glob), known
        for key in (*_PATHS, *_FOLDERS):
            value = settings.get(key, ())
            yield from (
                [((*above, key), value)]
                if isinstance(value, str)
                else (((*above, key, index), path) for index, path in enumerate(value))
            )


def _same_output(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Errors about outputs that are, or contain, that of another environment: each build would remove the other's files."""
    outputs: dict[str, str] = {}
    for name, settings in data.get(ENVIRONMENTS, {}).items():
        output = settings.get("output")
        for other, other_output in outputs.items() if output else ():
            path, other_path = os.path.normpath(output), os.path.normpath(other_output)
            if path == other_path:
                message = f"{output} is also the output of {other}"
            elif is_below(path, other_path):
                message = f"{output} is inside {other_output}, the output of {other}"
            elif is_below(other_path, path):
                message = f"{output} contains {other_output}, the output of {other}"
            else:
                continue
            yield _wrong((ENVIRONMENTS, name, "output"), message, "use a different folder for each, side by side")
            break
        if output:
            outputs[name] = output


def _output_among_sources(configuration: Configuration) -> Iterator[Finding]:
    for source in configuration.sources or ():
        if configuration.output and os.path.normpath(source) == os.path.normpath(configuration.output):
            above = (ENVIRONMENTS, configuration.environment) if configuration.environment else ()
            message = "this folder is one of the sources, too"
            yield _wrong((*above, "output"), message, "remove it from `sources`, or use another folder")


def _wrong(path: Path, message: str, hint: str) -> Finding:
    return Finding(CODE, "error", message, hint, path)
