"""Gangs: what the group waits for is what its pods are and ask for, counted anew from the output, in fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from builders import Json, compiled, container, job, one, runtime, trainjob
from hypothesis import given, strategies as st

from fuzz.targets.quantity import model
from trainc import Compilation

SIZES = st.integers(1, 30)
CPUS = st.sampled_from(["1", "250m", "1.5", "0.1", "3"])
MEMORY = st.sampled_from(["1Gi", "512Mi", "1500M", "1e9", "100Ki"])
DEVICES = st.integers(0, 16)
AMOUNTS = st.fixed_dictionaries({}, optional={"cpu": CPUS, "memory": MEMORY, "nvidia.com/gpu": DEVICES})
# Of each resource a container gives a request, a limit, both or nothing.
RESOURCES = st.tuples(AMOUNTS, st.booleans(), st.booleans()).map(
    lambda drawn: {kind: drawn[0] for kind, given in zip(("limits", "requests"), drawn[1:], strict=True) if given}
)
CONTAINERS = st.lists(RESOURCES, min_size=1, max_size=3)
SHAPES = st.lists(st.tuples(SIZES, SIZES, CONTAINERS, st.lists(RESOURCES, max_size=2)), min_size=1, max_size=4)
GROUPS = {"coscheduling": "labels", "volcano": "annotations"}


def jobs_of(shapes: list[Any], awaited: int) -> list[Json]:
    """A replicated job per shape; the last one awaits the first `awaited` of them."""
    jobs = [
        job(
            f"j{i}",
            None,
            [container(f"c{k}", resources=_valid(resources)) for k, resources in enumerate(containers)],
            replicas=replicas,
            spec={"parallelism": parallelism},
            pod={"initContainers": [container(f"i{k}", resources=_valid(r)) for k, r in enumerate(inits)]},
        )
        for i, (replicas, parallelism, containers, inits) in enumerate(shapes)
    ]
    if awaited:
        jobs[-1]["dependsOn"] = [{"name": f"j{i}", "status": "Complete"} for i in range(awaited)]
    return jobs


def _valid(resources: Json) -> Json:
    """A device that is requested has a limit, or the API server refuses the pod."""
    requested = resources.get("requests", {})
    if "limits" in resources or "nvidia.com/gpu" not in requested:
        return resources
    return {**resources, "limits": {"nvidia.com/gpu": requested["nvidia.com/gpu"]}}


def members(result: Compilation, scheduler: str) -> list[tuple[int, Json]]:
    """How many pods of each template carry the group's name, from the output alone."""
    found = []
    for each in one(result, "JobSet")["spec"]["replicatedJobs"]:
        spec = each["template"]["spec"]
        if "llm" in spec["template"].get("metadata", {}).get(GROUPS[scheduler], {}).values():
            found.append((each["replicas"] * spec["parallelism"], spec["template"]["spec"]))
    return found


def request(pod: Json) -> dict[str, Fraction]:
    """What one pod asks for: all containers together, or more for a moment while an the runtime has an init container runs."""
    total: dict[str, Fraction] = {}
    for each in pod["containers"]:
        for name, amount in _asked(each).items():
            total[name] = total.get(name, Fraction(0)) + amount
    for each in pod.get("initContainers", ()):
        for name, amount in _asked(each).items():
            total[name] = max(total.get(name, amount), amount)
    return total


def _asked(each: Json) -> dict[str, Fraction]:
    resources = each.get("resources", {})
    return amounts({**resources.get("limits", {}), **resources.get("requests", {})})


def amounts(texts: Json) -> dict[str, Fraction]:
    return {name: model(str(text)) or Fraction(0) for name, text in texts.items()}


def together(pods: list[tuple[int, Json]]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for count, pod in pods:
        for name, amount in request(pod).items():
            total[name] = total.get(name, Fraction(0)) + amount * count
    return total


@given(SHAPES, st.sampled_from(sorted(GROUPS)), st.data())
def test_a_gang_is_its_members_and_needs_what_they_need(shapes: Any, scheduler: str, data: st.DataObject) -> None:
    awaited = data.draw(st.integers(0, len(shapes) - 1))
    result = compiled(trainjob(), runtime(*jobs_of(shapes, awaited), gang={scheduler: {}}))
    spec, pods = one(result, "PodGroup")["spec"], members(result, scheduler)
    assert len(pods) == len(shapes) - awaited
    assert spec["minMember"] == sum(count for count, _ in pods)
    assert amounts(spec["minResources"]) == together(pods)


@given(SHAPES, st.data())
def test_a_gang_of_volcanos_waits_for_as_many_as_it_says(shapes: Any, data: st.DataObject) -> None:
    least = data.draw(st.integers(1, sum(replicas * parallelism for replicas, parallelism, _, _ in shapes)))
    result = compiled(trainjob(), runtime(*jobs_of(shapes, 0), gang={"volcano": {"minMember": least}}))
    spec = one(result, "PodGroup")["spec"]
    assert spec["minMember"] == least
    first, left = [], least
    for count, pod in members(result, "volcano"):
        first.append((min(count, left), pod))
        left -= min(count, left)
    assert amounts(spec["minResources"]) == {
        name: a for name, a in together(first).items() if name in spec["minResources"]
    }
    assert set(together([(count, pod) for count, pod in first if count])) <= set(spec["minResources"])


@given(SIZES, SIZES, CPUS)
def test_an_elastic_gang_waits_for_the_fewest_it_can_run_with(fewest: int, more: int, cpu: str) -> None:
    policy = {"torch": {"elasticPolicy": {"minNodes": fewest, "maxNodes": fewest + more}}}
    trainer = job(containers=[container(resources={"requests": {"cpu": cpu}})])
    spec = one(compiled(trainjob(), runtime(trainer, policy=policy, gang={"coscheduling": {}})), "PodGroup")["spec"]
    assert spec["minMember"] == fewest
    assert amounts(spec["minResources"]) == {"cpu": amounts({"cpu": cpu})["cpu"] * fewest}


@given(SIZES, SIZES, CPUS)
def test_resources_of_the_trainjob_count_in_the_gang(nodes: int, gpus: int, cpu: str) -> None:
    requested = {"requests": {"cpu": cpu}, "limits": {"nvidia.com/gpu": gpus}}
    rt = runtime(policy={"torch": {}}, gang={"coscheduling": {}})
    result = compiled(trainjob({"numNodes": nodes, "resourcesPerNode": requested}), rt)
    spec, pods = one(result, "PodGroup")["spec"], members(result, "coscheduling")
    assert spec["minMember"] == nodes
    assert (
        amounts(spec["minResources"])
        == together(pods)
        == {
            "cpu": amounts({"cpu": cpu})["cpu"] * nodes,
            "nvidia.com/gpu": Fraction(gpus * nodes),
        }
    )
