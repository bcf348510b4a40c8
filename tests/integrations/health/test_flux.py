"""The CEL health checks, evaluated as Flux does: inProgress, then failed, then current, else in progress."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
import yaml
from tables import cases

from trainc.features.gitops.argocd.health import flux_health_checks

JOBSET = ("jobset.x-k8s.io/v1alpha2", "JobSet")
POD_GROUPS = (("scheduling.x-k8s.io/v1alpha1", "PodGroup"), ("scheduling.volcano.sh/v1beta1", "PodGroup"))
CHECKS = {
    (check["apiVersion"], check["kind"]): check for check in yaml.safe_load(flux_health_checks())["healthCheckExprs"]
}


def health(kind: Any, resource: Any) -> str:
    celpy = import_module("celpy")
    environment = celpy.Environment()
    for verdict in ("inProgress", "failed", "current"):
        if verdict not in CHECKS[kind]:
            continue
        program = environment.program(environment.compile(CHECKS[kind][verdict]))
        try:
            if program.evaluate({name: celpy.json_to_cel(value) for name, value in resource.items()}):
                return verdict
        except celpy.CELEvalError:
            return "inProgress"
    return "inProgress"


def test_there_is_a_check_for_each_compiled_kind() -> None:
    assert set(CHECKS) == {JOBSET, *POD_GROUPS}


@cases("resource", "expected")
def test_a_jobset_is_current_when_completed_and_failed_when_failed(resource: Any, expected: Any) -> None:
    assert health(JOBSET, resource) == expected


@pytest.mark.parametrize("kind", POD_GROUPS)
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, "current"),
        ({"phase": "Pending"}, "current"),
        ({"phase": "Running"}, "current"),
        ({"phase": "Failed"}, "failed"),
    ],
)
def test_a_pod_group_is_current_unless_it_has_failed(kind: Any, status: Any, expected: Any) -> None:
    assert health(kind, {"status": status}) == expected
