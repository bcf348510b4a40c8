"""Types, and how the checker unifies them.

Source: cel-go v0.26 common/types/types.go, checker/types.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from operator import add, mul, sub
from typing import Any, NamedTuple, TypeVar

from trainc.api.records import dataclass, field


class Type(NamedTuple):
    """A type and its parameters. Names of one letter are type parameters; `_1`, `_2`, ... are instances of them."""

    name: str
    of: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.of))})" if self.of else self.name


DYN, BOOL, INT = map(Type, ("dyn", "bool", "int"))
_NULLABLE = frozenset(("google.protobuf.Duration", "google.protobuf.Timestamp", "optional_type"))
_PARAMETERIZED = frozenset(("list", "map", "optional_type"))


@lru_cache(maxsize=512)
def parse_type(text: str) -> Type:
    """Parse `map(string, list(A))`."""
    name, bracket, parameters = text.strip().partition("(")
    return Type(name, tuple(map(parse_type, split_types(parameters[:-1])))) if bracket else Type(name)


def split_types(text: str) -> list[str]:
    """Split `int, map(string, A)` at the commas outside of parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts if text.strip() else []


def is_variable(kind: Type) -> bool:
    """Return whether a type stands for one that is not yet determined."""
    return kind.name[0] == "_"


def is_object(kind: Type) -> bool:
    """Return whether a type is one of Kubernetes' own, such as `kubernetes.Quantity` or `net.IP`."""
    return "." in kind.name and not kind.name.startswith("google.")


@dataclass(slots=True)
class Unifier:
    """What type variables are bound to. Bindings of an attempt that fails are taken back."""

    bound: dict[str, Type] = field(default_factory=dict)
    before: list[tuple[str, Type | None]] = field(default_factory=list)

    def substitute(self, kind: Type, *, free: Type | None = None) -> Type:
        """Replace type variables by what they are bound to, and the others by `free`, if it is not None."""
        return substitute(kind, self.bound, free=free)

    def unify(self, left: Sequence[Type], right: Sequence[Type]) -> bool:
        """Bind type variables such that the types agree pairwise. Returns whether they can."""
        self.before.clear()
        if self._agree_all(left, right):
            return True
        for name, kind in reversed(self.before):
            if kind is None:
                del self.bound[name]
            else:
                self.bound[name] = kind
        return False

    def _agree_all(self, left: Sequence[Type], right: Sequence[Type]) -> bool:
        return len(left) == len(right) and all(map(self._agree, left, right))

    def _agree(self, left: Type, right: Type) -> bool:
        if is_variable(right):
            agrees, is_bound = self._bind(left, right)
            if agrees or is_bound:
                return agrees
        if is_variable(left):
            return self._bind(right, left)[0]
        if DYN in (left, right):
            return True
        if "null_type" in (left.name, right.name):
            other = right if left.name == "null_type" else left
            return other.name in ("null_type", *_NULLABLE) or is_object(other)
        return left.name == right.name and (left.name == "type" or self._agree_all(left.of, right.of))

    def _bind(self, kind: Type, variable: Type) -> tuple[bool, bool]:
        """Bind a variable to a type. Returns whether they agree, and whether the variable was bound before."""
        if kind == variable:
            return True, True
        before = self.bound.get(variable.name)
        if before is None:
            occurs = self._occurs(variable, kind)
            if not occurs:
                self._assign(variable, kind)
            return not occurs, False
        if kind != before:
            if not self._agree(kind, before):
                return False, True
            merged = most_general(kind, before)
            if not self._occurs(variable, merged):
                self._assign(variable, merged)
        return True, True

    def _assign(self, variable: Type, kind: Type) -> None:
        self.before.append((variable.name, self.bound.get(variable.name)))
        self.bound[variable.name] = kind

    def _occurs(self, variable: Type, kind: Type) -> bool:
        if kind == variable:
            return True
        if is_variable(kind):
            return kind.name in self.bound and self._occurs(variable, self.bound[kind.name])
        return any(self._occurs(variable, part) for part in kind.of)


def substitute(kind: Type, bound: Mapping[str, Type], *, free: Type | None = None) -> Type:
    """Replace names of types by what they are bound to, and type variables that are not by `free`."""
    while kind.name in bound:
        kind = bound[kind.name]
    if not kind.of:
        return free if free is not None and is_variable(kind) else kind
    return Type(kind.name, tuple(substitute(part, bound, free=free) for part in kind.of))


def most_general(left: Type, right: Type) -> Type:
    """The less specific of two types that agree."""
    return left if _is_less_specific(left, right) else right


