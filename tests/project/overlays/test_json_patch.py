"""JSON Patch: the operations of RFC 6902, and where they are wrong."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc.kube.documents import Item
from trainc.kube.strategic_merge import PatchFailedError
from trainc.project.overlays.apply import apply_operations


def op(name: str, path: str, **fields: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **{key.rstrip("_"): value for key, value in fields.items()}}


@pytest.mark.parametrize(
    ("case", "data", "operation", "result"),
    [
        ("add a field", {}, op("add", "/a", value=1), {"a": 1}),
        ("add replaces a field", {"a": 1}, op("add", "/a", value=2), {"a": 2}),
        ("add inserts into a list", {"a": [1, 3]}, op("add", "/a/1", value=2), {"a": [1, 2, 3]}),
        ("add at the end by number", {"a": [1]}, op("add", "/a/1", value=2), {"a": [1, 2]}),
        ("add at the end by -", {"a": [1]}, op("add", "/a/-", value=2), {"a": [1, 2]}),
        ("add null", {}, op("add", "/a", value=None), {"a": None}),
        ("replace a field", {"a": {"b": 1}}, op("replace", "/a/b", value=2), {"a": {"b": 2}}),
        ("replace an item", {"a": [1, 2]}, op("replace", "/a/0", value=9), {"a": [9, 2]}),
        ("remove a field", {"a": 1, "b": 2}, op("remove", "/a"), {"b": 2}),
        ("remove an item", {"a": [1, 2]}, op("remove", "/a/0"), {"a": [2]}),
        ("move", {"a": 1, "b": {}}, op("move", "/b/c", from_="/a"), {"b": {"c": 1}}),
        ("copy", {"a": [1]}, op("copy", "/b", from_="/a"), {"a": [1], "b": [1]}),
        ("test that holds", {"a": [1]}, op("test", "/a", value=[1]), {"a": [1]}),
        ("slash in a key", {"a/b": 1}, op("replace", "/a~1b", value=2), {"a/b": 2}),
        ("tilde in a key", {"a~1": 1}, op("replace", "/a~01", value=2), {"a~1": 2}),
        ("an empty key", {"": 1}, op("replace", "/", value=2), {"": 2}),
        ("the whole document", {"a": 1}, op("replace", "", value={"b": 2}), {"b": 2}),
    ],
)
def test_operation(case: str, data: dict[str, Any], operation: dict[str, Any], result: dict[str, Any]) -> None:
    before = copy.deepcopy(data)
    assert apply_operations(data, [operation])[0] == result, case
    assert data == before, "the document was changed"


@pytest.mark.parametrize(
    ("case", "operation", "place"),
    [
        ("no mapping", "add", (1,)),
        ("no operation", {"path": "/a"}, (1, "op")),
        ("unknown operation", op("upsert", "/a", value=1), (1, "op")),
        ("no value", op("add", "/a"), (1,)),
        ("no source", op("move", "/a"), (1,)),
        ("no pointer", op("add", "a/b", value=1), (1, "path")),
        ("no text", op("add", 3, value=1), (1, "path")),  # type: ignore[arg-type]
        ("nothing there", op("replace", "/x/y", value=1), (1, "path")),
        ("nothing to remove", op("remove", "/x"), (1, "path")),
        ("no way there", op("add", "/x/y", value=1), (1, "path")),
        ("through a scalar", op("add", "/n/y", value=1), (1, "path")),
        ("index too high", op("add", "/list/4", value=1), (1, "path")),
        ("replace past the end", op("replace", "/list/3", value=1), (1, "path")),
        ("remove past the end", op("remove", "/list/-"), (1, "path")),
        ("index with a zero before it", op("replace", "/list/01", value=1), (1, "path")),
        ("negative index", op("replace", "/list/-1", value=1), (1, "path")),
        ("superscript index", op("replace", "/list/²", value=1), (1, "path")),
        ("test that fails", op("test", "/n", value=2), (1, "path")),
        ("the whole document away", op("remove", ""), (1, "path")),
        ("nothing left to copy", op("copy", "/y", from_="/x"), (1, "path")),
    ],
)
def test_what_does_not_fit_is_refused_at_its_place(case: str, operation: Any, place: tuple[Any, ...]) -> None:
    with pytest.raises(PatchFailedError) as failed:
        apply_operations({"n": 1, "list": [1, 2, 3]}, [op("test", "/n", value=1), operation])
    assert failed.value.path == place, case


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
