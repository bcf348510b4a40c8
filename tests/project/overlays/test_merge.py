"""Strategic merge of an overlay's patch: Kubernetes' keys and order, nulls and directives."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc.kube.strategic_merge import PatchFailedError, merge_overlay, strategic_merge


def merged(base: dict[str, Any], patch: dict[str, Any]) -> Any:
    before = copy.deepcopy((base, patch))
    result, _ = merge_overlay(base, patch)
    assert (base, patch) == before, "an argument was changed"
    return result


@pytest.mark.parametrize(
    ("case", "base", "patch", "result"),
    [
        ("mappings merge", {"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ("a value replaces one of another type", {"a": {"b": 1}}, {"a": 2}, {"a": 2}),
        ("null deletes", {"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ("null deletes what is not there", {"b": 2}, {"a": None}, {"b": 2}),
        ("nulls of a new mapping are not kept", {}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ("a list without a key is replaced", {"args": [1, 2]}, {"args": [3]}, {"args": [3]}),
        (
            "items merge by name",
            {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"env": [{"name": "B", "value": "3"}]},
            {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}]},
        ),
        (
            "new items come where Kubernetes puts them",
            {"env": [{"name": "A"}]},
            {"env": [{"name": "N"}]},
            {"env": [{"name": "N"}, {"name": "A"}]},
        ),
        (
            "patches of the runtime merge by manager",
            {"runtimePatches": [{"manager": "a/b", "x": 1}]},
            {"runtimePatches": [{"manager": "a/b", "y": 2}]},
            {"runtimePatches": [{"manager": "a/b", "x": 1, "y": 2}]},
        ),
        (
            "ports merge by number",
            {"ports": [{"containerPort": 1, "name": "x"}]},
            {"ports": [{"containerPort": 1, "name": "y"}]},
            {"ports": [{"containerPort": 1, "name": "y"}]},
        ),
        ("an item is deleted", {"env": [{"name": "A"}]}, {"env": [{"name": "A", "$patch": "delete"}]}, {"env": []}),
        (
            "a list is replaced",
            {"env": [{"name": "A"}]},
            {"env": [{"$patch": "replace"}, {"name": "B"}]},
            {"env": [{"name": "B"}]},
        ),
        ("a mapping is replaced", {"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}, {"a": {"c": 2}}),
        ("a mapping is deleted", {"a": {"b": 1}}, {"a": {"$patch": "delete"}}, {}),
        ("merge is what happens anyway", {"a": {"b": 1}}, {"a": {"$patch": "merge", "c": 2}}, {"a": {"b": 1, "c": 2}}),
        (
            "finalizers are a set",
            {"finalizers": ["a", "b"]},
            {"finalizers": ["c", "b"]},
            {"finalizers": ["c", "a", "b"]},
        ),
        ("what are no finalizers is replaced", {"finalizers": [{}]}, {"finalizers": ["a"]}, {"finalizers": ["a"]}),
        (
            "base items without a key stay",
            {"env": [{"x": 1}]},
            {"env": [{"name": "A"}]},
            {"env": [{"name": "A"}, {"x": 1}]},
        ),
    ],
)
def test_merge(case: str, base: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]) -> None:
    assert merged(base, patch) == result, case


def test_a_patch_can_delete_the_document() -> None:
    assert merged({"a": 1}, {"$patch": "delete"}) is None


@pytest.mark.parametrize(
    ("patch", "path"),
    [
        ({"a": {"$retainKeys": ["x"]}}, ("a", "$retainKeys")),
        ({"$setElementOrder/env": []}, ("$setElementOrder/env",)),
        ({"a": {"$patch": "destroy"}}, ("a", "$patch")),
        ({"env": [{"name": "A"}, {"value": "x"}]}, ("env", 1)),
        ({"new": {"deep": {"$patch": "x"}}}, ("new", "deep", "$patch")),
    ],
)
def test_a_patch_that_says_nothing_sensible_is_refused_at_its_place(
    patch: dict[str, Any], path: tuple[Any, ...]
) -> None:
    with pytest.raises(PatchFailedError) as failed:
        merge_overlay({"a": {}, "env": [{"name": "A"}]}, patch)
    assert failed.value.path == path


def test_every_field_that_has_changed_is_named_with_its_place_in_the_patch() -> None:
    _, written = merge_overlay(
        {"env": [{"name": "A", "value": "1"}]}, {"x": 1, "env": [{"name": "N"}, {"name": "A", "value": "2"}]}
    )
    places = {place for _, place in written}
    assert places == {("x",), ("env", 0), ("env", 1, "value")}


NAMES = st.sampled_from(["A", "B", "C", "D"])
ENV = st.lists(st.builds(lambda n, v: {"name": n, "value": v}, NAMES, NAMES), unique_by=lambda v: v["name"], max_size=4)
SCALARS = st.integers() | st.text(max_size=3) | st.booleans()
SPECS = st.fixed_dictionaries(
    {},
    optional={"env": ENV, "args": st.lists(NAMES, max_size=2), "labels": st.dictionaries(NAMES, SCALARS), "x": SCALARS},
)


@given(SPECS, SPECS)
def test_without_nulls_and_directives_it_is_the_merge_of_the_runtimes_patches(base: Any, patch: Any) -> None:
    assert merged(base, patch) == strategic_merge(base, patch)


@given(SPECS, SPECS)
def test_applying_a_patch_twice_changes_nothing_more(base: Any, patch: Any) -> None:
    once = merged(base, patch)
    assert merged(once, patch) == once
