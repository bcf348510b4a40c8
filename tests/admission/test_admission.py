"""`admit` and `refusals`: the schema, JobSet's webhook and immutability together, as the API server applies them."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trainc import CompileError, Options, admit, refusals
from trainc.kube.releases import RELEASES

Json = dict[str, Any]


def jobset(name: str = "llm", node: Json | None = None, container: Json | None = None, **spec: Any) -> Json:
    """A JobSet with one replicated job; `node` adds to that job, `container` to its container."""
    pod = {"spec": {"containers": [{"name": "node", "image": "example.com/train:1", **(container or {})}]}}
    job = {"name": "node", "template": {"spec": {"completions": 1, "parallelism": 1, "template": pod}}, **(node or {})}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {"replicatedJobs": [job], **spec},
    }


def stored(document: Json, release: str = "2.3") -> Json:
    (manifest,) = admit(document, Options(release=release)).manifests
    return manifest


def refused(document: Json, release: str = "2.3") -> set[tuple[str, str]]:
    """Code and path of every error for which a JobSet is not admitted; empty if it is."""
    try:
        admit(document, Options(release=release))
    except CompileError as error:
        return {(d.code, d.path) for d in error.diagnostics if d.severity == "error"}
    return set()


def recorded(vectors: Path, file: str, release: str) -> Iterator[Json]:
    with gzip.open(vectors / file, "rt", encoding="utf-8") as lines:
        yield from (case for case in map(json.loads, lines) if case["release"] == release)


def without_placeholders(value: Any) -> Any:
    """A recorded object less Go's empty structs, which carry no meaning."""
    if isinstance(value, list):
        return [without_placeholders(item) for item in value]
    if not isinstance(value, dict):
        return value
    fields = {key: without_placeholders(item) for key, item in value.items() if key != "creationTimestamp"}
    return {k: v for k, v in fields.items() if not (v == {} and k in ("resources", "metadata", "status"))}


