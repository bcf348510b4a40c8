"""Kubernetes' own functions: quantities, URLs, IP addresses and CIDRs, semantic versions, named formats, authorizer.

Source: kubernetes apiserver pkg/cel/library (quantity.go, urls.go, ip.go, cidr.go, semverlib.go, format.go, authz.go),
v1.36; Go's net/url; apimachinery pkg/util/validation; blang/semver v4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import unquote_to_bytes

from trainc.api.documents import opening
from trainc.api.kube import names, quantity
from trainc.api.records import dataclass, field, pattern
from trainc.features.cluster.policies.cel.functions import define
from trainc.features.cluster.policies.cel.values import (
    LARGEST,
    NANOS,
    NONE,
    Budget,
    EvaluationError,
    Maybe,
    NoOverloadError,
    UnknownError,
    type_named,
)

_QUANTITY_TEXT = pattern(r"(?a)[+-]?\.*\d[0-9.]*(?:[eEinumkKMGTP]+[-+]?\d*|[-+]\d*)?")
_QUANTITY = pattern(r"(?a)[+-]?0*(\d*)(?:\.(\d*))?([KMGTPE]i|[eE][+-]?\d+|[numkMGTPE])?")
_BINARY = " KMGTPE"
_LONGEST_QUANTITY = 64
_ESCAPES = pattern(r"%(?![0-9a-fA-F]{2})")
_SCHEME = pattern(r"[a-zA-Z][a-zA-Z0-9+.-]*(?=:)")
_HOST = pattern(r"(?:[\w.~!$&'()*+,;=:\[\]<>\"-]|[^\x00-\x7f]|%25)*", 256)
_USER = pattern(r"(?a)[\w.~!$&'()*+,;=:@%-]*")
_PORT = pattern(r"(?a)(?::\d*)?")
_PATH = pattern(r"(?a)[\w.~!$&'()*+,;=:@\[\]/%-]*")
_KEPT_IN_PATH = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~$&+,/:;=@")
_PREFIX = pattern(r"0|[1-9][0-9]{0,2}")
_NUMBER = pattern(r"0|[1-9][0-9]*")
_IDENTIFIERS = pattern(r"(?a)[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*")
_UUID = pattern(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_BASE64 = pattern(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_CLOCK = pattern(r"(?a)t([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:.\d+)?(?:z|[+-]\d\d:\d\d)")


# Quantities


@type_named("kubernetes.Quantity")
@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount in billionths.

    `scale` is the power of ten that Go keeps with it: 2000m is 2000 times 10^-3, which asInteger() does not take for 2.
    Without one, Go calculates with decimals, and takes no result for an integer.
    """

    nanos: int
    scale: int | None = field(default=0, compare=False)

    @property
    def is_integer(self) -> bool:
        """Return whether asInteger() converts it."""
        return self.scale is not None and self.scale >= 0 and _fits(self.nanos, 0)

    def plus(self, other: Quantity, sign: int) -> Quantity:
        """The sum or difference, with the finer of the two scales."""
        nanos, scale = self.nanos + sign * other.nanos, None
        if self.scale is not None and other.scale is not None:
            scales = [quantity.scale for quantity in (self, other) if quantity.nanos and quantity.scale is not None]
            scale = min(scales, default=self.scale)
            scale = scale if all(_fits(amount, scale) for amount in (self.nanos, other.nanos, nanos)) else None
        return Quantity(nanos, scale)


def _fits(nanos: int, scale: int) -> bool:
    """Return whether an amount, in units of a power of ten, is a 64-bit integer."""
    unit: int = 10 ** (9 + scale)
    return -LARGEST * unit <= nanos < LARGEST * unit


