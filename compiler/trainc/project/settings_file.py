"""Finds trainc.yaml and reads it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from trainc.findings import CompileError, Diagnostic, Finding
from trainc.options import Limits
from trainc.project.configuration import CODE, Configuration
from trainc.reading.document import Document
from trainc.reading.opening import (
    CONFIGURATION_FILE,
    OUTSIDE_HINT,
    error_reason,
    folders_upward,
    is_inside,
    read_file,
    root_around,
)
from trainc.reading.yaml_reader import read_documents
from trainc.startup import suppress
from trainc.startup.patterns import pattern
from trainc.startup.records import replace
from trainc.startup.typing import Any

_DEEPEST_BELOW = 3
_CLAUSE = pattern(r"(~=|==|!=|<=|>=|<|>)\s*([0-9]+(?:\.[0-9]+)*)(\.\*)?")
_RELEASE = pattern(r"[0-9]+(?:\.[0-9]+)*")


def read_configuration(paths: Sequence[str], given_path: str | None, limits: Limits = Limits()) -> Configuration:
    """Read the file given by `--config`, or the nearest trainc.yaml above all of `paths`. Raises CompileError.

    Its paths must stay inside the surrounding repository, unless the limits allow otherwise.
    """
    file = given_path or _find_file(paths)
    if file is None:
        return Configuration()
    root = root_around(os.path.dirname(file) or os.curdir)
    if not given_path and not limits.allow_outside and not is_inside(file, root):
        message = f"{file} is a symlink to a file outside the repository"
        raise CompileError([Diagnostic("OutsideRoot", "error", message, OUTSIDE_HINT)])
    document = _read_document(file, limits)
    if finding := _wrong_version(document.data):
        raise CompileError([document.diagnose(finding, CONFIGURATION_FILE)])
    # The schema takes time, and a single file has no trainc.yaml.
    from trainc.project.trainc_yaml import missing_paths, settings_in_file

    configuration, findings = settings_in_file(document, file, None if limits.allow_outside else root)
    if findings:
        raise CompileError([document.diagnose(finding, CONFIGURATION_FILE) for finding in findings])
    return replace(configuration, missing=missing_paths(document, os.path.dirname(file)))


def _wrong_version(data: Mapping[str, Any]) -> Finding | None:
    """What `required-version` refuses: clauses of PEP 440 about the numbers of a release, such as `>=0.2,<0.4`.

    It comes before everything else, since another version may know other settings.
    """
    from trainc import __version__

    required = data.get("required-version")
    if required is None:
        return None
    at, hint = ("required-version",), 'write clauses with a comma between them, as in required-version: ">=0.2,<0.4"'
    if not isinstance(required, str):
        return Finding(CODE, "error", "required-version must be a string", hint, at)
    clauses = [_CLAUSE.fullmatch(clause.strip()) for clause in required.split(",")]
    if None in clauses:
        refused = required.split(",")[clauses.index(None)].strip()
        return Finding(CODE, "error", f"{refused!r} is not a version condition", hint, at)
    bounds = {match[1][0]: (_numbers(match[2]), match[1] + match[2]) for match in clauses if match}
    if "<" in bounds and ">" in bounds and bounds["<"][0] < bounds[">"][0]:
        least, most = (bounds[sign][1] for sign in "><")
        return Finding(CODE, "error", f"no version is {least} and {most}", "swap the two, or correct one of them", at)
    for match in filter(None, clauses):
        if not _holds(_numbers(__version__), match[1], _numbers(match[2]), is_prefix=match[3] is not None):
            message = f"trainc.yaml requires trainc {required}, and this is {__version__}"
            hint = f"install trainc{required}; if CI has {__version__}, first raise it there, then this line"
            return Finding(CODE, "error", message, hint, at)
    return None


def _numbers(version: str) -> list[int]:
    """The numbers of a release; those of a candidate are the release's."""
    match = _RELEASE.match(version)
    return [int(part) for part in (match[0] if match else "0").split(".")]


def _holds(version: list[int], operator: str, wanted: list[int], *, is_prefix: bool) -> bool:
    size = max(len(version), len(wanted))
    now, then = ([*numbers, *[0] * (size - len(numbers))] for numbers in (version, wanted))
    same = now[: len(wanted)] == wanted if is_prefix else now == then
    holds = {
        "==": same,
        "!=": not same,
        "~=": now >= then and now[: len(wanted) - 1] == wanted[:-1],
        ">=": now >= then,
        "<=": now <= then,
        ">": now > then,
        "<": now < then,
    }
    return holds[operator]


def _find_file(paths: Sequence[str]) -> str | None:
    """The nearest trainc.yaml, searching upwards from the folder that contains all input, wherever trainc is run.

    The search ends at the folder with `.git` and skips folders of other users: see `folders_upward`.
    """
    folders = [os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path)) for path in paths if path != "-"]
    start = os.path.commonpath(folders) if folders else os.getcwd()
    files = (os.path.join(folder, CONFIGURATION_FILE) for folder in folders_upward(start))
    nearest = next(filter(os.path.isfile, files), None)
    return None if nearest is None else os.path.relpath(nearest)


def settings_below(folder: str) -> list[str]:
    """Return the folders below `folder`, to a small depth, that have a trainc.yaml, relative to it."""
    folders, waiting = [], [(folder, 0)]
    while waiting:
        above, depth = waiting.pop()
        with suppress(OSError), os.scandir(above) as entries:
            for entry in entries:
                if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
                    continue
                if os.path.isfile(os.path.join(entry.path, CONFIGURATION_FILE)):
                    folders.append(os.path.relpath(entry.path, folder))
                elif depth < _DEEPEST_BELOW:
                    waiting.append((entry.path, depth + 1))
    return sorted(folders)


def _read_document(file: str, limits: Limits) -> Document:
    try:
        documents, problems = read_documents(read_file(file, limits.file_bytes), file, limits)
    except OSError as error:
        message = f"{file} cannot be read: {error_reason(error)}"
        inside = os.path.join(file, CONFIGURATION_FILE)
        hint = f"name the file: --config {inside}" if os.path.isfile(inside) else "check the path given to --config"
        raise CompileError([Diagnostic(CODE, "error", message, hint)]) from None
    if problems:
        raise CompileError(problems)
    if len(documents) > 1:
        wrong = Finding(CODE, "error", "trainc.yaml must be a single document", "remove the other documents")
        raise CompileError([documents[1].diagnose(wrong, CONFIGURATION_FILE)])
    document = documents[0] if documents else Document.of({})
    if "apiVersion" in document.data and "kind" in document.data:
        hint = "rename this file, or pass the settings file with --config FILE"
        message = f"this is a {document.data['kind']}, not a trainc settings file"
        wrong = Finding(CODE, "error", message, hint, ("kind",))
        raise CompileError([document.diagnose(wrong, CONFIGURATION_FILE)])
    return document
