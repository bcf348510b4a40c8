"""Resources of containers and pods: names, amounts, limits, claims.

Source: kubernetes pkg/apis/core/validation/validation.go (validateResourceRequirements, validatePodResources) and
pkg/apis/core/helper/helpers.go (IsExtendedResourceName, IsOvercommitAllowed).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from trainc.findings import Finding, Path, suggest, write
from trainc.kube.documents import Json, mapping, objects
from trainc.kube.names import is_label_key
from trainc.kube.quantity import NANOS_PER_UNIT, Quantity, read_quantity
from trainc.pods import errors
from trainc.pods.checks import dns_label
from trainc.startup.typing import Any

_COMPUTE = ("cpu", "memory")
_STANDARD = (*_COMPUTE, "ephemeral-storage")
_HUGE_PAGES = "hugepages-"
_NATIVE_DOMAIN = "kubernetes.io/"
_RESIZED = ("NotRequired", "RestartContainer")

_NameCheck = Callable[[str, Path], Iterator[Finding]]


def check_resources(resources: Any, path: Path, claims: Collection[str] = ()) -> Iterator[Finding]:
    """Check the `resources` of a container; `claims` are those of the pod."""
    resources = mapping(resources)
    yield from _check(resources, path, _container_resource)
    if resources.get("claims"):
        yield from _claims(resources["claims"], (*path, "claims"), claims)


def _check(resources: Json, path: Path, check_name: _NameCheck) -> Iterator[Finding]:
    limits, requests = mapping(resources.get("limits")), mapping(resources.get("requests"))
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            if name not in _COMPUTE:
                yield from check_name(str(name), (*path, field, name))
            if quantity := read_quantity(amount):
                yield from _amount(str(name), quantity, (*path, field, name))
    for name, amount in requests.items():
        if (name in limits or _cannot_be_overcommitted(str(name))) and (request := read_quantity(amount)):
            limit = read_quantity(limits[name]) if name in limits else None
            yield from _against_limit(str(name), request, limit, path, limited=name in limits)
    names = {*map(str, limits), *map(str, requests)}
    if any(name.startswith(_HUGE_PAGES) for name in names) and not names.intersection(_COMPUTE):
        message, hint = "huge pages need a cpu or memory request as well", "add a memory limit"
        yield Finding("InvalidResources", "error", message, hint, path)


def read_amounts(amounts: object) -> dict[str, Quantity]:
    """Return the amounts of a resource list that are quantities; the schema stage reports the others."""
    quantities = {str(name): read_quantity(amount) for name, amount in mapping(amounts).items()}
    return {name: quantity for name, quantity in quantities.items() if quantity is not None}


def _container_resource(name: str, path: Path) -> Iterator[Finding]:
    if name in _STANDARD or (name.startswith(_HUGE_PAGES) and is_label_key(name)):
        return
    if "/" not in name:
        message = f"containers cannot request a resource called {name!r}"
        hint = "use cpu, memory, ephemeral-storage, or the full name of a device, such as nvidia.com/gpu"
        yield Finding("UnknownResource", "error", message, hint, path)
    elif not is_label_key(name):
        message, hint = (f"{name!r} is not a valid resource name", "write <domain>/<name>, such as nvidia.com/gpu")
        yield Finding("UnknownResource", "error", message, hint, path)
    elif is_extended(name) and (name.startswith("requests.") or not is_label_key(f"requests.{name}")):
        message, plain = f"{name!r} is not a valid device name", name.removeprefix("requests.")
        hint = suggest(name, [plain], f"write {plain}") if name.startswith("requests.") else "use a shorter domain"
        yield Finding("UnknownResource", "error", message, hint, path)


def _pod_resource(name: str, path: Path) -> Iterator[Finding]:
    if name not in _COMPUTE and not name.startswith(_HUGE_PAGES):
        message = f"{name!r} cannot be requested for the whole pod"
        hint = "move it to the resources of a container: a pod can only have cpu, memory and hugepages-*"
        yield Finding("UnknownResource", "error", message, hint, path)


def _amount(name: str, amount: Quantity, path: Path) -> Iterator[Finding]:
    if amount.nanos < 0:
        message = f"{name} cannot be {amount}"
        yield Finding("OutOfRange", "error", message, "use 0 or more", path)
    if is_extended(name) and amount.nanos % (NANOS_PER_UNIT // 1000 * 1000):
        message = f"{name} counts whole devices, and {amount} is not a whole number"
        yield Finding("ExtendedResourceNotInteger", "error", message, "write a whole number, such as 1", path)
    elif name.startswith(_HUGE_PAGES) and not _is_divisible(name, amount):
        message = f"{amount} is not a multiple of the page size in {name}"
        hint = "write a multiple of the page size, such as hugepages-2Mi: 1Gi"
        yield Finding("InvalidResources", "error", message, hint, path)


def _is_divisible(name: str, amount: Quantity) -> bool:
    page = read_quantity(name.removeprefix(_HUGE_PAGES))
    if page is None or page.nanos <= 0 or page.nanos % NANOS_PER_UNIT:
        return False
    return amount.units % page.units == 0


def _against_limit(
    name: str, request: Quantity, limit: Quantity | None, path: Path, *, limited: bool
) -> Iterator[Finding]:
    code, source = "ExtendedResourceUnequal", (*path, "requests", name)
    if _cannot_be_overcommitted(name):
        if not limited:
            message = f"{name}: {request} is requested without a limit, which Kubernetes refuses for devices"
            hint = f"move it to limits: {{{name}: {request}}}; the request is the same by default"
            yield Finding(code, "error", message, hint, (*path, "limits"), source_path=source)
        elif limit is not None and limit.nanos != request.nanos:
            message = f"the request of {name} is {request} and its limit {limit}; they must be equal"
            yield Finding(code, "error", message, "remove the request, or make them equal", source)
    elif limit is not None and request.nanos > limit.nanos:
        message = f"the request of {name} is {request}, more than its limit of {limit}"
        yield Finding("RequestExceedsLimit", "error", message, "raise the limit, or lower the request", source)


def _cannot_be_overcommitted(name: str) -> bool:
    return is_extended(name) or name.startswith(_HUGE_PAGES)


def is_extended(name: str) -> bool:
    """Return whether `name` is a device or another resource that Kubernetes does not define itself."""
    return "/" in name and _NATIVE_DOMAIN not in name


def _claims(claims: Any, path: Path, declared: Collection[str]) -> Iterator[Finding]:
    seen, in_part = set[str](), set[str]()
    for i, claim in enumerate(objects(claims)):
        name, request = str(claim.get("name") or ""), str(claim.get("request") or "")
        if not name:
            yield errors.missing((*path, i, "name"))
            continue
        if request:
            yield from dns_label(request, (*path, i, "request"))
        key = f"{name}/{request}" if request else name
        if name in seen or key in seen or (not request and name in in_part):
            yield errors.duplicate((*path, i), key)
        seen.add(key)
        in_part |= {key.partition("/")[0], key.rpartition("/")[0]} if "/" in key else set()
        if name not in declared:
            yield errors.not_in_pod((*path, i), "claim (resourceClaims)", name, declared)


def check_resize_policy(policies: Any, path: Path, pod_restart_policy: object) -> Iterator[Finding]:
    """Check `resizePolicy`: what happens to a container when its resources change."""
    seen: set[str] = set()
    for i, policy in enumerate(objects(policies)):
        name, restart = policy.get("resourceName"), policy.get("restartPolicy")
        if str(name) in seen:
            yield errors.duplicate((*path, i), name)
        seen.add(str(name))
        if name not in _COMPUTE:
            yield errors.unsupported((*path, i, "resourceName"), name, _COMPUTE)
        if restart not in _RESIZED:
            yield errors.unsupported((*path, i, "restartPolicy"), restart, _RESIZED)
        elif pod_restart_policy == "Never" and restart != "NotRequired":
            message = "a pod that is never restarted cannot restart a container"
            hint = write("NotRequired", field="restartPolicy", verb="use")
            yield errors.conflict((*path, i, "restartPolicy"), message, hint)


def check_pod_resources(spec: Json, path: Path) -> Iterator[Finding]:
    """Check pod-level `resources`, which must cover those of the containers."""
    resources, resources_path = mapping(spec["resources"]), (*path, "resources")
    if mapping(spec.get("os")).get("name") == "windows":
        message = "a Windows pod cannot have resources for the whole pod"
        yield errors.misplaced(resources_path, message, "move them to the containers")
        return
    if resources.get("claims") is not None:
        message, hint = "claims cannot be set for the whole pod", "move claims to the resources of a container"
        yield errors.misplaced((*resources_path, "claims"), message, hint)
    yield from _check(resources, resources_path, _pod_resource)
    requests, limits = mapping(resources.get("requests")), mapping(resources.get("limits"))
    for kind, amounts in (("requests", requests), ("limits", limits)):
        for name in map(str, amounts):
            total, pod_amount = _total_nanos(spec, kind, name), read_quantity(amounts[name])
            exact = kind == "requests" or name.startswith(_HUGE_PAGES)
            if exact and pod_amount is not None and total > pod_amount.nanos:
                message = f"the {kind} of {name} are {Quantity(total, pod_amount.family)} for the containers, but {pod_amount} for the whole pod"
                amount_path = (*resources_path, kind, name)
                yield Finding("RequestExceedsLimit", "error", message, "increase that of the pod", amount_path)
    for i, container in enumerate(objects(spec.get("containers"))):
        for name, amount in mapping(mapping(container.get("resources")).get("limits")).items():
            limit, most = read_quantity(amount), read_quantity(limits.get(name))
            if limit is not None and most is not None and limit.nanos > most.nanos:
                message = f"the limit of {name} is {limit} for the container, but {most} for the whole pod"
                limit_path = (*path, "containers", i, "resources", "limits", name)
                yield Finding("RequestExceedsLimit", "error", message, "raise the limit of the pod", limit_path)


def _total_nanos(spec: Json, kind: str, name: str) -> int:
    """Return the total requests or limits of a pod's containers in billionths, or those of a larger init container."""
    at_once, alone = 0, 0
    for field in ("initContainers", "containers"):
        for container in objects(spec.get(field)):
            amount = read_quantity(mapping(mapping(container.get("resources")).get(kind)).get(name, "0"))
            nanos = amount.nanos if amount is not None else 0
            if field == "containers" or container.get("restartPolicy") == "Always":
                at_once += nanos
            else:
                alone = max(alone, at_once + nanos)
    return max(at_once, alone)


def check_overhead(overhead: Any, path: Path) -> Iterator[Finding]:
    """Check `overhead`, the amounts that a runtime class adds to a pod."""
    for finding in _check({"limits": overhead}, (), _container_resource):
        yield Finding(finding.code, "error", finding.message, finding.hint, (*path, *finding.path[1:]))
