"""The parameters of a sweep and all combinations of their values, in order.

Parameters are in the order in which they are written. The values of the last one change fastest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from itertools import product
from math import isfinite, prod
from typing import Any, TypeAlias

from trainc.api.documents import opening
from trainc.api.findings import Finding, Path, did_you_mean, first_of, remove
from trainc.api.kube import Json
from trainc.api.records import dataclass, pattern
from trainc.api.schema import document_kinds

CODE = "InvalidSweep"
# Nobody needs more than a fraction of this many values or combinations.
_MOST_VALUES = 100_000
_MOST_COMBINATIONS = 100_000
_MOST_COMPARISONS = 1_000_000
_MOST_LISTED = 5
# A name becomes part of a variable's and of the key of an annotation, which is limited to 63 characters.
LONGEST_NAME = 53

SCHEMAS: dict[str, document_kinds.Schema] = opening.read_data(__file__, "schemas.json")
GRID_FIELDS: document_kinds.Schema = {
    name: SCHEMAS["Sweep"]["properties"][name] for name in ("parameters", "exclude", "include")
}
_NAMES = pattern(GRID_FIELDS["parameters"]["propertyNames"]["pattern"])
GRID = document_kinds.DocumentKind("Grid", "a sweep", CODE, document_kinds.struct(GRID_FIELDS))

# Ranges of numbers: `{min, max, step}` or `{min, max, count}`, optionally with `scale: log`.
#
# Uses decimal arithmetic, so that the values are the ones that a person would write, on every machine.

_DIGITS = Context(prec=6)


class RangeError(ValueError):
    """An impossible range; `field` is the field at fault."""

    def __init__(self, field: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.field, self.hint = field, hint


def range_values(data: Json) -> list[int | float]:
    """Return the values of a range, including `max` if a step ends there. Raises RangeError if there is none.

    Integers stay integers. Other values computed from `count` are rounded to six significant digits.
    """
    low, high = _number(data, "min"), _number(data, "max")
    if low > high:
        raise RangeError("min", f"min is {data['min']}, which is more than max", "swap the two")
    with localcontext(Context(prec=40)):
        decimals = _by_step(data, low, high) if "step" in data else _by_count(data, low, high)
        values = [*decimals]
    integral = isinstance(data["min"], int) and isinstance(data.get("step", 1), int)
    return [int(value) if integral and value == value.to_integral_value() else float(value) for value in values]


def _number(data: Json, field: str) -> Decimal:
    number = Decimal(repr(data[field]))
    if not number.is_finite():
        raise RangeError(field, f"{field} is {data[field]}", "write a finite number")
    return number


def _by_step(data: Json, low: Decimal, high: Decimal) -> Iterator[Decimal]:
    if "scale" in data:
        raise RangeError("scale", "scale needs `count`", "replace `step` with `count`, the number of values")
    step = _number(data, "step")
    if (high - low) / step > _MOST_VALUES:
        message = f"step is {data['step']}, which makes more than {_MOST_VALUES:,} values"
        raise RangeError("step", message, "write a larger step, or count: 5 for five values")
    return (low + step * index for index in range(int((high - low) // step) + 1))


def _by_count(data: Json, low: Decimal, high: Decimal) -> Iterator[Decimal]:
    count, scale = int(data["count"]), data.get("scale", "linear")
    if scale == "log" and low <= 0:
        raise RangeError(
            "min", f"min is {data['min']}, but a logarithmic scale starts above 0", "write a positive number"
        )
    for index in range(count):
        part = Decimal(index) / (count - 1)
        value = low * (high / low) ** part if scale == "log" else low + (high - low) * part
        yield (low, high)[index // (count - 1)] if index in (0, count - 1) else _DIGITS.plus(value)


Value: TypeAlias = "str | int | float | bool"

# The maximum number of trials of an OptimizationJob, and the most that a sweep can ask for.
MOST_TRIALS, MOST_ASKED = 100, 5_000


@dataclass(frozen=True, slots=True)
class Assignment:
    """A value for each parameter, and the path in the sweep where it was written."""

    values: Mapping[str, Value]
    paths: Mapping[str, Path]

    @property
    def texts(self) -> dict[str, str]:
        """The values as they are passed to the program."""
        return {name: value_text(value) for name, value in self.values.items()}


def value_text(value: Value) -> str:
    """Format a value as text: `true`, `0.0001`, `3e-05`; strings are unchanged."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


_Column: TypeAlias = "list[tuple[Value, Path]]"


def read_assignments(data: Json) -> tuple[list[Assignment], list[Finding]]:
    """Return the combinations of `parameters` without `exclude`, followed by `include`, and findings.

    The data fits the schema of GRID. If there are errors, the result is empty.
    """
    wrong: list[Finding] = []
    columns = {
        name: _column(values, ("parameters", name), wrong) for name, values in data.get("parameters", {}).items()
    }
    rows, excluded = data.get("include", ()), data.get("exclude", ())
    names = dict.fromkeys(columns or (rows[0] if rows else ()))
    wrong += _wrong_names(names, ("parameters",) if columns else ("include", 0))
    for field, listed in (("include", rows), ("exclude", excluded)):
        for index, row in enumerate(listed):
            wrong += _wrong_row(row, names, (field, index), needs_all=field == "include")
    if not names and not wrong:
        wrong.append(_error((), "the sweep has no parameters", "add them: parameters: {lr: [1e-4, 3e-4]}"))
    combinations = prod(map(len, columns.values())) if columns else 0
    kinds_of_rows = len({frozenset(row) for row in excluded})
    if not wrong and combinations * kinds_of_rows > _MOST_COMPARISONS:
        message = f"{combinations:,} combinations would be compared with {kinds_of_rows:,} kinds of rows"
        wrong.append(_error(("exclude",), message, "list fewer values, or write rows with the same parameters"))
    if combinations > _MOST_COMBINATIONS:
        hint = "list fewer values, or list the trials under `include`"
        wrong.append(_error(("parameters",), f"the parameters have {combinations:,} combinations", hint))
    return ([], wrong) if wrong else _combined(columns, excluded, rows)


