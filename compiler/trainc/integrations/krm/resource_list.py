"""The ResourceList that a KRM function reads and writes: from text to items, and back with results.

Source: kubernetes-sigs/kustomize cmd/config/docs/api-conventions/functions-spec.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.compilation import Manifest
from trainc.diagnostics import CompileError, Diagnostic, Path, format_path
from trainc.reading.document import Document
from trainc.reading.yaml_reader import read_value
from trainc.startup.records import dataclass, replace

STDIN = "-"
KIND = "ResourceList"
_GROUP = "config.kubernetes.io/"
_HINT = "a KRM function reads a ResourceList on stdin; kustomize and kpt write it"


@dataclass(frozen=True, slots=True)
class ResourceList:
    """`configuration` is the functionConfig; `head` is everything else that is to be handed back as it was."""

    head: Mapping[str, Any]
    items: list[Manifest]
    configuration: Document | None


def read_resource_list(text: bytes) -> ResourceList:
    """The list that a function is given. CompileError if it is none."""
    try:
        value = read_value(text.decode())
    except UnicodeDecodeError:
        raise CompileError([_wrong((), "it is no UTF-8 text")]) from None
    except CompileError as error:
        raise CompileError(map(_in_stdin, error.diagnostics)) from None
    problems = list(_problems(value))
    if problems:
        raise CompileError(problems)
    configuration = value.get("functionConfig")
    head = {name: content for name, content in value.items() if name not in ("items", "results")}
    return ResourceList(head, value["items"], None if configuration is None else Document.of(configuration))


def answer(request: ResourceList, items: Sequence[Manifest], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The list that a function gives back."""
    reported = {"results": list(results)} if results else {}
    return {**request.head, "items": list(items), **reported}


def _problems(value: Any) -> Iterator[Diagnostic]:
    if not isinstance(value, Mapping) or value.get("kind") != KIND:
        yield _wrong((), "it is empty" if value is None else f"it is no {KIND}")
        return
    if not str(value.get("apiVersion", "")).startswith(_GROUP):
        yield _wrong(("apiVersion",), f"apiVersion is {value.get('apiVersion')!r}, and not of {_GROUP.rstrip('/')}")
    if not isinstance(value.get("items"), list):
        yield _wrong(("items",), "items is no list")
        return
    for index, item in enumerate(value["items"]):
        if not isinstance(item, Mapping):
            yield _wrong(("items", index), "it is no object")
    if not isinstance(value.get("functionConfig"), Mapping | None):
        yield _wrong(("functionConfig",), "it is no object")


def _wrong(path: Path, what: str) -> Diagnostic:
    message = f"the input cannot be used: {what}"
    return Diagnostic("InvalidResourceList", "error", message, _HINT, KIND, format_path(path))


def _in_stdin(problem: Diagnostic) -> Diagnostic:
    return problem if problem.source is None else replace(problem, source=replace(problem.source, file=STDIN))
