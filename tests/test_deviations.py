"""Every deviation of `gitops`: what the controller does, what trainc does instead, and the warning between them."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, container, env, job, main, one, pod, pods, replicated_job, runtime, trainjob

from trainc import CompileError
from trainc.ir.deviations import deviations

GPUS = {"limits": {"nvidia.com/gpu": 8}, "requests": {"cpu": 4}}
NODE_WITH_GPUS = job(containers=[container(resources=GPUS)])
INITIALIZER = job(
    "dataset-initializer",
    "dataset-initializer",
    [container("dataset-initializer", resources={"requests": {"cpu": 1}})],
)
AFTER: dict[str, Any] = {"dependsOn": [{"name": "dataset-initializer", "status": "Complete"}]}
MPI_JOBS = (job("launcher"), job("node", None))


def both(document: dict[str, Any], *runtimes: dict[str, Any], **options: Any) -> tuple[Any, Any]:
    return (
        compiled(document, *runtimes, semantics="controller", **options),
        compiled(document, *runtimes, semantics="gitops", **options),
    )


def warned(result: Any, code: str) -> bool:
    return any(d.code == code and d.severity == "warning" for d in result.diagnostics)


def test_a_job_that_is_awaited_is_not_a_member_of_the_gang() -> None:
    rt = runtime(INITIALIZER, job(**AFTER), policy={"numNodes": 4}, gang={"coscheduling": {}})
    controller, gitops = both(trainjob(), rt)
    assert one(controller, "PodGroup")["spec"]["minMember"] == 5
    assert one(gitops, "PodGroup")["spec"]["minMember"] == 4
    label = "scheduling.x-k8s.io/pod-group"
    assert label in pod(controller, "dataset-initializer")["metadata"]["labels"]
    assert label not in pod(gitops, "dataset-initializer")["metadata"]["labels"]
    assert pod(gitops)["metadata"]["labels"][label] == "llm"
    assert "cpu" not in one(gitops, "PodGroup")["spec"]["minResources"]
    assert warned(controller, "GangNeverComplete")


def test_the_gang_counts_every_replica() -> None:
    requested = {"resources": {"requests": {"cpu": "1"}}}
    rt = runtime(
        job("side", None, [container("c", **requested)], replicas=3, spec={"parallelism": 2}), gang={"coscheduling": {}}
    )
    controller, gitops = both(trainjob(), rt)
    assert one(controller, "PodGroup")["spec"]["minMember"] == 2
    assert one(gitops, "PodGroup")["spec"]["minMember"] == 6
    assert one(gitops, "PodGroup")["spec"]["minResources"] == {"cpu": "6"}
    assert warned(controller, "GangIgnoresReplicas")


def test_a_limit_without_a_request_counts_in_the_gang() -> None:
    rt = runtime(NODE_WITH_GPUS, policy={"numNodes": 2}, gang={"coscheduling": {}})
    controller, gitops = both(trainjob(), rt)
    assert one(controller, "PodGroup")["spec"]["minResources"] == {"cpu": "8"}
    assert one(gitops, "PodGroup")["spec"]["minResources"] == {"cpu": "8", "nvidia.com/gpu": "16"}
    assert warned(controller, "GangIgnoresLimits")


def test_unnamed_ports_are_kept() -> None:
    rt = runtime(job(containers=[container(ports=[{"containerPort": 8080}])]), policy={"torch": {}})
    controller, gitops = both(trainjob({}), rt)
    assert [p["containerPort"] for p in main(controller)["ports"]] == [29500]
    assert [p["containerPort"] for p in main(gitops)["ports"]] == [8080, 29500]
    assert warned(controller, "UnnamedPortsLost")


@pytest.mark.parametrize(
    ("patched", "code"),
    [
        ({"name": "ghost", "template": {"metadata": {"labels": {"a": "b"}}}}, "UnknownPatchTarget"),
        (
            {"name": "node", "template": {"spec": {"template": {"spec": {"containers": [{"name": "ghost"}]}}}}},
            "UnknownPatchTarget",
        ),
    ],
)
def test_a_patch_that_addresses_nothing_is_refused(patched: dict[str, Any], code: str) -> None:
    patch = {"manager": "a.b/c", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [patched]}}}}
    document = trainjob({}, runtimePatches=[patch])
    assert warned(compiled(document, runtime(), semantics="controller"), "PatchCreatesTarget")
    with pytest.raises(CompileError) as refused:
        compiled(document, runtime())
    assert code in {d.code for d in refused.value.diagnostics if d.severity == "error"}


def test_counts_come_from_the_merged_resources() -> None:
    document = trainjob({"resourcesPerNode": {"limits": {"cpu": 4}}})
    controller, gitops = both(document, runtime(NODE_WITH_GPUS, policy={"torch": {}}))
    assert env(controller)["PET_NPROC_PER_NODE"] == "4"
    assert env(gitops)["PET_NPROC_PER_NODE"] == "auto"
    assert main(gitops)["resources"]["limits"] == {"cpu": "4", "nvidia.com/gpu": "8"}
    assert warned(controller, "CountsIgnoreRuntimeResources")


def test_resources_per_node_works_without_a_policy() -> None:
    controller, gitops = both(trainjob({"resourcesPerNode": {"limits": {"cpu": 4}}}), runtime())
    assert "resources" not in main(controller)
    assert main(gitops)["resources"] == {"limits": {"cpu": "4"}}
    assert warned(controller, "ResourcesIgnored")


def test_num_nodes_of_an_mpi_runtime_never_multiplies_the_launcher() -> None:
    controller, gitops = both(trainjob(), runtime(*MPI_JOBS, policy={"numNodes": 4, "mpi": {}}))
    assert (pods(controller, "launcher"), pods(controller, "node")) == (4, 1)
    assert (pods(gitops, "launcher"), pods(gitops, "node")) == (1, 4)
    assert warned(controller, "LauncherMultiplied")


def test_one_mpi_node_that_is_the_launcher_is_one_host() -> None:
    rt = runtime(*MPI_JOBS, policy={"mpi": {"runLauncherAsNode": True}})
    controller, gitops = both(trainjob({"numNodes": 1}), rt)
    assert one(controller, "ConfigMap")["data"]["hostfile"].count("\n") == 2
    assert one(gitops, "ConfigMap")["data"]["hostfile"] == "llm-launcher-0-0.llm slots=1\n"
    assert warned(controller, "ExtraHost")


@pytest.mark.parametrize(
    ("policy", "variable", "port"),
    [
        ("torch", "PET_MASTER_ADDR", ""),
        ("jax", "JAX_COORDINATOR_ADDRESS", ":29500"),
        ("xgboost", "DMLC_TRACKER_URI", ""),
    ],
)
def test_the_rendezvous_address_is_that_of_a_pod_that_will_exist(policy: str, variable: str, port: str) -> None:
    rt = runtime(job("worker"), policy={policy: {}}, network={"subdomain": "ring"})
    controller, gitops = both(trainjob({}), rt)
    assert env(controller, "worker")[variable] == f"llm-node-0-0.llm{port}"
    assert env(gitops, "worker")[variable] == f"llm-worker-0-0.ring{port}"
    assert warned(controller, "MasterAddressWrong")


@pytest.mark.parametrize(
    ("policy", "variable"), [("torch", "PET_NNODES"), ("jax", "JAX_PROCESS_ID"), ("xgboost", "DMLC_TASK_ID")]
)
def test_rank_variables_need_no_trainer_section(policy: str, variable: str) -> None:
    controller, gitops = both(trainjob(), runtime(policy={"numNodes": 2, policy: {}}))
    assert variable not in env(controller)
    assert variable in env(gitops)
    assert warned(controller, "RankEnvironmentMissing")


@pytest.mark.parametrize("policy", ["torch", "mpi", "xgboost", "flux"])
def test_two_gpu_resources_are_refused_where_a_count_depends_on_them(policy: str) -> None:
    document = trainjob({"numNodes": 1, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 2, "amd.com/gpu": 3}}})
    rt = runtime(*MPI_JOBS if policy == "mpi" else (job(),), policy={policy: {}})
    assert warned(compiled(document, rt, semantics="controller"), "AmbiguousGPU")
    with pytest.raises(CompileError) as refused:
        compiled(document, rt)
    assert "AmbiguousGPU" in {d.code for d in refused.value.diagnostics if d.severity == "error"}


def test_a_file_key_reference_is_kept() -> None:
    source = {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}
    document = trainjob({"env": [{"name": "A", "valueFrom": source}]})
    files = job(pod={"volumes": [{"name": "v", "emptyDir": {}}]})
    controller, gitops = both(document, runtime(files))
    assert env(controller)["A"] == {}
    assert env(gitops)["A"]["fileKeyRef"]["key"] == "k"
    assert warned(controller, "EnvSourceLost")


CLAIMS = {"resourceClaims": [{"name": name, "resourceClaimTemplateName": "gpu"} for name in ("own", "asked")]}


@pytest.mark.parametrize("release", ["2.0", "2.1", "2.2", "2.3"])
def test_resource_claims_reach_the_container_and_its_own_stay(release: str) -> None:
    document = trainjob({"resourcesPerNode": {"limits": {"cpu": "1"}, "claims": [{"name": "asked"}]}})
    own = job(containers=[container(resources={"limits": {"memory": "1Gi"}, "claims": [{"name": "own"}]})], pod=CLAIMS)
    controller, gitops = both(document, runtime(own, policy={"torch": {}}), release=release)
    assert main(gitops)["resources"]["claims"] == [{"name": "own"}, {"name": "asked"}]
    assert main(gitops)["resources"]["limits"]["cpu"] == "1"
    assert "claims" not in main(controller)["resources"]
    assert warned(controller, "ResourceClaimsLost")


def test_claims_alone_leave_the_amounts_as_they_are() -> None:
    document = trainjob({"resourcesPerNode": {"claims": [{"name": "asked"}]}})
    own = job(containers=[container(resources={"limits": {"memory": "1Gi"}})], pod=CLAIMS)
    for release in ("2.0", "2.3"):
        resources = main(compiled(document, runtime(own, policy={"torch": {}}), release=release))["resources"]
        assert resources == {"limits": {"memory": "1Gi"}, "claims": [{"name": "asked"}]}


def test_a_variable_keeps_the_version_of_its_field_reference() -> None:
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
    document = trainjob({"env": [{"name": "A", "valueFrom": source}]})
    controller, gitops = both(document, runtime())
    assert env(gitops)["A"] == source
    assert env(controller)["A"] == {"fieldRef": {"fieldPath": "metadata.name"}}


def test_flux_tasks_share_the_gpus_of_their_node() -> None:
    document = trainjob({"numNodes": 2, "numProcPerNode": 4, "command": ["train"]})
    controller, gitops = both(document, runtime(NODE_WITH_GPUS, policy={"flux": {}}))
    assert "-N 2 -n 8 -g 8 " in one(controller, "ConfigMap")["data"]["entrypoint.sh"]
    assert "-N 2 -n 8 -g 2 " in one(gitops, "ConfigMap")["data"]["entrypoint.sh"]
    assert warned(controller, "FluxTasksWantAllGPUs")


def test_flux_runs_the_words_of_the_command() -> None:
    document = trainjob({"numNodes": 2, "command": ["python", "-c", "print(1, 2)"]})
    controller, gitops = both(document, runtime(job(containers=[container(args=["--x"])]), policy={"flux": {}}))
    assert main(controller)["command"][2:] == ["python -c print(1, 2)"]
    assert main(gitops)["command"][2:] == ["python", "-c", "print(1, 2)", "--x"]
    assert "args" not in main(gitops)
    assert warned(controller, "FluxCommandFlattened")


def test_an_elastic_policy_is_applied() -> None:
    rt = runtime(policy={"torch": {"elasticPolicy": {"minNodes": 1, "maxNodes": 3}}})
    controller, gitops = both(trainjob({}), rt, release="2.1")
    assert env(controller)["PET_NNODES"] == "1"
    assert env(gitops)["PET_NNODES"] == "1:3"
    assert warned(controller, "ElasticPolicyIgnored")
    assert not warned(gitops, "ElasticPolicyIgnored")


def test_a_job_that_is_plainly_the_trainer_gets_its_label() -> None:
    controller, gitops = both(trainjob({"numNodes": 3}), runtime(job(step=None), policy={"torch": {}}))
    label = "trainer.kubeflow.org/trainjob-ancestor-step"
    assert "metadata" not in replicated_job(controller)["template"]
    assert replicated_job(gitops)["template"]["metadata"]["labels"][label] == "trainer"
    assert pod(gitops)["metadata"]["labels"][label] == "trainer"
    assert (pods(controller), pods(gitops)) == (1, 3)
    assert warned(gitops, "RoleInferred")


@pytest.mark.parametrize("semantics", ["controller", "gitops"])
def test_nothing_carries_an_owner_or_a_key(semantics: str) -> None:
    result = compiled(trainjob({}), runtime(*MPI_JOBS, policy={"mpi": {}}), semantics=semantics)
    assert all("ownerReferences" not in m["metadata"] for m in result.manifests)
    assert {m["kind"] for m in result.manifests} == {"ConfigMap", "JobSet"}
    assert result.secrets == ["llm-mpi-ssh-auth"]


def test_ids_are_unique_and_each_has_its_reason() -> None:
    assert len({d.id for d in deviations()}) == len(deviations())
    assert all(d.summary and d.reason for d in deviations())