def test_an_empty_value_of_a_variable_is_stored_as_it_was_written() -> None:
    env = [{"name": "EMPTY", "value": ""}, {"name": "ABSENT"}, {"name": "SET", "value": "1"}]
    first = jobset(container={"env": env})
    first["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["initContainers"] = [
        {"name": "i", "image": "example.com/i:1", "env": env[:1]}
    ]
    before = copy.deepcopy(first)
    pod = stored(first)["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["env"] == env
    assert pod["initContainers"][0]["env"] == env[:1]
    assert first == before


@pytest.mark.conformance
@pytest.mark.parametrize("release", RELEASES)
def test_jobsets_are_admitted_changed_and_refused_as_recorded(vectors: Path, release: str) -> None:
    wrong = []
    for case in recorded(vectors, "admission.jsonl.gz", release):
        try:
            (got,) = admit(case["input"], Options(release=release)).manifests
        except CompileError:
            got = None
        want = case.get("admitted")
        if (got is None) != (want is None) or without_placeholders(got) != without_placeholders(want):
            wrong.append(case["id"])
    assert wrong == []


@pytest.mark.conformance
@pytest.mark.parametrize("release", RELEASES)
def test_updates_are_accepted_and_refused_as_recorded(vectors: Path, release: str) -> None:
    wrong = [
        case["id"]
        for case in recorded(vectors, "updates.jsonl.gz", release)
        if bool(refusals(case["old"], case["new"], Options(release=release))) != case["refused"]
    ]
    assert wrong == []


@pytest.mark.conformance
@pytest.mark.parametrize("release", RELEASES)
def test_what_was_admitted_is_admitted_again_and_is_an_update_of_itself(vectors: Path, release: str) -> None:
    for case in recorded(vectors, "admission.jsonl.gz", release):
        if "admitted" in case:
            once = stored(case["input"], release)
            assert stored(once, release) == once
            assert refusals(once, once, Options(release=release)) == []


def test_webhook_and_crd_defaults_are_filled_in() -> None:
    spec = stored(jobset(container={"ports": [{"containerPort": 29500}]}, failurePolicy={"maxRestarts": 1}))["spec"]
    (job,) = spec["replicatedJobs"]
    assert (job["groupName"], job["replicas"], job["template"]["spec"]["completionMode"]) == ("default", 1, "Indexed")
    assert job["template"]["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert job["template"]["spec"]["template"]["spec"]["containers"][0]["ports"][0]["protocol"] == "TCP"
    assert spec["failurePolicy"] == {"maxRestarts": 1, "restartStrategy": "Recreate"}
    assert spec["network"] == {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
    assert (spec["successPolicy"], spec["startupPolicy"]) == ({"operator": "All"}, {"startupPolicyOrder": "AnyOrder"})


def test_what_the_webhook_fills_in_may_be_missing_though_the_crd_requires_it() -> None:
    spec = stored(jobset(failurePolicy={"rules": [{"action": "FailJobSet"}]}))["spec"]
    assert spec["failurePolicy"]["rules"] == [{"name": "failurePolicyRule0", "action": "FailJobSet"}]


def test_unknown_fields_are_dropped_with_a_warning_each() -> None:
    result = admit(jobset(gangPolicy={}, container={"imagePullPolice": "Always"}))
    assert {(d.severity, d.path) for d in result.diagnostics} == {
        ("warning", "spec.gangPolicy"),
        ("warning", "spec.replicatedJobs[0].template.spec.template.spec.containers[0].imagePullPolice"),
    }
    assert result.manifests == [stored(jobset())]


def test_a_field_of_a_later_jobset_is_unknown_to_an_earlier_one() -> None:
    document = jobset(node={"groupName": "9-is-no-group-but-nobody-looks"})
    assert "groupName" not in stored(document, "2.0")["spec"]["replicatedJobs"][0]
    assert [d.path for d in admit(document, Options(release="2.0")).diagnostics] == ["spec.replicatedJobs[0].groupName"]


def test_what_fails_later_is_a_warning_here() -> None:
    (diagnostic,) = admit(jobset(container={"resources": {"requests": {"nvidia.com/gpu": 1}}})).diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("ExtendedResourceUnequal", "warning")
    assert diagnostic.object == "JobSet team-a/llm"


def named(**metadata: Any) -> Json:
    document = jobset()
    return {**document, "metadata": {**document["metadata"], **metadata}}


DEPENDENCY = {"name": "node", "status": "Ready"}
AUX = {"name": "aux", "template": jobset()["spec"]["replicatedJobs"][0]["template"]}
JOBS = jobset()["spec"]["replicatedJobs"]
SCHEMA_RULES = {
    "a dependency's status that does not exist": (
        jobset(replicatedJobs=[*JOBS, {**AUX, "dependsOn": [{"name": "node", "status": "Done"}]}]),
        "spec.replicatedJobs[1].dependsOn[0].status",
    ),
    "one dependency twice": (
        jobset(replicatedJobs=[*JOBS, {**AUX, "dependsOn": [DEPENDENCY, DEPENDENCY]}]),
        "spec.replicatedJobs[1].dependsOn",
    ),
    "more than five dependencies": (
        jobset(replicatedJobs=[*JOBS, {**AUX, "dependsOn": [{**DEPENDENCY, "name": n} for n in "abcdef"]}]),
        "spec.replicatedJobs[1].dependsOn",
    ),
    "startup in order beside dependencies": (
        jobset(
            replicatedJobs=[*JOBS, {**AUX, "dependsOn": [DEPENDENCY]}], startupPolicy={"startupPolicyOrder": "InOrder"}
        ),
        "spec.replicatedJobs[1].dependsOn",
    ),
    "a success policy without operator": (jobset(successPolicy={}), "spec.successPolicy.operator"),
    "an operator that does not exist": (jobset(successPolicy={"operator": "Some"}), "spec.successPolicy.operator"),
    "an action that does not exist": (
        jobset(failurePolicy={"rules": [{"action": "Retry"}]}),
        "spec.failurePolicy.rules[0].action",
    ),
    "a restart strategy that does not exist": (
        jobset(failurePolicy={"restartStrategy": "Soft"}),
        "spec.failurePolicy.restartStrategy",
    ),
    "a negative time to live": (jobset(ttlSecondsAfterFinished=-1), "spec.ttlSecondsAfterFinished"),
    "two jobs of one name": (jobset(replicatedJobs=[*JOBS, *JOBS]), "spec.replicatedJobs"),
    "a name with capitals": (named(name="LLM"), "metadata.name"),
    "a name of 254 characters": (named(name="a" * 254), "metadata.name"),
    "a namespace with a dot": (named(namespace="a.b"), "metadata.namespace"),
    "a label with a blank": (named(labels={"a": "b c"}), "metadata.labels"),
    "a label's prefix of 254 characters": (named(labels={"a" * 254 + "/b": ""}), "metadata.labels"),
    "an annotation with two slashes": (named(annotations={"a/b/c": ""}), "metadata.annotations"),
    "a job without a name": (jobset(replicatedJobs=[{"template": AUX["template"]}]), "spec.replicatedJobs[0]"),
    "a job without containers": (jobset(replicatedJobs=[{"name": "node", "template": {}}]), "spec.replicatedJobs[0]"),
    "one port twice": (
        jobset(container={"ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP"}]}),
        "spec.replicatedJobs[0].template.spec.template.spec.containers[0].ports",
    ),
    "a claim in another namespace": (
        jobset(
            container={"volumeMounts": [{"name": "c", "mountPath": "/c"}]},
            volumeClaimPolicies=[{"templates": [{"metadata": {"name": "c", "namespace": "other"}, "spec": {}}]}],
        ),
        "spec.volumeClaimPolicies[0].templates[0].metadata.namespace",
    ),
}


@pytest.mark.parametrize(("document", "path"), SCHEMA_RULES.values(), ids=SCHEMA_RULES)
def test_the_crd_refuses(document: Json, path: str) -> None:
    assert any(found.startswith(path) for _, found in refused(document))


@pytest.mark.parametrize(("release", "most"), [("2.0", 1), ("2.1", 5), ("2.2", 5), ("2.3", 5)])
def test_jobset_0_8_takes_one_dependency_and_later_ones_five(release: str, most: int) -> None:
    jobs = [{**AUX, "name": name} for name in "abcdef"]

    def last_depends_on(count: int) -> Json:
        depends_on = [{"name": job["name"], "status": "Ready"} for job in jobs[:count]]
        return jobset(replicatedJobs=[*jobs, {**AUX, "name": "z", "dependsOn": depends_on}])

    assert refused(last_depends_on(most), release) == set()
    assert refused(last_depends_on(most + 1), release) != set()


def test_problems_of_the_schema_and_of_the_webhook_are_reported_together() -> None:
    document = jobset(
        name="9", ttlSecondsAfterFinished=-1, managedBy="bad", replicatedJobs=[{"name": "node", "template": 1}]
    )
    paths = {path for _, path in refused(document)}
    assert {"spec.ttlSecondsAfterFinished", "spec.managedBy", "spec.replicatedJobs[0].name"} <= paths


@pytest.mark.parametrize("metadata", [{}, {"generateName": "llm-"}, {"name": ""}])
def test_a_jobset_without_a_name_is_refused_once(metadata: Json) -> None:
    assert len(refused({**jobset(), "metadata": metadata})) == 1


@pytest.mark.parametrize(
    "document", [{}, None, [], {"kind": "TrainJob"}, {**jobset(), "apiVersion": "jobset.x-k8s.io/v1"}]
)
def test_what_is_not_a_jobset_is_refused(document: Any) -> None:
    with pytest.raises(CompileError, match="NotAJobSet"):
        admit(document)
    with pytest.raises(CompileError, match="NotAJobSet"):
        refusals(document, jobset())


def test_inputs_are_left_alone() -> None:
    old, new = jobset(failurePolicy={"maxRestarts": 0}, extra=1), jobset(suspend=True)
    before = copy.deepcopy((old, new))
    admit(old)
    refusals(old, new)
    assert (old, new) == before


SERVER_METADATA = {
    "uid": "6e3b", "resourceVersion": "7", "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z",
    "managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {}}}],
}  # fmt: skip


def test_what_the_server_keeps_besides_the_spec_is_not_a_hindrance() -> None:
    old = stored(jobset())
    old = {**old, "metadata": {**old["metadata"], **SERVER_METADATA}, "status": {"restarts": 0, "conditions": []}}
    assert refusals(old, {**old, "spec": {**old["spec"], "suspend": True}}) == []


def test_an_update_says_what_changed_and_where() -> None:
    old = stored(jobset())
    (diagnostic,) = refusals(old, stored(jobset(container={"image": "example.com/train:2"})))
    assert diagnostic.path == "spec.replicatedJobs[0].template.spec.template.spec.containers[0].image"
    assert diagnostic.message == 'changed from "example.com/train:1" to "example.com/train:2"'
    assert (diagnostic.code, diagnostic.object) == ("FieldImmutable", "JobSet team-a/llm")


def test_crd_defaults_that_the_body_of_an_update_leaves_out_are_no_change() -> None:
    old = stored(jobset(failurePolicy={"maxRestarts": 1}, container={"ports": [{"containerPort": 80}]}))
    new = copy.deepcopy(old)
    (job,) = new["spec"]["replicatedJobs"]
    del job["groupName"], job["replicas"], new["spec"]["failurePolicy"]["restartStrategy"]
    del job["template"]["spec"]["template"]["spec"]["containers"][0]["ports"][0]["protocol"]
    assert refusals(old, new) == []


def test_webhook_defaults_that_the_body_of_an_update_leaves_out_are_a_change() -> None:
    assert {d.code for d in refusals(stored(jobset()), jobset())} == {"WebhookDefaultMissing"}


def test_a_written_zero_that_goes_away_is_a_change_to_cel_but_not_to_the_webhook() -> None:
    zero = stored(jobset())
    zero["spec"]["failurePolicy"] = {"maxRestarts": 0, "restartStrategy": "Recreate"}
    gone = copy.deepcopy(zero)
    del gone["spec"]["failurePolicy"]["maxRestarts"]
    assert [d.path for d in refusals(zero, gone)] == ["spec.failurePolicy"]
    tty = stored(jobset())
    tty["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["tty"] = False
    assert refusals(tty, stored(jobset())) == []


def test_unknown_fields_of_an_update_are_no_change() -> None:
    old = stored(jobset())
    new = copy.deepcopy(old)
    new["spec"]["network"]["colour"] = new["spec"]["replicatedJobs"][0]["colour"] = "red"
    assert refusals(old, new) == []


@pytest.mark.parametrize(
    ("release", "refuses"),
    [("2.0", False), ("2.1", False), ("2.2", True), ("2.3", True)],
)
def test_volume_claims_are_compared_where_the_version_has_them(release: str, refuses: bool) -> None:
    claim = {"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    mounts = {"volumeMounts": [{"name": "c", "mountPath": "/c"}]}
    old = stored(jobset(container=mounts, volumeClaimPolicies=[{"templates": [claim]}]), release)
    new = {**old, "spec": {**old["spec"], "volumeClaimPolicies": []}}
    assert bool(refusals(old, new, Options(release=release))) == refuses


def test_the_new_object_must_satisfy_the_crd() -> None:
    old = stored(jobset())
    new = {**old, "spec": {**old["spec"], "ttlSecondsAfterFinished": -1}}
    assert [d.path for d in refusals(old, new)] == ["spec.ttlSecondsAfterFinished"]


@pytest.mark.parametrize(
    "job",
    [
        {"containers": [{"name": "a", "image": "b"}]},
        {"template": {"spec": {"containers": [{"name": "a", "image": "b", "env": [{"DATA": "x"}]}]}}},
        {"template": {"spec": {"containers": [{"name": "a", "image": "b", "env": [{"fieldPath": "x"}]}]}}},
        {"template": {"containers": [{"name": "a", "image": "b"}]}},
    ],
)
def test_what_is_missing_once_unknown_fields_are_dropped_is_refused(job: dict[str, Any]) -> None:
    jobset = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "a"}}
    spec = {"replicatedJobs": [{"name": "n", "template": {"spec": job}}]}
    with pytest.raises(CompileError, match="MissingRequired"):
        admit({**jobset, "spec": spec})
