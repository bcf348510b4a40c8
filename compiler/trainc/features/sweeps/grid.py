"""The parameters of a sweep and all combinations of their values, in order.

Parameters are in the order in which they are written. The values of the last one change fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from itertools import product
from math import isfinite, prod
from typing import Any, TypeAlias

from trainc.findings import Finding, Path
from trainc.findings.text import did_you_mean
from trainc.kube.documents import Json
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

# Ranges of numbers: `{min, max, step}` or `{min, max, count}`, optionally with `scale: log`.
#
# Uses decimal arithmetic, so that the values are the ones that a person would write, on every machine.


_FIELDS = ("min", "max", "step", "count", "scale")
_SHOWN = "{min: 16, max: 64, step: 16} or {min: 1e-5, max: 1e-1, count: 5, scale: log}"
_DIGITS = Context(prec=6)
_MOST_VALUES = 100_000


class RangeError(ValueError):
    """An invalid range; `field` is the field at fault, or empty for the range as a whole."""

    def __init__(self, field: str, message: str, hint: str = f"write {_SHOWN}") -> None:
        super().__init__(message)
        self.field, self.hint = field, hint


def range_values(data: Json) -> list[int | float]:
    """Return the values of a range, including `max` if a step ends there. Raises RangeError if it is invalid.

    Integers stay integers. Other values computed from `count` are rounded to six significant digits.
    """
    for field in data:
        if field not in _FIELDS:
            raise RangeError(field, f"a range has no field {field!r}")
    if ("step" in data) is ("count" in data):
        raise RangeError("", "a range needs either `step` or `count`")
    low, high = _number(data, "min"), _number(data, "max")
    if low > high:
        raise RangeError("min", f"min is {data['min']}, which is more than max", "swap the two")
    with localcontext(Context(prec=40)):
        made = _by_step(data, low, high) if "step" in data else _by_count(data, low, high)
        values = [*made]
    whole = isinstance(data["min"], int) and isinstance(data.get("step", 1), int)
    return [int(value) if whole and value == value.to_integral_value() else float(value) for value in values]


def _number(data: Json, field: str) -> Decimal:
    value: Any = data.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RangeError(field if field in data else "", f"{field} is {'missing' if value is None else repr(value)}")
    number = Decimal(repr(value))
    if not number.is_finite():
        raise RangeError(field, f"{field} is {value}")
    return number


def _by_step(data: Json, low: Decimal, high: Decimal) -> Iterator[Decimal]:
    if "scale" in data:
        raise RangeError("scale", "scale needs `count`", "replace `step` with `count`, the number of values")
    step = _number(data, "step")
    if step <= 0:
        raise RangeError("step", f"step is {data['step']}", "write a positive number")
    if (high - low) / step > _MOST_VALUES:
        message = f"step is {data['step']}, which makes more than {_MOST_VALUES:,} values"
        raise RangeError("step", message, "write a larger step, or count: 5 for five values")
    return (low + step * index for index in range(int((high - low) // step) + 1))


def _by_count(data: Json, low: Decimal, high: Decimal) -> Iterator[Decimal]:
    count, scale = data["count"], data.get("scale", "linear")
    if isinstance(count, bool) or not isinstance(count, int) or not 1 < count <= _MOST_VALUES:
        raise RangeError("count", f"count is {count!r}", "write the number of values, 2 or more")
    if scale not in ("linear", "log"):
        raise RangeError("scale", f"scale is {scale!r}", "write scale: log, or remove it")
    if scale == "log" and low <= 0:
        raise RangeError(
            "min", f"min is {data['min']}, but a logarithmic scale starts above 0", "write a positive number"
        )
    for index in range(count):
        part = Decimal(index) / (count - 1)
        value = low * (high / low) ** part if scale == "log" else low + (high - low) * part
        yield (low, high)[index // (count - 1)] if index in (0, count - 1) else _DIGITS.plus(value)


Value: TypeAlias = "str | int | float | bool"
# Called with the path of a problem, the message and the hint.
Report: TypeAlias = Callable[[Path, str, str], None]

# Becomes part of a variable name (in upper case) and of an annotation key, which is limited to 63 characters.
NAME = r"[A-Za-z]([A-Za-z0-9_.-]{0,51}[A-Za-z0-9])?"
_NAME = pattern(NAME)
# Nobody needs more than a fraction of this many combinations.
_MOST_COMBINATIONS = 100_000
# The maximum number of trials of an OptimizationJob.
MOST_TRIALS = 100


@dataclass(frozen=True, slots=True)
class Assignment:
    """A value for each parameter, and the path in the sweep where it was written."""

    values: Mapping[str, Value]
    places: Mapping[str, Path]

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


def read_assignments(data: Json, report: Report) -> tuple[list[Assignment], list[Finding]]:
    """Return the combinations of `parameters` without `exclude`, followed by `include`, and findings.

    Errors are passed to `report`; if there are any, the result is empty.
    """
    wrong: list[Path] = []

    def refuse(path: Path, message: str, hint: str) -> None:
        wrong.append(path)
        report(path, message, hint)

    columns = _columns(data, refuse)
    rows = _rows(data, "include", refuse)
    names = list(columns) or list(rows[0] if rows else ())
    _check_names(names, () if columns else ("include", 0), refuse)
    excluded = _rows(data, "exclude", refuse)
    for field, every in (("include", rows), ("exclude", excluded)):
        for index, row in enumerate(every):
            _check_row(row, names, (field, index), refuse, whole=field == "include")
    if not names and not wrong:
        refuse((), "the sweep has no parameters", "add them: parameters: {lr: [1e-4, 3e-4]}")
    combinations = prod(map(len, columns.values())) if columns else 0
    if combinations > _MOST_COMBINATIONS:
        hint = "list fewer values, or list the trials under `include`"
        refuse(("parameters",), f"the parameters have {combinations:,} combinations", hint)
    if wrong:
        return [], []
    return _combined(columns, excluded, rows, combinations, refuse)


def _combined(
    columns: Mapping[str, _Column], excluded: Sequence[Json], rows: Sequence[Json], combinations: int, refuse: Report
) -> tuple[list[Assignment], list[Finding]]:
    unused = set(range(len(excluded)))
    found: dict[tuple[str, ...], Assignment] = {}
    for chosen in product(*columns.values()) if combinations else ():
        values = {name: value for name, (value, _) in zip(columns, chosen, strict=True)}
        matching = {index for index, row in enumerate(excluded) if _matches(row, values)}
        unused -= matching
        if not matching:
            places = {name: path for name, (_, path) in zip(columns, chosen, strict=True)}
            found[tuple(map(value_text, values.values()))] = Assignment(values, places)
    names = list(columns) or list(rows[0] if rows else ())
    for index, row in enumerate(rows):
        key = tuple(value_text(row[name]) for name in names)
        if key in found:
            refuse(("include", index), "the sweep already has this combination", "remove it")
        found[key] = Assignment({name: row[name] for name in names}, {name: ("include", index, name) for name in names})
    return list(found.values()), [_excludes_nothing(index) for index in sorted(unused)]


def _excludes_nothing(index: int) -> Finding:
    message = "no combination has these values"
    hint = "use values that are listed under `parameters`, or remove this item"
    return Finding("ExcludesNothing", "warning", message, hint, ("exclude", index))


def _matches(row: Json, values: Mapping[str, Value]) -> bool:
    return all(value_text(values[name]) == value_text(value) for name, value in row.items())


def _columns(data: Json, refuse: Report) -> dict[str, _Column]:
    """Return the values of each parameter with their paths."""
    parameters = data.get("parameters")
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        refuse(("parameters",), "parameters must be a mapping", "write a name and its values, as in lr: [1e-4, 3e-4]")
        return {}
    return {str(name): _column(values, ("parameters", name), refuse) for name, values in parameters.items()}


def _column(values: Any, path: Path, refuse: Report) -> _Column:
    if isinstance(values, Mapping):
        try:
            return [(value, path) for value in range_values(values)]
        except RangeError as error:
            refuse((*path, error.field) if error.field else path, str(error), error.hint)
            return []
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        hint = f"write a list, as in {path[-1]}: [1, 2], or a range: {{min: 1, max: 8, step: 1}}"
        refuse(path, f"{path[-1]} has no list of values", hint)
        return []
    seen: set[str] = set()
    column: _Column = []
    for index, value in enumerate(values):
        if _is_value(value, (*path, index), refuse):
            if value_text(value) in seen:
                refuse((*path, index), f"{path[-1]} already has the value {value_text(value)}", "remove it")
            seen.add(value_text(value))
            column.append((value, (*path, index)))
    return column


def _is_value(value: Any, path: Path, refuse: Report) -> bool:
    if isinstance(value, str | bool | int) or (isinstance(value, float) and isfinite(value)):
        return True
    refuse(path, f"{value!r} cannot be a value", "write a string, a number, true or false")
    return False


def _rows(data: Json, field: str, refuse: Report) -> list[Json]:
    rows = data.get(field)
    if rows is None:
        return []
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        refuse((field,), f"{field} must be a list", "write a list of mappings: [{lr: 1e-3, batch: 64}]")
        return []
    found: list[Json] = []
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping) or not row:
            refuse((field, index), f"{row!r} is not a mapping", "write names with values: {lr: 1e-3, batch: 64}")
            continue
        right = [_is_value(value, (field, index, name), refuse) for name, value in row.items()]
        found += [row] if all(right) else []
    return found


def _check_names(names: Sequence[str], home: Path, refuse: Report) -> None:
    place = home or ("parameters",)
    seen: dict[str, str] = {}
    for name in names:
        if not _NAME.fullmatch(name):
            hint = "use letters, digits, `_`, `-` and `.`, beginning with a letter; at most 53 characters"
            refuse((*place, name), f"{name!r} cannot be the name of a parameter", hint)
        first = seen.setdefault(name.upper(), name)
        if first != name:
            message = f"{first} and {name} would become the same variable, {variable_name(name)}"
            refuse((*place, name), message, "rename one of them")


def _check_row(row: Json, names: Sequence[str], path: Path, refuse: Report, *, whole: bool) -> None:
    for name in row:
        if name not in names:
            hint = did_you_mean(str(name), names) or f"the parameters are {', '.join(names)}"
            refuse((*path, name), f"there is no parameter {name!r}", hint)
    missing = [name for name in names if name not in row]
    if whole and missing:
        refuse(path, f"{', '.join(missing)} has no value here", "set a value for every parameter")


def variable_name(name: str) -> str:
    """Return the environment variable that passes a parameter to a trial."""
    # kubeflow/trainer KEP-3562, section 6, and pull request 3828: constructTrainJob.
    return f"KUBEFLOW_TRAINER_OPT_{name.upper()}"
