"""The table of functions, and those of CEL itself: operators, conversions, times, optional values, sets.

`define` gives a function its signatures, which the checker and the evaluation share. Each function gets the budget and
its arguments. Source: cel-go v0.26 common/stdlib/standard.go, cel/library.go, ext/sets.go, ext/comprehensions.go.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, TypeAlias

from trainc.api.records import dataclass, pattern
from trainc.features.cluster.policies.cel.values import (
    LARGEST,
    NANOS,
    NONE,
    Budget,
    Duration,
    EvaluationError,
    Maybe,
    NoOverloadError,
    Timestamp,
    Type,
    Uint,
    UnknownError,
    arithmetic,
    check_integer,
    compare,
    duration,
    equal,
    has_key,
    parse_type,
    require_known,
    split_types,
    timestamp,
    type_of,
)

Function: TypeAlias = Callable[..., Any]
_DURATION_TYPE, _TIMESTAMP_TYPE = "google.protobuf.Duration", "google.protobuf.Timestamp"
COMPARABLE = ("int", "uint", "double", "bool", _DURATION_TYPE, _TIMESTAMP_TYPE, "string", "bytes")
_NUMBERS = ("int", "uint", "double")
_SIGNATURE = pattern(r"(?:<(?P<target>.+?)>\.)?(?P<name>[^(]+)\((?P<arguments>.*)\) -> (?P<result>.+)")
_DURATION_PART = pattern(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_DURATION = pattern(r"[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_UNITS = {"ns": 1, "us": 1000, "µs": 1000, "μs": 1000, "ms": 10**6, "s": NANOS, "m": 60 * NANOS, "h": 3600 * NANOS}
_TIME = pattern(r"(?a)(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)")
_INTEGER = pattern(r"(?a)[+-]?\d{1,25}")
# What strconv.ParseFloat of Go reads, hexadecimal numbers and underscores between digits too (src/strconv/atof_test.go).
_DIGITS, _HEX = r"\d+(?:_\d+)*", r"[\da-f]+(?:_[\da-f]+)*"
_FLOAT = pattern(
    rf"(?ai)[+-]?(?:(?P<hex>0x_?(?:{_HEX}\.?(?:{_HEX})?|\.{_HEX})p[+-]?{_DIGITS})"
    rf"|(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:e[+-]?{_DIGITS})?|(?P<special>inf(?:inity)?))|nan"
)
_ZONE = pattern(r"(?a)([+-]?)(\d\d?):(\d\d?)")


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function. A method's target is its first argument; `since` is a minor of Kubernetes.

    `arguments` are the types that the checker wants, and `guards` those that values must have.
    """

    arguments: tuple[Type, ...]
    guards: tuple[Type, ...]
    result: Type
    is_method: bool
    run: Function
    since: int

    def accepts(self, arguments: Sequence[Any]) -> bool:
        """Return whether values have the types of the signature; of lists and maps the first item counts."""
        return len(arguments) == len(self.guards) and all(map(_accepts, self.guards, arguments))


FUNCTIONS: dict[str, list[Overload]] = {}


def define(*signatures: str, since: int = 0, guards: str = "") -> Callable[[Function], Function]:
    """Define a function: `size(string) -> int`, or `<string>.size() -> int` for a method."""

    def register(run: Function) -> Function:
        for signature in signatures:
            match = _SIGNATURE.fullmatch(signature)
            assert match is not None, signature
            target, name, arguments, result = match.group("target", "name", "arguments", "result")
            kinds = [*([target] if target else []), *split_types(arguments)]
            checked = tuple(map(parse_type, kinds))
            guarded = tuple(map(parse_type, split_types(guards)))[: len(checked)] if guards else checked
            overload = Overload(checked, guarded, parse_type(result), target is not None, run, since)
            FUNCTIONS.setdefault(name, []).append(overload)
        return run

    return register


