"""Whatever stands among the resources, the function answers: nothing in them is a defect of trainc's."""

from __future__ import annotations

import json
from typing import Any

import yaml
from builders import runtime, trainjob
from commands import run
from hypothesis import given, settings, strategies as st

NAMES = st.sampled_from(["rt", "llm", "", "internal.config.kubernetes.io/previousNames", "config.kubernetes.io/origin"])
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | NAMES
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
METADATA = st.fixed_dictionaries(
    {}, optional={"name": VALUES, "namespace": VALUES, "annotations": VALUES, "labels": VALUES}
)
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "apiVersion": st.sampled_from(["v1", "trainer.kubeflow.org/v1alpha1", "trainc/v1alpha1", "ome.io/v1beta1", 3]),
        "kind": st.sampled_from(["TrainJob", "ClusterTrainingRuntime", "Overlay", "SealedSecret", "Secret", [], None]),
        "metadata": METADATA | VALUES,
        "spec": st.fixed_dictionaries({}, optional={"runtimeRef": VALUES}) | VALUES,
    },
)


@settings(deadline=None, max_examples=100)
@given(st.lists(ITEMS, max_size=4), ITEMS | st.none())
def test_the_function_answers(items: list[Any], config: Any) -> None:
    everything = [*items, trainjob(), runtime()]
    request = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": everything}
    result = run("krm", stdin=json.dumps({**request, "functionConfig": config}).encode())
    assert result.status in (0, 1), result.stderr
    answer = yaml.safe_load(result.stdout)
    if result.status == 1:
        assert answer["items"] == everything
        assert answer["results"]
    else:
        assert [item for item in answer["items"] if item.get("apiVersion") == trainjob()["apiVersion"]] == []
