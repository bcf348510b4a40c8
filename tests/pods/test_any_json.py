"""Whatever a document holds, validating it ends with findings and never with an exception, and leaves it as it is."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainc.pods import validate_job
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

    holds()


@pytest.mark.parametrize("name", sorted(n for n in DEFINITIONS["batch.JobSpec"] if n != "template"))
def test_any_value_in_a_field_of_a_job(name: str) -> None:
    @settings(max_examples=15, deadline=None)
    @given(typed(DEFINITIONS["batch.JobSpec"][name], 4), st.sampled_from(("Indexed", "NonIndexed", 1)))
    def holds(value: Any, mode: Any) -> None:
        validate_job({"spec": {"completionMode": mode, name: value}})

    holds()
