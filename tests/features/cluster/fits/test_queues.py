"""Several jobs against queues, nodes without queues, and snapshots that are not whole."""

from __future__ import annotations

from typing import Any

import pytest
from clusters import GPU, Json, alone, flavor, jobset, kueue, local, node, queue, requested, topology
from hypothesis import given, strategies as st
from tables import cases

from benchmarks.fits import cluster, jobs
from trainc import fits
from trainc.features.cluster.fits.answer import Fits
from trainc.features.cluster.fits.findings import place_in_snapshot
from trainc.features.cluster.fits.scheduling import Entry, Scheduler, idle_state
from trainc.features.cluster.fits.snapshot import read_cluster
from trainc.features.cluster.fits.workload import workload_of
from trainc.reading.cluster import KINDS, Dump
from trainc.reading.document import Document


def verdicts(found: Fits) -> list[tuple[str, str]]:
    return [(one.verdict, both.verdict) for one, both in zip(found.alone, found.together, strict=True)]


def test_jobs_take_what_is_left_in_their_order() -> None:
    found = requested(jobset("one"), jobset("two"), jobset("three"), of=[queue("a", 16), local("a")])
    assert verdicts(found) == [("fits", "admitted"), ("fits", "admitted"), ("fits", "waits")]
    assert found.together[2].cause == "waiting-for-quota"


def test_a_strict_queue_stops_behind_a_job_that_never_fits() -> None:
    jobsets = jobset("big", pods=9), jobset("small")
    strict = requested(*jobsets, of=[queue("a", 16, queueingStrategy="StrictFIFO"), local("a")])
    assert verdicts(strict) == [("never", "never"), ("fits", "waits")]
    assert strict.together[1].cause == "behind"
    assert verdicts(requested(*jobsets, of=[queue("a", 16), local("a")])) == [("never", "never"), ("fits", "admitted")]


def test_the_next_flavor_is_taken_when_the_first_is_full() -> None:
    both = [queue("a", 8, flavors=("h100", "a100")), local("a"), flavor(), flavor("a100")]
    found = requested(jobset("one"), jobset("two"), of=both)
    assert [one.flavors["node"][GPU] for one in found.together] == ["h100", "a100"]


def test_a_job_without_a_queue_is_asked_of_the_nodes() -> None:
    held = alone(jobset(pods=2, to=None), [node("n0", "r0"), node("n1", "r0")])
    assert (held.verdict, held.scheduler) == ("fits", "kube-scheduler")
    few = alone(jobset(pods=3, to=None), [node("n0", "r0"), node("n1", "r0")])
    assert (few.verdict, few.cause, few.diagnostics[0].code) == ("never", "too-few-nodes", "NoNodeFits")
    small = alone(jobset(gpus=16, to=None), [node("n0", "r0")])
    assert (small.verdict, small.cause) == ("never", "no-node")


def test_the_default_queue_of_a_namespace_takes_jobs_without_one() -> None:
    default = kueue("LocalQueue", "default", {"clusterQueue": "a"}, namespace="team-a")
    assert alone(jobset(to=None), [queue("a", 8), default]).queue == "default"


@pytest.mark.parametrize(
    ("kind", "jobs_left_open"),
    [("ClusterQueue", 4), ("LocalQueue", 4), ("ResourceFlavor", 3), ("Node", 3), ("Namespace", 0)],
)
def test_a_kind_that_the_snapshot_lacks_leaves_open_what_depends_on_it_and_is_no_error(
    kind: str, jobs_left_open: int
) -> None:
    found = fits(jobs(10, 2)[6:], [one for one in cluster(queues=2, nodes=12) if one["kind"] != kind])
    assert [one.verdict for one in found.alone].count("unknown") == jobs_left_open
    assert [one.severity for one in found.diagnostics if one.severity != "info"] == []
    about = [one for one in found.diagnostics if one.object == kind]
    assert [one.hint.partition(" -A")[0] for one in about] == [
        f"run in the folder of the snapshot: kubectl get {KINDS[kind].plural}" for _ in range(bool(jobs_left_open))
    ]


def test_what_no_quota_can_hold_never_fits_whatever_the_snapshot_lacks() -> None:
    few = [one for one in cluster(queues=2, nodes=12) if one["kind"] in ("ClusterQueue", "LocalQueue")]
    assert [one.verdict for one in fits(jobs(10, 2)[8:], few).alone] == ["unknown", "never"]