def _accepts(kind: Type, value: Any) -> bool:
    if len(kind.name) == 1 or kind.name == "dyn":
        return True
    if type_of(value).name != kind.name:
        return False
    if isinstance(value, list) and value:
        return not kind.of or _accepts(kind.of[0], require_known(value[0]))
    if isinstance(value, dict) and value:
        key, item = next(iter(value.items()))
        return _accepts(kind.of[0], key) and _accepts(kind.of[1], require_known(item))
    return True


def apply(name: str, arguments: Sequence[Any], budget: Budget, *, is_method: bool) -> Any:
    """Call the overload that accepts the arguments. Raises EvaluationError if there is none."""
    budget.charge_for(*arguments)
    for overload in FUNCTIONS[name]:
        if overload.is_method == is_method and overload.accepts(arguments):
            try:
                return overload.run(budget, *arguments)
            except NoOverloadError:
                break
            except (ValueError, OverflowError) as error:
                raise EvaluationError(str(error)) from None
    kinds = ", ".join(type_of(argument).name for argument in arguments)
    raise EvaluationError(f"no such overload: {name.replace('_', '')}({kinds})")


def _evaluated_elsewhere(*_: Any) -> Any:
    raise AssertionError("operators that do not need all their operands are evaluated in evaluation.py")


define("_?_:_(bool, A, A) -> A")(_evaluated_elsewhere)
define("_&&_(bool, bool) -> bool", "_||_(bool, bool) -> bool")(_evaluated_elsewhere)
define("@not_strictly_false(bool) -> bool")(_evaluated_elsewhere)
define("<optional_type(V)>.or(optional_type(V)) -> optional_type(V)", "<optional_type(V)>.orValue(V) -> V")(
    _evaluated_elsewhere
)
define("_==_(A, A) -> bool")(lambda budget, a, b: equal(a, b, budget))


@define("_!=_(A, A) -> bool")
def _differ(budget: Budget, left: Any, right: Any) -> bool:
    try:
        return not equal(left, right, budget)
    except EvaluationError:
        return True


define("!_(bool) -> bool")(lambda _, value: not value)
define("-_(double) -> double")(lambda _, value: -value)
define("-_(int) -> int")(lambda _, value: check_integer(-value))
for _symbol, _overloads in {
    "+": "bytes double duration=duration+duration timestamp=duration+timestamp timestamp=timestamp+duration int list(A) string uint",
    "-": "double duration=duration+duration int timestamp=timestamp+duration duration=timestamp+timestamp uint",
    "*": "double int uint",
    "/": "double int uint",
    "%": "int uint",
}.items():
    for _one in re.sub("(duration|timestamp)", lambda m: f"google.protobuf.{m[0].title()}", _overloads).split():
        _result, _, _operands = _one.rpartition("=")
        _left, _, _right = _operands.partition("+")
        define(f"_{_symbol}_({_left}, {_right or _left}) -> {_result or _left}")(
            lambda budget, a, b, symbol=_symbol: arithmetic(symbol, a, b, budget)
        )
_HOLDS: Mapping[str, Callable[[int], bool]] = {
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}
# The order of overloads decides what an empty list is a list of.
_ORDERED_PAIRS = [
    ("bool", "bool"),
    *((a, b) for i, a in enumerate(_NUMBERS) for b in (a, *_NUMBERS[:i], *_NUMBERS[i + 1 :])),
    *((a, a) for a in ("string", "bytes", _TIMESTAMP_TYPE, _DURATION_TYPE)),
]
for _symbol, _holds in _HOLDS.items():
    define(*(f"_{_symbol}_({a}, {b}) -> bool" for a, b in _ORDERED_PAIRS))(
        lambda _, a, b, holds=_holds: holds(compare(a, b))
    )


