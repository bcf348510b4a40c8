"""Documents that look for pods of v1 jobs, or for jobs of their kind."""

from __future__ import annotations

from typing import Any

import pytest

from trainc import migrate


def found(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(d.path, d.hint) for d in migrate([document]).diagnostics if d.code == "LegacyLabelSelected"]


@pytest.mark.parametrize(
    ("document", "path", "new"),
    [
        (
            {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "NetworkPolicy",
                "metadata": {"name": "n"},
                "spec": {"podSelector": {"matchLabels": {"training.kubeflow.org/job-name": "llm"}}},
            },
            'spec.podSelector.matchLabels["training.kubeflow.org/job-name"]',
            "jobset.sigs.k8s.io/jobset-name",
        ),
        (
            {
                "apiVersion": "monitoring.coreos.com/v1",
                "kind": "PodMonitor",
                "metadata": {"name": "m"},
                "spec": {"selector": {"matchExpressions": [{"key": "training.kubeflow.org/replica-type"}]}},
            },
            "spec.selector.matchExpressions[0].key",
            "jobset.sigs.k8s.io/replicatedjob-name",
        ),
        (
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "scrape"},
                "data": {"p.yaml": "source: [__meta_kubernetes_pod_label_training_kubeflow_org_job_name]"},
            },
            'data["p.yaml"]',
            "jobset.sigs.k8s.io/jobset-name",
        ),
        (
            {
                "apiVersion": "config.kueue.x-k8s.io/v1beta1",
                "kind": "Configuration",
                "integrations": {"frameworks": ["batch/job", "kubeflow.org/pytorchjob"]},
            },
            "integrations.frameworks[1]",
            "jobset.x-k8s.io/jobset",
        ),
    ],
)
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
