"""Amounts of resources as Kueue counts them: whole numbers, CPU in thousandths of a core, the rest in units or bytes.

Source: kubernetes-sigs/kueue pkg/resources/requests.go (ResourceValue, CountInWithLimitingResource).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from trainc.api.quantity import Quantity, parse_quantity

Amounts: TypeAlias = dict[str, int]
Written: TypeAlias = Mapping[str, str | float]

PODS = "pods"
UNLIMITED = 2**31 - 1


def amount(name: str, quantity: Quantity) -> int:
    """A quantity of the resource `name` as a whole number, rounded away from zero."""
    if name != "cpu":
        return quantity.units
    milli = -(-abs(quantity.nanos) // 10**6)
    return milli if quantity.nanos >= 0 else -milli


def amounts(written: Written | None) -> Amounts:
    """A resource list as written in YAML. ValueError where a value is no quantity."""
    return {name: amount(name, parse_quantity(str(value))) for name, value in (written or {}).items()}


def written_amount(name: str, count: int) -> str:
    """`count` of the resource `name` as a person would write it: 1500m, 512Gi, 8."""
    if name == "cpu":
        return str(Quantity(count * 10**6))
    family = (
        "binary" if name in ("memory", "ephemeral-storage", "storage") or name.startswith("hugepages-") else "decimal"
    )
    return str(Quantity(count * 10**9, "binary" if family == "binary" else "decimal"))


def exceeded_resources(left: Mapping[str, int], right: Mapping[str, int]) -> list[str]:
    """The resources of which `left` has more than `right`, among those that both name."""
    return sorted(name for name, count in left.items() if name in right and count > right[name])


def times_in(requested: Iterable[tuple[str, int]], room: Mapping[str, int]) -> int:
    """How often `requested` goes into `room`: 0 where nothing at all is asked, as in Kueue."""
    least = -1
    for name, count in requested:
        fit = max(0, room.get(name, 0) // count) if count else UNLIMITED
        if least < 0 or fit < least:
            least = fit
    return max(least, 0)
