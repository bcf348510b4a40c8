"""Branches of upstream's Go code that no recorded case takes; each answer was got by running that code.

Paths are those of kubeflow/trainer at the tags that PORT.yaml pins. Semantics are `controller` throughout.
"""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, container, job, main, one, pod, runtime, trainjob
from tables import cases

from trainc import CompileError

MPI_NODE = job("node", "trainer")


def controller(document: dict[str, Any], *runtimes: dict[str, Any], release: str = "2.3") -> Any:
    return compiled(document, *runtimes, release=release, semantics="controller")


def errors(document: dict[str, Any], *runtimes: dict[str, Any], release: str = "2.3") -> list[tuple[str, str]]:
    with pytest.raises(CompileError) as refused:
        controller(document, *runtimes, release=release)
    return [(d.code, d.path) for d in refused.value.diagnostics if d.severity == "error"]


@pytest.mark.parametrize("release", ["2.1", "2.2", "2.3"])
def test_an_empty_mpi_implementation_leaves_the_hostfile_empty(release: str) -> None:
    """plugins/mpi/mpi.go v2.1.0, v2.2.1, v2.3.0: buildHostFileConfigMap switches on the name and knows OpenMPI only."""
    rt = runtime(MPI_NODE, policy={"mpi": {"mpiImplementation": ""}})
    assert one(controller(trainjob({"numNodes": 2}), rt, release=release), "ConfigMap")["data"] == {"hostfile": ""}


@pytest.mark.parametrize("release", ["2.1", "2.2", "2.3"])
def test_an_empty_mpi_implementation_stops_the_controller_at_a_launcher(release: str) -> None:
    """plugins/mpi/mpi.go v2.1.0, v2.2.1, v2.3.0: EnforceMLPolicy returns an error for a launcher's container node."""
    rt = runtime(job("launcher", "trainer"), job("node", None), policy={"mpi": {"mpiImplementation": ""}})
    assert errors(trainjob({}), rt, release=release) == [("UnsupportedValue", "spec.mlPolicy.mpi.mpiImplementation")]
    other = runtime(job("launcher", None, [container("side")]), MPI_NODE, policy={"mpi": {"mpiImplementation": ""}})
    assert controller(trainjob({}), other, release=release).manifests


def test_what_crashes_while_building_is_not_reached_where_the_webhook_refuses() -> None:
    """pkg/webhooks/trainjob_webhook.go v2.3.0: a refused TrainJob is never reconciled, so Flux cannot crash on it."""
    rt = runtime(policy={"flux": {}})
    assert errors(trainjob({}), rt) == [("ControllerPanics", "spec.trainer")]
    assert errors(trainjob({}, initializer={"model": {}}), rt) == [("InitializerNotInRuntime", "spec.runtimeRef")]


@pytest.mark.parametrize("release", ["2.0", "2.1", "2.2", "2.3"])
def test_empty_lists_of_jobs_and_containers_do_not_come_out(release: str) -> None:
    """pkg/apply/apply.go at every tag: FromTypedObjWithFields ends in types whose lists are all omitempty."""
    bare = {
        **runtime(policy={"torch": {}}),
        "spec": {"mlPolicy": {"torch": {}}, "template": {"spec": {"suspend": True}}},
    }
    assert "replicatedJobs" not in one(controller(trainjob(), bare, release=release), "JobSet")["spec"]
    empty = runtime(job("other", None, []), policy={"torch": {}})
    assert "containers" not in pod(controller(trainjob(), empty, release=release), "other")["spec"]


@cases("release", "field", "patch")
def test_a_blank_service_account_in_a_patch_clears_that_of_the_runtime(
    release: str, field: str, patch: dict[str, Any]
) -> None:
    """pkg/runtime/core/trainingruntime.go at every tag: the patch's field is a pointer, that of core/v1 PodSpec is not."""
    rt = runtime(job(pod={"serviceAccountName": "theirs"}), policy={"torch": {}})
    document = trainjob()
    document["spec"][field] = [patch]
    assert "serviceAccountName" not in pod(controller(document, rt, release=release))["spec"]


