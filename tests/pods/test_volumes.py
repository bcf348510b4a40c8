"""Volumes: what the API server refuses of each kind of source."""

from __future__ import annotations

from typing import Any

from pod_templates import in_pod
from tables import cases


@cases("source", "code", "place")
def test_it_refuses(source: dict[str, Any], code: str, place: str) -> None:
    assert in_pod(volumes=[{"name": "v", **source}]) == [(code, f"volumes[0].{place}".removesuffix("."))]


@cases("source")
def test_it_accepts(source: dict[str, Any]) -> None:
    assert in_pod(volumes=[{"name": "v", **source}]) == []


def test_a_name_is_a_label_that_no_other_volume_has() -> None:
    assert in_pod(volumes=[{"name": "My_Data"}]) == [("InvalidName", "volumes[0].name")]
    assert in_pod(volumes=[{"name": "v"}, {"name": "v"}]) == [("DuplicateItem", "volumes[1].name")]
    assert in_pod(volumes=[{"name": ""}]) == [("MissingRequired", "volumes[0].name")]
