"""The functions of CEL and of Kubernetes' libraries that policies use: strings, lists, sets, quantities, URLs, addresses.

Each takes the budget, then its arguments, and charges for what it looks at. What is not here is refused by its name
before anything is evaluated. Source: kubernetes apiserver pkg/cel/library (v1.36), cel-go ext/strings.go, ext/sets.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import SplitResult, urlsplit

from trainc.api.quantity import NANOS_PER_UNIT, Quantity, parse_quantity
from trainc.policies.values import (
    NONE,
    Budget,
    EvaluationError,
    Maybe,
    equal,
    is_number,
    no_overload,
    ordered,
    type_name,
    whole,
)
from trainc.startup.patterns import pattern

Function = Callable[..., Any]
_DURATION_PART = pattern(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_DURATION = pattern(r"-?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_INTEGER = pattern(r"(?a)[+-]?\d{1,19}")


def _typed(word: str, *types: type | tuple[type, ...]) -> Callable[[Function], Function]:
    """A function whose arguments have these types; those at the end that it has defaults for may be missing."""

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


def _simple(word: str, *types: type | tuple[type, ...]) -> Callable[[Callable[..., Any]], Function]:
    """As `_typed`, for a function that needs no budget."""
    return lambda function: _typed(word, *types)(lambda _, *arguments: function(*arguments))


def _size(budget: Budget, *arguments: Any) -> int:
    if len(arguments) != 1 or not isinstance(arguments[0], str | bytes | list | dict):
        raise no_overload("size", *arguments)
    return len(arguments[0])


@lru_cache(maxsize=256)
def _regex(text: str) -> Any:
    import re2  # Linear in its input, and Go's syntax.

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error:
        raise EvaluationError(f"{text!r} is not a regular expression") from None


@_typed("matches", str, str)
def _matches(_: Budget, text: str, regex: str) -> bool:
    return _regex(regex).search(text) is not None


@_typed("find", str, str)
def _find(_: Budget, text: str, regex: str) -> str:
    found = _regex(regex).search(text)
    return found.group() if found else ""


@_typed("findAll", str, str, int)
def _find_all(budget: Budget, text: str, regex: str, limit: int = -1) -> list[str]:
    found = [match.group() for match in _regex(regex).finditer(text)]
    return found if limit < 0 else found[:limit]


@_typed("replace", str, str, str, int)
def _replace(budget: Budget, text: str, old: str, new: str, limit: int = -1) -> str:
    budget.charge(min(text.count(old), limit if limit >= 0 else len(text) + 1) * len(new) // 10)
    return text.replace(old, new, limit)


@_typed("split", str, str, int)
def _split(_: Budget, text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        return list(text) if limit < 0 or limit >= len(text) else [*text[: limit - 1], text[limit - 1 :]]
    return text.split(separator, limit - 1 if limit > 0 else -1)


@_typed("join", list, str)
def _join(budget: Budget, items: list[Any], separator: str = "") -> str:
    if not all(isinstance(item, str) for item in items):
        raise no_overload("join", items)
    budget.charge(sum(len(item) + len(separator) for item in items) // 10)
    return separator.join(items)


@_typed("substring", str, int, int)
def _substring(_: Budget, text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= end <= len(text):
        raise EvaluationError(f"index out of range: {start}, {end}")
    return text[start:end]


@_typed("charAt", str, int)
def _char_at(_: Budget, text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise EvaluationError(f"index out of range: {index}")
    return text[index : index + 1]


@_typed("indexOf", (str, list), object, int)
def _index_of(budget: Budget, base: Any, item: Any, start: int = 0) -> int:
    if isinstance(base, str) and isinstance(item, str):
        budget.charge_for(base)
        return base.find(item, start)
    if isinstance(base, list):
        return next((i for i, each in enumerate(base) if equal(each, item, budget)), -1)
    raise no_overload("indexOf", base, item)


@_typed("lastIndexOf", (str, list), object)
def _last_index_of(budget: Budget, base: Any, item: Any) -> int:
    if isinstance(base, str) and isinstance(item, str):
        budget.charge_for(base)
        return base.rfind(item)
    if isinstance(base, list):
        return next((i for i in reversed(range(len(base))) if equal(base[i], item, budget)), -1)
    raise no_overload("lastIndexOf", base, item)


@_typed("isSorted", list)
def _is_sorted(_: Budget, items: list[Any]) -> bool:
    return all(ordered(one, next_one) <= 0 for one, next_one in zip(items, items[1:], strict=False))


@_typed("sum", list)
def _sum(_: Budget, items: list[Any]) -> Any:
    if items and all(isinstance(item, timedelta) for item in items):
        return sum(items, timedelta())
    if not all(is_number(item) for item in items):
        raise no_overload("sum", items)
    return whole(sum(items)) if all(isinstance(item, int) for item in items) else float(sum(items))


def _extreme(word: str, sign: int) -> Function:
    @_typed(word, list)
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
        case (int() | str() | Quantity() | IPv4Address() | IPv6Address() | IPv4Network() | IPv6Network() as value,):
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


@_simple("duration", (str, timedelta))
def _duration(value: str | timedelta) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if len(value) > 64 or not _DURATION.fullmatch(value):
        raise EvaluationError(f"{value[:64]!r} is not a duration")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(value))
    try:
        return timedelta(seconds=-seconds if value.startswith("-") else seconds)
    except OverflowError:
        raise EvaluationError("duration out of range") from None


@_simple("timestamp", (str, datetime))
def _timestamp(value: str | datetime) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        raise EvaluationError(f"{value[:64]!r} is not a timestamp") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


@_simple("quantity", str)
def _quantity(text: str) -> Quantity:
    try:
        return parse_quantity(text)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


@_simple("url", str)
def _url(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port  # ValueError where it is none.
    except ValueError:
        raise EvaluationError(f"{text!r} is not a URL") from None
    if not (parts.scheme and (parts.netloc or parts.path.startswith("/"))) and not text.startswith("/"):
        raise EvaluationError(f"{text!r} is not an absolute URL or path")
    return parts


@_simple("ip", (str, IPv4Network, IPv6Network))
def _ip(value: str | IPv4Network | IPv6Network) -> IPv4Address | IPv6Address:
    try:
        return ip_address(value) if isinstance(value, str) else value.network_address
    except ValueError:
        raise EvaluationError(f"{value!r} is not an IP address") from None


@_simple("cidr", str)
def _cidr(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise EvaluationError(f"{text!r} is not a CIDR") from None


def _succeeds(function: Function) -> Function:
    """Whether a conversion succeeds: isQuantity() for quantity()."""

    def check(budget: Budget, *arguments: Any) -> bool:
        if len(arguments) != 1 or not isinstance(arguments[0], str):
            raise no_overload("is...", *arguments)
        try:
            function(budget, *arguments)
        except EvaluationError:
            return False
        return True

    return check


def _amount(operator: Callable[[Any, Any], Any]) -> Function:
    return _simple("quantity", Quantity, (Quantity, int))(
        lambda left, right: operator(left, right if isinstance(right, Quantity) else Quantity(right * NANOS_PER_UNIT))
    )


@_typed("sets.contains", list, list)
def _within(budget: Budget, left: list[Any], right: list[Any]) -> bool:
    """Whether every item of `right` is in `left`."""
    return all(any(equal(item, other, budget) for other in left) for item in right)


@_typed("sets.intersects", list, list)
def _intersects(budget: Budget, left: list[Any], right: list[Any]) -> bool:
    return any(equal(item, other, budget) for item in left for other in right)


@_simple("value", Maybe)
def _value(optional: Maybe) -> Any:
    if not optional.is_set:
        raise EvaluationError("optional.none() dereference")
    return optional.value


_ADDRESS, _NETWORK = (IPv4Address, IPv6Address), (IPv4Network, IPv6Network)
FUNCTIONS: Mapping[str, Function] = {
    "size": _size,
    "int": _int,
    "uint": _int,
    "double": _double,
    "string": _string,
    "bool": _bool,
    "bytes": _simple("bytes", (str, bytes))(lambda value: value.encode() if isinstance(value, str) else value),
    "dyn": _simple("dyn", object)(lambda value: value),
    "type": _simple("type", object)(type_name),
    "matches": _matches,
    "duration": _duration,
    "timestamp": _timestamp,
    "quantity": _quantity,
    "isQuantity": _succeeds(_quantity),
    "url": _url,
    "isURL": _succeeds(_url),
    "ip": _ip,
    "isIP": _succeeds(_ip),
    "ip.isCanonical": _simple("isCanonical", str)(lambda text: str(ip_address(text)) == text),
    "cidr": _cidr,
    "isCIDR": _succeeds(_cidr),
    "sets.contains": _within,
    "sets.equivalent": _typed("sets.equivalent", list, list)(
        lambda budget, a, b: _within(budget, a, b) and _within(budget, b, a)
    ),
    "sets.intersects": _intersects,
    "optional.of": _simple("optional.of", object)(lambda value: Maybe(value, is_set=True)),
    "optional.none": _simple("optional.none")(lambda: NONE),
    "optional.ofNonZeroValue": _simple("optional.ofNonZeroValue", object)(
        lambda value: Maybe(value, is_set=True) if value else NONE
    ),
}
METHODS: Mapping[str, Function] = {
    "size": _size,
    "startsWith": _simple("startsWith", str, str)(str.startswith),
    "endsWith": _simple("endsWith", str, str)(str.endswith),
    "contains": _simple("contains", str, str)(str.__contains__),
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
    "lowerAscii": _simple("lowerAscii", str)(lambda text: "".join(c.lower() if c.isascii() else c for c in text)),
    "upperAscii": _simple("upperAscii", str)(lambda text: "".join(c.upper() if c.isascii() else c for c in text)),
    "trim": _simple("trim", str)(str.strip),
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": _extreme("min", -1),
    "max": _extreme("max", 1),
    "isInteger": _simple("isInteger", Quantity)(lambda q: q.nanos % NANOS_PER_UNIT == 0),
    "asInteger": _simple("asInteger", Quantity)(lambda q: _whole_units(q)),
    "asApproximateFloat": _simple("asApproximateFloat", Quantity)(lambda q: q.nanos / NANOS_PER_UNIT),
    "sign": _simple("sign", Quantity)(lambda q: (q.nanos > 0) - (q.nanos < 0)),
    "add": _amount(lambda a, b: a + b),
    "sub": _amount(lambda a, b: Quantity(a.nanos - b.nanos, a.family)),
    "isLessThan": _amount(lambda a, b: a.nanos < b.nanos),
    "isGreaterThan": _amount(lambda a, b: a.nanos > b.nanos),
    "compareTo": _amount(lambda a, b: (a.nanos > b.nanos) - (a.nanos < b.nanos)),
    "getScheme": _simple("getScheme", SplitResult)(lambda url: url.scheme),
    "getHost": _simple("getHost", SplitResult)(lambda url: url.netloc.rpartition("@")[2]),
    "getHostname": _simple("getHostname", SplitResult)(lambda url: url.hostname or ""),
    "getPort": _simple("getPort", SplitResult)(lambda url: "" if url.port is None else str(url.port)),
    "getEscapedPath": _simple("getEscapedPath", SplitResult)(lambda url: url.path),
    "family": _simple("family", _ADDRESS)(lambda address: address.version),
    "isUnspecified": _simple("isUnspecified", _ADDRESS)(lambda address: address.is_unspecified),
    "isLoopback": _simple("isLoopback", _ADDRESS)(lambda address: address.is_loopback),
    "containsIP": _simple("containsIP", _NETWORK, (str, *_ADDRESS))(
        lambda network, address: (address if not isinstance(address, str) else ip_address(address)) in network
    ),
    "containsCIDR": _simple("containsCIDR", _NETWORK, (str, *_NETWORK))(
        lambda network, other: _inside(ip_network(other) if isinstance(other, str) else other, network)
    ),
    "ip": _ip,
    "masked": _simple("masked", _NETWORK)(lambda network: network),
    "prefixLength": _simple("prefixLength", _NETWORK)(lambda network: network.prefixlen),
    "hasValue": _simple("hasValue", Maybe)(lambda optional: optional.is_set),
    "value": _value,
    "or": _simple("or", Maybe, Maybe)(lambda optional, other: optional if optional.is_set else other),
    "orValue": _simple("orValue", Maybe, object)(lambda optional, other: optional.value if optional.is_set else other),
    "getSeconds": _simple("getSeconds", timedelta)(lambda span: int(span.total_seconds())),
    "getMinutes": _simple("getMinutes", timedelta)(lambda span: int(span.total_seconds() / 60)),
    "getHours": _simple("getHours", timedelta)(lambda span: int(span.total_seconds() / 3600)),
}


def _whole_units(amount: Quantity) -> int:
    if amount.nanos % NANOS_PER_UNIT:
        raise EvaluationError("cannot convert value to integer")
    return amount.nanos // NANOS_PER_UNIT


def _inside(inner: Any, outer: Any) -> bool:
    return inner.version == outer.version and inner.subnet_of(outer)
