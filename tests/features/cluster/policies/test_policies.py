"""Policies in a repository: which objects they are about, what they say, and where it is shown."""

from __future__ import annotations

import json
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
    "what is denied is said once": ({}, {"validationActions": ["Audit", "Deny"]}, {"PolicyDenied"}),
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
    "namespaces are selected by label": ({}, {"matchResources": {"namespaceSelector": {"matchLabels": {"stage": "dev"}}}}, {"PolicyNotEvaluated"}),
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
    # Recorded from a Kubernetes 1.36 API server, which evaluates match conditions without a namespace.
    "but not to match conditions": (
        {"matchConditions": [{"name": "a", "expression": "namespaceObject.metadata.labels.stage == 'dev'"}]}, {}, {"PolicyDenied"},
    ),
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
         "validations": [{"expression": "variables.l.all(a, variables.l.all(b, variables.l.all(c, variables.l.all(d, variables.l.all(e, variables.l.all(f, true))))))"}]},
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
    # Under Deny, a policy that takes too many steps refuses, as in the API server.
    is_refused = {"PolicyDenied", "PolicyInvalid"} & found or "error[PolicyNotEvaluated]" in result.stderr
    assert result.status == int(bool(is_refused))


PARAM = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
NAMED_LIMITS = {"name": "limits", "parameterNotFoundAction": "Deny"}
TRUE = [{"expression": "true"}]
# What is wrong, and beside it what is right and looks alike: fields of the policy and of its binding.
AT_CREATION: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "a star beside another group": (rule(apiGroups=["*", "apps"]), {}, rule(apiGroups=["*"]), {}),
    "a star beside another version": (rule(apiVersions=["v1", "*"]), {}, rule(apiVersions=["v1", "v1alpha2"]), {}),
    "a star beside another operation": (rule(operations=["CREATE", "*"]), {}, rule(operations=["CREATE", "UPDATE"]), {}),
    "a star before a resource": (rule(resources=["*", "jobsets"]), {}, rule(resources=["jobsets", "*"]), {}),
    "two stars beside a resource": (rule(resources=["*/*", "jobsets"]), {}, rule(resources=["*", "pods/log"]), {}),
    "no versions": (rule(apiVersions=[]), {}, rule(apiVersions=["*"]), {}),
    "an empty resource": (rule(resources=["jobsets", ""]), {}, rule(apiGroups=["", "jobset.x-k8s.io"]), {}),
    "a name of a resource twice": (rule(resourceNames=["a", "a"]), {}, rule(resourceNames=["a", "b"]), {}),
    "a variable that no expression can name": (
        {"variables": [{"name": "my-list", "expression": "[1]"}], "validations": TRUE}, {},
        {"variables": [{"name": "my_list", "expression": "[1]"}], "validations": TRUE}, {},
    ),
    "a variable with a reserved name": (
        {"variables": [{"name": "in", "expression": "[1]"}], "validations": TRUE}, {},
        {"variables": [{"name": "inside", "expression": "[1]"}], "validations": TRUE}, {},
    ),
    "two conditions of one name": (
        {"matchConditions": [{"name": "a", "expression": "true"}] * 2, "validations": TRUE}, {},
        {"matchConditions": [{"name": n, "expression": "true"} for n in "ab"], "validations": TRUE}, {},
    ),
    "too many conditions": (
        {"matchConditions": [{"name": f"c{i}", "expression": "true"} for i in range(65)], "validations": TRUE}, {},
        {"matchConditions": [{"name": f"c{i}", "expression": "true"} for i in range(64)], "validations": TRUE}, {},
    ),
    "a condition whose name has a blank": (
        {"matchConditions": [{"name": "a b", "expression": "true"}], "validations": TRUE}, {},
        {"matchConditions": [{"name": "example.com/a-b", "expression": "true"}], "validations": TRUE}, {},
    ),
    "an audit annotation twice": (
        {"auditAnnotations": [{"key": "k", "valueExpression": "'a'"}] * 2}, {},
        {"auditAnnotations": [{"key": k, "valueExpression": "'a'"} for k in "kl"]}, {},
    ),
    "a message of two lines": (
        {"validations": [{"expression": "true", "message": "a\nb"}]}, {},
        {"validations": [{"expression": "true", "message": "a\n"}]}, {},
    ),
    "a blank message": (
        {"validations": [{"expression": "true", "message": " "}]}, {},
        {"validations": [{"expression": "true || \n false"}]}, {},
    ),
    "a blank messageExpression": (
        {"validations": [{"expression": "true", "messageExpression": " "}]}, {},
        {"validations": [{"expression": "true", "messageExpression": "'a'"}]}, {},
    ),
    "an action twice": ({"validations": TRUE}, {"validationActions": ["Warn", "Warn"]}, {"validations": TRUE}, {"validationActions": ["Warn", "Audit"]}),
    "a parameter by name and selector": (
        {**PARAM, "validations": TRUE}, {"paramRef": {**NAMED_LIMITS, "selector": {}}},
        {**PARAM, "validations": TRUE}, {"paramRef": NAMED_LIMITS},
    ),
    "a parameter without either": (
        {**PARAM, "validations": TRUE}, {"paramRef": {"parameterNotFoundAction": "Deny"}},
        {**PARAM, "validations": TRUE}, {"paramRef": {"selector": {}, "parameterNotFoundAction": "Deny"}},
    ),
    "nothing for a missing parameter": (
        {**PARAM, "validations": TRUE}, {"paramRef": {"name": "limits"}}, {**PARAM, "validations": TRUE}, {"paramRef": NAMED_LIMITS},
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", AT_CREATION)
def test_what_the_api_server_refuses_at_creation(what: str) -> None:
    spec, bound, other, otherwise = AT_CREATION[what]
    refused = checked(policy(**spec), binding(**bound), PROD, LIMITS)
    assert (refused.status, "PolicyInvalid" in codes(refused)) == (1, True), refused.stderr
    assert "PolicyInvalid" not in codes(checked(policy(**other), binding(**otherwise), PROD, LIMITS))


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


@pytest.mark.parametrize(("action", "status"), [("Deny", 1), ("Warn", 0)])
def test_a_namespace_that_is_missing_is_an_error_where_the_policy_denies(action: str, status: int) -> None:
    selector = {"matchResources": {"namespaceSelector": {"matchLabels": {"stage": "prod"}}}}
    result = checked(policy(), binding(validationActions=[action], **selector))
    assert (result.status, codes(result)) == (status, {"PolicyNotEvaluated"})
    assert "Namespace prod is not in the policies folders" in result.stderr


def test_a_policy_without_a_binding_has_no_effect_and_says_so() -> None:
    result = checked(policy())
    assert (result.status, codes(result)) == (0, {"PolicyNotEvaluated"})
    assert "no binding names this policy" in result.stderr


def test_a_binding_without_its_policy_says_so() -> None:
    assert "no policy 'house' in the policies folders" in checked(binding()).stderr
    assert "help: did you mean house?" in checked(policy(), binding(policyName="hous")).stderr


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


def messages(result: Result, code: str) -> list[str]:
    """The messages of a code in the report, each after its object's label."""
    return [line.partition(f"[{code}] ")[2] for line in result.stderr.splitlines() if f"[{code}] " in line]


SKIPPED: dict[str, tuple[dict[str, Any], set[str]]] = {
    "a validation that asks the cluster is skipped alone": (
        {"validations": [*FALSE, {"expression": "authorizer.path('/a').check('get').allowed()"}]}, {"PolicyDenied", "PolicyNotEvaluated"},
    ),
    "and so is one with a function of another Kubernetes": (
        {"validations": [*FALSE, {"expression": "[1].includes(1)"}]}, {"PolicyDenied", "PolicyNotEvaluated"},
    ),
    "what the user decides is not evaluated": ({"validations": [{"expression": "request.userInfo.username == 'me'"}]}, {"PolicyNotEvaluated"}),
    "unless something else decides": (
        {"validations": [{"expression": "request.userInfo.username == 'me' || object.metadata.name == 'llm'"}]}, set(),
    ),
    "a variable that is not evaluated is skipped where it is used": (
        {"variables": [{"name": "v", "expression": "[1].includes(1)"}], "validations": [*FALSE, {"expression": "variables.v == true"}]},
        {"PolicyDenied", "PolicyNotEvaluated"},
    ),
    "and nowhere else": (
        {"variables": [{"name": "v", "expression": "[1].includes(1)"}], "validations": [{"expression": "object.metadata.name == 'llm'"}]}, set(),
    ),
    "an unknown condition does not matter if nothing is denied": (
        {"matchConditions": [{"name": "a", "expression": "request.userInfo.username == 'me'"}], "validations": [{"expression": "object.kind == 'JobSet'"}]}, set(),
    ),
    "and is said if something is": (
        {"matchConditions": [{"name": "a", "expression": "request.userInfo.username == 'me'"}]}, {"PolicyNotEvaluated"},
    ),
    "failurePolicy Ignore does not ignore what trainc lacks": (
        {"failurePolicy": "Ignore", "validations": [{"expression": "timestamp('2026-01-01T00:00:00Z').getHours('Europe/Berlin') == 0"}]}, {"PolicyNotEvaluated"},
    ),
    "but what fails in the cluster, too": ({"failurePolicy": "Ignore", "validations": [{"expression": "object.metadata.labels.nope == 'a'"}]}, set()),
    "a failing audit annotation denies": (
        {"validations": [], "auditAnnotations": [{"key": "a", "valueExpression": "string(object.metadata.labels.nope)"}]}, {"PolicyDenied"},
    ),
    "one that does not fail says nothing": (
        {"validations": [], "auditAnnotations": [{"key": "a", "valueExpression": "string(object.metadata.name)"}]}, set(),
    ),
    "a policy without validations is none": ({"validations": []}, {"PolicyInvalid"}),
    "an object has a uid when it is asked about": ({"validations": [{"expression": "!has(object.metadata.uid)"}]}, {"PolicyDenied"}),
    "and nobody knows when it is created": (
        {"validations": [{"expression": "timestamp(object.metadata.creationTimestamp) < timestamp('2030-01-01T00:00:00Z')"}]}, {"PolicyNotEvaluated"},
    ),
    "an expression with a result that may be no bool is refused": ({"validations": [{"expression": "object.spec.suspend"}]}, {"PolicyInvalid"}),
    "a later variable of the same name counts": (
        {"variables": [{"name": "v", "expression": "1"}, {"name": "v", "expression": "2"}], "validations": [{"expression": "variables.v == 2"}]}, set(),
    ),
    "a variable before its definition is not there": (
        {"variables": [{"name": "v", "expression": "variables.w"}, {"name": "w", "expression": "2"}]}, {"PolicyInvalid"},
    ),
    "a message cannot ask the authorizer": (
        {"validations": [{"expression": "false", "messageExpression": "authorizer.path('/a').check('get').reason()"}]}, {"PolicyInvalid"},
    ),
    "params need a paramKind": ({"validations": [{"expression": "params == null"}]}, {"PolicyInvalid"}),
    "a resource that is called otherwise is named": (rule(resources=["jobset"]), {"PolicyNotEvaluated"}),
    "also beside one that is right": (rule(resources=["jobsets", "jobset"]), {"PolicyDenied", "PolicyNotEvaluated"}),
    "but not one of a kind that is called alike": (rule(apiGroups=["batch"], resources=["cronjobs"]), set()),
    "an unknown reason is refused": ({"validations": [{"expression": "false", "reason": "Because"}]}, {"PolicyInvalid"}),
    "quotes of a nested policy end": ({"validations": [{"expression": "!" * 300 + "(" * 300 + "true" + ")" * 300}]}, {"PolicyNotEvaluated"}),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "found"), SKIPPED.values(), ids=SKIPPED)
