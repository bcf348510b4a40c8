"""Resources: what the API server refuses of names, amounts, limits and claims."""

from __future__ import annotations

from typing import Any

import pytest
from pod_templates import found, in_container, template

LONG = "a" * 64
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "a resource that no node offers": ({"limits": {"gpu": 1}}, "UnknownResource", "limits.gpu"),
    "a resource of quotas": ({"limits": {"pods": 1}}, "UnknownResource", "limits.pods"),
    "a quota's name of a device": (
        {"limits": {"requests.nvidia.com/gpu": 1}},
        "UnknownResource",
        'limits["requests.nvidia.com/gpu"]',
    ),
    "a name with a blank": ({"limits": {"a.b/x y": 1}}, "UnknownResource", 'limits["a.b/x y"]'),
    "a name of 64 characters": ({"limits": {f"a.b/{LONG}": 1}}, "UnknownResource", f'limits["a.b/{LONG}"]'),
    "half a device": ({"limits": {"nvidia.com/gpu": "500m"}}, "ExtendedResourceNotInteger", 'limits["nvidia.com/gpu"]'),
    "less than nothing": ({"limits": {"memory": "-1"}}, "OutOfRange", "limits.memory"),
    "more than the limit": (
        {"requests": {"cpu": 2}, "limits": {"cpu": 1}},
        "RequestExceedsLimit",
        "requests.cpu",
    ),
    "fewer devices than the limit": (
        {"requests": {"nvidia.com/gpu": 4}, "limits": {"nvidia.com/gpu": 8}},
        "ExtendedResourceUnequal",
        'requests["nvidia.com/gpu"]',
    ),
    "devices without a limit": ({"requests": {"nvidia.com/gpu": 4}}, "ExtendedResourceUnequal", "limits"),
    "huge pages alone": ({"limits": {"hugepages-2Mi": "1Gi"}}, "InvalidResources", ""),
    "half a huge page": ({"limits": {"hugepages-2Mi": "1Mi", "cpu": 1}}, "InvalidResources", "limits.hugepages-2Mi"),
    "huge pages of no size": ({"limits": {"hugepages-x": 1, "cpu": 1}}, "InvalidResources", "limits.hugepages-x"),
    "a claim that the pod does not have": ({"claims": [{"name": "gpu"}]}, "NotInPod", "claims[0]"),
    "a claim without a name": ({"claims": [{"name": ""}]}, "MissingRequired", "claims[0].name"),
}


@pytest.mark.parametrize(("resources", "code", "place"), REFUSED.values(), ids=REFUSED)
def test_it_refuses(resources: dict[str, Any], code: str, place: str) -> None:
    assert in_container(resources=resources) == [(code, f"resources.{place}".removesuffix("."))]


ACCEPTED: dict[str, dict[str, Any]] = {
    "bytes in thousandths": {"limits": {"memory": "64m"}},
    "a device without dots": {"limits": {"rdma/hca": 1}},
    "Kubernetes' own resource with a slash": {"limits": {"kubernetes.io/batch-cpu": "500m"}},
    "huge pages beside memory": {"limits": {"hugepages-2Mi": "1Gi", "memory": "1Gi"}},
    "devices as they are limited, written differently": {
        "requests": {"nvidia.com/gpu": "1000m"},
        "limits": {"nvidia.com/gpu": 1},
    },
    "an amount that is none, which the schema reports": {"limits": {"cpu": "many"}},
}


@pytest.mark.parametrize("resources", ACCEPTED.values(), ids=ACCEPTED)
def test_it_accepts(resources: dict[str, Any]) -> None:
    assert in_container(resources=resources) == []


def test_a_claim_is_referred_to_as_a_whole_or_by_requests_that_differ() -> None:
    pod = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}

    def with_claims(*claims: dict[str, str]) -> list[str]:
        return [code for code, _ in found(template({"resources": {"claims": list(claims)}}, pod=pod))]

    assert with_claims({"name": "gpu"}) == []
    assert with_claims({"name": "gpu", "request": "a"}, {"name": "gpu", "request": "b"}) == []
    assert with_claims({"name": "gpu", "request": "a"}, {"name": "gpu"}) == ["DuplicateItem"]
    assert with_claims({"name": "gpu"}, {"name": "gpu", "request": "a"}) == ["DuplicateItem"]


def test_a_pods_request_holds_those_of_its_containers() -> None:
    wanted = {"resources": {"requests": {"cpu": 4}}}
    first, side = ({"name": name, "image": "i", **wanted} for name in ("first", "side"))
    at_once = {"initContainers": [{**side, "restartPolicy": "Always"}], "resources": {"requests": {"cpu": 7}}}
    in_turn = {"initContainers": [first], "resources": {"requests": {"cpu": 4}}}
    assert found(template(wanted, pod=at_once)) == [("RequestExceedsLimit", "resources.requests.cpu")]
    assert found(template(wanted, pod=in_turn)) == []


def test_no_container_has_more_than_its_pod() -> None:
    pod = {"resources": {"limits": {"memory": "1Gi"}}}
    assert found(template({"resources": {"limits": {"memory": "2Gi"}}}, pod=pod)) == [
        ("RequestExceedsLimit", "containers[0].resources.limits.memory")
    ]


def test_a_container_of_a_pod_that_never_restarts_is_resized_in_place() -> None:
    policy = {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}
    assert found(template(policy)) == [("ConflictingFields", "containers[0].resizePolicy[0].restartPolicy")]
    assert found(template(policy, pod={"restartPolicy": "OnFailure"})) == []
