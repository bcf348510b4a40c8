"""Pods that Karpenter or the cluster autoscaler may evict while they train, where the snapshot shows one of them."""

from __future__ import annotations

from typing import Any

import pytest
from clusters import GPU, Json, alone, flavor, jobset, local, node, queue

QUEUE = [queue("a", 1000), local("a"), flavor()]
KEPT = {"karpenter.sh/do-not-disrupt": "true"}
SAFE = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}


def deployment(image: str) -> Json:
    pod = {"spec": {"containers": [{"name": "manager", "image": image}]}}
    metadata = {"name": "scaler", "namespace": "kube-system"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": pod}}


def pool(**spec: Any) -> Json:
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "gpu"}, "spec": spec}


KARPENTER = deployment("public.ecr.aws/karpenter/controller:1.5.0")
AUTOSCALER = deployment("registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0")
POOL_LABEL: dict[str, Any] = {"karpenter.sh/nodepool": "gpu"}
OF_POOL = [node("n", "r0", **POOL_LABEL)]
OWN = [node("n", "r0")]


def evicted(job: Json, of: list[Json]) -> list[str]:
    found = alone(job, [*QUEUE, *of]).diagnostics
    return [f"{one.severity}: {one.message}; {one.hint}" for one in found if one.code == "PodsMayBeEvicted"]


def test_karpenter_may_end_pods_without_its_annotation() -> None:
    (found,) = evicted(jobset(), [KARPENTER, *OF_POOL])
    assert found == (
        "warning: Karpenter may end pods of node, to replace nodes by cheaper or newer ones; annotate the pods, in the "
        'runtime or in a runtimePatch of the TrainJob: {karpenter.sh/do-not-disrupt: "true"}'
    )
    assert evicted(jobset(annotations=KEPT), [KARPENTER, *OF_POOL]) == []
    assert evicted(jobset(annotations={"karpenter.sh/do-not-evict": "true"}), [KARPENTER, *OF_POOL]) == []
    assert len(evicted(jobset(annotations={"karpenter.sh/do-not-disrupt": "false"}), [KARPENTER, *OF_POOL])) == 1


@pytest.mark.parametrize(
    ("pools", "warned"),
    [
        ([pool(disruption={"consolidationPolicy": "WhenEmpty"})], True),
        ([pool(disruption={"budgets": [{"nodes": "10%"}]})], True),
        ([pool(disruption={"budgets": [{"nodes": "0", "schedule": "0 9 * * *", "duration": "8h"}]})], True),
        ([pool(disruption={"budgets": [{"nodes": "0", "reasons": ["Underutilized"]}]})], True),
        ([pool(disruption={"budgets": [{"nodes": "0"}]})], False),
        ([pool(template={"metadata": {"annotations": KEPT}})], False),
    ],
)
def test_node_pools_that_are_never_disrupted_end_no_pods(pools: list[Json], warned: bool) -> None:
    assert len(evicted(jobset(), [*pools, *OF_POOL])) == warned


def test_karpenter_leaves_nodes_alone_that_are_not_its_own() -> None:
    other = node("m", "r1", gpus=0, **{"karpenter.sh/nodepool": "cpu"})
    other["spec"] = {"taints": [{"key": "cpu", "effect": "NoSchedule"}]}
    assert evicted(jobset(), [KARPENTER, *OWN, other]) == []


@pytest.mark.parametrize(
    ("gpus", "warned"), [(1, True), (3, True), (4, False), (8, False)], ids=["1 of 8", "3 of 8", "4 of 8", "8 of 8"]
)
def test_the_autoscaler_ends_pods_that_use_less_than_half_of_a_node(gpus: int, warned: bool) -> None:
    found = evicted(jobset(gpus=gpus), [AUTOSCALER, *OWN])
    assert len(found) == warned
    assert all("the cluster autoscaler may end pods of node, each of which uses less than half" in one for one in found)
    assert evicted(jobset(gpus=gpus, annotations=SAFE), [AUTOSCALER, *OWN]) == []


@pytest.mark.parametrize(
    ("volume", "warned"),
    [
        ({"emptyDir": {}}, False),
        ({"hostPath": {"path": "/data"}}, False),
        ({"emptyDir": {"medium": "Memory"}}, True),
        ({"persistentVolumeClaim": {"claimName": "data"}}, True),
    ],
)
def test_the_autoscaler_keeps_nodes_of_pods_with_local_storage(volume: Json, warned: bool) -> None:
    pod = {"volumes": [{"name": "scratch", **volume}]}
    assert len(evicted(jobset(gpus=1, spec=pod), [AUTOSCALER, *OWN])) == warned


def test_the_autoscaler_keeps_nodes_that_say_so() -> None:
    kept = node("n", "r0")
    kept["metadata"]["annotations"] = {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
    assert evicted(jobset(gpus=1), [AUTOSCALER, kept]) == []


def test_without_either_nothing_is_said() -> None:
    assert evicted(jobset(gpus=1), [deployment("example.com/kueue/kueue:v0.20.0"), *OWN]) == []


def test_initializers_and_jobs_that_never_run_are_left_out() -> None:
    assert evicted(jobset(gpus=16), [AUTOSCALER, *OWN]) == []
    job = jobset(gpus=8)
    first = jobset()["spec"]["replicatedJobs"][0]
    first["template"]["metadata"]["labels"] = {"trainer.kubeflow.org/trainjob-ancestor-step": "model-initializer"}
    first["template"]["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {GPU: 1}}
    job["spec"]["replicatedJobs"].insert(0, {**first, "name": "model-initializer"})
    assert evicted(job, [AUTOSCALER, node("n", "r0", gpus=16)]) == []


def test_a_job_without_a_queue_is_warned_of_too() -> None:
    assert len(evicted(jobset(to=None), [KARPENTER, *OF_POOL])) == 1
