"""The order of the objects: whatever order they are built in, each comes after what it needs."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from trainc.emit.shaping import in_apply_order


def an(kind: str, api: str = "v1", name: str = "llm") -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}}


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param(("ConfigMap", "PodGroup", "JobSet"), id="a job comes after its gang and what its pods mount"),
        pytest.param(("ServiceAccount", "Role", "RoleBinding", "Job"), id="a hook comes after its rights"),
        pytest.param(("Job", "ConfigMap", "JobSet"), id="what makes a Secret comes before whatever mounts it"),
        pytest.param(("SSHKey", "ExternalSecret", "JobSet"), id="a generator comes before the Secret that asks it"),
        pytest.param(("SealedSecret", "PodGroup", "JobSet"), id="a sealed Secret comes before the job"),
        pytest.param(("JobSet", "Unheard"), id="a kind without a place comes last"),
    ],
)
def test_the_order_does_not_depend_on_the_order_of_building(kinds: tuple[str, ...]) -> None:
    for built in itertools.permutations(map(an, kinds)):
        assert tuple(manifest["kind"] for manifest in in_apply_order(built)) == kinds


def test_objects_of_one_kind_come_by_api_group_and_then_by_name() -> None:
    expected = [
        an("PodGroup", "scheduling.volcano.sh/v1beta1", "z"),
        an("PodGroup", "scheduling.x-k8s.io/v1alpha1", "a"),
        an("PodGroup", "scheduling.x-k8s.io/v1alpha1", "b"),
    ]
    assert in_apply_order(reversed(expected)) == expected
