"""Resource amounts as Kueue counts them: integers, in millicores for CPU and in units or bytes for everything else.

Source: kubernetes-sigs/kueue pkg/resources/requests.go (ResourceValue, CountInWithLimitingResource).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from trainc.kube.quantity import Quantity, parse_quantity

Amounts: TypeAlias = dict[str, int]
Written: TypeAlias = Mapping[str, str | float]

PODS = "pods"
UNLIMITED = 2**31 - 1


def amount(name: str, quantity: Quantity) -> int:
    """Convert a quantity of the resource `name` to an integer, rounding away from zero."""
    if name != "cpu":
        return quantity.units
    milli = -(-abs(quantity.nanos) // 10**6)
    return milli if quantity.nanos >= 0 else -milli


def amounts(written: Written | None) -> Amounts:
    """Convert a resource list as written in YAML. Raises ValueError if a value is not a quantity."""
    return {name: amount(name, parse_quantity(str(value))) for name, value in (written or {}).items()}


def written_amount(name: str, count: int) -> str:
    """Format `count` of the resource `name` in Kubernetes notation: 1500m, 512Gi, 8."""
    if name == "cpu":
        return str(Quantity(count * 10**6))
    family = (
        "binary" if name in ("memory", "ephemeral-storage", "storage") or name.startswith("hugepages-") else "decimal"
    )
    return str(Quantity(count * 10**9, "binary" if family == "binary" else "decimal"))


def exceeded_resources(left: Mapping[str, int], right: Mapping[str, int]) -> list[str]:
    """The resources that both name and of which `left` has more than `right`."""
    return sorted(name for name, count in left.items() if name in right and count > right[name])


def times_in(requested: Iterable[tuple[str, int]], room: Mapping[str, int]) -> int:
    """How many times `requested` fits into `room`; 0 if nothing is requested, as in Kueue."""
    least = -1
    for name, count in requested:
        fit = max(0, room.get(name, 0) // count) if count else UNLIMITED
        if least < 0 or fit < least:
            least = fit
    return max(least, 0)