@define(
    "_[_](list(A), int) -> A",
    "_[_](map(A, B), A) -> B",
    "_[_](optional_type(list(V)), int) -> optional_type(V)",
    "_[_](optional_type(map(K, V)), K) -> optional_type(V)",
    guards="dyn, dyn",
)
def index(budget: Budget, base: Any, key: Any) -> Any:
    """`base[key]`; of an optional value, an optional value."""
    item = maybe_index(budget, base, key)
    if isinstance(base, Maybe):
        return item
    if item.is_set:
        return require_known(item.value)
    is_list = isinstance(base, list)
    raise EvaluationError(f"index out of bounds: {list_index(key)}" if is_list else f"no such key: {key_text(key)}")


@define(
    "_[?_](list(V), int) -> optional_type(V)",
    "_[?_](optional_type(list(V)), int) -> optional_type(V)",
    "_[?_](map(K, V), K) -> optional_type(V)",
    "_[?_](optional_type(map(K, V)), K) -> optional_type(V)",
    guards="dyn, dyn",
)
def maybe_index(_: Budget, base: Any, key: Any) -> Maybe:
    """`base[?key]`."""
    if isinstance(base, Maybe):
        if not base.is_set:
            return NONE
        base = require_known(base.value)
    if isinstance(base, list):
        at = list_index(key)
        return Maybe(base[at], is_set=True) if 0 <= at < len(base) else NONE
    if type(key) not in (bool, int, Uint, float, str):
        raise EvaluationError(f"invalid qualifier type: {type_of(key)}")
    return Maybe(base[key], is_set=True) if isinstance(base, dict) and has_key(base, key) else NONE


def list_index(key: Any) -> int:
    """An index of a list: an integer, or a double that is one."""
    if type(key) not in (int, Uint, float):
        raise EvaluationError(f"unsupported index type '{type_of(key)}' in list")
    if not math.isfinite(key) or key != int(key):
        raise EvaluationError(f"unsupported index value {go_text(key)} in list")
    return int(key)


def key_text(key: Any) -> str:
    """A key in the text of an error."""
    return str(key).lower() if isinstance(key, bool) else str(key)


@define("@in(A, list(A)) -> bool", "@in(A, map(A, B)) -> bool")
def contains(budget: Budget, item: Any, container: Any) -> bool:
    """`item in container`."""
    if isinstance(container, dict):
        return has_key(container, item)
    return any(not _differ(budget, item, element) for element in container)


@define("@append(list(A), A) -> list(A)")
def _append(_: Budget, items: list[Any], item: Any) -> list[Any]:
    items.append(item)  # Only the macros call this, on a list of their own.
    return items


@define("@insert(map(K, V), K, V) -> map(K, V)", "@insert(map(K, V), map(K, V)) -> map(K, V)")
def _insert(_: Budget, entries: dict[Any, Any], *added: Any) -> dict[Any, Any]:
    for key, value in added[0].items() if len(added) == 1 else (added,):
        if has_key(entries, key):
            raise EvaluationError(f"insert failed: key {key_text(key)} already exists")
        entries[map_key(key)] = value
    return entries


def map_key(key: Any) -> Any:
    """Check that a value can be a key of a map."""
    if isinstance(key, bool | int | str) and not isinstance(key, Duration | Timestamp):
        return key
    raise UnknownError(f"trainc does not evaluate maps with keys of the type {type_of(key)}")


@define(*(form for kind in ("bytes", "list(A)", "map(A, B)", "string") for form in (f"size({kind}) -> int", f"<{kind}>.size() -> int")))  # fmt: skip
def _size(_: Budget, value: Any) -> int:
    return len(value)


define("type(A) -> type(A)")(lambda _, value: type_of(value))
_UNCHANGED = {"dyn": "A", "bool": "bool", "bytes": "bytes", "duration": _DURATION_TYPE, "timestamp": _TIMESTAMP_TYPE}
for _name, _kind in _UNCHANGED.items():
    define(f"{_name}({_kind}) -> {'dyn' if _kind == 'A' else _kind}")(lambda _, value: value)


