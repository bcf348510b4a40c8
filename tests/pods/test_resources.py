"""Resources: what the API server refuses of names, amounts, limits and claims."""

from __future__ import annotations

from typing import Any

from pod_templates import found, in_container, template
from tables import cases


@cases("resources", "code", "place")
def test_it_refuses(resources: dict[str, Any], code: str, place: str) -> None:
    assert in_container(resources=resources) == [(code, f"resources.{place}".removesuffix("."))]


@cases("resources")
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