def _is_less_specific(left: Type, right: Type) -> bool:
    if left.name == "dyn" or is_variable(left):
        return True
    if right.name == "dyn" or is_variable(right) or left.name != right.name:
        return False
    if left.name == "type":
        return True
    if left.name in _PARAMETERIZED:
        return all(_is_less_specific(a, b) for a, b in zip(left.of, right.of, strict=True))
    return left == right


# Values: their types, equality, order and arithmetic, and the steps that an evaluation may take.
#
# CEL's bool, int, double, string, bytes, null, lists and maps are Python's. Errors are part of an evaluation: `false
# && error` is false. Source: cel-go v0.26 common/types.

T = TypeVar("T")
LARGEST = 2**63
NANOS = 10**9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The years 1 to 9999, in seconds from 1970.
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799


class EvaluationError(Exception):
    """An error of the expression; the policy's failurePolicy decides what it does."""


class NoOverloadError(EvaluationError):
    """An operation does not accept its operands; whoever calls it says which one."""


class UnknownError(Exception):
    """The value depends on what only a cluster has, or on what trainc does not evaluate; the message says on what."""


class CostExceededError(Exception):
    """The evaluation takes too many steps; an expression cannot catch this."""


class Uint(int):
    """An unsigned integer."""


class Duration(int):
    """A duration in nanoseconds."""

    def __str__(self) -> str:
        seconds, nanos = divmod(abs(self), NANOS)
        fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
        return f"{'-' if self < 0 else ''}{seconds}{fraction}s"


