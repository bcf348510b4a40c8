"""What a platform team tests: its own runtimes, with the jobs that people write for them."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from trainc import CompileError
from trainc.testing import CompileManifests

JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: smallest, namespace: research}
spec: {runtimeRef: {name: torch-team}}
"""


def test_a_job_from_a_file(compile_manifests: CompileManifests, manifest_snapshot: SnapshotAssertion) -> None:
    assert compile_manifests("jobs", runtimes="runtimes", release="2.3") == manifest_snapshot


@pytest.mark.parametrize("release", ["2.2", "2.3"])
def test_the_smallest_job_under_every_release_in_use(
    compile_manifests: CompileManifests, manifest_snapshot: SnapshotAssertion, release: str
) -> None:
    assert compile_manifests(JOB, runtimes="runtimes", release=release) == manifest_snapshot


def test_training_pods_land_in_the_pool(compile_manifests: CompileManifests) -> None:
    *_, jobset = compile_manifests(JOB, runtimes="runtimes", release="2.3")
    (job,) = jobset["spec"]["replicatedJobs"]
    assert job["template"]["spec"]["template"]["spec"]["nodeSelector"] == {"example.com/pool": "h100"}


def test_a_name_that_is_too_long_is_refused(compile_manifests: CompileManifests) -> None:
    with pytest.raises(CompileError, match="NameTooLong"):
        compile_manifests(JOB.replace("smallest", "s" * 60), runtimes="runtimes", release="2.3")
