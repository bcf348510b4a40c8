"""CEL values in Python: JSON types, quantities, optionals, and a few records of Kubernetes' libraries.

Equality and order follow CEL: numbers compare across types, booleans are not numbers, and comparing unordered types is
an error (no such overload). Errors are part of the evaluation: `false && error` is false.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from trainc.kube.quantity import Quantity
from trainc.startup.records import dataclass

Function: TypeAlias = Callable[..., Any]
_LARGEST = 2**63


class EvaluationError(Exception):
    """An error during evaluation; the policy's failurePolicy decides its effect."""


class CostExceededError(Exception):
    """The evaluation exceeded its steps; an expression cannot catch this."""


@dataclass(frozen=True, slots=True)
class Maybe:
    """An optional value; `is_set` is separate because null is a value, too."""

    value: Any = None
    is_set: bool = False


NONE = Maybe()


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


def is_number(value: Any) -> bool:
    """Whether a value is an int or double. In Python, a bool is an int as well."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(left: Any, right: Any, budget: Budget) -> bool:
    """CEL's `==`."""
    budget.charge_for(left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(equal(a, b, budget) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key], budget) for key in left)
    if isinstance(left, Maybe) and isinstance(right, Maybe):
        return left.is_set == right.is_set and equal(left.value, right.value, budget)
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        return left.nanos == right.nanos
    if is_number(left) and is_number(right):
        return bool(left == right)
    return type(left) is type(right) and bool(left == right)


def ordered(left: Any, right: Any) -> int:
    """Compare; return -1, 0 or 1. Raises EvaluationError for types without an order."""
    alike = type(left) is type(right) and isinstance(left, str | bytes | bool | datetime | timedelta)
    if not alike and not (is_number(left) and is_number(right)):
        raise no_overload("<", left, right)
    return int(left > right) - int(left < right)


def no_overload(word: str, *values: Any) -> EvaluationError:
    """The error for an operation that does not accept these types."""
    return EvaluationError(f"no such overload: {word}({', '.join(type_name(value) for value in values)})")


def type_name(value: Any) -> str:
    """The name of a value's type in CEL."""
    names = {
        bool: "bool",
        int: "int",
        float: "double",
        str: "string",
        bytes: "bytes",
        list: "list",
        dict: "map",
        datetime: "google.protobuf.Timestamp",
        timedelta: "google.protobuf.Duration",
        Maybe: "optional_type",
        Quantity: "kubernetes.Quantity",
        type(None): "null_type",
    }
    return names.get(type(value), type(value).__name__)


def whole(number: int) -> int:
    """Check that an integer fits in 64 bits. Raises EvaluationError."""
    if not -_LARGEST <= number < _LARGEST:
        raise EvaluationError("integer overflow")
    return number


def arithmetic(symbol: str, left: Any, right: Any, budget: Budget) -> Any:
    """CEL's + - * / %."""
    if symbol == "+" and type(left) is type(right) and isinstance(left, str | bytes | list):
        budget.charge_for(left, right)
        return left + right
    if symbol in "+-" and isinstance(left, datetime | timedelta) and isinstance(right, datetime | timedelta):
        try:
            return left + right if symbol == "+" else left - right  # type: ignore[operator] # TypeError is caught
        except (TypeError, OverflowError):
            raise no_overload(symbol, left, right) from None
    if not is_number(left) or type(left) is not type(right):
        raise no_overload(symbol, left, right)
    if symbol in "/%" and right == 0 and isinstance(left, int):
        raise EvaluationError("division by zero" if symbol == "/" else "modulus by zero")
    return _calculate(symbol, left, right)


def _calculate(symbol: str, left: Any, right: Any) -> Any:
    if isinstance(left, float):
        if symbol == "%":
            raise no_overload(symbol, left, right)
        if symbol == "/" and right == 0:
            return float("nan") if left == 0 or left != left else float("inf") if left > 0 else float("-inf")  # noqa: PLR0124
        return {"+": left + right, "-": left - right, "*": left * right, "/": left / (right or 1.0)}[symbol]
    match symbol:
        case "+":
            return whole(left + right)
        case "-":
            return whole(left - right)
        case "*":
            return whole(left * right)
    # Go rounds towards zero, Python rounds down.
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return whole(quotient) if symbol == "/" else left - quotient * right


def typed(word: str, *types: type | tuple[type, ...]) -> Callable[[Function], Function]:
    """Check the argument types of a function; trailing arguments with a default may be omitted."""

    def decorated(function: Function) -> Function:
        least = len(types) - len(function.__defaults__ or ())

        def checked(budget: Budget, *arguments: Any) -> Any:
            fits = least <= len(arguments) <= len(types) and all(
                isinstance(value, kind) and (kind is object or not isinstance(value, bool))
                for value, kind in zip(arguments, types, strict=False)
            )
            if not fits:
                raise no_overload(word, *arguments)
            budget.charge_for(*arguments)
            try:
                return function(budget, *arguments)
            except (ValueError, OverflowError) as error:
                raise EvaluationError(f"{word}: {error}") from None

        return checked

    return decorated


def simple(word: str, *types: type | tuple[type, ...]) -> Callable[[Callable[..., Any]], Function]:
    """Like `typed`, for a function that does not need the budget."""
    return lambda function: typed(word, *types)(lambda _, *arguments: function(*arguments))