def test_what_cannot_be_evaluated_and_what_can(spec: dict[str, Any], found: set[str]) -> None:
    result = checked(policy(**spec), binding(), PROD)
    assert codes(result) == found, result.stderr


def chain(expression: str, first: str, count: int = 1_000) -> list[dict[str, str]]:
    """Variables that each read the one before."""
    return [
        {"name": f"v{i}", "expression": first if i == 0 else expression.replace("v", f"variables.v{i - 1}")}
        for i in range(count)
    ]


CHAINS = {
    "v + 1": ("0", "variables.v999 == 999"),
    "[v]": ("1", "variables.v999.size() == 1"),
    "[v].map(x, {'a': x})[0]": ("1", "variables.v999.size() == 1"),
    "v || v": ("false", "!variables.v999"),
}


@pytest.mark.parametrize("expression", CHAINS)
def test_a_long_chain_of_variables_is_not_deep(expression: str) -> None:
    first, holds = CHAINS[expression]
    result = checked(policy(variables=chain(expression, first), validations=[{"expression": holds}]), binding())
    assert (result.status, codes(result)) == (0, set()), result.stderr[:2_000]


def test_a_variable_that_reads_itself_ends() -> None:
    both = [{"name": "v", "expression": "1"}, {"name": "v", "expression": "variables.v + 1"}]
    result = checked(policy(variables=both, validations=[{"expression": "variables.v == 2"}]), binding())
    assert (result.status, codes(result)) == (0, {"PolicyNotEvaluated"})