def _combined(
    columns: Mapping[str, _Column], excluded: Sequence[Json], rows: Sequence[Json]
) -> tuple[list[Assignment], list[Finding]]:
    # The rows of each set of parameters by their values: there may be thousands of rows, and of combinations.
    by_names: dict[tuple[str, ...], dict[tuple[str, ...], list[int]]] = {}
    for index, row in enumerate(excluded):
        key = tuple(sorted(row))
        rows_of = by_names.setdefault(key, {})
        rows_of.setdefault(tuple(value_text(row[name]) for name in key), []).append(index)
    unused = set(range(len(excluded)))
    assignments: dict[tuple[str, ...], Assignment] = {}
    for chosen in product(*columns.values()) if columns else ():
        values = {name: value for name, (value, _) in zip(columns, chosen, strict=True)}
        texts = {name: value_text(value) for name, value in values.items()}
        matching = [rows_of.get(tuple(map(texts.__getitem__, key)), []) for key, rows_of in by_names.items()]
        for indexes in matching:
            unused.difference_update(indexes)
            del indexes[1:]  # Equal rows are used by now.
        if not any(matching):
            paths = {name: path for name, (_, path) in zip(columns, chosen, strict=True)}
            assignments[tuple(texts.values())] = Assignment(values, paths)
    names = list(columns) or list(rows[0] if rows else ())
    wrong: list[Finding] = []
    for index, row in enumerate(rows):
        key = tuple(value_text(row[name]) for name in names)
        if key in assignments:
            wrong.append(_error(("include", index), "the sweep already has this combination", remove()))
        assignments[key] = Assignment(
            {name: row[name] for name in names}, {name: ("include", index, name) for name in names}
        )
    listed = {name: {value_text(value): None for value, _ in column} for name, column in columns.items()}
    return [] if wrong else list(assignments.values()), [
        *wrong,
        *(_excludes_nothing(index, excluded[index], listed) for index in sorted(unused)),
    ]


def _error(path: Path, message: str, hint: str) -> Finding:
    return Finding(CODE, "error", message, hint, path)


def _excludes_nothing(index: int, row: Json, columns: Mapping[str, Mapping[str, None]]) -> Finding:
    hint, path = "use values that are listed under `parameters`, or remove this item", ("exclude", index)
    for name, value in row.items():
        listed = columns.get(name, {})
        if listed and value_text(value) not in listed:
            shown = (
                did_you_mean(value_text(value), listed, 0.8) or f"its values are {first_of([*listed], _MOST_LISTED)}"
            )
            hint = f"{shown.removesuffix('?')}{'? Or' if shown.endswith('?') else ': write one of them, or'} remove this item"
            message = f"no combination has {name}: {value_text(value)}"
            return Finding("ExcludesNothing", "warning", message, hint, (*path, name))
    return Finding("ExcludesNothing", "warning", "no combination has these values", hint, path)


def _column(values: Any, path: Path, wrong: list[Finding]) -> _Column:
    """Return the values of a parameter with their paths."""
    if isinstance(values, Mapping):
        try:
            return [(value, path) for value in range_values(values)]
        except RangeError as error:
            wrong.append(_error((*path, error.field), str(error), error.hint))
            return []
    texts: set[str] = set()
    column: _Column = []
    for index, value in enumerate(values):
        wrong += _not_finite(value, (*path, index))
        if value_text(value) in texts:
            wrong.append(_error((*path, index), f"{path[-1]} already has the value {value_text(value)}", remove()))
        texts.add(value_text(value))
        column.append((value, (*path, index)))
    return column


def _not_finite(value: Value, path: Path) -> Iterator[Finding]:
    if isinstance(value, float) and not isfinite(value):
        yield _error(path, f"{value!r} cannot be a value", "write a finite number")


def _wrong_names(names: Iterable[str], path: Path) -> Iterator[Finding]:
    spellings: dict[str, str] = {}
    for name in names:
        if not _NAMES.fullmatch(name):
            hint = f"use letters, digits, `_`, `-` and `.`, beginning with a letter; at most {LONGEST_NAME} characters"
            yield _error((*path, name), f"{name!r} cannot be the name of a parameter", hint)
        first = spellings.setdefault(name.upper(), name)
        if first != name:
            message = f"{first} and {name} would become the same variable, {variable_name(name)}"
            yield _error((*path, name), message, "rename one of them")


def _wrong_row(row: Json, names: Mapping[str, None], path: Path, *, needs_all: bool) -> Iterator[Finding]:
    for name, value in row.items():
        yield from _not_finite(value, (*path, name))
        if name not in names:
            hint = did_you_mean(str(name), names) or f"the parameters are {', '.join(names)}"
            yield _error((*path, name), f"there is no parameter {name!r}", hint)
    missing = [name for name in names if name not in row]
    if needs_all and missing:
        yield _error(path, f"{', '.join(missing)} has no value here", "set a value for every parameter")


# kubeflow/trainer KEP-3562, section 6, and pull request 3828: constructTrainJob.
VARIABLE = "KUBEFLOW_TRAINER_OPT_"


def variable_name(name: str) -> str:
    """Return the environment variable that passes a parameter to a trial."""
    return f"{VARIABLE}{name.upper()}"
