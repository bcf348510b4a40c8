"""Whatever a document holds, validating it ends with findings and never with an exception, and leaves it as it is."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from trainc.pods import validate_job
from trainc.pods.admission_plugins import cluster_objects, refusals_of_pods
from trainc.schema.shapes import definition_names, definition_texts

DEFINITIONS = {name: definition_texts("2.3", name) for name in definition_names("2.3")}
FIELDS = sorted(
    {field for name, fields in DEFINITIONS.items() if name.startswith(("core", "batch")) for field in fields}
)
WORDS = (
    "",
    "a",
    "Always",
    "In",
    "Gt",
    "Localhost",
    "None",
    "windows",
    "metadata.labels['a']",
    "../a",
    "1-0",
    "Indexed",
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2**40), st.floats(), st.sampled_from(WORDS), st.text(max_size=5)
)
# What no field of a single value can hold, and what cannot be the key of a mapping.
ANYTHING = st.one_of(LEAVES, st.sampled_from(([], [1], {}, {"a": 1})))
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5)),
    max_leaves=25,
)


def typed(text: str, depth: int) -> st.SearchStrategy[Any]:
    """A value of a type as the schemas write it, with something else in its place now and then."""
    text = text.removesuffix("!")
    if depth == 0:
        return ANYTHING
    if text.startswith("["):
        value: st.SearchStrategy[Any] = st.lists(typed(text[1:-1], depth), max_size=2)
    elif text.startswith("{"):
        value = st.dictionaries(
            st.sampled_from(("cpu", "a/b", "nvidia.com/gpu", "hugepages-2Mi", "")), ANYTHING, max_size=2
        )
    elif text in DEFINITIONS:
        fields = DEFINITIONS[text]
        value = st.fixed_dictionaries({}, optional={f: typed(kind, depth - 1) for f, kind in fields.items()})
    else:
        value = ANYTHING
    return st.one_of(value, ANYTHING)


KINDS_OF_CLUSTERS = {
    "LimitRange": "v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "ResourceQuota": "v1",
    "RuntimeClass": "node.k8s.io/v1",
    "ServiceAccount": "v1",
}
CLUSTER_FIELDS = ("metadata", "value", "globalDefault", "overhead", "scheduling", "secrets", "spec", "items")
CLUSTER_JSON = st.recursive(
    ANYTHING,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(
            st.sampled_from(
                ("limits", "hard", "scopes", "max", "min", "cpu", "a/b", "pods", "podFixed", "type", "name")
            ),
            inner | st.sampled_from(("Container", "Pod", "1", "-1", 0)),
            max_size=4,
        ),
    ),
    max_leaves=15,
)
CLUSTER = cluster_objects(
    [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "a"}, "value": 1},
        {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "a"}},
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "q"},
            "spec": {"hard": {"cpu": 1, "pods": 0}},
        },
        {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "l"},
            "spec": {"limits": [{"type": "Pod", "max": {"cpu": 1}}, {"type": "Container", "min": {"cpu": 2}}]},
        },
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "default", "annotations": {"kubernetes.io/enforce-mountable-secrets": "1"}},
        },
    ]
)


@settings(max_examples=150, deadline=None)
@given(JSON)
def test_any_value_in_place_of_a_template(value: Any) -> None:
    before = copy.deepcopy(value)
    job = {"metadata": value, "spec": {"template": {"metadata": value, "spec": value}, "podFailurePolicy": value}}
    validate_job(job)
    assert repr(value) == repr(before)


@pytest.mark.parametrize("name", sorted(n for n in DEFINITIONS["core.PodSpec"]))
def test_any_value_in_a_field_of_a_pod(name: str) -> None:
    @settings(max_examples=15, deadline=None)
    @given(typed(DEFINITIONS["core.PodSpec"][name], 4))
    def holds(value: Any) -> None:
        validate_job({"spec": {"template": {"spec": {name: value}}}})
        list(refusals_of_pods({name: value}, (), "", CLUSTER))

    holds()


POD = {
    "priority": 1,
    "runtimeClassName": "a",
    "overhead": {"cpu": 1},
    "nodeSelector": {"a": "b"},
    "volumes": [{"name": "v", "secret": {"secretName": "s"}}],
    "imagePullSecrets": [{"name": "p"}],
    "containers": [{"name": "c", "resources": {"requests": {"cpu": 1}, "limits": {"cpu": 2, "a/b": 1}}}],
}


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(KINDS_OF_CLUSTERS)),
    st.dictionaries(st.sampled_from((*CLUSTER_FIELDS, *FIELDS)), JSON | CLUSTER_JSON, max_size=4),
)
def test_any_value_in_an_object_of_a_cluster(kind: str, fields: dict[str, Any]) -> None:
    document = {"apiVersion": KINDS_OF_CLUSTERS[kind], "kind": kind, "metadata": {"name": "a"}, **fields}
    list(refusals_of_pods(POD, (), "", cluster_objects([document, {**document, "kind": fields}])))


@pytest.mark.parametrize("name", sorted(n for n in DEFINITIONS["batch.JobSpec"] if n != "template"))
def test_any_value_in_a_field_of_a_job(name: str) -> None:
    @settings(max_examples=15, deadline=None)
    @given(typed(DEFINITIONS["batch.JobSpec"][name], 4), st.sampled_from(("Indexed", "NonIndexed", 1)))
    def holds(value: Any, mode: Any) -> None:
        validate_job({"spec": {"completionMode": mode, name: value}})

    holds()