def test_empty_resource_lists_merge_into_nothing() -> None:
    """pkg/util/trainingruntime v2.3.0: MergeResourceRequirements goes through JSON, which drops empty maps."""
    rt = runtime(policy={"torch": {}})
    assert not main(controller(trainjob({"resourcesPerNode": {"limits": {}, "requests": {}}}), rt)).get("resources")
    requested = {"limits": {"cpu": 2}, "requests": {}}
    assert main(controller(trainjob({"resourcesPerNode": requested}), rt))["resources"] == {"limits": {"cpu": "2"}}


@pytest.mark.parametrize("release", ["2.0", "2.1", "2.2", "2.3"])
def test_a_negative_number_of_nodes_is_taken_off_the_gang(release: str) -> None:
    """plugins/coscheduling/__init__/coscheduling.go at every tag: Build adds up counts and requests, whatever their sign."""
    asking = [container("dataset-initializer", resources={"requests": {"cpu": 16}})]
    rt = runtime(
        job("dataset-initializer", "dataset-initializer", asking),
        job(),
        policy={"torch": {}},
        gang={"coscheduling": {}},
    )
    group = one(controller(trainjob({"numNodes": -1}), rt, release=release), "PodGroup")["spec"]
    assert (group["minMember"], group["minResources"]) == (0, {"cpu": "16"})


def test_a_volume_claim_template_always_has_a_spec() -> None:
    """core/v1 PersistentVolumeClaim: `spec` is no pointer, so Go writes it even where the runtime has none."""
    claims = [{"templates": [{"metadata": {"name": "initializer"}}]}]
    mounting = container(volumeMounts=[{"name": "initializer", "mountPath": "/workspace"}])
    rt = runtime(job(containers=[mounting]), policy={"torch": {}}, volumeClaimPolicies=claims)
    (policy,) = one(controller(trainjob(), rt), "JobSet")["spec"]["volumeClaimPolicies"]
    assert policy["templates"] == [{"metadata": {"name": "initializer"}, "spec": {}}]


@pytest.mark.parametrize("release", ["2.2", "2.3"])
def test_a_volume_claim_policy_without_templates_fails_the_rule_that_reads_them(release: str) -> None:
    """manifests/base/crds v2.2.1 and v2.3.0: the CEL rule of volumeClaimPolicies does not ask has(self.templates)."""
    rt = runtime(policy={"torch": {}}, volumeClaimPolicies=[{}])
    assert errors(trainjob(), rt, release=release) == [
        ("MissingRequired", "spec.template.spec.volumeClaimPolicies[0].templates")
    ]


@pytest.mark.parametrize("release", ["2.2", "2.3"])
def test_a_volume_claim_template_without_metadata_fails_the_rule_that_reads_it(release: str) -> None:
    """manifests/base/crds v2.2.1 and v2.3.0: nor does it ask has(metadata) of each template."""
    rt = runtime(policy={"torch": {}}, volumeClaimPolicies=[{"templates": [{"spec": {}}]}])
    assert errors(trainjob(), rt, release=release) == [
        ("MissingRequired", "spec.template.spec.volumeClaimPolicies[0].templates[0].metadata")
    ]


def test_an_installer_whose_image_comes_from_elsewhere_has_none() -> None:
    """plugins/jobset/jobset.go v2.3.0: Build writes an init container's image where it is not empty; v2.2.1 always."""
    requested = {
        "numNodes": 2,
        "env": [{"name": "FLUX_VIEW_IMAGE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}],
    }
    images = {}
    for release in ("2.2", "2.3"):
        pods = pod(controller(trainjob(requested), runtime(policy={"flux": {}}), release=release))
        images[release] = pods["spec"]["initContainers"][0].get("image")
    assert images == {"2.2": "", "2.3": None}
