"""Strategic merge of an overlay's patch: Kubernetes' keys and order, nulls and directives."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tables import cases

from trainc.kube.strategic_merge import PatchFailedError, merge_overlay, strategic_merge


def merged(base: dict[str, Any], patch: dict[str, Any]) -> Any:
    before = copy.deepcopy((base, patch))
    result, _ = merge_overlay(base, patch)
    assert (base, patch) == before, "an argument was changed"
    return result


@cases("case", "base", "patch", "result")
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