@define("quantity(string) -> kubernetes.Quantity")
def _quantity(_: Budget, text: str) -> Quantity:
    match = _QUANTITY.fullmatch(text)
    if match is None or not any(map(str.isdigit, text)):
        expected = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
        suffixed = _QUANTITY_TEXT.fullmatch(text)
        mismatch = f"quantities must match the regular expression '{expected}'"
        raise EvaluationError("unable to parse quantity's suffix" if suffixed else mismatch)
    number, fraction, suffix = match[1] or "0", match[2] or "", match[3] or ""
    if len(text) > _LONGEST_QUANTITY or len(suffix) > 4:
        raise UnknownError(f"trainc does not calculate with quantities as large as {text[:40]}")
    binary = _BINARY.find(suffix[0]) if suffix.endswith("i") else -1
    exponent = quantity.DECIMAL_POWER.get(suffix, 0) if binary >= 0 or not suffix[1:] else int(suffix[1:])
    scale: int | None = exponent - len(fraction)
    if binary >= 0:
        # Go estimates the digits of a power of two.
        is_short = not fraction and 15 - len(number) - 3 * binary - 1 >= 0
        scale = 0 if is_short else None
    elif len(number) + len(fraction) > 18 or exponent - len(fraction) < -9:
        scale = None
    power = exponent + 9 - len(fraction)
    mantissa = int(number + fraction) * (1024**binary if binary >= 0 else 1)
    nanos = mantissa * 10**power if power >= 0 else -(-mantissa // 10**-power)
    if binary >= 0:
        nanos = min(nanos, (LARGEST - 1) * NANOS)
    return Quantity(-nanos if text[0] == "-" else nanos, scale if mantissa else 0)


@define("<kubernetes.Quantity>.asApproximateFloat() -> double")
def _as_float(_: Budget, value: Quantity) -> float:
    scale = -9 if value.scale is None else value.scale
    unit: int = 10 ** (9 + scale)
    return value.nanos / unit * 10.0**scale


_TARGET = "<kubernetes.Quantity>"
define("sign(kubernetes.Quantity) -> int")(lambda _, value: (value.nanos > 0) - (value.nanos < 0))
define(f"{_TARGET}.isInteger() -> bool")(lambda _, value: value.is_integer)
define(f"{_TARGET}.isLessThan(kubernetes.Quantity) -> bool")(lambda _, a, b: a.nanos < b.nanos)
define(f"{_TARGET}.isGreaterThan(kubernetes.Quantity) -> bool")(lambda _, a, b: a.nanos > b.nanos)
define(f"{_TARGET}.compareTo(kubernetes.Quantity) -> int")(lambda _, a, b: (a.nanos > b.nanos) - (a.nanos < b.nanos))
for _word, _sign in {"add": 1, "sub": -1}.items():
    define(f"{_TARGET}.{_word}(kubernetes.Quantity) -> kubernetes.Quantity")(
        lambda _, a, b, sign=_sign: a.plus(b, sign)
    )
    define(f"{_TARGET}.{_word}(int) -> kubernetes.Quantity")(
        lambda _, a, b, sign=_sign: a.plus(Quantity(b * NANOS), sign)
    )


@define(f"{_TARGET}.asInteger() -> int")
def _as_integer(_: Budget, value: Quantity) -> int:
    if not value.is_integer:
        raise EvaluationError("cannot convert value to integer")
    return value.nanos // NANOS


def _succeeds(convert: Callable[..., Any], *signatures: str, since: int = 0) -> None:
    """Define whether a conversion succeeds, such as isQuantity() for quantity()."""

    @define(*signatures, since=since)
    def check(*arguments: Any) -> bool:
        try:
            convert(*arguments)
        except EvaluationError:
            return False
        except UnknownError:
            pass  # A quantity that is too long for trainc is still one.
        return True


_succeeds(_quantity, "isQuantity(string) -> bool")


# URLs


@type_named("kubernetes.URL")
@dataclass(frozen=True, slots=True)
class URL:
    """A URL, in the parts that Go's parser gives."""

    scheme: str
    host: str
    path: str
    query: str
    after_scheme: str


@define("url(string) -> kubernetes.URL")
def _url(_: Budget, text: str) -> URL:
    def wrong(why: str) -> EvaluationError:
        return EvaluationError(f'URL parse error during conversion from string: parse "{text}": {why}')

    if any(character < " " or character == "\x7f" for character in text):
        raise wrong("net/url: invalid control character in URL")
    if not text:
        raise wrong("empty url")
    match = _SCHEME.match(text)
    scheme = match.group().lower() if match else ""
    remainder = text[len(scheme) + 1 :] if match else text
    if text.startswith(":"):
        raise wrong("missing protocol scheme")
    remainder, fragment = (*remainder.split("#", 1), "")[:2]
    before, query = (*remainder.split("?", 1), "")[:2]
    if not before.startswith("/"):
        if scheme or text == "*":
            return URL(scheme, "", "" if scheme else "*", query, remainder + fragment)
        raise wrong("invalid URI for request")
    host, path = "", before
    if scheme and before.startswith("//"):
        authority, slash, path = before[2:].partition("/")
        path = slash + path
        user, at, host = authority.rpartition("@")
        if at and (not _USER.fullmatch(user) or _ESCAPES.search(user)):
            raise wrong("net/url: invalid userinfo")
        _check_host(host, wrong)
    if _ESCAPES.search(path) or _ESCAPES.search(fragment):
        raise wrong("invalid URL escape")
    return URL(scheme, host.replace("%25", "%"), path, query, remainder + fragment)


def _check_host(host: str, wrong: Callable[[str], EvaluationError]) -> None:
    if host.startswith("["):
        address, bracket, port = host.rpartition("]")
        if not bracket:
            raise wrong("missing ']' in host")
    else:
        name, colon, port = host.rpartition(":")
        if ":" in name:
            raise wrong("invalid host")
        address, port = (name, colon + port) if colon else (host, "")
    if not _PORT.fullmatch(port):
        raise wrong(f'invalid port "{port}" after host')
    if not _HOST.fullmatch(address):
        raise wrong("invalid character in host name")


@define("<kubernetes.URL>.getHostname() -> string")
def _hostname(_: Budget, url: URL) -> str:
    name = url.host
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if ":" in name else name


@define("<kubernetes.URL>.getEscapedPath() -> string")
def _escaped_path(_: Budget, url: URL) -> str:
    if _PATH.fullmatch(url.path):
        return url.path
    data = unquote_to_bytes(url.path)
    return "".join(chr(byte) if byte in _KEPT_IN_PATH else f"%{byte:02X}" for byte in data)


@define("<kubernetes.URL>.getQuery() -> map(string, list(string))")
def _query(_: Budget, url: URL) -> dict[str, list[str]]:
    parameters: dict[str, list[str]] = {}
    for pair in filter(None, url.query.split("&")):
        key, value = pair.partition("=")[::2]
        if ";" not in pair and not _ESCAPES.search(pair):
            decoded = (unquote_to_bytes(part.replace("+", " ")).decode("utf-8", "replace") for part in (key, value))
            parameters.setdefault(next(decoded), []).append(next(decoded))
    return parameters


define("<kubernetes.URL>.getScheme() -> string")(lambda _, url: url.scheme)
define("<kubernetes.URL>.getHost() -> string")(lambda _, url: url.host)
define("<kubernetes.URL>.getPort() -> string")(lambda _, url: url.host[len(url.host.rstrip("0123456789")) :] if ":" in url.host.rpartition("]")[2] else "")  # fmt: skip
_succeeds(_url, "isURL(string) -> bool")


# IP addresses and CIDRs


@type_named("net.IP")
@dataclass(frozen=True, slots=True)
class IP:
    """An IP address."""

    address: IPv4Address | IPv6Address

    def __str__(self) -> str:
        return str(self.address)


@type_named("net.CIDR")
@dataclass(frozen=True, slots=True)
class CIDR:
    """A CIDR as written: its address need not be the first of its network."""

    address: IPv4Address | IPv6Address
    network: IPv4Network | IPv6Network

    def __str__(self) -> str:
        return f"{self.address}/{self.network.prefixlen}"


@define("ip(string) -> net.IP")
def _ip(_: Budget, text: str) -> IP:
    try:
        address = ip_address(text)
    except ValueError:
        raise EvaluationError(f'IP Address "{text}" parse error during conversion from string') from None
    if "%" in text:
        raise EvaluationError(f'IP address "{text}" with zone value is not allowed')
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise EvaluationError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return IP(address)


@define("cidr(string) -> net.CIDR")
def _cidr(budget: Budget, text: str) -> CIDR:
    address, _, length = text.partition("/")
    try:
        if _PREFIX.fullmatch(length):
            return CIDR(_ip(budget, address).address, ip_network(text, strict=False))
    except ValueError:
        pass
    raise EvaluationError("network address parse error during conversion from string")


@define("<net.IP>.isLinkLocalMulticast() -> bool")
def _is_link_local_multicast(_: Budget, ip: IP) -> bool:
    data = ip.address.packed
    return data[:3] == b"\xe0\x00\x00" if ip.address.version == 4 else data[0] == 0xFF and data[1] & 0x0F == 2


@define("<net.IP>.isGlobalUnicast() -> bool")
def _is_global(_: Budget, ip: IP) -> bool:
    address = ip.address
    return not (
        address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
        or address == IPv4Address("255.255.255.255")
    )  # fmt: skip


def _contains_network(cidr: CIDR, other: CIDR) -> bool:
    inner: Any = other.network
    return bool(inner.version == cidr.network.version and inner.subnet_of(cidr.network))


define("ip.isCanonical(string) -> bool")(lambda budget, text: str(_ip(budget, text)) == text)
define("<net.IP>.family() -> int")(lambda _, ip: ip.address.version)
define("<net.IP>.isUnspecified() -> bool")(lambda _, ip: ip.address.is_unspecified)
define("<net.IP>.isLoopback() -> bool")(lambda _, ip: ip.address.is_loopback)
define("<net.IP>.isLinkLocalUnicast() -> bool")(lambda _, ip: ip.address.is_link_local)
define("string(net.IP) -> string", "string(net.CIDR) -> string")(lambda _, value: str(value))
define("<net.CIDR>.containsIP(net.IP) -> bool")(lambda _, cidr, ip: ip.address in cidr.network)
define("<net.CIDR>.containsCIDR(net.CIDR) -> bool")(lambda _, cidr, other: _contains_network(cidr, other))
define("<net.CIDR>.containsCIDR(string) -> bool")(
    lambda budget, cidr, text: _contains_network(cidr, _cidr(budget, text))
)
define("<net.CIDR>.ip() -> net.IP")(lambda _, cidr: IP(cidr.address))
define("<net.CIDR>.prefixLength() -> int")(lambda _, cidr: cidr.network.prefixlen)
define("<net.CIDR>.masked() -> net.CIDR")(lambda _, cidr: CIDR(cidr.network.network_address, cidr.network))
_succeeds(_ip, "isIP(string) -> bool")
_succeeds(_cidr, "isCIDR(string) -> bool")


@define("<net.CIDR>.containsIP(string) -> bool")
def _contains_ip_text(budget: Budget, cidr: CIDR, text: str) -> bool:
    try:
        return _ip(budget, text).address in cidr.network
    except EvaluationError:
        raise NoOverloadError from None


# Semantic versions


@type_named("kubernetes.Semver")
@dataclass(frozen=True, slots=True)
class Semver:
    """A semantic version without its build metadata, which do not count in comparisons."""

    numbers: tuple[int, ...]
    before: tuple[tuple[bool, int, str], ...]

    def compare(self, other: Semver) -> int:
        """Return -1, 0 or 1. A version comes after its own pre-releases."""
        mine, theirs = (self.numbers, not self.before, self.before), (other.numbers, not other.before, other.before)
        return (mine > theirs) - (mine < theirs)


@define("semver(string) -> kubernetes.Semver", "semver(string, bool) -> kubernetes.Semver", since=33)
def _semver(_: Budget, text: str, normalized: bool = False) -> Semver:
    text = _normalize_version(text) if normalized else text
    text, plus, build = text.partition("+")
    numbers, dash, before = text.partition("-")
    parts = numbers.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    if not all(_NUMBER.fullmatch(part) and int(part[:25]) < 2 * LARGEST for part in parts):
        raise EvaluationError("Invalid character(s) found in a number of the version")
    if (dash and not _IDENTIFIERS.fullmatch(before)) or (plus and not _IDENTIFIERS.fullmatch(build)):
        raise EvaluationError("Invalid character(s) found in prerelease or build metadata")
    identifiers = before.split(".") if dash else []
    if any(part.isdigit() and not _NUMBER.fullmatch(part) for part in identifiers):
        raise EvaluationError("Numeric PreRelease version must not contain leading zeroes")
    # Numbers come before words.
    keys = ((not part.isdigit(), int(part[:25]) if part.isdigit() else 0, part if not part.isdigit() else "") for part in identifiers)  # fmt: skip
    return Semver(tuple(map(int, parts)), tuple(keys))


def _normalize_version(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part) > 1:
            short = part.lstrip("0")
            parts[i] = short if short[:1].isdigit() else f"0{short}"
    if len(parts) < 3 and any(mark in parts[-1] for mark in "+-"):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][:3])


