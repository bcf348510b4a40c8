"""JSON Patch: the operations of RFC 6902, and where they are wrong."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tables import cases

from trainc.kube.documents import Item
from trainc.kube.strategic_merge import PatchFailedError
from trainc.project.overlays.apply import apply_operations


def op(name: str, path: str, **fields: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **{key.rstrip("_"): value for key, value in fields.items()}}


@cases("case", "data", "operation", "result")
def test_operation(case: str, data: dict[str, Any], operation: dict[str, Any], result: dict[str, Any]) -> None:
    before = copy.deepcopy(data)
    assert apply_operations(data, [operation])[0] == result, case
    assert data == before, "the document was changed"


@cases("case", "operation", "place")
def test_what_does_not_fit_is_refused_at_its_place(case: str, operation: Any, place: tuple[Any, ...]) -> None:
    with pytest.raises(PatchFailedError) as failed:
        apply_operations({"n": 1, "list": [1, 2, 3]}, [op("test", "/n", value=1), operation])
    assert failed.value.path == tuple(place), case


def test_what_is_not_a_mapping_afterwards_is_refused() -> None:
    with pytest.raises(PatchFailedError):
        apply_operations({"a": 1}, [op("replace", "", value=[1])])


def test_written_fields_are_known_by_their_keys() -> None:
    data = {"env": [{"name": "A", "value": "1"}]}
    _, written = apply_operations(
        data, [op("add", "/env/0", value={"name": "N"}), op("replace", "/env/1/value", value="2")]
    )
    assert written == [(("env", Item("N", "name")), (0, "value")), (("env", Item("A", "name"), "value"), (1, "value"))]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=3), JSON), st.text(max_size=3), JSON)
def test_what_is_added_can_be_removed_again(data: dict[str, Any], key: str, value: Any) -> None:
    pointer = "/" + key.replace("~", "~0").replace("/", "~1")
    result, _ = apply_operations(data, [op("add", pointer, value=value), op("test", pointer, value=value)])
    assert result == {**data, key: value}
    assert apply_operations(result, [op("remove", pointer)])[0] == {k: v for k, v in data.items() if k != key}


def test_neighbours_of_an_edited_item_stays() -> None:
    data = {"l": [{"a": 1}, {"b": 2}, {"c": 3}]}
    result, _ = apply_operations(data, [op("replace", "/l/1/b", value=9)])
    assert result == {"l": [{"a": 1}, {"b": 9}, {"c": 3}]}
