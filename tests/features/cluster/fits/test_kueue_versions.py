"""What Kueue does differently from version to version, each with the pull request that changed it."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from clusters import GPU, HOST, RACK, Json, flavor, jobset, kueue, local, namespace, node, queue
from tables import cases

from trainc import Fit, fits
from trainc.features.cluster.fits.forms import fit_changes
from trainc.kube.kueue_versions import DEFAULT, normalize_kueue, step_of, version_of
from trainc.reading.yaml_reader import read_port

PREFIX = "kueue.x-k8s.io/podset-"
ON_RACK = {f"{PREFIX}required-topology": RACK}
OLD, NEW = "0.19", "0.20"


def racks(**nodes: list[int]) -> list[Json]:
    """A cluster with racks of nodes, by their GPUs. The lowest level of its topology is the rack."""
    made = [node(f"{name}-{i}", name, gpus) for name, sizes in nodes.items() for i, gpus in enumerate(sizes)]
    levels = kueue("Topology", "racks", {"levels": [{"nodeLabel": RACK}]})
    return [namespace(), queue("a", 1000), local("a"), flavor(topologyName="racks"), levels, *made]


def with_hosts(cluster: list[Json]) -> list[Json]:
    levels = {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOST}]}
    return [*(one for one in cluster if one["kind"] != "Topology"), kueue("Topology", "racks", levels)]


def answer(job: Json, cluster: list[Json], version: str | None = None) -> Fit:
    return fits([job], cluster, version).alone[0]


def verdict(job: Json, cluster: list[Json], version: str) -> tuple[str, str | None, bool | None]:
    found = answer(job, cluster, version)
    return found.verdict, found.cause, found.runs


def placed(job: Json, cluster: list[Json], version: str) -> dict[str, int]:
    return dict(answer(job, cluster, version).places.get("node", {}))


FITS = ("fits", None, True)
TOO_WIDE = ("fits", "too-few-nodes", False)
NO_DOMAIN = ("never", "topology", None)


# 1. Nodes count below a topology that ends at the rack: #14191.


def test_a_pod_larger_than_a_node_is_admitted_by_the_sum_of_a_rack_before_0_20() -> None:
    job, cluster = jobset(gpus=6, annotations=ON_RACK), racks(r0=[4, 4])
    assert verdict(job, cluster, OLD) == ("fits", "no-node", False)
    assert verdict(job, cluster, NEW) == NO_DOMAIN
    assert verdict(job, racks(r0=[8]), OLD) == verdict(job, racks(r0=[8]), NEW) == FITS


def test_pods_that_leave_gaps_on_the_nodes_of_a_rack_never_all_run() -> None:
    """Three nodes of 4 GPUs hold three pods of 3, although their sum would do for four; the other rack holds one."""
    job, cluster = jobset(pods=4, gpus=3, annotations=ON_RACK), racks(r0=[4, 4, 4], r1=[4])
    assert verdict(job, cluster, OLD) == TOO_WIDE
    (found,) = answer(job, cluster, OLD).diagnostics
    assert (found.code, found.severity) == ("UnschedulableAfterAdmission", "error")
    assert "no rack has room for 4 pods of 3 GPUs; the largest has room for 3" in found.message
    assert "kueue.x-k8s.io/podset-preferred-topology: " in found.hint
    assert verdict(job, cluster, NEW) == NO_DOMAIN
    smaller = jobset(pods=3, gpus=3, annotations=ON_RACK)
    assert verdict(smaller, cluster, OLD) == verdict(smaller, cluster, NEW) == FITS
    assert placed(smaller, cluster, NEW) == {"r0": 3}


ANYWHERE = {f"{PREFIX}unconstrained-topology": "true"}
NEAR = {f"{PREFIX}preferred-topology": RACK}


@pytest.mark.parametrize("annotations", [ANYWHERE, NEAR], ids=["unconstrained", "preferred"])
def test_pods_that_kueue_places_in_a_rack_by_its_sum_may_wait_there_before_0_20(annotations: dict[str, str]) -> None:
    """Three pods of 5 GPUs are less than the 16 of two nodes, which hold two; the third would fit in the other rack."""
    job, cluster = jobset(pods=3, gpus=5, annotations=annotations), racks(r0=[8, 8], r1=[8])
    found = answer(job, cluster, OLD)
    assert (found.verdict, found.cause, found.runs) == ("fits", "gaps", None)
    (problem,) = found.diagnostics
    assert (problem.code, problem.severity) == ("UnschedulableAfterAdmission", "warning")
    assert "adds up the nodes of r0, where it places 3 pods of node if the cluster is idle" in problem.message
    assert "one by one, they have room for 2" in problem.message
    assert verdict(job, cluster, NEW) == FITS
    assert placed(job, cluster, NEW) == {"r0": 2, "r1": 1}
    even = jobset(pods=3, gpus=4, annotations=annotations)
    assert verdict(even, cluster, OLD) == FITS
    assert answer(even, cluster, OLD).diagnostics == ()
    assert verdict(job, with_hosts(cluster), OLD) == FITS


def test_a_rack_of_nodes_that_the_pods_do_not_tolerate_is_no_place() -> None:
    cluster = racks(r0=[8, 8], r1=[8])
    for one in cluster:
        if one["kind"] == "Node" and one["metadata"]["labels"][RACK] == "r0":
            one["spec"] = {"taints": [{"key": "maintenance", "effect": "NoSchedule"}]}
    job = jobset(pods=2, annotations=ON_RACK)
    assert (verdict(job, cluster, NEW), verdict(job, cluster, OLD)[2]) == (NO_DOMAIN, False)
    tolerant = jobset(pods=2, annotations=ON_RACK, spec={"tolerations": [{"operator": "Exists"}]})
    assert placed(tolerant, cluster, NEW) == {"r0": 2}


def test_a_node_selector_chooses_among_the_nodes_of_a_rack() -> None:
    cluster = racks(r0=[8, 8], r1=[8, 8])
    for one in cluster:
        if one["kind"] == "Node":
            one["metadata"]["labels"]["disk"] = (
                "fast" if one["metadata"]["name"] in {"r0-0", "r1-0", "r1-1"} else "slow"
            )
    job = jobset(pods=2, annotations=ON_RACK, spec={"nodeSelector": {"disk": "fast"}})
    assert placed(job, cluster, NEW) == {"r1": 2}


def test_the_hidden_level_of_nodes_cannot_be_requested() -> None:
    job = jobset(annotations={f"{PREFIX}required-topology": HOST})
    for version in (OLD, NEW):
        assert verdict(job, racks(r0=[8]), version)[:2] == ("never", "no-matching-flavor")
    assert verdict(job, with_hosts(racks(r0=[8])), NEW) == FITS


def test_two_jobs_share_a_rack_by_its_capacity() -> None:
    """Which node of its rack a job uses is not known, so the second one counts with the rest of the rack."""
    cluster = racks(r0=[4, 4], r1=[4])
    jobs = [jobset(name, gpus=4, annotations=ON_RACK) for name in "abcd"]
    together = fits(jobs, cluster, NEW).together
    assert [one.verdict for one in together] == ["admitted"] * 3 + ["waits"]
    assert sorted(next(iter(one.places["node"])) for one in together[:3]) == ["r0", "r0", "r1"]


def test_two_pod_sets_of_a_job_do_not_take_the_same_node() -> None:
    """Their sum fits a rack either way, but one node cannot hold both a pod of 3 and one of 2 GPUs."""
    job = jobset(gpus=3, annotations=ON_RACK)
    second = jobset(pods=2, gpus=2, annotations=ON_RACK)["spec"]["replicatedJobs"][0]
    job["spec"]["replicatedJobs"].append({**second, "name": "other"})
    assert verdict(job, racks(r0=[4, 3]), NEW)[:2] == ("never", "topology")
    assert verdict(job, racks(r0=[4, 4]), NEW) == FITS


# 2. Groups with slices: #15111.


def group(workers: int, leader: Json | None = None, *, gpus: int = 8, **annotations: str) -> Json:
    named = {**ON_RACK, f"{PREFIX}group-name": "g", **annotations}
    job = jobset(pods=workers, gpus=gpus, annotations=named)
    alone = jobset(pods=1, gpus=1, annotations={**ON_RACK, f"{PREFIX}group-name": "g"}, spec=leader or {})
    job["spec"]["replicatedJobs"].append({**alone["spec"]["replicatedJobs"][0], "name": "launcher"})
    return job


SLICES: dict[str, Any] = {f"{PREFIX}slice-required-topology": HOST, f"{PREFIX}slice-size": "2"}
LAYERS = {f"{PREFIX}slice-required-topology-constraints": f'[{{"topology": "{HOST}", "size": 2}}]'}


@pytest.mark.parametrize("slices", [SLICES, LAYERS], ids=["one-level", "list"])
def test_a_group_may_have_slices_since_0_20(slices: dict[str, Any]) -> None:
    cluster = with_hosts(racks(r0=[9, 8]))
    job = group(4, gpus=4, **slices)
    found = answer(job, cluster, OLD)
    assert (found.verdict, found.cause) == ("refused", "jobset-webhook")
    assert "a group cannot have slices" in found.diagnostics[0].message
    assert verdict(job, cluster, "0.19.4")[0] == "refused"
    assert verdict(job, cluster, NEW) == FITS
    assert placed(job, cluster, NEW) == {"r0-0": 2, "r0-1": 2}


# 3. Limits before LimitRange: #15023.


def test_limits_count_before_the_defaults_of_a_limit_range_since_0_19_3() -> None:
    """A quota of 4 CPU; limits of 8 and a LimitRange whose default request is 1. The pods really request 8."""
    quota = {
        "namespaceSelector": {},
        "resourceGroups": [
            {
                "coveredResources": ["cpu"],
                "flavors": [{"name": "h100", "resources": [{"name": "cpu", "nominalQuota": 4}]}],
            }
        ],
    }
    limits = {"limits": [{"type": "Container", "defaultRequest": {"cpu": 1}}]}
    ranges = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "team-a"},
        "spec": limits,
    }
    cluster = [namespace(), flavor(), local("a"), kueue("ClusterQueue", "a", quota), ranges]
    job = jobset(spec={"containers": [{"name": "node", "resources": {"limits": {"cpu": 8}}}]})
    assert answer(job, cluster, OLD).requests == {"node": {"cpu": 1000}}
    for version in ("0.19.3", "0.19.7", NEW):
        assert verdict(job, cluster, version)[:2] == ("never", "exceeds-max-quota")
        assert answer(job, cluster, version).requests == {"node": {"cpu": 8000}}
        (said,) = fit_changes(([], cluster), ([("team-a/llm", job)], cluster), kueues=(version, version))
        assert "can never be admitted" in said
    assert fit_changes(([], cluster), ([("team-a/llm", job)], cluster), kueues=(OLD, OLD)) == []


# 4. Partial slices: #15640.


def sliced(pods: int, size: int, *, gpus: int = 1, level: str = RACK, **annotations: str) -> Json:
    named = {f"{PREFIX}slice-required-topology": level, f"{PREFIX}slice-size": str(size), **annotations}
    return jobset(pods=pods, gpus=gpus, annotations=named)


def test_the_pods_of_a_last_smaller_slice_are_never_scheduled_before_0_19_6() -> None:
    job, cluster = sliced(4, 3), with_hosts(racks(r1=[3], r2=[3]))
    found = answer(job, cluster, "0.19.5")
    assert (found.verdict, found.cause, found.runs) == ("fits", "partial-slice", False)
    (problem,) = found.diagnostics
    assert (problem.code, problem.severity) == ("UnschedulableAfterAdmission", "error")
    assert "places only whole slices of 3 pods, so 1 of the 4 pods of node are never scheduled" in problem.message
    assert placed(job, cluster, "0.19.5") == {"r1-0": 3}
    for version in ("0.19.6", NEW):
        assert verdict(job, cluster, version) == FITS
        assert placed(job, cluster, version) == {"r1-0": 3, "r2-0": 1}
    assert verdict(sliced(6, 3), cluster, OLD) == FITS


@cases("pods", "size", "nodes", "expected")
def test_where_the_last_slice_goes(pods: int, size: int, nodes: Any, expected: dict[str, int]) -> None:
    assert placed(sliced(pods, size), with_hosts(racks(**nodes)), NEW) == expected


@pytest.mark.parametrize("kind", ["required", "preferred"])
def test_the_last_slice_goes_into_the_requested_domain(kind: str) -> None:
    """Slices of nodes in one rack: five pods in slices of two need three nodes, the last with one pod only."""
    job = sliced(5, 2, level=HOST, **dict[str, Any]({f"{PREFIX}{kind}-topology": RACK}))
    cluster = with_hosts(racks(r1=[2, 2], r2=[2, 2, 1]))
    assert placed(job, cluster, NEW) == {"r2-0": 2, "r2-1": 2, "r2-2": 1}
    full = with_hosts(racks(r1=[2, 2], r2=[2, 1, 1]))
    expected = {} if kind == "required" else {"r1-0": 2, "r1-1": 2, "r2-0": 1}
    assert placed(job, full, NEW) == expected


def test_a_leader_and_the_last_slice_may_share_a_domain_or_not() -> None:
    job = group(3, gpus=1, **SLICES)
    assert verdict(job, with_hosts(racks(r0=[2, 2])), NEW) == FITS
    assert verdict(job, with_hosts(racks(r0=[2, 1, 1])), NEW) == FITS
    assert verdict(job, with_hosts(racks(r0=[2, 1])), NEW)[:2] == ("never", "topology")


def test_several_layers_must_divide_the_pods_since_0_19_6() -> None:
    layers = f'[{{"topology": "{RACK}", "size": 4}}, {{"topology": "{HOST}", "size": 2}}]'
    cluster = with_hosts(racks(r0=[2, 2], r1=[2, 2]))

    def job(pods: int) -> Json:
        return jobset(pods=pods, gpus=1, annotations={f"{PREFIX}slice-required-topology-constraints": layers})

    found = answer(job(6), cluster, "0.19.6")
    assert (found.verdict, found.cause) == ("refused", "jobset-webhook")
    assert "the 6 pods must divide into slices of 4" in found.diagnostics[0].message
    assert answer(job(6), cluster, OLD).cause == "partial-slice"
    assert verdict(job(8), cluster, OLD) == verdict(job(8), cluster, "0.19.6") == FITS


# 5. Requests of the pod as a whole: #16047.


def test_a_pod_is_charged_at_least_the_sum_of_its_containers_since_0_19_6() -> None:
    containers = [{"name": name, "resources": {"requests": {GPU: 1, "cpu": 3}}} for name in ("node", "sidecar")]
    overhead = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "kata"}
    cluster = [namespace(), flavor(), queue("a", 8), local("a"), {**overhead, "overhead": {"podFixed": {"cpu": 1}}}]
    cluster[2]["spec"]["resourceGroups"][0]["coveredResources"].append("cpu")
    quotas = cluster[2]["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    quotas.append({"name": "cpu", "nominalQuota": 100})

    def charged(cpu: int, version: str) -> int:
        spec = {"containers": containers, "resources": {"requests": {"cpu": cpu}}, "runtimeClassName": "kata"}
        return answer(jobset(spec=spec), cluster, version).requests["node"]["cpu"]

    assert [charged(3, version) for version in (OLD, "0.19.5", "0.19.6", NEW)] == [4000, 4000, 7000, 7000]
    assert [charged(8, version) for version in (OLD, NEW)] == [9000, 9000]


# 7. A false request: #15262.


def test_an_unconstrained_topology_cannot_be_false_since_0_19_6() -> None:
    job = jobset(annotations={f"{PREFIX}unconstrained-topology": "false"})
    cluster = with_hosts(racks(r0=[8]))
    assert verdict(job, cluster, OLD)[:2] == ("never", "no-matching-flavor")
    for version in ("0.19.6", NEW):
        assert verdict(job, cluster, version)[:2] == ("refused", "jobset-webhook")
    true = jobset(annotations={f"{PREFIX}unconstrained-topology": "true"})
    assert verdict(true, cluster, OLD) == verdict(true, cluster, NEW) == FITS


# 8. The leader of a group has to run as well: #15447.


def test_a_leader_goes_where_it_can_run_since_0_19_5() -> None:
    cluster = with_hosts(racks(r0=[8, 8, 8], r1=[8, 8, 8]))
    for one in cluster:
        if one["kind"] == "Node":
            one["metadata"]["labels"]["arch"] = "arm" if one["metadata"]["name"] == "r1-0" else "x86"
    for_arm = {"nodeSelector": {"arch": "arm"}}
    job = group(2, for_arm)
    assert answer(job, cluster, OLD).places["launcher"] == {"r0-0": 1}
    for version in ("0.19.5", NEW):
        found = answer(job, cluster, version)
        assert (found.verdict, found.places["launcher"]) == ("fits", {"r1-0": 1})
        assert set(found.places["node"]) <= {"r1-0", "r1-1", "r1-2"}
    nowhere = group(2, {"nodeSelector": {"arch": "riscv"}})
    assert verdict(nowhere, cluster, OLD)[2] is False
    assert verdict(nowhere, cluster, "0.19.5")[:2] == ("never", "topology")


def test_a_leader_may_use_a_node_that_its_workers_cannot() -> None:
    cluster = with_hosts(racks(r0=[8, 8, 8]))
    for one in cluster:
        if one["metadata"]["name"] == "r0-2":
            one["spec"] = {"taints": [{"key": "cpu-only", "effect": "NoSchedule"}]}
    tolerant = {"tolerations": [{"key": "cpu-only", "operator": "Exists"}]}
    assert verdict(group(2, tolerant), cluster, OLD)[:2] == ("never", "topology")
    found = answer(group(2, tolerant), cluster, "0.19.5")
    assert (found.places["launcher"], found.places["node"]) == ({"r0-2": 1}, {"r0-0": 1, "r0-1": 1})
    assert verdict(group(2), cluster, "0.19.5")[:2] == ("never", "topology")


# Admission checks: places are chosen afterwards.


@pytest.mark.parametrize("controller", ["kueue.x-k8s.io/provisioning-request", "kueue.x-k8s.io/multikueue"])
def test_places_that_are_chosen_after_an_admission_check_are_not_judged(controller: str) -> None:
    cluster = with_hosts(racks(r0=[4]))
    cluster[1]["spec"]["admissionChecksStrategy"] = {"admissionChecks": [{"name": "new"}]}
    cluster.append(kueue("AdmissionCheck", "new", {"controllerName": controller}))
    found = answer(jobset(gpus=8, annotations=ON_RACK), cluster)
    assert (found.verdict, found.runs, found.places) == ("fits", None, {})
    assert {one.severity for one in found.diagnostics} <= {"warning"}
    cluster[1]["spec"]["admissionChecksStrategy"] = {"admissionChecks": [{"name": "new", "onFlavors": ["other"]}]}
    expected = ("fits", None) if "multikueue" in controller else ("never", "topology")
    found = answer(jobset(gpus=8, annotations=ON_RACK), cluster)
    assert (found.verdict, found.cause) == expected


# Which version it is.


def deployment(image: str) -> Json:
    pod = {"spec": {"containers": [{"name": "manager", "image": image}]}}
    metadata = {"name": "kueue-controller-manager", "namespace": "kueue-system"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": pod}}


def about(image: str, version: str | None) -> tuple[str, list[tuple[str, str]]]:
    """The verdict of a job that only 0.20 refuses, and what is said about the version."""
    found = fits(
        [jobset(gpus=6, annotations=ON_RACK)], [*racks(r0=[4, 4]), *([deployment(image)] if image else [])], version
    )
    said = [(one.code, one.message) for one in found.diagnostics if "Kueue" in one.code]
    return found.alone[0].verdict, said


@cases("image", "version", "expected")
def test_the_version_is_the_one_given_or_that_of_the_cluster(image: str, version: str | None, expected: str) -> None:
    assert about(image, version) == (expected, [])


def test_a_version_that_is_not_the_clusters_is_said() -> None:
    message = "the answers are for Kueue 0.20, and the cluster has v0.19.6"
    assert about("kueue/kueue:v0.19.6", "0.20") == ("never", [("OtherKueueVersion", message)])
    message = "the cluster has Kueue v0.17.2, and trainc knows 0.19 and 0.20: the answers are for 0.19"
    assert about("kueue/kueue:v0.17.2", None) == ("fits", [("OtherKueueVersion", message)])
    message = "the cluster has Kueue v0.21.0, and trainc knows 0.19 and 0.20: the answers are for 0.20"
    assert about("kueue/kueue:v0.21.0", None) == ("never", [("OtherKueueVersion", message)])


@cases("version", "step")
def test_the_rules_of_a_version_are_those_of_the_last_change_before_it(version: str, step: str) -> None:
    assert step_of(version) == step


def test_every_version_with_rules_of_its_own_is_in_port_yaml() -> None:
    port = read_port()["kueue"]
    (recorded,) = port["recorded"]
    assert recorded == DEFAULT == step_of("0.19")
    assert [recorded, *port["read"]] == list(
        dict.fromkeys(step_of(f"0.{minor}.{patch}") for minor in (19, 20) for patch in range(9))
    )


def test_a_patch_of_the_cluster_refines_the_minor_that_was_given() -> None:
    assert [version_of(asked, "v0.19.6") for asked in (None, "0.19", "0.19.2", "0.20")] == [
        "v0.19.6",
        "v0.19.6",
        "0.19.2",
        "0.20",
    ]


@pytest.mark.parametrize("text", ["0.18", "0.21.1", "latest", "0.19 ", "", "19"])
def test_only_known_minors_can_be_given(text: str) -> None:
    with pytest.raises(ValueError, match=r"choose one of 0\.19, 0\.20, or a patch such as 0\.19\.6"):
        normalize_kueue(text)


# 12. The older API: #14558.


@pytest.mark.parametrize(
    ("version", "severity", "message"),
    [
        (None, "info", "it and 1 more are of kueue.x-k8s.io/v1beta1, which is no longer served from 0.20 on"),
        ("0.20", "warning", "it and 1 more are of kueue.x-k8s.io/v1beta1, which Kueue 0.20 does not serve"),
    ],
)
def test_objects_of_the_older_api_are_read_and_said(version: str | None, severity: str, message: str) -> None:
    cluster = [namespace(), flavor(), queue("a", 8), local("a"), node("n", "r0")]
    spec = cluster[2]["spec"]
    spec |= {"cohort": "all", "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "TryNextFlavor"}}
    spec["admissionChecks"] = []
    other = queue("b", 8)
    other["spec"]["cohort"] = "all"
    for one in (cluster[2], other):
        one["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    found = fits([jobset(pods=2)], [*cluster, other, node("m", "r0")], version)
    assert (found.alone[0].verdict, found.alone[0].borrows) == ("fits", True)
    (said,) = [one for one in found.diagnostics if one.code == "OldKueueAPI"]
    assert (said.severity, said.object, said.message) == (severity, "ClusterQueue a", message)


# Placement against an oracle: every way to place the leader and the last slice, tried one by one.


def has_room(nodes: list[list[int]], pods: int, size: int, leader: int, *, on_rack: bool, one_rack: bool) -> bool:
    """Whether racks of nodes, by their GPUs, hold `pods` pods of a GPU in slices of `size`, and a leader of `leader`."""
    whole, tail = divmod(pods, size)
    for group in [[rack] for rack in nodes] if one_rack else [nodes]:
        hosts = [(i, j) for i, rack in enumerate(group) for j in range(len(rack))]
        for at in hosts if leader else [None]:
            left = [list(rack) for rack in group]
            if at:
                left[at[0]][at[1]] -= leader
            if min(map(min, left)) < 0:
                continue
            domains = [sum(rack) for rack in left] if on_rack else [host for rack in left for host in rack]
            held = sum(domain // size for domain in domains)
            beside = [held - d // size + (d - tail) // size for d in domains if d >= tail] if tail else [held]
            if max(beside, default=-1) >= whole:
                return True
    return False


@pytest.mark.parametrize("seed", range(8))
def test_kueue_0_20_places_what_can_be_placed(seed: int) -> None:
    chance = Random(seed)
    for _ in range(40):
        nodes = [[chance.randint(0, 5) for _ in range(chance.randint(1, 3))] for _ in range(chance.randint(1, 3))]
        pods, kind, on_rack = chance.randint(2, 9), chance.choice(["required", "preferred", ""]), chance.random() < 0.5
        size, leader = chance.randint(1, min(4, pods)), chance.choice([0, 0, 1, 2]) if kind else 0
        cluster = racks(**{f"r{i}": sizes for i, sizes in enumerate(nodes)})
        hidden = on_rack and chance.random() < 0.5
        within = {f"{PREFIX}{kind}-topology": RACK} if kind else {}
        grouped: dict[str, Any] = {**within, f"{PREFIX}group-name": "g"} if leader else within
        job = sliced(pods, size, level=RACK if on_rack else HOST, **grouped)
        if leader:
            launcher = jobset(gpus=leader, annotations=grouped)["spec"]["replicatedJobs"][0]
            job["spec"]["replicatedJobs"].append({**launcher, "name": "launcher"})
        found = answer(job, cluster if hidden else with_hosts(cluster), NEW)
        case = (nodes, pods, size, leader, kind, on_rack, hidden, found.places)
        room = has_room(nodes, pods, size, leader, on_rack=on_rack, one_rack=kind == "required")
        assert found.verdict == ("fits" if room else "never"), case
        assert sum(found.places.get("node", {}).values()) == (pods if room else 0), case
        if not hidden:
            assert are_whole(found, nodes, size, on_rack=on_rack, leader=leader), case


def are_whole(found: Fit, nodes: list[list[int]], size: int, *, on_rack: bool, leader: int) -> bool:
    """Whether no node holds more than it has, and at most one domain has a slice that is not whole."""
    domains: Counter[str] = Counter()
    for host, count in found.places.get("node", {}).items():
        rack, index = host[1:].split("-")
        domains[rack if on_rack else host] += count
        if count + leader * found.places.get("launcher", {}).get(host, 0) > nodes[int(rack)][int(index)]:
            return False
    return sum(count % size > 0 for count in domains.values()) <= 1
