"""Amounts of resources, and the requests of a job's pods as Kueue charges them.

Amounts are integers as in Kueue: millicores for CPU, units or bytes for everything else. Requests take RuntimeClass,
LimitRange and limits into account. Source: kubernetes-sigs/kueue pkg/resources/requests.go (ResourceValue,
CountInWithLimitingResource), pkg/workload/resources.go, pkg/util/limitrange/limitrange.go; the defaults of a LimitRange
are those of kubernetes/kubernetes pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.api.kube import Json, Quantity, parse_quantity, pod_requests
from trainc.api.records import dataclass, field
from trainc.kube.quantity import max_resources

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


Place: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """The LimitRanges of a namespace for one type, merged: lowest maximum, highest minimum, first default."""

    highest: Written = field(default_factory=dict)
    lowest: Written = field(default_factory=dict)
    default: Written = field(default_factory=dict)
    default_request: Written = field(default_factory=dict)


def merged_limits(limit_ranges: Sequence[Json]) -> dict[str, Limits]:
    """The limits of a namespace by type (Container, Pod), from its LimitRanges in the API's order, by name."""
    found: dict[str, Limits] = {}
    for one in limit_ranges:
        for item in (one.get("spec") or {}).get("limits") or ():
            found[item["type"]] = _merged(found.get(item["type"], Limits()), item)
    return found


def _merged(limits: Limits, item: Json) -> Limits:
    highest, lowest = item.get("max") or {}, item.get("min") or {}
    default, request = dict(item.get("default") or {}), dict(item.get("defaultRequest") or {})
    if item["type"] == "Container":
        default = {**highest, **default}
        request = {**lowest, **default, **request}
    return Limits(
        _kept(limits.highest, highest, largest=False),
        _kept(limits.lowest, lowest, largest=True),
        {**default, **limits.default},
        {**request, **limits.default_request},
    )


def _kept(left: Written, right: Written, *, largest: bool) -> Written:
    """Merge two resource lists; for a resource in both, keep the larger or the smaller amount."""
    kept = dict(left)
    for name, value in right.items():
        if name not in kept or (_exact(value) > _exact(kept[name])) == largest:
            kept[name] = value
    return kept


def _exact(value: str | float) -> int:
    return parse_quantity(str(value)).nanos


def charged_pod(
    pod: Json, limits: Mapping[str, Limits], overheads: Mapping[str, Written], *, limits_first: bool
) -> dict[str, Any]:
    """The pod spec with overhead, LimitRange defaults, and limits in place of missing requests.

    With `limits_first`, limits replace missing requests before a LimitRange does, as the API server stores a pod.
    """
    spec = dict(pod)
    overhead = overheads.get(pod.get("runtimeClassName") or "")
    if overhead and not pod.get("overhead"):
        spec["overhead"] = overhead
    for kind in ("initContainers", "containers"):
        if pod.get(kind):
            bounds = limits.get("Container", Limits())
            spec[kind] = [_filled(container, bounds, limits_first) for container in pod[kind]]
    if pod.get("resources") is not None:
        spec["resources"] = _filled(pod, limits.get("Pod", Limits()), limits_first)["resources"]
    return spec


def _filled(holder: Json, limits: Limits, limits_first: bool) -> dict[str, Any]:
    resources = holder.get("resources") or {}
    written = resources.get("limits") or {}
    most = {**limits.default, **written}
    requested = {
        **most,
        **limits.default_request,
        **(written if limits_first else {}),
        **(resources.get("requests") or {}),
    }
    return {**holder, "resources": {"limits": most, "requests": requested}}


def pod_amounts(pod: Json, *, containers_count: bool = False) -> Amounts:
    """The requests of one pod; never negative.

    With `containers_count`, a request of the pod as a whole that is lower than those of its containers is ignored.
    """
    requested = pod_requests(pod)
    if containers_count and pod.get("resources"):
        requested = max_resources(requested, pod_requests(pod, pod_level=()))
    return {name: max(0, amount(name, quantity)) for name, quantity in requested.items()}


def over_limit(pod: Json) -> Iterator[tuple[Place, list[str]]]:
    """Each place in a charged pod spec where a request exceeds its limit, with the resources."""
    for place, resources in _resources(pod):
        names = exceeded_resources(amounts(resources.get("requests")), amounts(resources.get("limits")))
        if names:
            yield place, names


def out_of_range(pod: Json, limits: Mapping[str, Limits]) -> Iterator[tuple[Place, list[str], str]]:
    """Each place in a charged pod spec that a LimitRange forbids, with the resources and "max" or "min"."""
    if "Container" in limits:
        bounds = limits["Container"]
        for place, resources in _resources(pod):
            if place:
                requested, most = resources.get("requests") or {}, resources.get("limits") or {}
                largest, smallest = _kept(requested, most, largest=True), _kept(requested, most, largest=False)
                yield from _outside(place, amounts(largest), amounts(smallest), bounds)
    if "Pod" in limits:
        total: Mapping[str, Quantity] = pod_requests(pod)
        counted = {name: amount(name, requested) for name, requested in total.items()}
        yield from _outside((), counted, counted, limits["Pod"])


def _outside(
    place: Place, largest: Amounts, smallest: Amounts, bounds: Limits
) -> Iterator[tuple[Place, list[str], str]]:
    above, below = (
        exceeded_resources(largest, amounts(bounds.highest)),
        exceeded_resources(amounts(bounds.lowest), smallest),
    )
    if above:
        yield place, above, "max"
    if below:
        yield place, below, "min"


def _resources(pod: Json) -> Iterator[tuple[Place, Json]]:
    """The resources in a pod spec with the path of their container; () for the pod's own."""
    for kind in ("initContainers", "containers"):
        for i, container in enumerate(pod.get(kind) or ()):
            yield (kind, i), container.get("resources") or {}
    if pod.get("resources") is not None:
        yield (), pod["resources"]
