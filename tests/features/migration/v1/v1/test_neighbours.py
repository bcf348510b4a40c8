"""Documents that look for pods of v1 jobs, or for jobs of their kind."""

from __future__ import annotations

from typing import Any

import pytest
from tables import cases

from trainc import migrate


def found(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(d.path, d.hint) for d in migrate([document]).diagnostics if d.code == "LegacyLabelSelected"]


@cases("document", "path", "new")
def test_what_looks_for_v1_is_named_with_what_to_look_for_instead(
    document: dict[str, Any], path: str, new: str
) -> None:
    ((where, hint),) = found(document)
    assert where == path
    assert new in hint


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "Configuration", "integrations": {"frameworks": ["kubeflow.org/mpijob", "jobset.x-k8s.io/jobset"]}},
        {"kind": "ConfigMap", "metadata": {"labels": {"training.kubeflow.org/job-name": "llm"}}, "data": {"a": "b"}},
        {"kind": "ClusterRole", "rules": [{"apiGroups": ["kubeflow.org"], "resources": ["pytorchjobs"]}]},
    ],
)
def test_what_is_ready_or_only_carries_a_label_is_left_alone(document: dict[str, Any]) -> None:
    assert found(document) == []
