"""Values as readers see them: short, unmistakable, and without anything that a terminal would obey."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st
from tables import cases

from trainc.features.gitops.diff.changes import Change
from trainc.features.gitops.diff.text import block, differing_lines, inline, one_liners
from trainc.kube.documents import Item


@cases("value", "expected")
def test_a_value_on_one_line(value: Any, expected: str | None) -> None:
    assert inline(value) == expected


@given(st.text() | st.lists(st.text(max_size=5)) | st.dictionaries(st.text(max_size=5), st.text(max_size=5)))
def test_nothing_that_is_shown_moves_a_cursor(value: Any) -> None:
    assert all(line.isprintable() for line in block(value))
    assert (inline(value) or "").isprintable()


def change(before: Any, after: Any, *path: Any) -> Change:
    return Change(path or ("args",), before, after, (), ())


def test_an_item_is_shown_without_the_name_that_its_path_has() -> None:
    at_env = ("env", Item("A"))
    assert one_liners(change(None, {"name": "A", "value": "x"}, *at_env)) == ["x"]
    assert one_liners(change(None, {"name": "A", "valueFrom": {"b": 1}}, *at_env)) == ["{valueFrom: {b: 1}}"]
    assert one_liners(change({"name": "A"}, None, *at_env)) == ["{name: A}"]


def test_of_a_long_value_only_what_differs_and_its_neighbours_are_shown() -> None:
    before = [f"--flag-{i}=some-longer-value" for i in range(9)]
    after = [*before[:4], "--flag-4=other", *before[5:]]
    assert one_liners(change(before, after)) is None
    assert differing_lines(change(before, after)) == [
        (" ", "- --flag-3=some-longer-value"),
        ("-", "- --flag-4=some-longer-value"),
        ("+", "- --flag-4=other"),
        (" ", "- --flag-5=some-longer-value"),
    ]


def test_two_places_in_a_long_value_are_set_apart() -> None:
    before = "\n".join("abcdefghijkl")
    after = before.replace("b", "B").replace("k", "K")
    assert [sign + line for sign, line in differing_lines(change(before, after))] == [
        " a", "-b", "+B", " c", " ...", " j", "-k", "+K", " l",
    ]  # fmt: skip


def test_a_whole_object_is_written_as_yaml() -> None:
    value = {"name": "aux", "template": {"spec": {"args": ["a", {"b": 1}], "script": "x\ny"}}}
    assert list(block(value)) == [
        "name: aux",
        "template:",
        "  spec:",
        "    args:",
        "    - a",
        "    - b: 1",
        "    script: |-",
        "      x",
        "      y",
    ]