_succeeds(_semver, "isSemver(string) -> bool", "isSemver(string, bool) -> bool", since=33)
for _number, _name in enumerate(("major", "minor", "patch")):
    define(f"<kubernetes.Semver>.{_name}() -> int", since=33)(
        lambda _, version, number=_number: version.numbers[number]
    )
define("<kubernetes.Semver>.compareTo(kubernetes.Semver) -> int", since=33)(lambda _, a, b: a.compare(b))
define("<kubernetes.Semver>.isLessThan(kubernetes.Semver) -> bool", since=33)(lambda _, a, b: a.compare(b) < 0)
define("<kubernetes.Semver>.isGreaterThan(kubernetes.Semver) -> bool", since=33)(lambda _, a, b: a.compare(b) > 0)


# Named formats


@type_named("kubernetes.NamedFormat")
@dataclass(frozen=True, slots=True)
class Format:
    """A format of strings, such as that of names; `problems` lists why a string does not have it."""

    problems: Callable[[str], list[str]]


# What the API server says of a name that is not of a kind.
_HELP: Mapping[str, str] = opening.read_data(__file__, "../api.json")["names"]


def _too_long(text: str, most: int) -> list[str]:
    return [f"must be no more than {most} characters"] if len(text) > most else []


def _name_problems(kind: str, most: int, fits: Callable[[str], bool], text: str, *, prefix: bool = False) -> list[str]:
    """The problems of a name, or of the start of one, which may end with `-`."""
    text = f"{text[:-2]}a" if prefix and len(text) > 1 and text.endswith("-") else text
    return [*_too_long(text, most), *([] if fits(text) else [_HELP[kind]])]


