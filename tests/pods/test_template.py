"""The fields of a pod: scheduling, network, security, resources, metadata."""

from __future__ import annotations

from typing import Any

import pytest
from pod_templates import found, in_pod, template
from tables import cases


@cases("fields", "code", "place")
def test_it_refuses(fields: dict[str, Any], code: str, place: str) -> None:
    assert in_pod(**fields) == [(code, place)]


@cases("fields")
def test_it_accepts(fields: dict[str, Any]) -> None:
    assert in_pod(**fields) == []


ANNOTATIONS: dict[str, tuple[dict[str, str], list[str]]] = {
    "free text": ({"note": "any text: at all"}, []),
    "a key with capitals": ({"A/B": ""}, []),
    "a key with a blank": ({"bad key": "x"}, ["InvalidAnnotation"]),
    "more than 256 KiB": ({"a": "x" * 2**18}, ["TooLong"]),
}


@pytest.mark.parametrize(("annotations", "codes"), ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_annotations(annotations: dict[str, str], codes: list[str]) -> None:
    assert [code for code, _ in found(template(annotations=annotations))] == codes


def test_labels() -> None:
    assert found(template(labels={"team": "a b"})) == [("InvalidLabel", "template.metadata.labels.team")]
    assert found(template(labels={"x/y/z": "1"})) == [("InvalidLabel", 'template.metadata.labels["x/y/z"]')]


def test_on_the_network_of_the_host_a_port_is_the_hosts() -> None:
    ports = [{"containerPort": 80, "hostPort": 81}]
    assert found(template({"ports": ports}, pod={"hostNetwork": True})) == [
        ("ConflictingFields", "containers[0].ports[0].hostPort")
    ]


def test_own_users_may_see_all_of_proc() -> None:
    context = {"securityContext": {"procMount": "Unmasked"}}
    assert found(template(context)) == [("ConflictingFields", "containers[0].securityContext.procMount")]
    assert found(template(context, pod={"hostUsers": False})) == []
