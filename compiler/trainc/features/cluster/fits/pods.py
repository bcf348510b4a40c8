"""What pods request as Kueue charges it, the nodes and flavors that accept them, and the words for both."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.api.findings import did_you_mean
from trainc.api.kube import Json, Quantity, mapping, names, parse_quantity, quantity, selectors
from trainc.api.records import dataclass, field, pattern

Amounts: TypeAlias = dict[str, int]
Written: TypeAlias = Mapping[str, str | float]

PODS = "pods"
HOSTNAME = "kubernetes.io/hostname"
UNLIMITED = 2**31 - 1


def amount(name: str, quantity: Quantity) -> int:
    """Convert a quantity of the resource `name` to an integer, rounding away from zero."""
    if name != "cpu":
        return quantity.units
    milli = -(-abs(quantity.nanos) // 10**6)
    return milli if quantity.nanos >= 0 else -milli


def amounts(resources: object) -> Amounts:
    """Convert a resource list as written in YAML. Raises ValueError if a value is not a quantity."""
    return {name: amount(name, parse_quantity(str(value))) for name, value in mapping(resources).items()}


def written_amount(name: str, count: int) -> str:
    """Format `count` of the resource `name` in Kubernetes notation: 1500m, 512Gi, 8."""
    if name == "cpu":
        return str(Quantity(count * 10**6))
    is_binary = name in ("memory", "ephemeral-storage", "storage") or name.startswith("hugepages-")
    return str(Quantity(count * 10**9, "binary" if is_binary else "decimal"))


def other_label(pod: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """A label in the node selector of a pod that has another value in `labels`; empty if there is none."""
    selected = mapping(pod.get("nodeSelector")).items()
    return next((key for key, value in selected if labels.get(key, value) != value), "")


def near_label(pod: Mapping[str, Any], nodes: Sequence[Mapping[str, str]]) -> str:
    """The value to write into a node selector, if the labels of `nodes` have a near one or there is only one; or empty."""
    for key, value in mapping(pod.get("nodeSelector")).items():
        values = [labels[key] for labels in nodes if labels.get(key, value) != value]
        if near := did_you_mean(str(value), values):
            return f"{near} Or "
        if len(values) == len(nodes) == 1:
            return f"write {key}: {values[0]}, or "
    return ""


def add_amounts(total: Amounts, amounts: Mapping[str, int], times: int = 1) -> None:
    """Add amounts to a total, some number of times."""
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount * times


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
    by_type: dict[str, Limits] = {}
    for limit_range in limit_ranges:
        for item in (limit_range.get("spec") or {}).get("limits") or ():
            limits = by_type.get(item["type"], Limits())
            highest, lowest = item.get("max") or {}, item.get("min") or {}
            default, request = dict(item.get("default") or {}), dict(item.get("defaultRequest") or {})
            if item["type"] == "Container":
                default = {**highest, **default}
                request = {**lowest, **default, **request}
            by_type[item["type"]] = Limits(
                _merge(limits.highest, highest, largest=False),
                _merge(limits.lowest, lowest, largest=True),
                {**default, **limits.default},
                {**request, **limits.default_request},
            )
    return by_type


def _merge(left: Written, right: Written, *, largest: bool) -> Written:
    """Merge two resource lists; for a resource in both, keep the larger or the smaller amount."""
    merged = dict(left)
    for name, value in right.items():
        nanos = parse_quantity(str(value)).nanos
        if name not in merged or (nanos > parse_quantity(str(merged[name])).nanos) == largest:
            merged[name] = value
    return merged


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
            spec[kind] = [_fill(container, bounds, limits_first) for container in pod[kind]]
    if pod.get("resources") is not None:
        spec["resources"] = _fill(pod, limits.get("Pod", Limits()), limits_first)["resources"]
    return spec


def _fill(holder: Json, limits: Limits, limits_first: bool) -> dict[str, Any]:
    resources = holder.get("resources") or {}
    limited = resources.get("limits") or {}
    most = {**limits.default, **limited}
    requested = {
        **most,
        **limits.default_request,
        **(limited if limits_first else {}),
        **(resources.get("requests") or {}),
    }
    return {**holder, "resources": {"limits": most, "requests": requested}}


def pod_amounts(pod: Json, *, containers_count: bool = False) -> Amounts:
    """The requests of one pod; never negative.

    With `containers_count`, a request of the pod as a whole that is lower than those of its containers is ignored.
    """
    requested = quantity.pod_requests(pod)
    if containers_count and pod.get("resources"):
        requested = quantity.max_resources(requested, quantity.pod_requests(pod, pod_level=()))
    return {name: max(0, amount(name, needed)) for name, needed in requested.items()}


def over_limit(pod: Json) -> Iterator[tuple[Place, list[str]]]:
    """Each place in a charged pod spec where a request exceeds its limit, with the resources."""
    for path, resources in _resources(pod):
        names = exceeded_resources(amounts(resources.get("requests")), amounts(resources.get("limits")))
        if names:
            yield path, names


def out_of_range(pod: Json, limits: Mapping[str, Limits]) -> Iterator[tuple[Place, list[str], str]]:
    """Each place in a charged pod spec that a LimitRange forbids, with the resources and "max" or "min"."""
    if "Container" in limits:
        bounds = limits["Container"]
        for path, resources in _resources(pod):
            if path:
                requested, most = resources.get("requests") or {}, resources.get("limits") or {}
                largest = _merge(requested, most, largest=True)
                smallest = _merge(requested, most, largest=False)
                yield from _outside(path, amounts(largest), amounts(smallest), bounds)
    if "Pod" in limits:
        total: Mapping[str, Quantity] = quantity.pod_requests(pod)
        counted = {name: amount(name, requested) for name, requested in total.items()}
        yield from _outside((), counted, counted, limits["Pod"])


def _outside(
    path: Place, largest: Amounts, smallest: Amounts, bounds: Limits
) -> Iterator[tuple[Place, list[str], str]]:
    if above := exceeded_resources(largest, amounts(bounds.highest)):
        yield path, above, "max"
    if below := exceeded_resources(amounts(bounds.lowest), smallest):
        yield path, below, "min"


def _resources(pod: Json) -> Iterator[tuple[Place, Json]]:
    """The resources in a pod spec with the path of their container; () for the pod's own."""
    for kind in ("initContainers", "containers"):
        for i, container in enumerate(pod.get(kind) or ()):
            yield (kind, i), container.get("resources") or {}
    if pod.get("resources") is not None:
        yield (), pod["resources"]


