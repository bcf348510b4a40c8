"""Kubernetes resource quantities, exact, and formatted in the canonical form of Go's Quantity.

Source: kubernetes/apimachinery pkg/api/resource (quantity.go, suffix.go, math.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from trainc.kube.documents import Json
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass
from trainc.startup.typing import Literal, TypeAlias

NANOS_PER_UNIT = 10**9
LARGEST = (2**63 - 1) * NANOS_PER_UNIT

Family: TypeAlias = Literal["decimal", "binary", "exponent"]

_GRAMMAR = pattern(r"(?a)[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
_BINARY_POWER = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
DECIMAL_POWER = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIX = ("", *_BINARY_POWER)
_DECIMAL_SUFFIX = {0: "", **{power: suffix for suffix, power in DECIMAL_POWER.items()}}
# The largest quantity has 19 digits and the finest 9 decimals, so valid ones are shorter. Bounds the arithmetic below.
_LONGEST_TEXT = 64
_LARGEST_EXPONENT = 100  # Of so many digits, a larger one leaves nothing but the last billionth.
_MOST_DIGITS = 18


def whole_number(text: str | None, most_digits: int = _MOST_DIGITS) -> int | None:
    """Return what decimal digits without a sign say, or None. With more digits it is no number of anything."""
    return int(text) if text is not None and text.isdecimal() and len(text) <= most_digits else None


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount in billionths of its unit (cores, bytes, devices), and the suffix family used to write it."""

    nanos: int
    family: Family = "decimal"

    def __add__(self, other: Quantity) -> Quantity:
        # Go adopts the operand's family only when the receiver is still zero.
        return Quantity(self.nanos + other.nanos, self.family if self.nanos else other.family)

    def __mul__(self, count: int) -> Quantity:
        return Quantity(self.nanos * count, self.family)

    @property
    def units(self) -> int:
        """The amount in whole units, rounded away from zero like Go's `Value()`: 2500m is 3."""
        units = -(-abs(self.nanos) // NANOS_PER_UNIT)
        return units if self.nanos >= 0 else -units

    @property
    def is_whole(self) -> bool:
        """Return whether the amount has no fraction of a unit."""
        return self.nanos % NANOS_PER_UNIT == 0

    def __str__(self) -> str:
        units, fraction = divmod(self.nanos, NANOS_PER_UNIT)
        if self.family == "binary" and not fraction and abs(units) >= 1024:
            power = 0
            while units % 1024 == 0 and power < len(_BINARY_SUFFIX) - 1:
                units, power = units // 1024, power + 1
            return f"{units}{_BINARY_SUFFIX[power]}"
        return _decimal_text(self.nanos, self.family)


ResourceList: TypeAlias = Mapping[str, Quantity]
ZERO = Quantity(0)


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Quantity:
    """Parse a quantity such as "500m", "16Gi" or "1e3", rounding up to billionths.

    Raises ValueError if `text` is not a quantity or exceeds 2^63-1. Kubernetes silently caps some of those and keeps
    others.
    """
    simple = _simple(text)
    if simple is not None:
        return simple
    if len(text) > _LONGEST_TEXT or _GRAMMAR.fullmatch(text) is None:
        raise ValueError(f"{text[:_LONGEST_TEXT]!r} is not a quantity")
    integer, fraction, suffix = _parts(text)
    power, factor, family = _scale(suffix)
    mantissa = int((integer + fraction) or "0") * factor
    power += 9 - len(fraction)
    nanos = mantissa * 10**power if power >= 0 else -(-mantissa // 10**-power)
    if nanos > LARGEST:
        raise ValueError(f"{text!r} is above 2^63-1, which no node has")
    return Quantity(-nanos if text[0] == "-" else nanos, family)


def read_quantity(value: object) -> Quantity | None:
    """Return the quantity that a document has somewhere, or None if the value is not one."""
    try:
        return parse_quantity(str(value))
    except ValueError:
        return None


def _simple(text: str) -> Quantity | None:
    """Parse a quantity of digits with an optional suffix, as nearly all are; return None for anything else."""
    suffix = text.lstrip("0123456789")
    digits = len(text) - len(suffix)
    if not 0 < digits < 10:
        return None
    amount = int(text[:digits]) * NANOS_PER_UNIT
    if suffix in _BINARY_POWER:
        power = _BINARY_POWER[suffix]
        return Quantity(amount * 1024**power, "binary") if power < 4 else None
    power = DECIMAL_POWER.get(suffix, 0) if suffix else 0
    if suffix and suffix not in DECIMAL_POWER:
        return None
    return Quantity(amount * 10**power if power >= 0 else amount // 10**-power) if power < 9 else None


def _parts(text: str) -> tuple[str, str, str]:
    """Split a valid quantity into integer digits, fraction digits, and suffix or exponent."""
    number = text.lstrip("+-")
    suffix = number.lstrip(".0123456789")
    integer, _, fraction = number.removesuffix(suffix).partition(".")
    return integer, fraction, suffix


def _scale(suffix: str) -> tuple[int, int, Family]:
    """Return the power of ten, the integer factor and the family of a suffix."""
    if suffix in _BINARY_POWER:
        return 0, 1024 ** _BINARY_POWER[suffix], "binary"
    if not suffix or suffix in DECIMAL_POWER:
        return DECIMAL_POWER.get(suffix, 0), 1, "decimal"
    return max(-_LARGEST_EXPONENT, min(int(suffix[1:]), _LARGEST_EXPONENT)), 1, "exponent"


def _decimal_text(nanos: int, family: Family) -> str:
    if not nanos:
        return "0"
    power = -9
    while nanos % 1000 == 0 and power < 18:
        nanos, power = nanos // 1000, power + 3
    if family == "exponent":
        return f"{nanos}e{power}" if power else str(nanos)
    return f"{nanos}{_DECIMAL_SUFFIX[power]}"


def canonical(value: str | float) -> str:
    """Convert a quantity from YAML ("2000m", 4, 0.5) to canonical form ("2", "4", "500m"). Raises ValueError."""
    return value if isinstance(value, str) and value.isdecimal() and _is_plain(value) else _canonical_text(str(value))


def _is_plain(digits: str) -> bool:
    """Return whether a digit string is already canonical (the most common case): no leading or trailing zero."""
    return digits.isascii() and digits[0] != "0" and digits[-1] != "0" and len(digits) < 19


@lru_cache(maxsize=4096)
def _canonical_text(text: str) -> str:
    quantity = parse_quantity(text)
    return text if _is_canonical_for_go(text) else str(quantity)


def _is_canonical_for_go(text: str) -> bool:
    """Return whether Go keeps the text of a valid quantity as it was written: "1.125", "+2", "1E3".

    ParseQuantity caches the text based on the digits alone, so signs, leading zeros and fractions of thousandths
    survive.
    """
    integer, fraction, suffix = _parts(text)
    integer = integer.lstrip("0") or "0"
    if suffix in _BINARY_POWER:
        decimals = 14 - len(integer) - 3 * _BINARY_POWER[suffix]
        return not fraction and decimals >= 0 and int(integer) % 8 != 0
    power, _, _ = _scale(suffix)
    power -= len(fraction)
    digits = integer + fraction
    return len(digits) <= 18 and power >= -9 and power % 3 == 0 and digits[0] != "0" and not digits.endswith("000")


def parse_resources(amounts: Mapping[str, str | float] | None) -> ResourceList:
    """Parse `{"cpu": "500m"}` to quantities by resource name."""
    return {name: parse_quantity(str(amount)) for name, amount in (amounts or {}).items()}


def format_resources(amounts: ResourceList) -> dict[str, str]:
    """Format quantities by resource name like Kubernetes does."""
    return {name: str(amount) for name, amount in amounts.items()}


def add_resources(left: ResourceList, right: ResourceList) -> ResourceList:
    """Add amounts by resource name; names that only one side has keep their amount."""
    return {**left, **{name: left[name] + q if name in left else q for name, q in right.items()}}


def max_resources(left: ResourceList, right: ResourceList) -> ResourceList:
    """Return the larger amount per resource name; if both are equal, the left one with its suffix family."""
    return {**left, **{n: q for n, q in right.items() if n not in left or q.nanos > left[n].nanos}}


# What a pod requests from the scheduler. Source: kubernetes/component-helpers resource/helpers.go (PodRequests),
# without in-place resize.

POD_LEVEL = ("cpu", "memory", "hugepages-")


def pod_requests(pod_spec: Json, *, limits_count: bool = False, pod_level: tuple[str, ...] = POD_LEVEL) -> ResourceList:
    """Compute the requests of a pod: the larger of its containers' sum and its largest init step, plus overhead.

    With `limits_count`, limits replace missing requests, like the defaults in Kubernetes. Pod-level requests override
    the sum for resources whose names start with one of `pod_level`.
    """
    total: ResourceList = {}
    for container in pod_spec.get("containers", ()):
        total = add_resources(total, container_requests(container, limits_count))
    sidecars: ResourceList = {}
    peak: ResourceList = {}
    for container in pod_spec.get("initContainers", ()):
        requested = container_requests(container, limits_count)
        if container.get("restartPolicy") == "Always":
            total = add_resources(total, requested)
            sidecars = requested = add_resources(sidecars, requested)
        else:
            requested = add_resources(requested, sidecars)
        peak = max_resources(peak, requested)
    of_pod = pod_spec.get("resources", {}).get("requests", {})
    overrides = parse_resources({name: amount for name, amount in of_pod.items() if name.startswith(pod_level)})
    total = {**max_resources(total, peak), **overrides}
    return add_resources(total, parse_resources(pod_spec.get("overhead")))


def container_requests(container: Json, limits_count: bool) -> ResourceList:
    """Return the requests of one container; with `limits_count`, limits replace missing requests."""
    resources = container.get("resources", {})
    requested = parse_resources(resources.get("requests"))
    return {**parse_resources(resources.get("limits")), **requested} if limits_count else requested
