"""Unknown fields: what was meant, which release knows it, and where it belongs."""

from __future__ import annotations

from typing import Any

import pytest
from builders import API, LABEL, container, runtime, trainjob
from tables import cases

from trainc.findings import Finding, format_path
from trainc.schema import check
from trainc.schema.field_homes import has_field

Json = dict[str, Any]


def findings(document: Json, release: str = "2.3") -> list[Finding]:
    return check(document, document["kind"], release)[1]


@cases("document", "release", "path", "hint")
def test_a_hint_says_what_was_meant(document: Json, release: str, path: str, hint: str) -> None:
    (finding,) = [f for f in findings(document, release) if f.code == "UnknownField"]
    assert format_path(finding.path) == path
    assert hint in finding.hint


@pytest.mark.parametrize(
    ("document", "path", "hint"),
    [
        (trainjob({"resourceClaimsPerNode": []}), "spec.trainer.resourceClaimsPerNode", "resourceClaimTemplateName"),
        (trainjob({"nodeGroups": []}), "spec.trainer.nodeGroups", "numNodes"),
        (trainjob(runPolicy={}), "spec.runPolicy", "activeDeadlineSeconds"),
        (trainjob(failurePolicy={}), "spec.failurePolicy", "failurePolicy: {"),
        (trainjob(ttlSecondsAfterFinished=9), "spec.ttlSecondsAfterFinished", "`template: {spec: {ttlSecondsAfter"),
        (runtime(policy={"mpi": {"launcher": {}}}), "spec.mlPolicy.mpi.launcher", "numNodes"),
        (runtime(scheduling={}), "spec.template.spec.scheduling", "--gang workload"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_field_on_its_way_is_not_a_typo(document: Json, path: str, hint: str) -> None:
    (finding,) = [f for f in findings(document) if f.code == "UnknownField"]
    assert format_path(finding.path) == path
    assert "planned for a later" in finding.message
    assert hint in finding.hint
    assert "did you mean" not in finding.hint


def test_a_field_that_is_on_its_way_nowhere_is_still_explained() -> None:
    (finding,) = findings(trainjob({"resourceClaimPerNode": []}))
    assert "planned" not in finding.message
    assert finding.hint == "did you mean resourcesPerNode?"


PATCHED_POD = ("spec", "runtimePatches", 0, "trainingRuntimeSpec", "template", "spec", "replicatedJobs", 0, "template")


@pytest.mark.parametrize(
    ("pod", "hint"),
    [
        pytest.param({"hostNetwork": True}, "{spec: {hostNetwork: true}}", id="a field of pods"),
        pytest.param({"containers": [{"name": "main", "ports": []}]}, "{name: main, ports: []}", id="of containers"),
    ],
)
def test_what_a_patch_cannot_set_is_shown_for_the_runtime(pod: Json, hint: str) -> None:
    template = {"spec": {"template": {"spec": pod}}}
    jobs = {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}}
    patch = {"manager": "acme.io/a", "trainingRuntimeSpec": {"template": jobs}}
    (finding,) = findings(trainjob(runtimePatches=[patch]))
    assert finding.path[: len(PATCHED_POD)] == PATCHED_POD
    assert "patches cannot set it; add `template: {spec: {replicatedJobs: [" in finding.hint
    assert finding.hint.startswith("Pod Security baseline refuses it") == ("hostNetwork" in pod)
    assert hint in finding.hint


def test_a_namespace_in_the_spec_belongs_to_the_metadata() -> None:
    (finding,) = findings(trainjob(namespace="nlp"))
    assert finding.hint == "move it to metadata.namespace"


def test_the_children_of_spec_at_the_top_level() -> None:
    document = {"apiVersion": API, "kind": "TrainingRuntime", "metadata": {"name": "a"}, "spec": None, "mlPolicy": {}}
    (finding,) = findings(document)
    assert (finding.code, finding.path, finding.hint) == ("UnknownField", ("mlPolicy",), "indent mlPolicy under spec")


def test_fields_of_a_deeper_struct_name_their_place() -> None:
    (finding, missing) = findings(runtime({"name": "node", "containers": []}))
    assert "template.spec.template.spec" in finding.hint
    assert (missing.code, missing.path[-1]) == ("MissingRequired", "template")


def test_a_pod_spec_where_a_jobset_spec_belongs_is_one_problem() -> None:
    document = runtime()
    document["spec"]["template"]["spec"] = {"containers": [container()], "nodeSelector": {}, "surprise": 1}
    pod, other = findings(document)
    assert (pod.code, format_path(pod.path)) == ("MisplacedPodSpec", "spec.template.spec.containers")
    assert "replicatedJobs[].template.spec.template.spec" in pod.hint
    assert format_path(other.path) == "spec.template.spec.surprise"


def test_a_pod_spec_where_a_job_spec_belongs_is_one_problem() -> None:
    template = {"metadata": {"labels": {LABEL: "trainer"}}, "spec": {"containers": [container()]}}
    (finding,) = findings(runtime({"name": "node", "template": template}))
    assert finding.code == "MisplacedPodSpec"
    assert format_path(finding.path) == "spec.template.spec.replicatedJobs[0].template.spec.containers"


def test_tensorflow_never_had_a_policy() -> None:
    (finding,) = findings(runtime(policy={"tensorflow": {}}))
    assert (finding.code, format_path(finding.path)) == ("UnsupportedFramework", "spec.mlPolicy.tensorflow")
    assert "torch" in finding.hint


@cases("kind", "path", "releases")
def test_known_in_says_which_releases_have_a_field(kind: str, path: tuple[str | int, ...], releases: list[str]) -> None:
    assert [release for release in ("2.0", "2.1", "2.2", "2.3") if has_field(kind, path, release)] == releases
