"""Trainer 2.4, a preview: what it does differently under both semantics."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, container, env, job, main, pod, refused, runtime, trainjob
from tables import cases

GATE = "TrainJobDynamicResourceAllocation"
CLAIMED = {"resourceClaimsPerNode": [{"name": "gpus", "resourceClaimTemplateName": "eight"}]}
OWN = {"resourceClaims": [{"name": "net", "resourceClaimTemplateName": "nic"}]}
WITH_OWN = job(containers=[container(resources={"claims": [{"name": "net"}]})], pod=OWN)
MPI_JOBS = (job("launcher"), job("node", None, [container(image="acme/nodes:1")]))
both = pytest.mark.parametrize("semantics", ["gitops", "controller"])


def built(trainer: Any, *jobs: Any, release: str = "2.4", gates: tuple[str, ...] = (), **options: Any) -> Any:
    policy = options.pop("policy", {"torch": {}})
    rt = runtime(*jobs, policy=policy)
    return compiled(trainjob(trainer), rt, release=release, feature_gates=gates, **options)


@both
def test_the_image_of_an_mpi_job_reaches_its_nodes(semantics: str) -> None:
    for release, image in (("2.3", "acme/nodes:1"), ("2.4", "acme/t5:2")):
        result = built({"image": "acme/t5:2"}, *MPI_JOBS, release=release, semantics=semantics, policy={"mpi": {}})
        assert (main(result, "launcher")["image"], main(result, "node")["image"]) == ("acme/t5:2", image)
        assert ("MPIImagesDiffer" in {d.code for d in result.diagnostics}) is (release == "2.3")


@both
def test_a_job_cannot_set_the_variables_of_open_mpi_5(semantics: str) -> None:
    own = {"env": [{"name": "PRTE_MCA_prte_default_hostfile", "value": "/mine"}]}
    rt = runtime(*MPI_JOBS, policy={"mpi": {}})
    (error,) = refused(trainjob(own), rt, release="2.4", semantics=semantics)
    assert (error.code, error.path) == ("ReservedEnv", "spec.trainer.env[0]")


@both
def test_torch_sets_ranks_without_a_trainer_section(semantics: str) -> None:
    result = built(None, job(), semantics=semantics)
    assert env(result)["PET_NNODES"] == "1"
    assert "RankEnvironmentMissing" not in {d.code for d in result.diagnostics}


@both
@pytest.mark.parametrize(
    ("trainer", "amounts"), [({}, {}), ({"resourcesPerNode": {"limits": {"cpu": 4}}}, {"cpu": "4"})]
)
def test_claims_per_node_stand_before_those_of_the_runtime(semantics: str, trainer: Any, amounts: Any) -> None:
    result = built({**CLAIMED, **trainer}, WITH_OWN, semantics=semantics, gates=(GATE,))
    assert main(result)["resources"]["claims"] == [{"name": "gpus"}, {"name": "net"}]
    assert main(result)["resources"].get("limits", {}) == amounts
    assert [claim["name"] for claim in pod(result)["spec"]["resourceClaims"]] == ["net", "gpus"]
    (warning,) = (d for d in result.diagnostics if d.code == "ClaimsNotCounted")
    assert (warning.severity, warning.path) == ("warning", "spec.trainer.resourceClaimsPerNode")


def test_a_number_of_processes_or_gpus_leaves_nothing_to_count() -> None:
    for more in ({"numProcPerNode": 8}, {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}):
        result = built({**CLAIMED, **more}, WITH_OWN, gates=(GATE,))
        assert "ClaimsNotCounted" not in {d.code for d in result.diagnostics}


def patch(**spec: Any) -> dict[str, Any]:
    """A patch of the pods of job `node`."""
    node = {"name": "node", "template": {"spec": {"template": {"spec": spec}}}}
    return {"manager": "a.b/c", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [node]}}}}


USES = {"containers": [{"name": "node", "resources": {"claims": [{"name": "gpus"}]}}]}
IN_JOBSET = "spec.replicatedJobs[0].template.spec.template.spec"
IN_PATCH = f"spec.runtimePatches[0].trainingRuntimeSpec.template.{IN_JOBSET}"


@both
@pytest.mark.parametrize(
    ("trainer", "patches", "paths"),
    [
        (CLAIMED, [], ["spec.trainer.resourceClaimsPerNode"]),
        ({}, [patch(**OWN)], [f"{IN_PATCH}.resourceClaims"]),
        ({}, [patch(**USES)], [f"{IN_PATCH}.containers[0].resources.claims"]),
    ],
)
def test_claims_of_a_trainjob_need_the_gate(semantics: str, trainer: Any, patches: Any, paths: list[str]) -> None:
    errors = refused(trainjob(trainer, runtimePatches=patches), runtime(WITH_OWN), release="2.4", semantics=semantics)
    assert [(error.code, error.path) for error in errors] == [("FeatureGateOff", path) for path in paths]
    assert "featureGates: [TrainJobDynamicResourceAllocation]" in errors[0].hint


@pytest.mark.parametrize(
    ("semantics", "path"),
    [
        ("controller", "spec.runtimePatches"),
        ("gitops", f"{IN_JOBSET}.containers[0].resources.claims[0]"),
    ],
)
def test_a_claim_that_the_pods_do_not_have_is_refused_once(semantics: str, path: str) -> None:
    document = trainjob({}, runtimePatches=[patch(**USES)])
    errors = refused(document, runtime(job()), release="2.4", semantics=semantics, feature_gates=(GATE,))
    assert [(error.code, error.path) for error in errors] == [("NotInPod", path)]


@pytest.mark.parametrize(
    ("name", "release", "code"),
    [
        ("twenty-characters-xx", "2.4", None),
        ("twenty-one-characters", "2.4", "TooLong"),
        ("twenty-one-characters", "2.3", None),
    ],
)
def test_a_job_of_a_runtime_has_a_name_of_at_most_20_characters(name: str, release: str, code: str | None) -> None:
    rt = runtime(job(), job(name, None))
    if code is None:
        compiled(trainjob({}), rt, release=release)
        return
    (error,) = refused(trainjob({}), rt, release=release)
    assert (error.code, error.path) == (code, "spec.template.spec.replicatedJobs[1].name")


@cases("trainer", "path")
def test_what_the_crd_of_2_4_refuses(trainer: Any, path: str) -> None:
    errors = refused(trainjob(trainer), runtime(), release="2.4", feature_gates=(GATE,))
    assert path in {error.path for error in errors}


def test_the_preview_is_mentioned_once_and_a_gate_that_a_release_lacks_has_no_effect() -> None:
    assert [d.severity for d in built({}, job()).diagnostics if d.code == "PreviewRelease"] == ["info"]
    (without,) = (d for d in built({}, job(), release="2.3", gates=(GATE,)).diagnostics if "Option" in d.code)
    assert without.code == "OptionWithoutEffect"
