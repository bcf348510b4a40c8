"""A TrainJob's patches: read from every release's field, applied as that release applies them."""

from __future__ import annotations

from typing import Any

import pytest

from trainc.ir.release import release_facts
from trainc.pipeline.patches import apply_patches, read_patches

Json = dict[str, Any]


def pod(**spec: Any) -> Json:
    return {"spec": {"template": {"spec": spec}}}


def job(name: str, **spec: Any) -> Json:
    return {"name": name, "template": pod(**spec)}


def runtime_patch(*jobs: Json, **metadata: Any) -> Json:
    template: Json = {"spec": {"replicatedJobs": list(jobs)}}
    if metadata:
        template["metadata"] = metadata
    return {"manager": "a.b/c", "trainingRuntimeSpec": {"template": template}}


def test_runtime_patches_are_read_with_their_places() -> None:
    (patch,) = read_patches(
        {
            "runtimePatches": [
                runtime_patch(job("x", hostNetwork=True), {"name": "y"}, labels={"l": "1"}, annotations={"a": "2"})
            ]
        }
    )
    assert (patch.manager, patch.path) == ("a.b/c", ("spec", "runtimePatches", 0))
    assert (patch.labels, patch.annotations) == ({"l": "1"}, {"a": "2"})
    jobs = ("spec", "runtimePatches", 0, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")
    first, second = patch.jobs
    assert (first.name, first.pod_spec, first.path) == ("x", {"hostNetwork": True}, (*jobs, 0))
    assert first.pod_path == (*jobs, 0, "template", "spec", "template", "spec")
    assert (second.name, second.template, second.pod_spec, second.path) == ("y", None, {}, (*jobs, 1))


@pytest.mark.parametrize(
    "item",
    [
        {"manager": "m"},
        {"manager": "m", "trainingRuntimeSpec": None},
        {"manager": "m", "trainingRuntimeSpec": {"template": {}}},
    ],
)
def test_a_patch_may_say_nothing(item: Json) -> None:
    (patch,) = read_patches({"runtimePatches": [item]})
    assert (patch.jobs, patch.labels, patch.annotations) == ((), {}, {})
    template = {"replicatedJobs": [job("x")], "suspend": True}
    assert apply_patches(template, (patch,), release_facts("2.3")) == template


def test_overrides_name_their_jobs_and_read_pods_in_two_ways() -> None:
    targets = [{"name": "x"}, {"name": "y"}]
    spec = {
        "podSpecOverrides": [{"targetJobs": targets, "hostNetwork": True}],
        "podTemplateOverrides": [
            {"targetJobs": targets, "metadata": {"labels": {"l": "1"}, "name": "lost"}, "spec": {"hostPID": True}},
            {"targetJobs": [{"name": "y"}], "metadata": {"annotations": {"a": "2"}}},
            {"targetJobs": [{"name": "y"}], "spec": {"hostPID": True}},
        ],
    }
    of_spec, of_template, bare, without = read_patches(spec)
    assert [p.manager for p in (of_spec, of_template, bare)] == [None] * 3
    assert without.jobs[0].template == pod(hostPID=True)
    assert of_spec.path == ("spec", "podSpecOverrides", 0)
    assert [(j.name, j.path, j.pod_path) for j in of_spec.jobs] == [
        (name, ("spec", "podSpecOverrides", 0, "targetJobs", i), ("spec", "podSpecOverrides", 0))
        for i, name in enumerate("xy")
    ]
    assert of_spec.jobs[0].template == pod(hostNetwork=True)
    assert of_template.path == ("spec", "podTemplateOverrides", 0)
    assert of_template.jobs[1].pod_path == ("spec", "podTemplateOverrides", 0, "spec")
    assert of_template.jobs[1].template == {
        "spec": {"template": {"metadata": {"labels": {"l": "1"}}, "spec": {"hostPID": True}}}
    }
    assert bare.jobs[0].template == {"spec": {"template": {"metadata": {"annotations": {"a": "2"}}}}}


@pytest.mark.parametrize("release", ["2.0", "2.1", "2.2", "2.3"])
def test_patches_apply_in_order_and_jobs_stay_in_the_templates(release: str) -> None:
    template = {"replicatedJobs": [job("x", hostPID=True), job("y")], "network": {"subdomain": "s"}}
    patches = read_patches(
        {
            "runtimePatches": [
                runtime_patch(job("y", hostIPC=True)),
                runtime_patch(job("x", hostNetwork=False), job("y", hostIPC=False)),
            ]
        }
    )
    assert apply_patches(template, patches, release_facts(release)) == {
        "replicatedJobs": [job("x", hostPID=True, hostNetwork=False), job("y", hostIPC=False)],
        "network": {"subdomain": "s"},
    }
    assert template["replicatedJobs"] == [job("x", hostPID=True), job("y")]


def test_since_2_3_a_patch_creates_what_it_names() -> None:
    template = {"replicatedJobs": [job("x"), job("y")]}
    patches = read_patches({"runtimePatches": [runtime_patch({"name": "new"})]})
    result = apply_patches(template, patches, release_facts("2.3"))
    assert {j["name"]: j["template"] for j in result["replicatedJobs"]} == {name: pod() for name in ("x", "y", "new")}
    assert [j["name"] for j in result["replicatedJobs"]].index("new") < 2
    assert apply_patches(template, patches, release_facts("2.2")) == template


def test_a_template_without_jobs_has_an_empty_list_of_them() -> None:
    assert apply_patches({}, (), release_facts("2.2")) == {"replicatedJobs": []}


def test_an_empty_account_clears_the_templates() -> None:
    template = {
        "replicatedJobs": [job("x", serviceAccountName="theirs", hostPID=True), job("y", serviceAccountName="kept")]
    }
    patches = read_patches({"runtimePatches": [runtime_patch(job("x", serviceAccountName=""))]})
    for release in ("2.2", "2.3"):
        result = apply_patches(template, patches, release_facts(release))
        assert result["replicatedJobs"] == [job("x", hostPID=True), job("y", serviceAccountName="kept")]
