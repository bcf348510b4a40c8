"""Strategic merge: Kubernetes' merge keys and its order of elements."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from trainc.kube.strategic_merge import strategic_merge


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


@pytest.mark.parametrize(
    ("base", "patch", "merged"),
    [
        (["v1", "v2", "v3"], ["n1", "v2", "n2"], ["n1", "v1", "v2", "n2", "v3"]),
        (["s1"], ["s2"], ["s2", "s1"]),
        (["node", "side"], ["side", "node", "ghost"], ["side", "node", "ghost"]),
        (["a", "b"], [], ["a", "b"]),
        ([], ["a"], ["a"]),
        (["a", "b", "c"], ["c"], ["a", "b", "c"]),
    ],
)
def test_a_new_item_lands_before_what_the_patch_leaves_alone(
    base: list[str], patch: list[str], merged: list[str]
) -> None:
    result = strategic_merge({"volumes": named(*base)}, {"volumes": named(*patch)})
    assert result["volumes"] == named(*merged)


def test_items_of_one_key_merge_field_by_field() -> None:
    base = {"env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]}
    patch = {"env": [{"name": "B", "value": "2"}]}
    assert strategic_merge(base, patch)["env"] == [
        {"name": "A", "value": "1"},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "x"}}, "value": "2"},
    ]


def test_mounts_are_the_same_when_their_path_is() -> None:
    base = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    patch = {"volumeMounts": [{"name": "cache", "mountPath": "/data"}]}
    assert strategic_merge(base, patch)["volumeMounts"] == [{"name": "cache", "mountPath": "/data"}]


@pytest.mark.parametrize("field", ["tolerations", "command", "nodeSelectorTerms", "matchExpressions"])
def test_a_list_without_a_merge_key_is_replaced_whole(field: str) -> None:
    assert strategic_merge({field: ["a", "b"]}, {field: ["c"]})[field] == ["c"]


def test_maps_merge_by_key_and_finalizers_as_a_set() -> None:
    base = {"labels": {"a": "1", "b": "2"}, "finalizers": ["x", "y"]}
    merged = strategic_merge(base, {"labels": {"b": "3"}, "finalizers": ["z", "y"]})
    assert merged == {"labels": {"a": "1", "b": "3"}, "finalizers": ["z", "x", "y"]}


_NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(_NAMES, _NAMES)
def test_a_merge_keeps_every_item_once_and_changes_neither_side(base: list[str], patch: list[str]) -> None:
    left, right = {"containers": named(*base)}, {"containers": named(*patch)}
    result = [item["name"] for item in strategic_merge(left, right)["containers"]]
    assert sorted(result) == sorted({*base, *patch})
    assert [n for n in result if n in patch] == patch
    assert (left, right) == ({"containers": named(*base)}, {"containers": named(*patch)})


@given(_NAMES, _NAMES)
def test_merging_the_same_patch_again_changes_nothing(base: list[str], patch: list[str]) -> None:
    once = strategic_merge({"env": named(*base)}, {"env": named(*patch)})
    twice = strategic_merge(once, {"env": named(*patch)})
    assert sorted(map(str, twice["env"])) == sorted(map(str, once["env"]))
