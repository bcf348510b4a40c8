"""Cases that no recording has, with the answer of the controllers' own code: found by running it on fresh inputs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from builders import compiled, container, diagnostics_of, job, one, pod, runtime, trainjob
from tables import cases

from trainc import CompileError, Options, admit, refusals
from trainc.kube.releases import RELEASES

Json = dict[str, Any]
NEVER = {"restartPolicy": "Never"}


def patched(release: str, **spec: Any) -> Json:
    """A TrainJob with a patch of the pods of `node`, in the field that its release has for it."""
    if release == "2.0":
        return trainjob({"numNodes": 1}, podSpecOverrides=[{"targetJobs": [{"name": "node"}], **spec}])
    if release == "2.1":
        return trainjob({"numNodes": 1}, podTemplateOverrides=[{"targetJobs": [{"name": "node"}], "spec": spec}])
    return trainjob({"numNodes": 1}, runtimePatches=[patch(**spec)])


def patch(**spec: Any) -> Json:
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": spec}}}}]
    return {"manager": "a.b/c", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}


def jobset(**spec: Any) -> Json:
    pods = {"containers": [container()], **spec}
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": pods}}}}]
    meta = {"name": "llm", "namespace": "team-a"}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": meta,
        "spec": {"replicatedJobs": jobs},
    }


def pod_of(document: Json) -> Json:
    found: Json = document["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    return found


def job_spec(result: Any) -> Json:
    spec: Json = one(result, "JobSet")["spec"]["replicatedJobs"][0]["template"]["spec"]
    return spec


# Lists that are required and empty: Go's apply configurations do not write them, and nothing accepts them without.


@pytest.mark.parametrize("release", RELEASES)
@cases("fields", "place")
def test_an_empty_required_list_of_a_runtime_is_left_out(
    fields: Json, place: tuple[str | int, ...], release: str
) -> None:
    rt = runtime(job(**fields))
    found: Any = job_spec(compiled(trainjob(), rt, release=release, semantics="controller"))
    for step in place:
        found = found[step]
    assert not {"rules", "values", "nodeSelectorTerms", "monitors"} & set(found)
    assert diagnostics_of("MissingRequired", trainjob(), rt, release=release)


@pytest.mark.parametrize("release", RELEASES[1:])
def test_a_patch_may_empty_a_required_list(release: str) -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]
    rt = runtime(job(pod={"affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": terms}}}}))
    emptied = patched(release, affinity={"nodeAffinity": {required: {"nodeSelectorTerms": []}}})
    spec = pod(compiled(emptied, rt, release=release, semantics="controller"))["spec"]
    assert spec["affinity"] == {"nodeAffinity": {required: {}}}


# Zero values of Go's types.


@pytest.mark.parametrize("release", RELEASES[2:])
def test_a_missing_status_of_a_pod_condition_is_an_empty_one(release: str) -> None:
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
    rt = runtime(job(spec={"podFailurePolicy": policy}, pod=NEVER))
    written = job_spec(compiled(trainjob(), rt, release=release, semantics="controller"))["podFailurePolicy"]
    assert written["rules"][0]["onPodConditions"] == [{"type": "DisruptionTarget", "status": ""}]
    assert compiled(trainjob(), rt, release=release).manifests
    document = jobset(**NEVER)
    document["spec"]["replicatedJobs"][0]["template"]["spec"]["podFailurePolicy"] = policy
    (stored,) = admit(document, Options(release=release)).manifests
    spec = stored["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert spec["podFailurePolicy"]["rules"][0]["onPodConditions"] == [{"type": "DisruptionTarget", "status": ""}]


@pytest.mark.parametrize("release", RELEASES[1:])
def test_an_empty_action_and_operator_of_a_restart_rule_are_left_out(release: str) -> None:
    rules = [{"action": "", "exitCodes": {"operator": ""}}]
    rt = runtime(job(containers=[container(restartPolicyRules=rules)]))
    (built,) = pod(compiled(trainjob(), rt, release=release, semantics="controller"))["spec"]["containers"]
    assert built["restartPolicyRules"] == [{"exitCodes": {}}]
    document = jobset(containers=[container(restartPolicyRules=rules)])
    (stored,) = admit(document, Options(release=release)).manifests
    assert pod_of(stored)["containers"][0]["restartPolicyRules"] == [{"exitCodes": {}}]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("resources", [{}, {"limits": {}}, {"claims": []}])
def test_empty_resources_of_a_pod_are_a_change(release: str, resources: Json) -> None:
    options = Options(release=release)
    (old,) = admit(jobset(), options).manifests
    new = deepcopy(old)
    pod_of(new)["resources"] = resources
    (refusal,) = refusals(old, new, options)
    assert (refusal.code, refusal.path.rpartition(".")[2]) == ("FieldImmutable", "resources")
    same = deepcopy(old)
    pod_of(same)["containers"][0]["resources"] = resources
    assert refusals(old, same, options) == []  # A container's are no pointer.


# Merges.


@pytest.mark.parametrize("semantics", ["controller", "gitops"])
@pytest.mark.parametrize("release", RELEASES[1:])
@pytest.mark.parametrize(("of_runtime", "of_patch"), [([{"name": "r"}], [{}]), ([{}], [{"name": "r"}])])
def test_pull_secrets_without_a_name_do_not_merge(
    release: str, semantics: str, of_runtime: Json, of_patch: Json
) -> None:
    rt = runtime(job(pod={"imagePullSecrets": of_runtime}))
    (failed,) = diagnostics_of(
        "PatchFailed", patched(release, imagePullSecrets=of_patch), rt, release=release, semantics=semantics
    )
    assert failed.severity == "error"
    assert ".imagePullSecrets" in failed.path


@pytest.mark.parametrize("release", RELEASES[1:])
def test_a_pull_secret_without_a_name_is_kept_where_there_is_nothing_to_merge(release: str) -> None:
    spec = pod(compiled(patched(release, imagePullSecrets=[{}]), runtime(), release=release, semantics="controller"))
    assert spec["spec"]["imagePullSecrets"] == [{}]


TWICE = [{"name": "t", "mountPath": "/t", "subPath": "s"}, {"name": "u", "mountPath": "/t"}]
VOLUMES = [{"name": name, "emptyDir": {}} for name in "tuyz"]


@pytest.mark.parametrize("release", RELEASES)
def test_of_two_mounts_at_one_path_the_controller_writes_the_last_one_twice(release: str) -> None:
    rt = runtime(job(pod={"volumes": VOLUMES}))
    twice = patched(release, containers=[{"name": "node", "volumeMounts": TWICE}])
    (built,) = pod(compiled(twice, rt, release=release, semantics="controller"))["spec"]["containers"]
    assert built["volumeMounts"] == [TWICE[1], TWICE[1]]


@pytest.mark.parametrize("release", RELEASES)
def test_of_two_mounts_at_a_path_of_the_runtime_the_controller_makes_one(release: str) -> None:
    mounts = [{"name": "z", "mountPath": "/t"}, {"name": "y", "mountPath": "/w"}]
    rt = runtime(job(containers=[container(volumeMounts=mounts)], pod={"volumes": VOLUMES}))
    twice = patched(release, containers=[{"name": "node", "volumeMounts": TWICE}])
    (built,) = pod(compiled(twice, rt, release=release, semantics="controller"))["spec"]["containers"]
    assert built["volumeMounts"] == [{"name": "u", "mountPath": "/t", "subPath": "s"}, mounts[1]]


@pytest.mark.parametrize("release", RELEASES)
def test_two_mounts_at_one_path_are_refused_for_git(release: str) -> None:
    rt = runtime(job(pod={"volumes": VOLUMES}))
    (found,) = diagnostics_of(
        "DuplicateItem",
        patched(release, containers=[{"name": "node", "volumeMounts": TWICE}]),
        rt,
        release=release,
    )
    assert found.severity == "error"
    assert found.path.endswith("volumeMounts[1].mountPath")


# What a release alone does.


@pytest.mark.parametrize("character", ["\x7f", "\x80", "\x9f", "\ufffe"])
def test_a_runtime_that_yaml_cannot_hold_gets_no_snapshot_and_no_job(character: str) -> None:
    rt = runtime(job(containers=[container(env=[{"name": "A", "value": f"x{character}"}])]))
    (found,) = diagnostics_of("RuntimeNotStored", trainjob(), rt, semantics="controller")
    assert f"U+{ord(character):04X}" in found.message
    assert found.path.endswith(".env[0].value")
    assert not diagnostics_of("RuntimeNotStored", trainjob(), rt, semantics="controller", release="2.2")
    assert not diagnostics_of("RuntimeNotStored", trainjob(), rt)


@pytest.mark.parametrize("character", ["\x01", "\x85", "\u2028", "\ufeff"])
def test_other_characters_are_written_as_escapes(character: str) -> None:
    rt = runtime(job(containers=[container(env=[{"name": "A", "value": character}])]))
    assert not diagnostics_of("RuntimeNotStored", trainjob(), rt, semantics="controller")
    in_the_job = trainjob({"env": [{"name": "A", "value": "\x7f"}]})
    assert not diagnostics_of("RuntimeNotStored", in_the_job, runtime(), semantics="controller")


@pytest.mark.parametrize(("release", "counted"), [("2.0", {"cpu": "4"}), ("2.1", {"cpu": "4", "hugepages-2Mi": "8Mi"})])
def test_huge_pages_of_a_pod_count_in_the_gang_since_2_1(release: str, counted: Json) -> None:
    resources = {name: {"cpu": 2, "hugepages-2Mi": "4Mi"} for name in ("limits", "requests")}
    rt = runtime(job(pod={"resources": resources}), policy={"torch": {}}, gang={"coscheduling": {}})
    result = compiled(trainjob({"numNodes": 2}), rt, release=release, semantics="controller")
    assert one(result, "PodGroup")["spec"]["minResources"] == counted


def test_the_jobset_of_2_2_has_no_scheduling_group() -> None:
    rt = runtime(job(pod={"schedulingGroup": {"podGroupName": "x"}}))
    (found,) = diagnostics_of("UnknownField", trainjob(), rt, release="2.2")
    assert found.severity == "error"
    result = compiled(trainjob(), rt, release="2.2", semantics="controller")
    assert pod(result)["spec"]["schedulingGroup"] == {"podGroupName": "x"}
    assert [d.severity for d in result.diagnostics if d.code == "UnknownField"] == ["warning"]
    assert not diagnostics_of("UnknownField", trainjob(), rt, release="2.3")


def test_the_jobset_of_2_2_has_a_workload_reference() -> None:
    options = Options(release="2.2")
    reference = {"name": "x", "podGroup": "y"}
    admitted = admit(jobset(workloadRef=reference, schedulingGroup={"podGroupName": "x"}), options)
    (stored,) = admitted.manifests
    assert pod_of(stored)["workloadRef"] == reference
    assert "schedulingGroup" not in pod_of(stored)
    assert [(d.code, d.path.rpartition(".")[2]) for d in admitted.diagnostics] == [("UnknownField", "schedulingGroup")]
    new = deepcopy(stored)
    pod_of(new)["workloadRef"] = {"name": "z", "podGroup": "y"}
    assert [d.code for d in refusals(stored, new, options)] == ["FieldImmutable"]
    assert refusals(stored, deepcopy(stored), options) == []


def test_a_jobset_of_2_2_that_is_none_is_refused_and_not_crashed_on() -> None:
    broken: Json
    for broken in ({"spec": []}, {"spec": {"replicatedJobs": [7]}}, {"spec": {"replicatedJobs": [{"template": []}]}}):
        with pytest.raises(CompileError):
            admit({**jobset(), **broken}, Options(release="2.2"))


# What a live control plane refuses: webhooks encode the object anew, and write null for a list without a value.


@pytest.mark.parametrize("semantics", ["controller", "gitops"])
@pytest.mark.parametrize("release", RELEASES[2:])
def test_a_patch_without_a_time_needs_the_sources_of_a_projected_volume(release: str, semantics: str) -> None:
    volume = {"name": "x", "projected": {}}
    without_time = patched(release, volumes=[volume])
    (found, *_) = diagnostics_of("MissingRequired", without_time, runtime(), release=release, semantics=semantics)
    assert (found.severity, found.object) == ("error", "TrainJob team-a/llm")
    with_time = deepcopy(without_time)
    with_time["spec"]["runtimePatches"][0]["time"] = "2026-01-31T12:00:00Z"
    if semantics == "controller":
        built = pod(compiled(with_time, runtime(), release=release, semantics=semantics))["spec"]["volumes"]
        assert built == [volume]


@pytest.mark.parametrize("release", RELEASES)
def test_a_jobset_needs_the_sources_of_a_projected_volume(release: str) -> None:
    options = Options(release=release)
    with pytest.raises(CompileError, match="sources is missing"):
        admit(jobset(volumes=[{"name": "x", "projected": {}}]), options)
    (stored,) = admit(jobset(volumes=[{"name": "x", "projected": {"sources": []}}]), options).manifests
    assert pod_of(stored)["volumes"] == [{"name": "x", "projected": {"sources": []}}]


@pytest.mark.parametrize("release", RELEASES)
def test_a_gang_of_coscheduling_without_pods_is_refused(release: str) -> None:
    rt = runtime(policy={"torch": {}}, gang={"coscheduling": {}})
    (refused,) = diagnostics_of("NoNodes", trainjob({"numNodes": 0}), rt, release=release)
    assert refused.severity == "error"
    result = compiled(trainjob({"numNodes": 0}), rt, release=release, semantics="controller")
    assert one(result, "PodGroup")["spec"]["minMember"] == 0
    (warned,) = [d for d in result.diagnostics if d.code == "NoNodes"]
    assert "creates nothing" in warned.message


def test_a_gang_is_without_pods_too_where_only_those_are_left_that_end_before() -> None:
    initializer = job("dataset-initializer", "dataset-initializer", [container("dataset-initializer")])
    after: Json = {"dependsOn": [{"name": "dataset-initializer", "status": "Complete"}]}
    rt = runtime(initializer, job(**after), policy={"torch": {}}, gang={"coscheduling": {}})
    assert diagnostics_of("NoNodes", trainjob({"numNodes": 0}), rt)
    assert not diagnostics_of("NoNodes", trainjob({"numNodes": 0}), rt, semantics="controller")
    assert not diagnostics_of("NoNodes", trainjob({"numNodes": 1}), rt)
