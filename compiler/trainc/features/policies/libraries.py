"""Kubernetes' own CEL libraries: quantities, URLs, IP addresses and CIDRs, durations, optional values.

Source: kubernetes apiserver pkg/cel/library (quantity.go, urls.go, ip.go, cidr.go), v1.36; cel-go cel/library.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import SplitResult, urlsplit

from trainc.features.policies.values import NONE, Budget, EvaluationError, Function, Maybe, no_overload, simple
from trainc.kube.quantity import NANOS_PER_UNIT, Quantity, parse_quantity
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

_DURATION_PART = pattern(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_DURATION = pattern(r"-?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_ADDRESS = (IPv4Address, IPv6Address)
_PREFIX = pattern(r"0|[1-9][0-9]{0,2}")
_TIME = pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)")


@simple("duration", (str, timedelta))
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


@simple("timestamp", (str, datetime))
def _timestamp(value: str | datetime) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        if _TIME.fullmatch(value):
            return datetime.fromisoformat(value)
    except ValueError:
        pass
    raise EvaluationError(f"{value[:64]!r} is not a timestamp")


@simple("quantity", str)
def _quantity(text: str) -> Quantity:
    try:
        return parse_quantity(text)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


@simple("url", str)
def _url(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port  # Raises ValueError if invalid.
    except ValueError:
        raise EvaluationError(f"{text!r} is not a URL") from None
    if not (parts.scheme and (parts.netloc or parts.path.startswith("/"))) and not text.startswith("/"):
        raise EvaluationError(f"{text!r} is not an absolute URL or path")
    return parts


@dataclass(frozen=True, slots=True)
class Cidr:
    """A CIDR as written: its address need not be the first of its network."""

    ip: IPv4Address | IPv6Address
    network: IPv4Network | IPv6Network

    def __str__(self) -> str:
        return f"{self.ip}/{self.network.prefixlen}"


@simple("ip", (str, Cidr))
def _ip(value: str | Cidr) -> IPv4Address | IPv6Address:
    return _address(value) if isinstance(value, str) else value.ip


def _address(text: str) -> IPv4Address | IPv6Address:
    """Parse an address. Like Kubernetes, refuses zones and IPv4-mapped IPv6 addresses."""
    try:
        found = ip_address(text)
    except ValueError:
        raise EvaluationError(f"{text!r} is not an IP address") from None
    if "%" in text or (isinstance(found, IPv6Address) and found.ipv4_mapped is not None):
        raise EvaluationError(f"{text!r} is not an IP address")
    return found


def _parsed_cidr(text: str) -> Cidr:
    address, _, length = text.partition("/")
    try:
        if _PREFIX.fullmatch(length):
            return Cidr(_address(address), ip_network(text, strict=False))
    except ValueError:
        pass
    raise EvaluationError(f"{text!r} is not a CIDR")


def _contains_address(cidr: Cidr, other: Any) -> bool:
    return (_address(other) if isinstance(other, str) else other) in cidr.network


def _contains_cidr(cidr: Cidr, other: str | Cidr) -> bool:
    inner: Any = (_parsed_cidr(other) if isinstance(other, str) else other).network
    return bool(inner.version == cidr.network.version and inner.subnet_of(cidr.network))


_cidr = simple("cidr", str)(_parsed_cidr)


def _succeeds(function: Function) -> Function:
    """Whether a conversion succeeds, e.g. isQuantity() for quantity()."""

    def check(budget: Budget, *arguments: Any) -> bool:
        if len(arguments) != 1 or not isinstance(arguments[0], str):
            raise no_overload("is...", *arguments)
        try:
            function(budget, *arguments)
        except EvaluationError:
            return False
        return True

    return check


def _amount(operator: Callable[[Quantity, Quantity], Quantity]) -> Function:
    """Arithmetic of a quantity with a quantity or an integer; comparisons accept quantities only."""
    return simple("quantity", Quantity, (Quantity, int))(
        lambda left, right: operator(left, right if isinstance(right, Quantity) else Quantity(right * NANOS_PER_UNIT))
    )


@simple("value", Maybe)
def _value(optional: Maybe) -> Any:
    if not optional.is_set:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _whole_units(amount: Quantity) -> int:
    if amount.nanos % NANOS_PER_UNIT:
        raise EvaluationError("cannot convert value to integer")
    return amount.nanos // NANOS_PER_UNIT


LIBRARY_FUNCTIONS: Mapping[str, Function] = {
    "duration": _duration,
    "timestamp": _timestamp,
    "quantity": _quantity,
    "isQuantity": _succeeds(_quantity),
    "url": _url,
    "isURL": _succeeds(_url),
    "ip": _ip,
    "isIP": _succeeds(_ip),
    "ip.isCanonical": simple("isCanonical", str)(lambda text: str(_address(text)) == text),
    "cidr": _cidr,
    "isCIDR": _succeeds(_cidr),
    "optional.of": simple("optional.of", object)(lambda value: Maybe(value, is_set=True)),
    "optional.none": simple("optional.none")(lambda: NONE),
    "optional.ofNonZeroValue": simple("optional.ofNonZeroValue", object)(
        lambda value: Maybe(value, is_set=True) if value else NONE
    ),
}
LIBRARY_METHODS: Mapping[str, Function] = {
    "isInteger": simple("isInteger", Quantity)(lambda q: q.nanos % NANOS_PER_UNIT == 0),
    "asInteger": simple("asInteger", Quantity)(_whole_units),
    "asApproximateFloat": simple("asApproximateFloat", Quantity)(lambda q: q.nanos / NANOS_PER_UNIT),
    "sign": simple("sign", Quantity)(lambda q: (q.nanos > 0) - (q.nanos < 0)),
    "add": _amount(lambda a, b: a + b),
    "sub": _amount(lambda a, b: Quantity(a.nanos - b.nanos, a.family)),
    "isLessThan": simple("isLessThan", Quantity, Quantity)(lambda a, b: a.nanos < b.nanos),
    "isGreaterThan": simple("isGreaterThan", Quantity, Quantity)(lambda a, b: a.nanos > b.nanos),
    "compareTo": simple("compareTo", Quantity, Quantity)(lambda a, b: (a.nanos > b.nanos) - (a.nanos < b.nanos)),
    "getScheme": simple("getScheme", SplitResult)(lambda url: url.scheme),
    "getHost": simple("getHost", SplitResult)(lambda url: url.netloc.rpartition("@")[2]),
    "getHostname": simple("getHostname", SplitResult)(lambda url: url.hostname or ""),
    "getPort": simple("getPort", SplitResult)(lambda url: "" if url.port is None else str(url.port)),
    "getEscapedPath": simple("getEscapedPath", SplitResult)(lambda url: url.path),
    "family": simple("family", _ADDRESS)(lambda address: address.version),
    "isUnspecified": simple("isUnspecified", _ADDRESS)(lambda address: address.is_unspecified),
    "isLoopback": simple("isLoopback", _ADDRESS)(lambda address: address.is_loopback),
    "containsIP": simple("containsIP", Cidr, (str, *_ADDRESS))(_contains_address),
    "containsCIDR": simple("containsCIDR", Cidr, (str, Cidr))(_contains_cidr),
    "ip": _ip,
    "masked": simple("masked", Cidr)(lambda cidr: Cidr(cidr.network.network_address, cidr.network)),
    "prefixLength": simple("prefixLength", Cidr)(lambda cidr: cidr.network.prefixlen),
    "hasValue": simple("hasValue", Maybe)(lambda optional: optional.is_set),
    "value": _value,
    "or": simple("or", Maybe, Maybe)(lambda optional, other: optional if optional.is_set else other),
    "orValue": simple("orValue", Maybe, object)(lambda optional, other: optional.value if optional.is_set else other),
    "getSeconds": simple("getSeconds", timedelta)(lambda span: int(span.total_seconds())),
    "getMinutes": simple("getMinutes", timedelta)(lambda span: int(span.total_seconds() / 60)),
    "getHours": simple("getHours", timedelta)(lambda span: int(span.total_seconds() / 3600)),
}