class Timestamp(int):
    """A time in nanoseconds since 1970, and the zone that it was written with, which only its text shows."""

    zone = UTC

    def at(self, zone: timezone) -> datetime:
        """The date and time of day in a time zone, without nanoseconds. Raises OverflowError."""
        return (_EPOCH + timedelta(seconds=int(self) // NANOS)).astimezone(zone)

    def __str__(self) -> str:
        nanos = int(self) % NANOS
        fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
        text = self.at(self.zone).isoformat()
        return f"{text[:19]}{fraction}{text[19:].replace('+00:00', 'Z')}"


@dataclass(frozen=True, slots=True)
class Maybe:
    """An optional value; `is_set` is separate because null is a value, too."""

    value: Any = None
    is_set: bool = False


NONE = Maybe()


@dataclass(frozen=True, slots=True)
class Unknown:
    """A field that is set, with a value that only a cluster knows."""

    why: str


@dataclass(slots=True)
class Budget:
    """The remaining steps. A step is a node of an expression, or ten characters or items that a function reads."""

    steps: int

    def charge(self, amount: int = 1) -> None:
        """Use up `amount` steps. Raises CostExceededError if none are left."""
        self.steps -= amount
        if self.steps < 0:
            raise CostExceededError

    def charge_for(self, *values: Any) -> None:
        """Use up the steps for reading `values` once."""
        self.charge(1 + sum(len(value) for value in values if isinstance(value, str | bytes | list | dict)) // 10)


_TYPES: dict[type, Type] = {
    bool: Type("bool"),
    int: Type("int"),
    Uint: Type("uint"),
    float: Type("double"),
    str: Type("string"),
    bytes: Type("bytes"),
    list: Type("list"),
    dict: Type("map"),
    type(None): Type("null_type"),
    Type: Type("type"),
    Duration: Type("google.protobuf.Duration"),
    Timestamp: Type("google.protobuf.Timestamp"),
    Maybe: Type("optional_type"),
}
_MAP = Type("map")


def type_named(name: str) -> Callable[[type[T]], type[T]]:
    """Name the type of the values of a class, for one of Kubernetes' own types."""

    def register(cls: type[T]) -> type[T]:
        _TYPES[cls] = Type(name)
        return cls

    return register


def type_of(value: Any) -> Type:
    """The type of a value, without its parameters."""
    return _TYPES.get(type(value), _MAP)


def require_known(value: Any) -> Any:
    """Return a value. Raises UnknownError if only a cluster knows it, and what a variable or loop stored as an error."""
    if isinstance(value, Unknown):
        raise UnknownError(value.why)
    if isinstance(value, Exception):
        raise value
    return value


def is_number(value: Any) -> bool:
    """Return whether a value is an int, uint or double."""
    return type(value) in (int, Uint, float)


def equal(left: Any, right: Any, budget: Budget) -> bool:
    """CEL's `==`. Works through nested lists and maps without recursion."""
    pairs = [(left, right)]
    while pairs:
        first, second = pairs.pop()
        budget.charge_for(first)
        first, second = require_known(first), require_known(second)
        if isinstance(first, list) and isinstance(second, list):
            if len(first) != len(second):
                return False
            pairs += zip(first, second, strict=True)
        elif isinstance(first, dict) and isinstance(second, dict):
            if len(first) != len(second) or not all(has_key(second, key) for key in first):
                return False
            pairs += ((first[key], second[key]) for key in first)
        elif isinstance(first, Maybe) and isinstance(second, Maybe):
            if first.is_set != second.is_set:
                return False
            pairs.append((first.value, second.value))
        elif not _is_same(first, second):
            return False
    return True


def _same_kind(left: Any, right: Any) -> tuple[Any, Any]:
    """Two numbers as Go compares them: if one is a double, both, although that rounds large integers."""
    return (float(left), float(right)) if float in (type(left), type(right)) else (left, right)


def _is_same(left: Any, right: Any) -> bool:
    if is_number(left) and is_number(right):
        left, right = _same_kind(left, right)
        return bool(left == right)
    if isinstance(left, Type) and isinstance(right, Type):
        return left.name == right.name
    if is_object(type_of(left)) and type(left) is not type(right) and right is not None:
        raise NoOverloadError
    return type(left) is type(right) and bool(left == right)


def has_key(container: dict[Any, Any], key: Any) -> bool:
    """Return whether a map has a key. In Python, True and 1 are the same key."""
    if not isinstance(key, bool | int | float | str):
        return False
    return key in container and (not isinstance(key, bool) or any(existing is key for existing in container))


_ORDERED = (bool, str, bytes, Duration, Timestamp)


def compare(left: Any, right: Any) -> int:
    """Return -1, 0 or 1. Raises EvaluationError for types without an order, and for NaN."""
    if is_number(left) and is_number(right):
        if math.isnan(left) or math.isnan(right):
            raise EvaluationError("NaN values cannot be ordered")
        left, right = _same_kind(left, right)
    elif type(left) is not type(right) or type(left) not in _ORDERED:
        raise NoOverloadError
    return int(left > right) - int(left < right)


def check_integer(number: int, kind: type[int] = int) -> Any:
    """Check that an integer fits in 64 bits."""
    if kind is Uint:
        if not 0 <= number < 2 * LARGEST:
            raise EvaluationError("unsigned integer overflow")
        return Uint(number)
    if not -LARGEST <= number < LARGEST:
        raise EvaluationError("integer overflow")
    return number


def duration(nanos: int) -> Duration:
    """Check that a duration is in range."""
    return Duration(check_integer(nanos))


def timestamp(nanos: int, zone: timezone = UTC) -> Timestamp:
    """Check that a time is in range."""
    if not _FIRST_SECOND <= nanos // NANOS <= _LAST_SECOND:
        raise EvaluationError("timestamp overflow")
    result = Timestamp(nanos)
    result.zone = zone
    return result


_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul}


def arithmetic(symbol: str, left: Any, right: Any, budget: Budget) -> Any:
    """CEL's + - * / %."""
    kind = type(left)
    if symbol in "+-" and Timestamp in (kind, type(right)):
        return _with_timestamp(symbol, left, right)
    if kind is not type(right):
        raise NoOverloadError
    if symbol == "+" and kind in (str, bytes, list):
        budget.charge_for(left, right)
        return left + right
    if kind is Duration and symbol in "+-":
        return duration(_OPERATORS[symbol](int(left), int(right)))
    if kind is float and symbol != "%":
        return _divide(left, right) if symbol == "/" else _OPERATORS[symbol](left, right)
    if kind not in (int, Uint):
        raise NoOverloadError
    return check_integer(_calculate(symbol, int(left), int(right)), kind)


def _with_timestamp(symbol: str, left: Any, right: Any) -> Any:
    match type(left), symbol, type(right):
        case (a, "+", b) if {a, b} == {Timestamp, Duration}:
            return timestamp(int(left) + int(right), (left if a is Timestamp else right).zone)
        case (a, "-", b) if (a, b) == (Timestamp, Duration):
            return timestamp(int(left) - int(right), left.zone)
        case (a, "-", b) if (a, b) == (Timestamp, Timestamp):
            return duration(int(left) - int(right))
    raise NoOverloadError


def _divide(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left):
        return float("nan")
    return float("inf") if (left > 0) == (str(right) == "0.0") else float("-inf")


def _calculate(symbol: str, left: int, right: int) -> int:
    if symbol in _OPERATORS:
        return int(_OPERATORS[symbol](left, right))
    if right == 0:
        raise EvaluationError("division by zero" if symbol == "/" else "modulus by zero")
    if symbol == "%" and (left, right) == (-(1 << 63), -1):
        raise EvaluationError("integer overflow")  # cel-go common/types/overflow.go, moduloInt64Checked
    # Go rounds towards zero, Python rounds down.
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if symbol == "/" else left - quotient * right
