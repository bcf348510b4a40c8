"""The comparison: what is a change, what is not, and that changes hold all that differs."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc.features.gitops.diff.changes import compare_manifests, normalize, strip_server_fields
from trainc.features.gitops.diff.comparison import with_change
from trainc.kube.documents import format_field

Json = dict[str, Any]


def paths(before: Json, after: Json) -> list[tuple[str, Any, Any]]:
    return [(format_field(c.path), c.before, c.after) for c in compare_manifests(before, after)[0]]


CASES = {
    "a value of a mapping": ({"a": {"b": 1}}, {"a": {"b": 2}}, [("a.b", 1, 2)]),
    "a field that is new": ({"a": {}}, {"a": {"b": 1}}, [("a.b", None, 1)]),
    "a field that is gone": ({"a": {"b": 1}}, {"a": {}}, [("a.b", 1, None)]),
    "an object in the place of nothing": ({}, {"a": {"b": 1}}, [("a", None, {"b": 1})]),
    "a variable, by its name": (
        {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]},
        {"env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]},
        [("env[B].value", "1", "2")],
    ),
    "a variable that is new, one that is gone": (
        {"env": [{"name": "A", "value": "1"}]},
        {"env": [{"name": "B", "value": "1"}]},
        [("env[A]", {"name": "A", "value": "1"}, None), ("env[B]", None, {"name": "B", "value": "1"})],
    ),
    "two ports of one number, by their protocol": (
        {"ports": [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]},
        {"ports": [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}]},
        [("ports[53/UDP].name", None, "dns")],
    ),
    "a volume mount, by its path": (
        {"volumeMounts": [{"mountPath": "/a", "name": "x"}]},
        {"volumeMounts": [{"mountPath": "/a", "name": "y"}]},
        [("volumeMounts[/a].name", "x", "y")],
    ),
    "a toleration of a set": (
        {"tolerations": [{"key": "a"}, {"key": "b"}]},
        {"tolerations": [{"key": "b"}]},
        [('tolerations[{"key": "a"}]', {"key": "a"}, None)],
    ),
    "arguments, whose order means something": (
        {"args": ["--a", "--b"]},
        {"args": ["--b", "--a"]},
        [("args", ["--a", "--b"], ["--b", "--a"])],
    ),
    "a list without identities, item by item": (
        {"terms": [{"a": 1}, {"a": 2}]},
        {"terms": [{"a": 1}, {"a": 3}]},
        [("terms[1].a", 2, 3)],
    ),
    "a list without identities, of another length": ({"terms": [{"a": 1}]}, {"terms": []}, [("terms", [{"a": 1}], [])]),
    "names that are there twice": (
        {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
        {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "3"}]},
        [("env[1].value", "2", "3")],
    ),
    "one and true": ({"a": 1}, {"a": True}, [("a", 1, True)]),
    "zero and false inside a list": ({"a": [0]}, {"a": [False]}, [("a", [0], [False])]),
}


@pytest.mark.parametrize(("before", "after", "expected"), CASES.values(), ids=CASES)
def test_what_differs_is_named(before: Json, after: Json, expected: Any) -> None:
    assert paths(before, after) == expected


SAME = {
    "the order of keys": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "null and nothing": ({"spec": {"a": None}}, {"spec": {}}),
    "one amount written in two ways": (
        {"spec": {"resources": {"limits": {"memory": "1024Mi", "cpu": 2}}}},
        {"spec": {"resources": {"limits": {"memory": "1Gi", "cpu": "2000m"}}}},
    ),
    "an amount of a PodGroup": ({"spec": {"minResources": {"cpu": "1000m"}}}, {"spec": {"minResources": {"cpu": 1}}}),
    "what Go's encoder writes for nothing": (
        {"metadata": {"creationTimestamp": None}, "spec": {"template": {"metadata": {}, "resources": {}}}},
        {"spec": {"template": {}}},
    ),
    "what the API server adds": (
        {"metadata": {"uid": "1", "resourceVersion": "7", "generation": 2, "managedFields": [{}]}, "status": {"a": 1}},
        {"metadata": {}},
    ),
    "what kubectl and Argo CD remember": (
        {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}},
        {"metadata": {"annotations": {"argocd.argoproj.io/tracking-id": "x"}}},
    ),
    "the order of a set": ({"finalizers": ["a", "b"]}, {"finalizers": ["b", "a"]}),
}


@pytest.mark.parametrize(("before", "after"), SAME.values(), ids=SAME)
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
