"""What a pod requests, by the rules of Kubernetes' scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from trainc.kube.quantity import format_resources, pod_requests


def asks(cpu: str, **more: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}


@pytest.mark.parametrize(
    ("pod", "cpu"),
    [
        ({"containers": [asks("1"), asks("500m")]}, "1500m"),
        ({"containers": [asks("1")], "initContainers": [asks("3")]}, "3"),
        ({"containers": [asks("2")], "initContainers": [asks("1")]}, "2"),
        ({"containers": [asks("1")], "initContainers": [asks("1", restartPolicy="Always")]}, "2"),
        ({"containers": [asks("1")], "initContainers": [asks("1", restartPolicy="Always"), asks("4")]}, "5"),
        ({"containers": [asks("1")], "initContainers": [asks("4"), asks("1", restartPolicy="Always")]}, "4"),
        ({"containers": [asks("1")], "overhead": {"cpu": "250m"}}, "1250m"),
        ({"containers": [asks("1")], "resources": {"requests": {"cpu": "8"}}}, "8"),
        ({"containers": [asks("1")], "resources": {"requests": {"cpu": "8"}}, "overhead": {"cpu": "1"}}, "9"),
    ],
)
def test_a_pod_asks_for_its_containers_or_its_hungriest_init_step(pod: dict[str, Any], cpu: str) -> None:
    assert format_resources(pod_requests(pod))["cpu"] == cpu


def test_a_limit_counts_as_the_request_only_where_asked_for() -> None:
    pod = {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}
    assert pod_requests(pod) == {}
    assert format_resources(pod_requests(pod, limits_count=True)) == {"nvidia.com/gpu": "8"}