def _conversion(source: object, target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{type_of(source)}' to '{target}'")


@define("bool(string) -> bool")
def _bool(_: Budget, text: str) -> bool:
    if text in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if text in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    raise _conversion(text, "bool")


define("bytes(string) -> bytes")(lambda _, value: value.encode("utf-8", "replace"))


@define(*(f"double({kind}) -> double" for kind in ("double", "int", "string", "uint")))
def _double(_: Budget, value: Any) -> float:
    if not isinstance(value, str):
        return float(value)
    if (match := _FLOAT.fullmatch(value)) is None:
        raise _conversion(value, "double")
    with suppress(OverflowError):
        number = float.fromhex(value.replace("_", "")) if match["hex"] else float(value)
        if match["special"] or not math.isinf(number):
            return number
    raise _conversion(value, "double")  # Out of range.


def _whole_number(value: Any, target: str) -> Any:
    kind = Uint if target == "uint" else int
    if isinstance(value, str):
        if not _INTEGER.fullmatch(value) or (kind is Uint and value[0] in "+-"):
            raise _conversion(value, target)
        try:
            return check_integer(int(value), kind)
        except EvaluationError:
            raise _conversion(value, target) from None
    if isinstance(value, float):
        if not math.isfinite(value):
            raise EvaluationError("unsigned integer overflow" if kind is Uint else "integer overflow")
        # Kubernetes refuses the largest doubles that still fit, as others would round to them.
        if kind is int and not -LARGEST < value < LARGEST:
            raise EvaluationError("integer overflow")
    return check_integer(int(value) // NANOS if isinstance(value, Timestamp) else int(value), kind)


define(*(f"int({kind}) -> int" for kind in ("int", "double", _DURATION_TYPE, "string", _TIMESTAMP_TYPE, "uint")))(
    lambda _, value: _whole_number(value, "int")
)
define(*(f"uint({kind}) -> uint" for kind in ("uint", "double", "int", "string")))(
    lambda _, value: _whole_number(value, "uint")
)
_TEXTS = ("string", "bool", "bytes", "double", _DURATION_TYPE, "int", _TIMESTAMP_TYPE, "uint")
define(*(f"string({kind}) -> string" for kind in _TEXTS))(lambda _, value: go_text(value))


def go_text(value: Any) -> str:
    """A value as a string, such as Go writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
    return str(value)


def _float_text(value: float) -> str:
    """A double as Go's strconv writes it: with an exponent below 1e-4 and from 1e6."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    _, figures, power = Decimal(repr(value)).as_tuple()
    assert isinstance(power, int)
    digits = "".join(map(str, figures)).lstrip("0")
    sign, exponent, digits = "-" if str(value)[0] == "-" else "", len(digits) - 1 + power, digits.rstrip("0") or "0"
    if value == 0:
        return f"{sign}0"
    if exponent < -4 or exponent >= 6:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    digits = digits.ljust(exponent + 1, "0")
    return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :]}".removesuffix(".")


@define("duration(int) -> google.protobuf.Duration")
def _no_duration(_: Budget, value: int) -> Duration:
    raise _conversion(value, "google.protobuf.Duration")  # Declared, and not implemented.


@define("duration(string) -> google.protobuf.Duration")
def _duration(_: Budget, text: str) -> Duration:
    if len(text) > 64 or not _DURATION.fullmatch(text):
        raise _conversion(text, "google.protobuf.Duration")
    nanos = 0
    for number, unit in _DURATION_PART.findall(text):
        before, _, after = number.partition(".")
        nanos += int(before or "0") * _UNITS[unit] + int(after[:18] or "0") * _UNITS[unit] // 10 ** len(after[:18])
    return duration(-nanos if text.startswith("-") else nanos)


define("timestamp(int) -> google.protobuf.Timestamp")(lambda _, value: timestamp(value * NANOS))


