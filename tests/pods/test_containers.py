"""Containers: what the API server refuses of their names, ports, environment, mounts, probes and restarts."""

from __future__ import annotations

from typing import Any

from pod_templates import found, in_container, in_pod, template
from tables import cases


def probe(**fields: Any) -> dict[str, Any]:
    return {"livenessProbe": {"exec": {"command": ["ls"]}, **fields}}


@cases("fields", "code", "place")
def test_it_refuses(fields: dict[str, Any], code: str, place: str) -> None:
    assert in_container(**fields) == [(code, place)]


@cases("fields")
def test_it_accepts(fields: dict[str, Any]) -> None:
    assert in_container(**fields) == []


def test_an_init_container_that_ends_has_no_probes_and_one_that_stays_has() -> None:
    container = {"name": "side", "image": "s", **probe()}
    assert in_pod(initContainers=[container]) == [("NotAllowedHere", "initContainers[0].livenessProbe")]
    assert in_pod(initContainers=[{**container, "restartPolicy": "Always"}]) == []


def test_names_differ_between_all_containers() -> None:
    assert in_pod(initContainers=[{"name": "node", "image": "s"}]) == [("DuplicateItem", "initContainers[0].name")]


def test_init_containers_run_one_by_one_and_share_ports_of_the_host() -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    first, second = ({"name": name, "image": "s", "ports": ports} for name in ("a", "b"))
    assert in_pod(initContainers=[first, second]) == []


def test_the_grace_period_of_the_pod_bounds_its_hooks() -> None:
    hook = {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}}
    assert found(template(hook, pod={"terminationGracePeriodSeconds": 31})) == []
