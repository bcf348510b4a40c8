"""Why a job can never be admitted, and the nearest thing that would do."""

from __future__ import annotations

import pytest
from clusters import (
    GPU,
    HOST,
    RACK,
    REQUIRED,
    Json,
    alone,
    flavor,
    jobset,
    kueue,
    local,
    namespace,
    node,
    queue,
    topology,
    why,
)

RACKS = [
    topology(),
    flavor(nodeLabels={"gpu": "h100"}, topologyName="racks"),
    queue("a", 64),
    local("a"),
    *(node(f"n{i}", f"r{i // 4}", gpu="h100") for i in range(8)),
]


def test_more_than_the_queue_and_its_cohort_have() -> None:
    cluster = [queue("a", 96, cohortName="x"), queue("b", 32, cohortName="x"), local("a")]
    assert why(jobset(pods=17), cluster) == (
        "the job requests 136 GPUs, and ClusterQueue a can provide at most 128: 96 of its own, 32 borrowed from cohort x; "
        "128 would fit: numNodes 16\n"
        "help: write numNodes: 16, or raise the nominalQuota of ClusterQueue a for nvidia.com/gpu in flavor h100 by 8"
    )


def test_a_rack_that_is_too_small() -> None:
    assert why(jobset(pods=8, annotations={REQUIRED: RACK}), RACKS) == (
        "no rack has room for 8 pods of 8 GPUs; the largest has room for 4; preferred-topology would fit\n"
        "help: write numNodes: 4; or, use this annotation on the pods instead, where their runtime has another: "
        f"kueue.x-k8s.io/podset-preferred-topology: {RACK}"
    )


def test_what_the_hint_says_would_do() -> None:
    cluster = [queue("a", 96, cohortName="x"), queue("b", 32, cohortName="x"), local("a")]
    assert alone(jobset(pods=16), cluster).verdict == "fits"
    assert alone(jobset(pods=17), [queue("a", 104, cohortName="x"), *cluster[1:]]).verdict == "fits"
    preferred = {"kueue.x-k8s.io/podset-preferred-topology": RACK}
    assert alone(jobset(pods=8, annotations=preferred), RACKS).places == {"node": {f"n{i}": 1 for i in range(8)}}


@pytest.mark.parametrize(
    ("job", "cluster", "message"),
    [
        (
            jobset(pods=3),
            [queue("a", 8), local("a")],
            (
                "the job requests 24 GPUs, and ClusterQueue a can provide at most 8: all from its own quota; 8 would fit: numNodes 1\n"
                "help: write numNodes: 1, or raise the nominalQuota of ClusterQueue a for nvidia.com/gpu in flavor h100 by 16"
            ),
        ),
        (
            jobset(annotations={REQUIRED: HOST}, gpus=16),
            RACKS,
            (
                "no node can run a pod of node: each requests 16 GPUs, and the largest of the 8 nodes of flavor h100 has 8\n"
                "help: request less per pod, or add larger nodes to the flavor"
            ),
        ),
        (
            jobset(pods=9, annotations={"kueue.x-k8s.io/podset-unconstrained-topology": "true"}),
            [*RACKS[:2], queue("a", 99), *RACKS[3:]],
            (
                "the nodes of flavor h100 do not have room for 9 pods of 8 GPUs; together they have room for 8; 8 pods would fit: numNodes 8\n"
                "help: write numNodes: 8"
            ),
        ),
        (
            jobset(),
            [queue("a", 8), local("a"), flavor(nodeTaints=[{"key": "spot", "effect": "NoSchedule"}])],
            (
                "no flavor of ClusterQueue a accepts the pods of node: h100: its taint spot:NoSchedule is not tolerated\n"
                "help: add to ResourceFlavor h100: tolerations: [{key: spot, operator: Exists, effect: NoSchedule}], which Kueue gives to the pods it admits"
            ),
        ),
        (
            jobset(),
            [queue("a", 8, namespaceSelector={"matchLabels": {"team": "a"}}), local("a")],
            (
                "ClusterQueue a does not accept jobs from namespace team-a (see its namespaceSelector)\n"
                "help: label the namespace with team: a"
            ),
        ),
        (
            jobset(spec={"containers": [{"name": "node", "resources": {"requests": {"cpu": 1}}}]}),
            [queue("a", 8), local("a")],
            (
                "ClusterQueue a has no quota for cpu, which the pods of node request\n"
                "help: remove the request, or add cpu to coveredResources of the ClusterQueue"
            ),
        ),
        (
            jobset(spec={"containers": [{"name": "node", "resources": {"requests": {"nvidia.com/gpus": 1}}}]}),
            [queue("a", 8), local("a")],
            (
                "ClusterQueue a has no quota for nvidia.com/gpus, which the pods of node request\n"
                "help: did you mean nvidia.com/gpu? Otherwise, add nvidia.com/gpus to coveredResources of the ClusterQueue"
            ),
        ),
        (
            jobset(to="b"),
            [queue("a", 8), local("a")],
            "there is no LocalQueue b in namespace team-a\nhelp: the namespace has the LocalQueues a: use a queue or a namespace that is there, or have one created",
        ),
        (
            jobset(),
            [queue("a", 8, stopPolicy="Hold"), local("a")],
            "ClusterQueue a is inactive: it is stopped (stopPolicy)\nhelp: set `stopPolicy: None` on it: an inactive ClusterQueue admits nothing",
        ),
    ],
)
def test_the_message_says_what_to_do(job: Json, cluster: list[Json], message: str) -> None:
    assert why(job, cluster) == message


def test_a_limit_below_the_request() -> None:
    resources = {"requests": {GPU: 8}, "limits": {GPU: 4}}
    job = jobset(spec={"containers": [{"name": "node", "resources": resources}]})
    assert why(job, [queue("a", 8), local("a")]).startswith(
        "container node of node requests more nvidia.com/gpu than its limit"
    )


def test_a_limit_range_forbids_it() -> None:
    limits = {"limits": [{"type": "Container", "max": {GPU: 4}}]}
    limit_range = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "team-a"},
        "spec": limits,
    }
    assert why(jobset(), [queue("a", 8), local("a"), limit_range]).startswith(
        "nvidia.com/gpu of container node of node is above"
    )


def test_a_missing_cohort_is_not_a_fault_and_a_circle_is_one() -> None:
    assert alone(jobset(), [queue("a", 8, cohortName="gone"), local("a")]).verdict == "fits"
    circle = [kueue("Cohort", "x", {"parentName": "y"}), kueue("Cohort", "y", {"parentName": "x"})]
    found = alone(jobset(), [queue("a", 8, cohortName="x"), local("a"), *circle])
    assert (found.verdict, found.cause) == ("inactive", "cluster-queue-inactive")


def test_the_namespace_of_a_job_is_not_there() -> None:
    other = {**namespace(), "metadata": {"name": "team-b"}}
    job = jobset()
    job["metadata"]["namespace"] = "team-c"
    local_queue = kueue("LocalQueue", "a", {"clusterQueue": "a"}, namespace="team-c")
    assert why(job, [queue("a", 8), local_queue, other]).startswith("there is no namespace team-c")


def test_a_job_without_a_namespace_has_no_queue() -> None:
    job = jobset()
    del job["metadata"]["namespace"]
    assert why(job, [queue("a", 8), local("a")]).startswith("the job has no namespace")
