"""Policies in a repository: which objects they are about, what they say, and where it is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import Result, run

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: llm
  namespace: prod
  labels: {tier: gold}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: example.com/train:v1
    numNodes: 3
"""
RULE = {
    "apiGroups": ["jobset.x-k8s.io"],
    "apiVersions": ["v1alpha2"],
    "operations": ["CREATE"],
    "resources": ["jobsets"],
}
FALSE = [{"expression": "false", "message": "never"}]
PROD = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod", "labels": {"stage": "prod"}}}
LIMITS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "limits", "namespace": "prod"},
    "data": {"nodes": "2"},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "llm.yaml").write_text(JOB)
    (tmp_path / "trainc.yaml").write_text("sources: [jobs]\nrelease: '2.3'\npolicies: [policies]\n")
    return tmp_path


def policy(**spec: Any) -> dict[str, Any]:
    whole = {"matchConstraints": {"resourceRules": [RULE]}, "validations": FALSE, **spec}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "house"},
        "spec": whole,
    }


def binding(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "house"},
        "spec": {"policyName": "house", "validationActions": ["Deny"], **spec},
    }


def checked(*documents: dict[str, Any], command: str = "check") -> Result:
    Path("policies").mkdir(exist_ok=True)
    Path("policies/all.yaml").write_text(yaml.safe_dump_all(documents))
    return run(command)


def codes(result: Result) -> set[str]:
    return {part.partition("]")[0] for part in result.stderr.split("[")[1:] if part.startswith("Policy")}


