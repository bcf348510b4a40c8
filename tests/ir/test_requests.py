"""What a pod requests, by the rules of Kubernetes' scheduler."""

from __future__ import annotations

from typing import Any

from tables import cases

from trainc.kube.quantity import format_resources, pod_requests


@cases("pod", "cpu")
def test_a_pod_asks_for_its_containers_or_its_hungriest_init_step(pod: dict[str, Any], cpu: str) -> None:
    assert format_resources(pod_requests(pod))["cpu"] == cpu


def test_a_limit_counts_as_the_request_only_where_asked_for() -> None:
    pod = {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}
    assert pod_requests(pod) == {}
    assert format_resources(pod_requests(pod, limits_count=True)) == {"nvidia.com/gpu": "8"}
