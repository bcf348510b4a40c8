"""Requests and limits that batch/v1 refuses in a pod template, which JobSet never looks at.

Source: kubernetes pkg/apis/core/validation/validation.go (ValidateContainerResourceRequirements) and
pkg/apis/core/v1/helper/helpers.go (IsExtendedResourceName, IsOvercommitAllowed).
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.admission.jobset import Json, mapping
from trainc.api.quantity import NANOS_PER_UNIT, Quantity, parse_quantity
from trainc.diagnostics import Finding, Path, Severity

_STANDARD = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES = "hugepages-"
_OVERCOMMITTABLE_DOMAIN = "kubernetes.io/"


def check_resources(path: Path, resources: Json, severity: Severity) -> Iterator[Finding]:
    """What is wrong with a container's `resources`; amounts that are no quantities are left to the schema stage."""
    requests, limits = mapping(resources.get("requests")), mapping(resources.get("limits"))
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            if name not in _STANDARD and (quantity := _quantity(amount)):
                yield from _device(name, quantity, (*path, field, name), severity)
    for name, amount in requests.items():
        if (name in limits or _cannot_be_overcommitted(name)) and (request := _quantity(amount)):
            limit = _quantity(limits[name]) if name in limits else None
            yield from _against_limit(name, request, limit, (*path, "requests", name), severity)


def _quantity(amount: object) -> Quantity | None:
    try:
        return parse_quantity(str(amount))
    except ValueError:
        return None


def _device(name: str, amount: Quantity, path: Path, severity: Severity) -> Iterator[Finding]:
    if "/" not in name and not name.startswith(_HUGE_PAGES):
        message = f"a container cannot ask for a resource called {name!r}"
        hint = "use cpu, memory, ephemeral-storage, or a device's full name such as nvidia.com/gpu"
        yield Finding("UnknownResource", severity, message, hint, path)
    elif _is_extended(name) and amount.nanos % NANOS_PER_UNIT:
        message = f"{name} is counted in whole devices, and {amount} is none"
        yield Finding("ExtendedResourceNotInteger", severity, message, "ask for a whole number", path)


def _against_limit(
    name: str, request: Quantity, limit: Quantity | None, path: Path, severity: Severity
) -> Iterator[Finding]:
    if _cannot_be_overcommitted(name):
        if limit is None:
            message = f"{request} of {name} is requested without a limit, and {name} cannot be overcommitted"
            hint = f"set the limit of {name} to {request} too; a limit alone is enough"
            yield Finding("ExtendedResourceUnequal", severity, message, hint, path)
        elif limit.nanos != request.nanos:
            message = f"{request} of {name} is requested but limited to {limit}; they must be equal"
            hint = "keep the limit alone, or make them equal"
            yield Finding("ExtendedResourceUnequal", severity, message, hint, path)
    elif limit is not None and request.nanos > limit.nanos:
        # Always a warning: clusters often have a policy that rewrites the processors and memory of Jobs.
        message = f"{request} of {name} is requested, more than the limit of {limit}, which no Job may do"
        yield Finding("RequestExceedsLimit", "warning", message, "raise the limit, or lower the request", path)


def _cannot_be_overcommitted(name: str) -> bool:
    return _is_extended(name) or name.startswith(_HUGE_PAGES)


def _is_extended(name: str) -> bool:
    return "/" in name and _OVERCOMMITTABLE_DOMAIN not in name