def test_what_is_skipped_fails_a_strict_check() -> None:
    skipped = policy(validations=[{"expression": "request.userInfo.username == 'me'"}])
    assert checked(skipped, binding()).status == 0
    assert run("check", "--strict").status == 1


ABOUT_OTHERS = [
    rule(apiGroups=["batch.volcano.sh"], apiVersions=["v1alpha1"], resources=["jobs"]),
    rule(apiGroups=["resource.k8s.io"], resources=["resourceslices"]),
    rule(apiGroups=[""], apiVersions=["v1"], resources=["pods/exec", "pods/status"]),
    rule(apiGroups=[""], apiVersions=["v1"], resources=["pods"], operations=["UPDATE", "DELETE"]),
]


@pytest.mark.parametrize("constraints", ABOUT_OTHERS)
@pytest.mark.parametrize("expression", ["request.userInfo.username == 'me'", "1 == 'a'", "((", "[1].includes(1)"])
def test_a_policy_about_what_trainc_never_writes_is_not_reported_on(
    constraints: dict[str, Any], expression: str
) -> None:
    result = checked(policy(**constraints, validations=[{"expression": expression}]), binding())
    assert (result.status, codes(result)) == (0, set())


OTHER_ENGINES = {
    "kyverno.io/v1": ("ClusterPolicy", "Kyverno", "kyverno apply"),
    "templates.gatekeeper.sh/v1": ("ConstraintTemplate", "Gatekeeper", "gator test"),
    "constraints.gatekeeper.sh/v1beta1": ("K8sRequiredLabels", "Gatekeeper", "gator test"),
    "policies.kubewarden.io/v1": ("ClusterAdmissionPolicy", "Kubewarden", "kwctl run"),
}