# Match node affinity, taints and tolerations as Kueue and kube-scheduler do.
#
# Source: kubernetes/component-helpers scheduling/corev1 (helpers.go, nodeaffinity/nodeaffinity.go), v0.36.

Labels: TypeAlias = Mapping[str, str]

_BARRING = ("NoSchedule", "NoExecute")
_DECIMAL = pattern(r"0|-?[1-9][0-9]*")


def required_terms(pod: Json) -> Sequence[Json] | None:
    """The terms of a pod's required node affinity; None if it has none."""
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return None if required is None else required.get("nodeSelectorTerms") or ()


def flavor_matches(pod: Json, labels: Labels) -> bool:
    """Return whether a pod's node selector and required affinity allow a flavor with these node labels.

    Only keys that the flavor defines are considered; a term that uses only other keys matches every flavor.
    Raises MalformedSelector if no term matches and one of them cannot be parsed.
    """
    if any(key in labels and labels[key] != value for key, value in (pod.get("nodeSelector") or {}).items()):
        return False
    terms = []
    for term in required_terms(pod) or ():
        expressions = [e for e in term.get("matchExpressions") or () if e.get("key") in labels]
        if not expressions:
            return True
        terms.append({"matchExpressions": expressions})
    return not terms or _any_term(terms, labels, "")


def node_matches(pod: Json, labels: Labels, name: str) -> bool:
    """Return whether a node satisfies a pod's node selector and affinity. Raises MalformedSelector as above."""
    if any(labels.get(key) != value for key, value in (pod.get("nodeSelector") or {}).items()):
        return False
    terms = required_terms(pod)
    return terms is None or _any_term(terms, labels, name)