def _qualified_name(text: str) -> list[str]:
    parts = text.split("/")
    if len(parts) > 2:
        prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_HELP['name']} {prefix}"]
    problems = []
    if len(parts) == 2:
        is_valid = names.is_dns1123_subdomain
        wrong = _name_problems("dns1123Subdomain", 253, is_valid, parts[0]) if parts[0] else ["must be non-empty"]
        problems += [f"prefix part {problem}" for problem in wrong]
    if not parts[-1]:
        problems.append("name part must be non-empty")
    problems += [f"name part {problem}" for problem in _too_long(parts[-1], 63)]
    return problems if names.is_qualified_name(parts[-1]) else [*problems, f"name part {_HELP['name']}"]


def _uri(text: str) -> list[str]:
    try:
        _url(Budget(0), text)
    except EvaluationError as error:
        return [str(error).partition("from string: ")[2]]
    return []


def _is_date(text: str) -> bool:
    try:
        return len(text) == 10 and date.fromisoformat(text) is not None
    except ValueError:
        return False


def _format_check(fits: Callable[[str], object], problem: str) -> Callable[[str], list[str]]:
    return lambda text: [] if fits(text) else [problem]


_LABELS: Sequence[tuple[str, int, Callable[[str], bool]]] = (
    ("dns1123Label", 63, names.is_dns1123_label),
    ("dns1123Subdomain", 253, names.is_dns1123_subdomain),
    ("dns1035Label", 63, names.is_dns1035_label),
)
FORMATS: dict[str, Format] = {
    **{kind: Format(partial(_name_problems, kind, most, fits)) for kind, most, fits in _LABELS},
    **{f"{kind}Prefix": Format(partial(_name_problems, kind, most, fits, prefix=True)) for kind, most, fits in _LABELS},
    "qualifiedName": Format(_qualified_name),
    "labelValue": Format(
        partial(_name_problems, "labelValue", 63, lambda text: not text or names.is_qualified_name(text))
    ),
    "uri": Format(_uri),
    "uuid": Format(_format_check(_UUID.fullmatch, "does not match the UUID format")),
    "byte": Format(_format_check(_BASE64.fullmatch, "invalid base64")),
    "date": Format(_format_check(_is_date, "invalid date")),
    "datetime": Format(
        _format_check(lambda text: _is_date(text[:10]) and _CLOCK.fullmatch(text[10:].lower()), "invalid datetime")
    ),
}
for _name, _format in FORMATS.items():
    define(f"format.{_name}() -> kubernetes.NamedFormat")(lambda _, text_format=_format: text_format)