@pytest.mark.parametrize(("version", "named"), OTHER_ENGINES.items(), ids=OTHER_ENGINES)
def test_a_policy_of_another_engine_is_named_with_it(version: str, named: tuple[str, str, str]) -> None:
    kind, engine, command = named
    result = checked({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": {}})
    assert (result.status, codes(result)) == (0, {"PolicyNotEvaluated"})
    assert f"trainc does not evaluate {kind}; {engine} does" in result.stderr
    assert command in result.stderr


def test_what_is_no_policy_is_not_named() -> None:
    assert codes(checked(PROD, LIMITS, {"apiVersion": "wgpolicyk8s.io/v1", "kind": "PolicyReport"})) == set()


RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: mine, namespace: prod}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: example.com/a:latest
"""


def test_each_job_of_a_runtime_gets_its_denial() -> None:
    Path("jobs/mine.yaml").write_text(RUNTIME)
    for name in ("a", "b"):
        job = JOB.replace("name: llm", f"name: {name}").replace("torch-distributed", "mine, kind: TrainingRuntime")
        Path(f"jobs/{name}.yaml").write_text(job.replace("    image: example.com/train:v1\n", ""))
    expression = "object.spec.replicatedJobs.all(j, j.template.spec.template.spec.containers.all(c, !c.image.endsWith(':latest')))"
    checked(policy(validations=[{"expression": expression, "message": "no latest"}]), binding())
    findings = json.loads(run("check", "--format", "json").stdout)["diagnostics"]
    denied = [[f["object"], *f["others"]] for f in findings if f["code"] == "PolicyDenied"]
    assert denied == [["JobSet prod/a", "JobSet prod/b"]]


def test_a_denied_pod_is_shown_at_the_line_of_the_runtime() -> None:
    Path("jobs/mine.yaml").write_text(RUNTIME)
    Path("jobs/llm.yaml").write_text(
        JOB.replace("torch-distributed", "mine, kind: TrainingRuntime").replace("    image: example.com/train:v1\n", "")
    )
    about = rule(apiGroups=[""], apiVersions=["v1"], resources=["pods"])
    expression = "object.spec.containers.all(c, !c.image.endsWith(':latest'))"
    result = checked(policy(**about, validations=[{"expression": expression, "message": "no latest"}]), binding())
    denied = "jobs/mine.yaml:17:19: error[PolicyDenied] Pod prod/llm-node-0-0- spec.containers[0].image: policy house: no latest"
    assert denied in result.stderr
    assert len(messages(result, "PolicyDenied")) == 1, "the last pod says the same"


def test_pods_that_differ_by_their_index_are_told_apart() -> None:
    about = rule(apiGroups=[""], apiVersions=["v1"], resources=["pods"])
    expression = "object.metadata.labels['batch.kubernetes.io/job-completion-index'] == '0'"
    found = messages(checked(policy(**about, validations=[{"expression": expression}]), binding()), "PolicyDenied")
    assert [line.split()[1] for line in found] == ["prod/llm-node-0-2-"]


def secured(**labels: str) -> dict[str, Any]:
    return {
        **PROD,
        "metadata": {"name": "prod", "labels": {f"pod-security.kubernetes.io/{k}": v for k, v in labels.items()}},
    }


POD_SECURITY: dict[str, tuple[dict[str, str], set[str], int]] = {
    "what is enforced denies the pod": ({"enforce": "restricted"}, {"PolicyDenied", "PolicyWarned"}, 1),
    "what is warned about warns": ({"warn": "restricted"}, {"PolicyWarned"}, 0),
    "what is audited is an info": ({"audit": "restricted"}, {"PolicyAudited"}, 0),
    "a level that the pod meets says nothing": ({"enforce": "baseline", "warn": "baseline"}, set(), 0),
    "and so does the lowest one": ({"enforce": "privileged"}, set(), 0),
    "a level that is none is refused": ({"warn": "baselin"}, {"PolicyInvalid"}, 1),
    "and so is such a version": ({"enforce-version": "v2"}, {"PolicyInvalid"}, 1),
    "but not a version": ({"enforce-version": "v1.33"}, set(), 0),
    "a label that is none is named": ({"enforced": "baseline"}, {"PolicyNotEvaluated"}, 0),
}


@pytest.mark.parametrize(("labels", "found", "status"), POD_SECURITY.values(), ids=POD_SECURITY)
def test_the_labels_of_a_namespace_are_applied(labels: dict[str, str], found: set[str], status: int) -> None:
    result = checked(secured(**labels))
    assert (codes(result), result.status) == (found, status), result.stderr


def test_pod_security_says_what_to_write() -> None:
    result = checked(secured(enforce="restricted"))
    assert (
        'violates PodSecurity "restricted:latest": runAsNonRoot != true (pod or container "node" must set'
        in result.stderr
    )
    assert "write in the pod's spec: `securityContext: {runAsNonRoot: true, seccompProfile: {type: R" in result.stderr
    assert (
        "write in the container: `securityContext: {allowPrivilegeEscalation: false, capabilities: {d" in result.stderr
    )
    assert [line.split()[0] for line in messages(result, "PolicyWarned")] == ["Job"], (
        "as the API server warns of the Job"
    )


def test_with_levels_in_other_namespaces_that_of_the_job_has_to_be_known() -> None:
    other = {
        **secured(enforce="restricted"),
        "metadata": {**secured(enforce="restricted")["metadata"], "name": "other"},
    }
    result = checked(other)
    assert (result.status, codes(result)) == (1, {"PolicyNotEvaluated"})
    assert "its level of Pod Security is unknown: Namespace prod is not in the policies folders" in result.stderr
    assert codes(checked(other, PROD)) == set()


CLUSTER = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu]
    flavors:
    - name: default
      resources:
      - {name: cpu, nominalQuota: 1}
      - {name: memory, nominalQuota: 1Gi}
      - {name: nvidia.com/gpu, nominalQuota: 1}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: a, namespace: prod}
spec: {clusterQueue: all}
---
apiVersion: v1
kind: Namespace
metadata: {name: prod}
"""


def test_a_check_reports_what_policies_and_what_the_cluster_refuse() -> None:
    Path("cluster").mkdir()
    Path("cluster/queues.yaml").write_text(CLUSTER)
    Path("trainc.yaml").write_text("sources: [jobs]\nrelease: '2.3'\npolicies: [policies]\ncluster: cluster\n")
    job = JOB.replace("labels: {tier: gold}", "labels: {kueue.x-k8s.io/queue-name: a}")
    Path("jobs/llm.yaml").write_text(f"{job}    resourcesPerNode: {{limits: {{nvidia.com/gpu: 8}}}}\n")
    both = checked(policy(), binding())
    assert {"PolicyDenied"} == codes(both)
    alone = checked(PROD)
    assert (alone.status, codes(alone)) == (1, set())
    fits = {line.partition("[")[2].partition("]")[0] for line in alone.stderr.splitlines() if "error[" in line}
    assert fits == {"NeverFits"}
    assert all(f"[{code}]" in both.stderr for code in fits)


AS_EXPORTED = {**policy(), "metadata": {"name": "house", "uid": "5f1b", "resourceVersion": "7"}, "status": {}}
ABOUT_DEPLOYMENTS = policy(**rule(apiGroups=["apps"], resources=["deployments"]))
NOT_REPORTED: dict[str, list[dict[str, Any]]] = {
    "the same policy as the cluster has it": [policy(), AS_EXPORTED, binding()],
    "the same policy of an earlier version of the API": [
        policy(),
        {**policy(), "apiVersion": "admissionregistration.k8s.io/v1beta1"},
        binding(),
    ],
    "policies of one name about other objects": [
        ABOUT_DEPLOYMENTS,
        policy(**rule(apiGroups=["apps"], resources=["daemonsets"])),
    ],
    "a field of a later Kubernetes in a policy about other objects": [
        {**ABOUT_DEPLOYMENTS, "spec": {**ABOUT_DEPLOYMENTS["spec"], "newField": 1}}
    ],
    "the webhooks of an operator": [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "kueue"},
        }
    ],
}


