"""GPUs that are requested and not limited."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, diagnostics_of, job, runtime, trainjob

CODE = "GPUWithoutLimit"
GPU = "nvidia.com/gpu"


def of(resources: dict[str, Any]) -> dict[str, Any]:
    return runtime(job(containers=[container(resources=resources)]))


@pytest.mark.parametrize("resource", [GPU, "amd.com/gpu", "gpu.intel.com/i915"])
def test_a_request_without_a_limit_is_refused(resource: str) -> None:
    found = diagnostics_of(CODE, trainjob(), of({"requests": {resource: 2}, "limits": {"memory": "1Gi"}}))
    assert [(d.severity, d.object) for d in found] == [("error", "ClusterTrainingRuntime rt")]
    assert found[0].path.endswith(f'containers[0].resources.requests["{resource}"]')
    assert "move it to limits: {" in found[0].hint


@pytest.mark.parametrize(
    "resources",
    [
        {"limits": {GPU: 2}},
        {"requests": {GPU: 2}, "limits": {GPU: 2}},
        {"requests": {"cpu": 2, "memory": "1Gi", "ephemeral-storage": "1Gi"}},
        {},
    ],
)
def test_a_limit_or_no_gpu_at_all_is_fine(resources: dict[str, Any]) -> None:
    assert diagnostics_of(CODE, trainjob(), of(resources)) == []


def test_a_trainjobs_request_is_reported_there() -> None:
    document = trainjob({"resourcesPerNode": {"requests": {GPU: 4}}})
    (found,) = diagnostics_of(CODE, document, runtime())
    assert (found.object, found.path) == ("TrainJob team-a/llm", f'spec.trainer.resourcesPerNode.requests["{GPU}"]')


def test_a_limit_of_the_runtime_serves_the_trainjobs_request() -> None:
    document = trainjob({"resourcesPerNode": {"requests": {GPU: 4}}})
    assert diagnostics_of(CODE, document, of({"limits": {GPU: 4}})) == []


def test_under_controller_it_is_a_warning() -> None:
    (found,) = diagnostics_of(CODE, trainjob(), of({"requests": {GPU: 2}}), semantics="controller")
    assert found.severity == "warning"