@define("timestamp(string) -> google.protobuf.Timestamp")
def _timestamp(_: Budget, text: str) -> Timestamp:
    match = _TIME.fullmatch(text)
    if match is None:
        raise _conversion(text, "google.protobuf.Timestamp")
    try:
        time = datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00"))
        seconds = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    except (ValueError, OverflowError):
        raise _conversion(text, "google.protobuf.Timestamp") from None
    nanos = int((match[2] or "0")[:9].ljust(9, "0"))
    return timestamp(seconds * NANOS + nanos, timezone(time.utcoffset() or timedelta()))


_PARTS: Mapping[str, Callable[[datetime, int], int]] = {
    "getFullYear": lambda time, _: time.year,
    "getMonth": lambda time, _: time.month - 1,
    "getDayOfYear": lambda time, _: time.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda time, _: time.day - 1,
    "getDate": lambda time, _: time.day,
    "getDayOfWeek": lambda time, _: time.isoweekday() % 7,
    "getHours": lambda time, _: time.hour,
    "getMinutes": lambda time, _: time.minute,
    "getSeconds": lambda time, _: time.second,
    "getMilliseconds": lambda _, nanos: nanos % NANOS // 10**6,
}
for _name, _part in _PARTS.items():
    define(f"<google.protobuf.Timestamp>.{_name}() -> int", f"<google.protobuf.Timestamp>.{_name}(string) -> int")(
        lambda _, time, zone="UTC", part=_part: part(time.at(_zone(zone)), int(time))
    )
for _name, _unit in {"getHours": "h", "getMinutes": "m", "getSeconds": "s", "getMilliseconds": "ms"}.items():
    define(f"<google.protobuf.Duration>.{_name}() -> int")(
        lambda _, span, unit=_UNITS[_unit]: abs(int(span)) // unit * (1 if span >= 0 else -1)
    )


def _zone(name: str) -> timezone:
    """A time zone. Names other than UTC need the time zone database of the API server."""
    match = _ZONE.fullmatch(name)
    if match is not None:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-offset if match[1] == "-" else offset)
    if name in ("", "UTC"):
        return UTC
    raise UnknownError(f"the time zone {name!r} is known only to the API server")


define("optional.of(V) -> optional_type(V)")(lambda _, value: Maybe(value, is_set=True))
define("optional.none() -> optional_type(V)")(lambda _: NONE)
define("<optional_type(V)>.hasValue() -> bool")(lambda _, optional: optional.is_set)


@define("optional.ofNonZeroValue(V) -> optional_type(V)")
def _of_non_zero(_: Budget, value: Any) -> Maybe:
    is_zero = value is None or (isinstance(value, bool | int | float | str | bytes | list | dict) and not value)
    is_zero = is_zero and not isinstance(value, Timestamp)
    return NONE if is_zero else Maybe(value, is_set=True)


@define("<optional_type(V)>.value() -> V")
def _value(_: Budget, optional: Maybe) -> Any:
    if not optional.is_set:
        raise EvaluationError("optional.none() dereference")
    return require_known(optional.value)


define("<list(V)>.last() -> optional_type(V)")(lambda _, items: Maybe(items[-1], is_set=True) if items else NONE)
define("<list(V)>.first() -> optional_type(V)")(lambda _, items: Maybe(items[0], is_set=True) if items else NONE)


@define("optional.unwrap(list(optional_type(V))) -> list(V)", "<list(optional_type(V))>.unwrapOpt() -> list(V)")
def _unwrap(_: Budget, items: list[Any]) -> list[Any]:
    if not all(isinstance(item, Maybe) for item in items):
        raise NoOverloadError
    return [item.value for item in items if item.is_set]


@define("sets.contains(list(T), list(T)) -> bool")
def _has_all(budget: Budget, items: list[Any], subset: list[Any]) -> bool:
    return all(contains(budget, item, items) for item in subset)


define("sets.intersects(list(T), list(T)) -> bool")(
    lambda budget, items, others: any(contains(budget, item, others) for item in items)
)
define("sets.equivalent(list(T), list(T)) -> bool")(
    lambda budget, items, others: _has_all(budget, items, others) and _has_all(budget, others, items)
)