def is_readable(pod: Json, *, selector: bool) -> bool:
    """Return whether every term of a pod's affinity can be parsed and, with `selector`, its node selector too."""
    try:
        for term in required_terms(pod) or ():
            for requirement in term.get("matchExpressions") or ():
                selectors.read_requirement(requirement)
            _fields_hold(term, "")
    except selectors.MalformedSelector:
        return False
    labels = (pod.get("nodeSelector") or {}) if selector else {}
    return all(names.is_label_key(key) and names.is_label_value(value) for key, value in labels.items())


def _any_term(terms: Iterable[Json], labels: Labels, name: str) -> bool:
    malformed = None
    for term in terms:
        expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
        if not expressions and not fields:
            continue
        try:
            if all(selectors.read_requirement(e).holds(labels) for e in expressions) and _fields_hold(term, name):
                return True
        except selectors.MalformedSelector as error:
            malformed = error
    if malformed:
        raise malformed
    return False


def _fields_hold(term: Json, name: str) -> bool:
    holds = True
    for requirement in term.get("matchFields") or ():
        values: Sequence[str] = requirement.get("values") or ()
        if requirement.get("operator") not in ("In", "NotIn") or len(values) != 1:
            raise selectors.MalformedSelector(str(requirement))
        actual = name if requirement.get("key") == "metadata.name" else ""
        holds &= (actual == values[0]) == (requirement["operator"] == "In")
    return holds


def barring_taint(taints: Iterable[Json], tolerations: Collection[Json]) -> Json | None:
    """The first NoSchedule or NoExecute taint that no toleration covers."""
    for taint in taints:
        if taint.get("effect") in _BARRING and not any(_tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None


def _tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    toleration_value, taint_value = str(toleration.get("value") or ""), str(taint.get("value") or "")
    operator = toleration.get("operator") or "Equal"
    if operator in ("Lt", "Gt"):
        bound, value = (
            selectors.int64(text) if _DECIMAL.fullmatch(text) else None for text in (toleration_value, taint_value)
        )
        if bound is None or value is None:
            return False
        return value < bound if operator == "Lt" else value > bound
    return operator == "Exists" or (operator == "Equal" and toleration_value == taint_value)


# Phrases for amounts, pods and topology levels.

_TOPOLOGY_PREFIX = "topology-"


def is_gpu(resource: str) -> bool:
    """Return whether a resource counts GPUs, e.g. `nvidia.com/gpu` or `amd.com/gpu`."""
    return resource.rpartition("/")[2] == "gpu"


def amount_with_unit(resource: str, count: int) -> str:
    """An amount with its resource: `8 GPUs`, `1500m CPU`, `512Gi of memory`, `4 rdma/ib`."""
    if is_gpu(resource):
        return "1 GPU" if count == 1 else f"{count} GPUs"
    if resource == "cpu":
        return f"{written_amount(resource, count)} CPU"
    if resource == "pods":
        return counted_pods(count)
    if "/" in resource:
        return f"{count} {resource}"
    return f"{written_amount(resource, count)} of {resource}"


def counted_pods(count: int) -> str:
    """`1 pod`, `8 pods`."""
    return "1 pod" if count == 1 else f"{count} pods"


def requests_text(count: int, per_pod: Mapping[str, int], *, everything: bool = False) -> str:
    """Pods with the requests of each; only GPUs if it requests any, unless `everything` is set: `8 pods of 8 GPUs`."""
    requested = sorted(name for name, amount in per_pod.items() if amount)
    chosen = (not everything and [name for name in requested if is_gpu(name)]) or requested
    parts = " and ".join(amount_with_unit(name, per_pod[name]) for name in chosen)
    return f"{counted_pods(count)} of {parts}" if parts else counted_pods(count)


def shorten(words: Sequence[str], most: int) -> str:
    """Some words with commas between them, the first `most` of them: `a, b, ...`."""
    return ", ".join(words[:most]) + (", ..." if len(words) > most else "")


def level_word(label: str) -> str:
    """A short name for a topology level: `rack` for `cloud.provider.com/topology-rack`, `node` for the hostname."""
    return "node" if label == HOSTNAME else label.rpartition("/")[2].removeprefix(_TOPOLOGY_PREFIX)
