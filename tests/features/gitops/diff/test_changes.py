"""The comparison: what is a change, what is not, and that changes hold all that differs."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tables import cases

from trainc.emit.name_hash import content_to_hash, what_changes_it
from trainc.features.gitops.diff.changes import Change, compare_manifests, normalize, strip_server_fields
from trainc.findings import Path
from trainc.kube.documents import format_field

Json = dict[str, Any]


def paths(before: Json, after: Json) -> list[tuple[str, Any, Any]]:
    return [(format_field(c.path), c.before, c.after) for c in compare_manifests(before, after)[0]]


@cases("before", "after", "expected")
def test_what_differs_is_named(before: Json, after: Json, expected: Any) -> None:
    assert paths(before, after) == [tuple(each) for each in expected]


@cases("before", "after")
def test_what_only_looks_different_is_not_a_change(before: Json, after: Json) -> None:
    assert compare_manifests(normalize(strip_server_fields(before)), normalize(strip_server_fields(after))) == ((), ())


DIFFERENT = {
    "an empty volume and none": ({"spec": {"emptyDir": {}}}, {"spec": {}}),
    "an empty string and none": ({"spec": {"value": ""}}, {"spec": {}}),
    "a label that reads like a quantity": ({"spec": {"labels": {"a": "1000m"}}}, {"spec": {"labels": {"a": "1"}}}),
    "an annotation of one's own": ({"metadata": {"annotations": {"a": "b"}}}, {"metadata": {}}),
}


@pytest.mark.parametrize(("before", "after"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_means_something_else_is_a_change(before: Json, after: Json) -> None:
    assert len(compare_manifests(normalize(strip_server_fields(before)), normalize(strip_server_fields(after)))[0]) == 1


def test_a_move_is_told_apart_from_a_change() -> None:
    changes, (move,) = compare_manifests(
        {"initContainers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]},
        {"initContainers": [{"name": "c"}, {"name": "d"}, {"name": "a"}]},
    )
    assert [format_field(change.path) for change in changes] == ["initContainers[b]", "initContainers[d]"]
    assert (move.before, move.after) == (("a", "c"), ("c", "a"))


SCALARS = st.one_of(st.booleans(), st.integers(-3, 3), st.text("ab\n", max_size=3))
NAMED = st.dictionaries(st.sampled_from("ABCD"), SCALARS, max_size=4).map(
    lambda named: [{"name": name, "value": value} for name, value in named.items()]
)
VALUES = st.recursive(
    SCALARS | NAMED,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "command"]), inner, max_size=3),
    max_leaves=6,
)
MANIFESTS = st.dictionaries(
    st.sampled_from(["env", "containers", "finalizers", "args", "spec"]), VALUES | NAMED, max_size=4
)


def reordered(value: Any, draw: Any) -> Any:
    """The same data with keys, and items that have names, in another order."""
    if isinstance(value, dict):
        keys = draw(st.permutations(sorted(value)))
        return {key: _reordered_list(value[key], draw) if key == "env" else reordered(value[key], draw) for key in keys}
    return [reordered(item, draw) for item in value] if isinstance(value, list) else value


def _reordered_list(items: Any, draw: Any) -> Any:
    named = isinstance(items, list) and all(isinstance(item, dict) and "name" in item for item in items)
    return draw(st.permutations(items)) if named else reordered(items, draw)


@given(MANIFESTS)
def test_a_manifest_does_not_differ_from_itself(manifest: Json) -> None:
    assert compare_manifests(manifest, copy.deepcopy(manifest)) == ((), ())


@given(st.data(), MANIFESTS)
def test_another_order_of_keys_and_of_named_items_is_not_a_change(data: st.DataObject, manifest: Json) -> None:
    assert compare_manifests(manifest, reordered(manifest, data.draw))[0] == ()


@given(MANIFESTS, MANIFESTS)
def test_all_changes_together_lead_from_the_one_to_the_other(before: Json, after: Json) -> None:
    original = json.dumps([before, after])
    changes, _ = compare_manifests(before, after)
    assert compare_manifests(patched(before, after), after)[0] == ()
    assert compare_manifests(patched(after, before), before)[0] == ()
    assert [(c.path, c.before, c.after) for c in changes] == [
        (c.path, c.after, c.before) for c in sorted_like(changes, compare_manifests(after, before)[0])
    ]
    assert json.dumps([before, after]) == original


def patched(before: Json, after: Json) -> Json:
    """`before` with one change after the other made until nothing differs."""
    steps = 0
    while (changes := compare_manifests(before, after)[0]) and steps < 50:
        before, steps = with_change(before, changes[0]), steps + 1
    return before


def sorted_like(changes: Any, others: Any) -> Any:
    by_path = {change.path: change for change in others}
    assert len(by_path) == len(others) == len(changes)
    return [by_path[change.path] for change in changes]


def with_change(before: Json, change: Change) -> Json:
    """`before`, in which `change` was found, with that change applied; unchanged parts are shared, not mutated."""
    is_new_item = len(change.old) < len(change.path)
    made: Json = _set_at(before, change.old, change.after, append=is_new_item)
    return made


def _set_at(tree: Any, path: Path, value: Any, *, append: bool) -> Any:
    if not path:
        return [*tree, value] if append else value
    step, *rest = path
    if isinstance(tree, list):
        assert isinstance(step, int)
        inner = _set_at(tree[step], tuple(rest), value, append=append)
        inner_items = [] if inner is None else [inner]
        return [*tree[:step], *inner_items, *tree[step + 1 :]]
    inner = _set_at(tree.get(step), tuple(rest), value, append=append)
    if inner is None:
        return {key: old for key, old in tree.items() if key != step}
    return {**tree, step: inner}


METADATA: tuple[Json, ...] = (
    *({}, {"labels": {"a": "b"}}, {"labels": {"a": "c"}, "annotations": {"a": "b"}}),
    {"annotations": {"argocd.argoproj.io/hook": "PreSync"}},
    {"annotations": {"argocd.argoproj.io/hook": "Sync", "a": "b"}, "finalizers": ["a"]},
)
SPECS: tuple[Json, ...] = (
    {"suspend": True, "a": {"b": 1}},
    {"suspend": False, "ttlSecondsAfterFinished": 1, "a": {"b": 2}},
)


@pytest.mark.parametrize("kind", ["JobSet", "Secret"])
def test_a_change_alone_changes_the_hash_exactly_if_it_changes_what_is_hashed(kind: str) -> None:
    versions = [{"kind": kind, "metadata": {"name": "a", **m}, "spec": spec} for m in METADATA for spec in SPECS]
    found = set()
    for before in versions:
        for after in versions:
            for change in compare_manifests(before, after)[0]:
                changes = content_to_hash([with_change(before, change)]) != content_to_hash([before])
                assert what_changes_it(before, after)(change.path) == changes, (before, after, change)
                found.add(changes)
    assert found == {True, False}
