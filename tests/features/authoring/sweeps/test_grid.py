"""The parameters of a sweep: lists, ranges, what is left out, what is added, and what is wrong with any of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tables import cases

from trainc.features.authoring.sweeps.grid import GRID, range_values, read_assignments
from trainc.findings import format_path


def read(**data: Any) -> tuple[list[dict[str, str]], list[str]]:
    """The combinations as texts, and the places of what is wrong."""
    _, findings = GRID.check(data)
    found, more = ([], findings) if findings else read_assignments(data)
    wrong = [finding for finding in more if finding.severity == "error"]
    assert all(finding.message and finding.hint for finding in wrong)
    return [assignment.texts for assignment in found], [format_path(finding.path) for finding in wrong]


def test_the_last_parameter_changes_fastest() -> None:
    found, wrong = read(parameters={"lr": [0.1, 0.01], "batch": [16, 32]})
    assert [" ".join(one.values()) for one in found] == ["0.1 16", "0.1 32", "0.01 16", "0.01 32"]
    assert wrong == []


def test_values_are_told_as_a_person_writes_them() -> None:
    found, _ = read(parameters={"x": [1e-5, 1e-4, 3, True, False, "3e-4", ""]})
    assert [one["x"] for one in found] == ["1e-05", "0.0001", "3", "true", "false", "3e-4", ""]


def test_an_item_of_exclude_drops_what_has_all_of_its_values() -> None:
    found, _ = read(parameters={"a": [1, 2], "b": [1, 2], "c": [1, 2]}, exclude=[{"a": 1}, {"b": 2, "c": 2}])
    assert [" ".join(one.values()) for one in found] == ["2 1 1", "2 1 2", "2 2 1"]


def test_what_is_included_comes_last_and_in_the_order_of_the_parameters() -> None:
    found, _ = read(parameters={"a": [1], "b": [1]}, include=[{"b": 7, "a": 9}])
    assert [list(one.items()) for one in found] == [[("a", "1"), ("b", "1")], [("a", "9"), ("b", "7")]]


def test_trials_may_be_listed_one_by_one() -> None:
    assert read(include=[{"a": 1, "b": 2}, {"b": 3, "a": 4}])[0] == [{"a": "1", "b": "2"}, {"a": "4", "b": "3"}]


@pytest.mark.parametrize(
    ("data", "values"),
    [
        ({"min": 16, "max": 64, "step": 16}, [16, 32, 48, 64]),
        ({"min": 16, "max": 70, "step": 16}, [16, 32, 48, 64]),
        ({"min": 0.1, "max": 0.5, "step": 0.1}, [0.1, 0.2, 0.3, 0.4, 0.5]),
        ({"min": 1e-5, "max": 1e-1, "count": 5, "scale": "log"}, [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]),
        ({"min": 1, "max": 1024, "count": 6, "scale": "log"}, [1, 4, 16, 64, 256, 1024]),
        ({"min": 0, "max": 1, "count": 4}, [0, 0.333333, 0.666667, 1]),
        ({"min": 3, "max": 3, "step": 1}, [3]),
    ],
)
def test_a_range_has_the_values_that_a_person_would_write(data: Any, values: list[float]) -> None:
    assert [repr(value) for value in range_values(data)] == [repr(value) for value in values]


@cases("data", "field")
def test_a_range_that_is_none_is_refused_where_it_is_wrong(data: Any, field: str) -> None:
    assert read(parameters={"x": data})[1] == [f"parameters.x.{field}".rstrip(".")]


@cases("data", "places")
def test_what_is_wrong_is_reported_at_its_place(data: Any, places: list[str]) -> None:
    assert read(**data)[1] == places


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 100) | st.floats(width=16) | st.sampled_from(["", "lr", "${x}", "a b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["lr", "min", "max", "step", "count", "scale", "b"]), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["parameters", "include", "exclude"]), _JSON))
def test_anything_else_is_refused_and_never_a_traceback(data: Any) -> None:
    found, wrong = read(**data)
    assert bool(found) or bool(wrong) or bool(data.get("exclude"))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_every_combination_is_there_once(sizes: list[int]) -> None:
    found, _ = read(parameters={f"p{index}": list(range(size)) for index, size in enumerate(sizes)})
    whole = 1
    for size in sizes:
        whole *= size
    assert len({tuple(one.items()) for one in found}) == len(found) == whole
