"""What a live Trainer creates for a job, beside what `--semantics controller` says it would."""

from __future__ import annotations

import time
from typing import Any

import pytest
from e2e.live import Live, RefusedError, created, settled

from trainc import Options, admit, catalog, compile_trainjob
from trainc.kube.releases import RELEASES

pytestmark = pytest.mark.e2e
NAMES = sorted({runtime["metadata"]["name"] for release in RELEASES for runtime in catalog(release)})


def release_of(live: Live) -> str:
    """The minor of the Trainer that runs in the cluster."""
    trainer = live.components.get("Trainer")
    if trainer is None or not live.runs("trainer-controller-manager"):
        pytest.skip("Trainer's controller does not run in this cluster")
    if trainer.minor not in RELEASES:
        pytest.skip(f"Trainer {trainer.version} is none of {', '.join(RELEASES)}")
    return trainer.minor


def job_name(runtime: str) -> str:
    """A name for the job of a runtime, as short as names of Jobs must be, and without the dots that they cannot have."""
    return f"e2e-{runtime.replace('.', '-').replace('distributed', 'd')[:20].rstrip('-')}"


def job_for(runtime: dict[str, Any], name: str) -> dict[str, Any]:
    reference = {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": runtime["metadata"]["name"]}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {"runtimeRef": reference, "trainer": {"numNodes": 2}},
    }


def expected(job: dict[str, Any], runtime: dict[str, Any], release: str) -> dict[str, Any]:
    """The JobSet as the API server would store it."""
    options = Options(release=release, semantics="controller")
    built = compile_trainjob(job, [runtime], options).manifests
    (jobset,) = (manifest for manifest in built if manifest["kind"] == "JobSet")
    return admit(jobset, options).manifests[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_controller_creates_what_was_compiled(name: str, live: Live) -> None:
    release = release_of(live)
    shipped = {runtime["metadata"]["name"]: runtime for runtime in catalog(release)}
    if name not in shipped:
        pytest.skip(f"Trainer {release} does not ship {name}")
    # Of the run's own namespace, so that nothing of the cluster's is touched.
    own = {**shipped[name], "kind": "TrainingRuntime", "metadata": {"name": name}}
    runtime, job = live.here([own, job_for(own, job_name(name))])
    live.call("apply", "--filename=-", given=[runtime])
    # Trainer's webhook reads runtimes from a cache, which may not have this one yet.
    for left in reversed(range(10)):
        try:
            live.call("apply", "--filename=-", given=[job])
            break
        except RefusedError as error:
            if "not found" not in str(error) or not left:
                raise
            time.sleep(1)
    stored = created(live, "jobset", job["metadata"]["name"])
    assert stored is not None, "Trainer created no JobSet"
    assert settled(stored) == settled(expected(job, runtime, release))