@pytest.mark.parametrize("case", NOT_REPORTED)
def test_what_a_folder_of_policies_may_have_besides_is_not_reported(case: str) -> None:
    assert codes(checked(*NOT_REPORTED[case])) <= {"PolicyDenied"}


def test_a_policy_about_jobsets_and_another_of_its_name_exclude_each_other() -> None:
    assert "PolicyInvalid" in codes(checked(policy(), policy(validations=[{"expression": "true"}]), binding()))


def test_a_policy_without_a_version_is_told_which_to_write() -> None:
    result = checked({key: value for key, value in policy().items() if key != "apiVersion"})
    assert "ValidatingAdmissionPolicy has no apiVersion\n" in result.stderr
    assert "write apiVersion: admissionregistration.k8s.io/v1" in result.stderr


def test_a_kind_that_is_spelled_correctly_is_not_corrected() -> None:
    result = checked({**policy(), "kind": "MutatingAdmissionPolicy"})
    assert "trainc does not evaluate MutatingAdmissionPolicy" in result.stderr
    assert "did you mean" not in result.stderr


@pytest.mark.parametrize("read", ["variables.limit", "(variables).limit", "variables // the limit\n . limit"])
def test_a_variable_may_be_read_in_any_spelling(read: str) -> None:
    variables = [{"name": "limit", "expression": "1"}, {"name": "more", "expression": f"{read} + 1"}]
    result = checked(policy(variables=variables, validations=[{"expression": "variables.more == 2"}]), binding())
    assert codes(result) == set()
