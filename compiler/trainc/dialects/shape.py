"""Shapes: the fields of a dialect's own structs, checked before conversion.

Shapes only describe what a conversion moves or drops. Types of Kubernetes and Trainer are left to the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from trainc.diagnostics import Finding, Path
from trainc.diagnostics.near_names import near_names

ANY = "anything"
TEXT = "a string"
PROCESSES = "a string or a whole number"
SCALARS = "a mapping of names to values"
Shape: TypeAlias = Mapping[str, "Shape | str"]

# Fields of API drafts and other frameworks, and their names in these APIs.
_RENAMED_FIELDS = {
    "mlSpec": "mlPolicy",
    "torchSpec": "torch",
    "pytorch": "torch",
    "mpiSpec": "mpi",
    "podGroupSpec": "podGroupPolicy",
    "trainingRuntimeRef": "runtimeRef",
    "storageKey": "key",
    "datasetConfig": "datasets",
    "replicatedJobs": "template.spec.replicatedJobs",
}


def check_shape(
    value: Mapping[str, Any], shape: Shape, api: str, path: Path = ()
) -> tuple[dict[str, Any], list[Finding]]:
    """Return the fields that fit `shape`, and an error for each other field; nulls count as absent."""
    fitting: dict[str, Any] = {}
    findings: list[Finding] = []
    for name, field in value.items():
        here = (*path, str(name))
        wanted = shape.get(name)
        if wanted is None:
            findings.append(_unknown(str(name), shape, api, here))
        elif field is None:
            continue
        elif isinstance(wanted, Mapping) and isinstance(field, Mapping):
            fitting[name], found = check_shape(field, wanted, api, here)
            findings += found
        elif _is(field, wanted):
            fitting[name] = field
        else:
            findings.append(_wrong_type(wanted, field, here))
    return fitting, findings


def _is(value: Any, wanted: Shape | str) -> bool:
    return wanted == ANY or (isinstance(wanted, str) and _TESTS[wanted](value))


_TESTS: Mapping[str, Callable[[Any], bool]] = {
    TEXT: lambda value: isinstance(value, str),
    PROCESSES: lambda value: isinstance(value, str | int) and not isinstance(value, bool),
    SCALARS: lambda value: isinstance(value, Mapping) and all(isinstance(v, str | int | float) for v in value.values()),
}


def _wrong_type(wanted: Shape | str, value: Any, path: Path) -> Finding:
    expected = wanted if isinstance(wanted, str) else "a mapping"
    shown = value if isinstance(value, str | int | float) else {list: "a list"}.get(type(value), "a mapping")
    hint = (
        "quote it"
        if wanted == TEXT
        else ("write `key: value` lines, indented under it" if expected.startswith("a mapping") else "")
    )
    return Finding("WrongType", "error", f"expected {expected}, got {shown!r}", hint=hint, path=path)


def _unknown(name: str, shape: Shape, api: str, path: Path) -> Finding:
    hint = next(iter(_hints(name, shape)), "remove it")
    return Finding("UnknownField", "error", f"{api} has no field {name} here", hint=hint, path=path)


def _hints(name: str, shape: Shape) -> Iterator[str]:
    new_name = _RENAMED_FIELDS.get(name, "")
    if new_name.partition(".")[0] in shape:
        yield f"write {new_name}: the field was renamed"
    for field, inner in shape.items():
        if isinstance(inner, Mapping) and name in inner:
            yield f"indent {name} under {field}"
    for near in near_names(name, shape, 1, 0.6):
        yield f"did you mean {near}?"