def rule(**changed: Any) -> dict[str, Any]:
    return {"matchConstraints": {"resourceRules": [{**RULE, **changed}]}}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], set[str]]] = {
    "a policy that is bound denies": ({}, {}, {"PolicyDenied"}),
    "Warn warns": ({}, {"validationActions": ["Warn"]}, {"PolicyWarned"}),
    "Audit informs": ({}, {"validationActions": ["Audit"]}, {"PolicyAudited"}),
    "Deny and Audit do both": ({}, {"validationActions": ["Deny", "Audit"]}, {"PolicyDenied", "PolicyAudited"}),
    "Deny and Warn exclude each other": ({}, {"validationActions": ["Deny", "Warn"]}, {"PolicyInvalid"}),
    "another resource is not meant": (rule(resources=["cronjobs"]), {}, set()),
    "another group is not meant": (rule(apiGroups=["apps"]), {}, set()),
    "another version is not meant": (rule(apiVersions=["v1"]), {}, set()),
    "stars mean everything": (rule(apiGroups=["*"], apiVersions=["*"], resources=["*"], operations=["*"]), {}, {"PolicyDenied"}),
    "only updates are not meant": (rule(operations=["UPDATE"]), {}, set()),
    "cluster-scoped objects are not meant": (rule(scope="Cluster"), {}, set()),
    "a subresource is not meant": (rule(resources=["jobsets/status"]), {}, set()),
    "another name is not meant": (rule(resourceNames=["other"]), {}, set()),
    "what is excluded is not meant": (
        {"matchConstraints": {"resourceRules": [RULE], "excludeResourceRules": [{**RULE, "resourceNames": ["llm"]}]}}, {}, set(),
    ),
    "objects are selected by label": ({}, {"matchResources": {"objectSelector": {"matchLabels": {"tier": "silver"}}}}, set()),
    "and by expressions": (
        {}, {"matchResources": {"objectSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}}}, {"PolicyDenied"},
    ),
    "namespaces are selected by label": ({}, {"matchResources": {"namespaceSelector": {"matchLabels": {"stage": "dev"}}}}, set()),
    "and by their name": (
        {}, {"matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "prod"}}}}, {"PolicyDenied"},
    ),
    "a condition that is false skips": ({"matchConditions": [{"name": "a", "expression": "1 > 2"}]}, {}, set()),
    "a condition that fails denies": ({"matchConditions": [{"name": "a", "expression": "object.nope == 1"}]}, {}, {"PolicyDenied"}),
    "unless it may fail": (
        {"failurePolicy": "Ignore", "matchConditions": [{"name": "a", "expression": "object.nope == 1"}]}, {}, set(),
    ),
    "a false condition wins over one that fails": (
        {"matchConditions": [{"name": "a", "expression": "object.nope == 1"}, {"name": "b", "expression": "false"}]}, {}, set(),
    ),
    "an error denies": ({"validations": [{"expression": "object.nope == 1"}]}, {}, {"PolicyDenied"}),
    "an error is ignored where the policy says so": (
        {"failurePolicy": "Ignore", "validations": [{"expression": "object.nope == 1"}]}, {}, set(),
    ),
    "the request is a CREATE": (
        {"validations": [{"expression": "request.operation == 'CREATE' && request.kind.kind == 'JobSet' && oldObject == null"}]},
        {}, set(),
    ),
    "the namespace is known": ({"validations": [{"expression": "namespaceObject.metadata.labels.stage == 'prod'"}]}, {}, set()),
    "a parameter is found": (
        {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "validations": [{"expression": "params.data.nodes == '2'"}]},
        {"paramRef": {"name": "limits", "parameterNotFoundAction": "Deny"}}, set(),
    ),
    "a parameter that is not there is named": (
        {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}},
        {"paramRef": {"name": "other", "parameterNotFoundAction": "Deny"}}, {"PolicyNotEvaluated"},
    ),
    "without a reference params is null": (
        {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "validations": [{"expression": "params == null"}]}, {}, set(),
    ),
    "what only the cluster knows is named": (
        {"validations": [{"expression": "authorizer.group('').resource('pods').check('get').allowed()"}]}, {}, {"PolicyNotEvaluated"},
    ),
    "so is a function that is not evaluated": ({"validations": [{"expression": "[1].includes(1)"}]}, {}, {"PolicyNotEvaluated"}),
    "a name that nobody defines is wrong": ({"validations": [{"expression": "objekt.spec == 1"}]}, {}, {"PolicyInvalid"}),
    "so is a variable": ({"validations": [{"expression": "variables.x == 1"}]}, {}, {"PolicyInvalid"}),
    "and a syntax error": ({"validations": [{"expression": "object.spec ="}]}, {}, {"PolicyInvalid"}),
    "and a field of the wrong type": ({"validations": [{"expression": 3}]}, {}, {"PolicyInvalid"}),
    "a policy that runs for too long is not evaluated": (
        {"variables": [{"name": "l", "expression": "[1,2,3,4,5,6,7,8,9,10]"}],
         "validations": [{"expression": "variables.l.all(a, variables.l.all(b, variables.l.all(c, variables.l.all(d, variables.l.all(e, true)))))"}]},
        {}, {"PolicyNotEvaluated"},
    ),
    "pods come of the JobSet": (rule(apiGroups=[""], apiVersions=["v1"], resources=["pods"]), {}, {"PolicyDenied"}),
    "and so do Jobs": (rule(apiGroups=["batch"], apiVersions=["v1"], resources=["jobs"]), {}, {"PolicyDenied"}),
    "a star after the resource includes the resource itself": (rule(resources=["jobsets/*"]), {}, {"PolicyDenied"}),
    "TrainJobs are not applied": (rule(apiGroups=["trainer.kubeflow.org"], resources=["trainjobs"]), {}, {"PolicyNotEvaluated"}),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "bound", "found"), CASES.values(), ids=CASES)
def test_a_policy_and_its_binding(spec: dict[str, Any], bound: dict[str, Any], found: set[str]) -> None:
    result = checked(policy(**spec), binding(**bound), PROD, LIMITS)
    assert codes(result) == found, result.stderr
    assert result.status == int(bool({"PolicyDenied", "PolicyInvalid"} & found))


def test_nothing_is_built_that_is_denied() -> None:
    result = checked(policy(), binding(), command="build")
    assert (result.status, result.stdout) == (1, "")
    assert "policy house: never" in result.stderr
    assert run("build", "-o", "out").status == 1
    assert not Path("out").exists()


def test_a_denial_stands_at_the_line_that_set_the_field() -> None:
    expression = "variables.nodes.all(j, j.template.spec.parallelism <= 2)"
    result = checked(
        policy(
            variables=[{"name": "nodes", "expression": "object.spec.replicatedJobs"}],
            validations=[
                {"expression": expression, "messageExpression": "'too many nodes for ' + object.metadata.name"}
            ],
        ),
        binding(),
    )
    assert "jobs/llm.yaml:11:5: error[PolicyDenied] JobSet prod/llm" in result.stderr
    assert "spec.replicatedJobs[0].template.spec.parallelism: policy house: too many nodes for llm" in result.stderr
    assert f"`{expression}` must hold; see ValidatingAdmissionPolicy house (policies/all.yaml:" in result.stderr


def test_a_message_falls_back_to_the_expression() -> None:
    result = checked(policy(validations=[{"expression": "1 > 2", "messageExpression": "'a\\nb'"}]), binding())
    assert "policy house: failed expression: 1 > 2" in result.stderr


def test_a_namespace_that_is_missing_leaves_the_policy_open() -> None:
    selector = {"matchResources": {"namespaceSelector": {"matchLabels": {"stage": "prod"}}}}
    result = checked(policy(), binding(**selector))
    assert (result.status, codes(result)) == (0, {"PolicyNotEvaluated"})
    assert "Namespace prod is not in the policies folders" in result.stderr


def test_a_policy_without_a_binding_has_no_effect_and_says_so() -> None:
    result = checked(policy())
    assert (result.status, codes(result)) == (0, {"PolicyNotEvaluated"})
    assert "no binding names this policy" in result.stderr


def test_a_binding_without_its_policy_says_so() -> None:
    assert "no policy 'house' in the policies folders" in checked(binding()).stderr


def test_a_folder_that_is_not_there_is_an_error() -> None:
    result = run("check")
    assert result.status == 1
    assert "policies" in result.stderr


@pytest.mark.parametrize(
    "spec", [None, [], "x", {"validations": {}}, {"matchConstraints": []}, {"matchConditions": [1]}]
)
def test_no_shape_of_a_policy_is_a_defect(spec: Any) -> None:
    wrong = {**policy(), "spec": spec}
    result = checked(wrong, {**binding(), "spec": spec}, {**PROD, "metadata": spec}, {**LIMITS, "metadata": spec})
    assert (result.status, codes(result)) == (1, {"PolicyInvalid"})