@define("format.named(string) -> optional_type(kubernetes.NamedFormat)")
def _named_format(_: Budget, name: str) -> Maybe:
    return Maybe(FORMATS[name], is_set=True) if name in FORMATS else NONE


@define("<kubernetes.NamedFormat>.validate(string) -> optional_type(list(string))")
def _validate(_: Budget, text_format: Format, text: str) -> Maybe:
    problems = text_format.problems(text)
    return Maybe(problems, is_set=True) if problems else NONE


# The authorizer, whose answers only a cluster knows

AUTHORIZER = "kubernetes.authorization.Authorizer"
RESOURCE_CHECK = "kubernetes.authorization.ResourceCheck"
_GROUP_CHECK, _PATH_CHECK, _DECISION = (f"kubernetes.authorization.{word}" for word in ("GroupCheck", "PathCheck", "Decision"))  # fmt: skip


@define(
    f"<{AUTHORIZER}>.path(string) -> {_PATH_CHECK}",
    f"<{AUTHORIZER}>.group(string) -> {_GROUP_CHECK}",
    f"<{AUTHORIZER}>.serviceAccount(string, string) -> {AUTHORIZER}",
    f"<{_GROUP_CHECK}>.resource(string) -> {RESOURCE_CHECK}",
    *(
        f"<{RESOURCE_CHECK}>.{word}(string) -> {RESOURCE_CHECK}"
        for word in ("subresource", "namespace", "name", "fieldSelector", "labelSelector")
    ),
    f"<{_PATH_CHECK}>.check(string) -> {_DECISION}",
    f"<{RESOURCE_CHECK}>.check(string) -> {_DECISION}",
    *(f"<{_DECISION}>.{word}() -> bool" for word in ("errored", "allowed")),
    *(f"<{_DECISION}>.{word}() -> string" for word in ("error", "reason")),
)
def _ask_authorizer(*_: Any) -> Any:
    raise UnknownError("it asks the cluster's authorizer")
