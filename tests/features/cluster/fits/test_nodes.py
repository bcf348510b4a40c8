"""Queue and nodes together: what Kueue admits and no node can run, with numbers, and what may change by itself."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from clusters import GPU, HOST, Json, alone, flavor, jobset, kueue, local, namespace, node, queue, topology, why
from tables import cases

from trainc.features.cluster.fits.pods import is_readable, node_matches
from trainc.kube.selectors import MalformedSelector

QUEUE = [queue("a", 1000), local("a"), flavor(nodeLabels={"gpu": "h100"})]
SMALL = [node(f"n{i}", "r0", gpus=4, gpu="h100") for i in range(12)]


def codes(job: Json, of: list[Json]) -> list[tuple[str, str]]:
    return [(one.severity, one.code) for one in alone(job, of).diagnostics]


ERROR, WARNING = [("error", "UnschedulableAfterAdmission")], [("warning", "UnschedulableAfterAdmission")]


def test_a_pod_larger_than_every_node_is_split_into_more_and_smaller_ones() -> None:
    assert why(jobset(pods=2), [*QUEUE, *SMALL]) == (
        "ClusterQueue a admits the job, which then keeps its quota and never runs: no node can run a pod of node: each "
        "requests 8 GPUs, and the largest of the 12 nodes of flavor h100 has 4\n"
        "help: write numNodes: 4 and, per node, nvidia.com/gpu: 4"
    )
    found = alone(jobset(pods=2), [*QUEUE, *SMALL])
    assert (found.verdict, found.runs, found.cause) == ("fits", False, "no-node")
    followed = alone(jobset(pods=4, gpus=4), [*QUEUE, *SMALL])
    assert (followed.verdict, followed.runs, followed.diagnostics) == ("fits", True, ())


def with_requests(**requests: Any) -> Json:
    amounts = {key.replace("gpu", GPU): value for key, value in requests.items()}
    return jobset(pods=2, spec={"containers": [{"name": "node", "resources": {"requests": amounts}}]})


def sized(count: int, **allocatable: Any) -> list[Json]:
    nodes = [node(f"n{i}", "r0", gpu="h100") for i in range(count)]
    for one in nodes:
        one["status"]["allocatable"] = {"pods": 110, **{key.replace("gpu", GPU): v for key, v in allocatable.items()}}
    return nodes


COVERED = kueue(
    "ClusterQueue",
    "a",
    {
        "namespaceSelector": {},
        "resourceGroups": [
            {
                "coveredResources": ["cpu", "memory", GPU],
                "flavors": [
                    {
                        "name": "h100",
                        "resources": [{"name": n, "nominalQuota": "1000Ti"} for n in ("cpu", "memory", GPU)],
                    }
                ],
            }
        ],
    },
)
ALL = [COVERED, *QUEUE[1:]]


@cases("requests", "allocatable", "numbers", "hint")
def test_the_numbers_name_the_resource_that_is_short(
    requests: dict[str, Any], allocatable: dict[str, Any], numbers: str, hint: str
) -> None:
    (found,) = alone(with_requests(**requests), [*ALL, *sized(4, **allocatable)]).diagnostics
    assert f"each requests {numbers}" in found.message
    assert hint in found.hint


def test_the_other_requests_shrink_with_the_devices_if_they_have_to() -> None:
    text = why(with_requests(gpu=8, memory="800Gi", cpu=2), [*ALL, *sized(4, gpu=4, memory="512Gi", cpu=96)])
    assert text.endswith("help: write numNodes: 4 and, per node, nvidia.com/gpu: 4, memory: 400Gi, cpu: 1")


def test_no_single_node_has_all_that_a_pod_requests() -> None:
    nodes = [*sized(1, gpu=8, memory="64Gi"), *sized(2, gpu=1, memory="1Ti")[1:]]
    assert "no node of flavor h100 has room for 1 pod of 512Gi of memory and 8 GPUs" in why(
        with_requests(gpu=8, memory="512Gi"), [*ALL, *nodes]
    )


TAINT = {"key": "spot", "effect": "NoSchedule"}


def tainted(nodes: list[Json], **taint: str) -> list[Json]:
    return [{**one, "spec": {"taints": [{**TAINT, **taint}]}} for one in nodes]


LARGE = [node(f"n{i}", "r0", gpu="h100") for i in range(2)]


def test_nodes_of_another_flavor_or_with_a_taint_do_not_count() -> None:
    others = [*(node(f"o{i}", "r0", gpu="a100") for i in range(5)), *tainted(LARGE)]
    message = alone(jobset(), [*QUEUE, *others]).diagnostics[0].message
    assert message.endswith(
        "no node can run a pod of node: 5 nodes: labels do not match nodeLabels {gpu: h100} of ResourceFlavor h100, "
        "2 nodes: taint spot:NoSchedule not tolerated"
    )


@pytest.mark.parametrize(
    ("job", "of"),
    [
        (jobset(), [*QUEUE, *LARGE]),
        (jobset(spec={"tolerations": [{"operator": "Exists"}]}), [*QUEUE, *tainted(LARGE)]),
        (jobset(), [*QUEUE[:2], flavor(tolerations=[{"key": "spot", "operator": "Exists"}]), *tainted(LARGE)]),
        (jobset(), [*QUEUE, *tainted(LARGE, effect="PreferNoSchedule")]),
        (jobset(), QUEUE),
        (jobset(), [*QUEUE, {**namespace(), "kind": "Node", "apiVersion": "other/v1"}]),
    ],
    ids=["room", "tolerated", "tolerated by the flavor", "a soft taint", "no nodes", "nodes of another API"],
)
def test_what_the_nodes_can_run_gets_no_finding(job: Json, of: list[Json]) -> None:
    assert codes(job, of) == []


def test_too_few_nodes_for_all_pods_at_once() -> None:
    assert why(jobset(pods=3), [*QUEUE, *LARGE]).endswith(
        "even when empty, the nodes of flavor h100 have room for only 2 pods of the 3 of node\n"
        "help: write numNodes: 2, or add nodes"
    )


CHECKED = queue("a", 1000, admissionChecksStrategy={"admissionChecks": [{"name": "prov"}]})


def check(controller: str) -> Json:
    return kueue("AdmissionCheck", "prov", {"controllerName": controller})


@cases("more", "scaler")
def test_where_nodes_may_be_added_it_is_a_warning_that_says_so(more: list[Json], scaler: str) -> None:
    for job in (jobset(), jobset(to=None)):
        (found,) = alone(job, [*QUEUE, *SMALL, *more]).diagnostics
        assert found.severity == ("warning" if scaler else "error")
        assert found.message.endswith(f"; {scaler} may provide one that does") == bool(scaler)


@pytest.mark.parametrize(
    ("more", "severity", "says"),
    [
        ([check("kueue.x-k8s.io/provisioning-request")], "warning", "; admission check prov may provide one that does"),
        ([], "warning", "; admission check prov, if it provisions nodes, may provide one that does"),
        ([check("example.com/budget")], "error", "has 4"),
    ],
    ids=["a provisioning request", "an unknown check", "another check"],
)
def test_an_admission_check_may_add_nodes(more: list[Json], severity: str, says: str) -> None:
    (found,) = alone(jobset(), [CHECKED, *QUEUE[1:], *SMALL, *more]).diagnostics
    assert (found.severity, found.message.endswith(says)) == (severity, True)


def test_jobs_that_multikueue_runs_elsewhere_are_not_compared_with_the_nodes_here() -> None:
    found = alone(jobset(), [CHECKED, *QUEUE[1:], *SMALL, check("kueue.x-k8s.io/multikueue")])
    assert (found.verdict, found.runs, found.diagnostics) == ("fits", None, ())


def test_nodes_that_are_down_make_it_a_warning_if_they_would_do() -> None:
    down = deepcopy(LARGE[0])
    down["status"]["conditions"][0]["status"] = "False"
    down["spec"] = {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}
    assert codes(jobset(), [*QUEUE, *SMALL[1:], down]) == WARNING
    assert codes(jobset(gpus=16), [*QUEUE, *SMALL[1:], down]) == ERROR
    cordoned = {**LARGE[0], "spec": {"unschedulable": True}}
    assert codes(jobset(), [*QUEUE, *SMALL[1:], cordoned]) == WARNING


def types(*nodes: Json) -> Json:
    return {"apiVersion": "trainc/v1alpha1", "kind": "Cluster", "metadata": {"name": "c"}, "nodes": list(nodes)}


def test_types_of_nodes_written_by_hand_answer_too() -> None:
    h100 = {"name": "h100", "labels": {"gpu": "h100"}, "allocatable": {GPU: 4}}
    assert codes(jobset(), [*QUEUE, types({**h100, "count": 12})]) == ERROR
    assert codes(jobset(pods=13, gpus=4), [*QUEUE, types({**h100, "count": 12})]) == ERROR
    assert codes(jobset(pods=12, gpus=4), [*QUEUE, types({**h100, "count": 12})]) == []
    assert codes(jobset(pods=500, gpus=2), [*QUEUE, types(h100)]) == []
    assert "the largest node of flavor h100 has 4" in alone(jobset(), [*QUEUE, types(h100)]).diagnostics[0].message


RACKS = [topology(), flavor(topologyName="racks", nodeLabels={"gpu": "h100"}), queue("a", 64), local("a")]


def test_a_node_that_a_topology_request_needs_is_described_with_numbers_too() -> None:
    job = jobset(gpus=16, annotations={"kueue.x-k8s.io/podset-required-topology": HOST})
    found = alone(job, [*RACKS, *LARGE])
    assert (found.verdict, found.diagnostics[0].code) == ("never", "NeverFits")
    assert "each requests 16 GPUs, and the largest of the 2 nodes of flavor h100 has 8" in found.diagnostics[0].message
    split = jobset(gpus=16, annotations={"kueue.x-k8s.io/podset-preferred-topology": HOST})
    assert why(split, [*RACKS, *LARGE]).endswith("help: write numNodes: 2 and, per node, nvidia.com/gpu: 8")


def leader(requests: Json) -> Json:
    """A leader of one pod and four workers that have to be in one rack, as an MPI launcher and its nodes are."""
    group = {
        "kueue.x-k8s.io/podset-group-name": "all",
        "kueue.x-k8s.io/podset-required-topology": "cloud.provider.com/topology-rack",
    }
    job = jobset(pods=4, annotations=group)
    first = deepcopy(job["spec"]["replicatedJobs"][0])
    first["name"] = "leader"
    first["template"]["spec"] |= {"parallelism": 1, "completions": 1}
    first["template"]["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": requests}
    job["spec"]["replicatedJobs"].insert(0, first)
    return job


@pytest.mark.parametrize("requests", [{GPU: 0}, {}], ids=["zero GPUs", "nothing"])
def test_a_leader_without_devices_takes_the_flavor_of_its_group(requests: Json) -> None:
    """kubernetes-sigs/kueue pkg/scheduler/flavorassigner/flavorassigner.go resolvePodSetFlavors, v0.19.1.

    A pod that requests nothing at all gets flavor and place, and fails the last check of every cycle (Fits in
    pkg/cache/scheduler/tas_flavor_snapshot.go: a pod without requests is counted as fitting 0 times).
    """
    found = alone(leader(requests), [*RACKS, *(node(f"n{i}", "r0", gpu="h100") for i in range(5))])
    if requests:
        assert found.flavors == {"leader": {GPU: "h100"}, "node": {GPU: "h100"}}
    else:
        assert (found.verdict, found.cause) == ("never", "no-longer-fits")
        assert found.diagnostics[0].hint == "add a request to the pods, such as cpu: 100m"


@cases("terms", "chosen")
def test_a_node_is_chosen_by_its_name_and_its_labels(terms: list[Json], chosen: list[str]) -> None:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    nodes = {"n1": {"rack": "r1"}, "n2": {"rack": "r1"}, "n3": {"rack": "r2"}}
    pod = {"affinity": {"nodeAffinity": required}}
    assert [name for name, labels in nodes.items() if node_matches(pod, labels, name)] == chosen


@pytest.mark.parametrize(
    "requirement",
    [{"operator": "Exists", "values": ["n1"]}, {"operator": "In", "values": ["n1", "n2"]}, {"operator": "In"}],
    ids=["another operator", "two names", "none"],
)
def test_a_condition_about_names_that_the_scheduler_cannot_read_is_malformed(requirement: Json) -> None:
    term = {"matchFields": [{"key": "metadata.name", **requirement}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    pod = {"affinity": {"nodeAffinity": required}}
    assert not is_readable(pod, selector=False)
    with pytest.raises(MalformedSelector):
        node_matches(pod, {}, "n1")
