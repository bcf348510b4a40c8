"""The functions available to policies: CEL's own, its string and set extensions, and Kubernetes' lists and regex.

Each takes the budget and its arguments, and charges for what it reads. Unknown functions are reported by name before
anything is evaluated. Source: kubernetes apiserver pkg/cel/library (lists.go, regex.go), v1.36; cel-go ext/strings.go,
ext/sets.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from itertools import pairwise
from typing import Any

from trainc.features.policies.libraries import LIBRARY_FUNCTIONS, LIBRARY_METHODS, Cidr
from trainc.features.policies.values import (
    Budget,
    EvaluationError,
    Function,
    equal,
    is_number,
    no_overload,
    ordered,
    simple,
    type_name,
    typed,
    whole,
)
from trainc.kube.quantity import Quantity
from trainc.startup.patterns import pattern

_INTEGER = pattern(r"(?a)[+-]?\d{1,19}")


def _size(budget: Budget, *arguments: Any) -> int:
    if len(arguments) != 1 or not isinstance(arguments[0], str | bytes | list | dict):
        raise no_overload("size", *arguments)
    return len(arguments[0])


@lru_cache(maxsize=256)
def _regex(text: str) -> Any:
    import re2  # Linear time, and the same syntax as Go.

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error:
        raise EvaluationError(f"{text!r} is not a regular expression") from None


@typed("matches", str, str)
def _matches(_: Budget, text: str, regex: str) -> bool:
    return _regex(regex).search(text) is not None


@typed("find", str, str)
def _find(_: Budget, text: str, regex: str) -> str:
    found = _regex(regex).search(text)
    return found.group() if found else ""


@typed("findAll", str, str, int)
def _find_all(budget: Budget, text: str, regex: str, limit: int = -1) -> list[str]:
    found = [match.group() for match in _regex(regex).finditer(text)]
    return found if limit < 0 else found[:limit]


@typed("replace", str, str, str, int)
def _replace(budget: Budget, text: str, old: str, new: str, limit: int = -1) -> str:
    budget.charge(min(text.count(old), limit if limit >= 0 else len(text) + 1) * len(new) // 10)
    return text.replace(old, new, limit)


@typed("split", str, str, int)
def _split(_: Budget, text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        return list(text) if limit < 0 or limit >= len(text) else [*text[: limit - 1], text[limit - 1 :]]
    return text.split(separator, limit - 1 if limit > 0 else -1)


@typed("join", list, str)
def _join(budget: Budget, items: list[Any], separator: str = "") -> str:
    if not all(isinstance(item, str) for item in items):
        raise no_overload("join", items)
    budget.charge(sum(len(item) + len(separator) for item in items) // 10)
    return separator.join(items)


@typed("substring", str, int, int)
def _substring(_: Budget, text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= end <= len(text):
        raise EvaluationError(f"index out of range: {start}, {end}")
    return text[start:end]


@typed("charAt", str, int)
def _char_at(_: Budget, text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise EvaluationError(f"index out of range: {index}")
    return text[index : index + 1]


@typed("indexOf", (str, list), object, int)
def _index_of(budget: Budget, base: Any, item: Any, start: int = 0) -> int:
    if isinstance(base, str) and isinstance(item, str):
        budget.charge_for(base)
        return base.find(item, start)
    if isinstance(base, list):
        return next((i for i, each in enumerate(base) if equal(each, item, budget)), -1)
    raise no_overload("indexOf", base, item)


@typed("lastIndexOf", (str, list), object)
def _last_index_of(budget: Budget, base: Any, item: Any) -> int:
    if isinstance(base, str) and isinstance(item, str):
        budget.charge_for(base)
        return base.rfind(item)
    if isinstance(base, list):
        return next((i for i in reversed(range(len(base))) if equal(base[i], item, budget)), -1)
    raise no_overload("lastIndexOf", base, item)


@typed("isSorted", list)
def _is_sorted(_: Budget, items: list[Any]) -> bool:
    return all(ordered(one, next_one) <= 0 for one, next_one in pairwise(items))


@typed("sum", list)
def _sum(_: Budget, items: list[Any]) -> Any:
    if items and all(isinstance(item, timedelta) for item in items):
        return sum(items, timedelta())
    if not all(is_number(item) for item in items):
        raise no_overload("sum", items)
    return whole(sum(items)) if all(isinstance(item, int) for item in items) else float(sum(items))


def _extreme(word: str, sign: int) -> Function:
    @typed(word, list)
    def function(_: Budget, items: list[Any]) -> Any:
        if not items:
            raise EvaluationError(f"{word} called on empty list")
        best = items[0]
        for item in items[1:]:
            best = item if ordered(item, best) * sign > 0 else best
        return best

    return function


def _int(_: Budget, *arguments: Any) -> int:
    match arguments:
        case (bool(),):
            pass
        case (int(number),):
            return number
        case (float(number),) if abs(number) < 2**63:
            return int(number)
        case (str(text),) if _INTEGER.fullmatch(text):
            return whole(int(text))
        case (datetime() as time,):
            return int(time.timestamp())
    raise no_overload("int", *arguments)


def _double(_: Budget, *arguments: Any) -> float:
    try:
        if len(arguments) == 1 and isinstance(arguments[0], int | float | str) and not isinstance(arguments[0], bool):
            return float(arguments[0])
    except (ValueError, OverflowError):
        pass
    raise no_overload("double", *arguments)


def _string(budget: Budget, *arguments: Any) -> str:
    match arguments:
        case (bool(value),):
            return "true" if value else "false"
        case (int() | str() | Quantity() | IPv4Address() | IPv6Address() | Cidr() as value,):
            return str(value)
        case (float(value),):
            return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
        case (bytes(value),):
            return value.decode("utf-8", "replace")
    raise no_overload("string", *arguments)


def _bool(_: Budget, *arguments: Any) -> bool:
    match arguments:
        case (bool(value),):
            return value
        case (("true" | "True" | "TRUE" | "t" | "1"),):
            return True
        case (("false" | "False" | "FALSE" | "f" | "0"),):
            return False
    raise no_overload("bool", *arguments)


@typed("sets.contains", list, list)
def _within(budget: Budget, left: list[Any], right: list[Any]) -> bool:
    """Whether every item of `right` is in `left`."""
    return all(any(equal(item, other, budget) for other in left) for item in right)


@typed("sets.intersects", list, list)
def _intersects(budget: Budget, left: list[Any], right: list[Any]) -> bool:
    return any(equal(item, other, budget) for item in left for other in right)


FUNCTIONS: Mapping[str, Function] = {
    **LIBRARY_FUNCTIONS,
    "size": _size,
    "int": _int,
    "uint": _int,
    "double": _double,
    "string": _string,
    "bool": _bool,
    "bytes": simple("bytes", (str, bytes))(lambda value: value.encode() if isinstance(value, str) else value),
    "dyn": simple("dyn", object)(lambda value: value),
    "type": simple("type", object)(type_name),
    "matches": _matches,
    "sets.contains": _within,
    "sets.equivalent": typed("sets.equivalent", list, list)(
        lambda budget, a, b: _within(budget, a, b) and _within(budget, b, a)
    ),
    "sets.intersects": _intersects,
}
METHODS: Mapping[str, Function] = {
    **LIBRARY_METHODS,
    "size": _size,
    "startsWith": simple("startsWith", str, str)(str.startswith),
    "endsWith": simple("endsWith", str, str)(str.endswith),
    "contains": simple("contains", str, str)(str.__contains__),
    "matches": _matches,
    "find": _find,
    "findAll": _find_all,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "substring": _substring,
    "charAt": _char_at,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "lowerAscii": simple("lowerAscii", str)(lambda text: "".join(c.lower() if c.isascii() else c for c in text)),
    "upperAscii": simple("upperAscii", str)(lambda text: "".join(c.upper() if c.isascii() else c for c in text)),
    "trim": simple("trim", str)(str.strip),
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": _extreme("min", -1),
    "max": _extreme("max", 1),
}
