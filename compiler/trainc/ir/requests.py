"""What one pod asks of the scheduler.

Source: kubernetes/component-helpers resource/helpers.go (PodRequests), without in-place resize.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.api.quantity import ResourceList, add_resources, max_resources, parse_resources

Json = Mapping[str, Any]
_POD_LEVEL = ("cpu", "memory")


def pod_requests(pod_spec: Json, *, limits_count: bool = False) -> ResourceList:
    """The requests of a pod: its containers' sum or its hungriest init step, whichever is larger, plus overhead.

    With `limits_count` a container's limit stands in for a missing request, as Kubernetes itself defaults it.
    """
    total: ResourceList = {}
    for container in pod_spec.get("containers", ()):
        total = add_resources(total, container_requests(container, limits_count))
    sidecars: ResourceList = {}
    peak: ResourceList = {}
    for container in pod_spec.get("initContainers", ()):
        asked = container_requests(container, limits_count)
        if container.get("restartPolicy") == "Always":
            total = add_resources(total, asked)
            sidecars = asked = add_resources(sidecars, asked)
        else:
            asked = add_resources(asked, sidecars)
        peak = max_resources(peak, asked)
    total = {**max_resources(total, peak), **_pod_level(pod_spec)}
    return add_resources(total, parse_resources(pod_spec.get("overhead")))


def container_requests(container: Json, limits_count: bool) -> ResourceList:
    """The requests of one container."""
    resources = container.get("resources", {})
    asked = parse_resources(resources.get("requests"))
    return {**parse_resources(resources.get("limits")), **asked} if limits_count else asked


def _pod_level(pod_spec: Json) -> ResourceList:
    asked = pod_spec.get("resources", {}).get("requests", {})
    return parse_resources({n: v for n, v in asked.items() if n in _POD_LEVEL or n.startswith("hugepages-")})