@cases("selector", "verdict")
def test_without_namespaces_a_selector_is_judged_as_far_as_its_answer_is_certain(selector: Any, verdict: str) -> None:
    (found,) = fits([jobset()], [queue("a", 8, namespaceSelector=selector), local("a"), flavor()]).alone
    assert found.verdict == verdict


def test_a_topology_that_was_not_exported_is_not_an_error() -> None:
    found = alone(jobset(), [queue("a", 8), local("a"), flavor(topologyName="racks"), node("n0", "r0")])
    assert (found.verdict, [one.severity for one in found.diagnostics]) == ("inactive", ["info"])


def test_a_snapshot_of_today_and_one_of_yesterday_are_too_many() -> None:
    found = requested(of=[queue("a", 8), queue("a", 16)])
    assert [one.code for one in found.diagnostics if one.severity == "error"] == ["SnapshotTwice"]


def test_two_files_with_the_same_objects_are_one_error_that_names_both() -> None:
    files = [Document(queue(name, 8), file, lambda _: None) for file in ("a.yaml", "b.yaml") for name in ("x", "y")]
    found = place_in_snapshot(requested(of=[d.data for d in files]).diagnostics, files)
    twice = [one.message for one in found if one.code == "SnapshotTwice"]
    assert [message.partition(", so")[0] for message in twice] == [
        "both a.yaml and b.yaml have ClusterQueue x, ClusterQueue y"
    ]


_SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "x", "8", "-1", "1Gi", "a b"])
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_SCALARS, inner, max_size=2)
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in _places(item, (*path, key)))]


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    if isinstance(value, dict):
        return {key: _with(item, path[1:], new) if key == path[0] else item for key, item in value.items()}
    return [_with(item, path[1:], new) if key == path[0] else item for key, item in enumerate(value)]


@given(st.data())
def test_whatever_a_snapshot_or_a_job_holds_there_is_an_answer(data: st.DataObject) -> None:
    whole: list[Json] = [*cluster(queues=1, nodes=2), *jobs(2, 1)]
    place = data.draw(st.sampled_from([place for place in _places(whole) if len(place) > 1]))
    broken = _with(whole, place, data.draw(_VALUES))
    jobsets = [one for one in broken if one.get("kind") == "JobSet"]
    found = fits(jobsets, [one for one in broken if one.get("kind") != "JobSet"])
    assert len(found.alone) == len(found.together) == len(jobsets)


@given(st.integers(1, 12), st.lists(st.integers(1, 10), min_size=1, max_size=8), st.booleans())
def test_pods_are_placed_where_there_is_room_for_them(pods: int, sizes: list[int], required: bool) -> None:
    kind = "required" if required else "preferred"
    annotations = {f"kueue.x-k8s.io/podset-{kind}-topology": "cloud.provider.com/topology-rack"}
    nodes = [node(f"n{i}", f"r{i % 2}", gpus=size) for i, size in enumerate(sizes)]
    of = [topology(), flavor(topologyName="racks"), queue("a", 1000), local("a"), *nodes]
    found = alone(jobset(pods=pods, gpus=2, annotations=annotations), of)
    room = {one["metadata"]["name"]: one["status"]["allocatable"][GPU] // 2 for one in nodes}
    if found.verdict == "fits":
        placed = found.places["node"]
        assert sum(placed.values()) == pods
        assert all(count <= room[name] for name, count in placed.items())
        assert not required or len({int(name[1:]) % 2 for name in placed}) == 1
    else:
        racks = [sum(room[f"n{i}"] for i in range(len(sizes)) if i % 2 == rack) for rack in (0, 1)]
        assert pods > (max(racks) if required else sum(racks))


def looks(count: int) -> int:
    """How often the scheduler looks for flavors when so many jobs come one after the other."""
    read, _ = read_cluster(Dump.of_objects(cluster(queues=count // 20, nodes=count // 2)))
    scheduler = Scheduler(idle_state(read))
    for order, job in enumerate(jobs(count, count // 20)):
        workload = workload_of(job, job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], read)
        scheduler.submit(Entry((order,), workload), read.cluster_queues[workload.queue])
    return scheduler.looks


def test_twice_the_jobs_queues_and_nodes_take_twice_the_looks() -> None:
    assert looks(80) <= 2.2 * looks(40)
