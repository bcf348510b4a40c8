"""What the author of a job leaves out, enlarges or answers for its judges does not let the job pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: a, namespace: nlp}
spec: {runtimeRef: {name: torch-distributed}, trainer: {image: evil/x:1, command: [python, x.py]}}
"""
OWN_RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: own, namespace: nlp}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: evil/x:1, command: [x], args: ARGS}]}}}
"""
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: house}
spec:
  failurePolicy: Fail
  matchConstraints:
    SELECTOR
    resourceRules: [{apiGroups: [jobset.x-k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [jobsets]}]
  validations:
  - expression: >-
      EXPRESSION
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: house}
spec: {policyName: house, validationActions: [ACTION]}
"""
CONTAINERS = "object.spec.replicatedJobs.all(j, j.template.spec.template.spec.containers.all(c, TEXT))"
TRUSTED = CONTAINERS.replace(
    "TEXT", "c.?args.orValue([]).all(a, c.args.all(b, a + b != '--privileged')) && c.image.startsWith('trusted/')"
)
NAMESPACE = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: nlp, labels: LABELS}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jobs/ads").mkdir(parents=True)
    Path("policies").mkdir()
    settings("policies: [policies]")


def settings(more: str) -> None:
    Path("trainc.yaml").write_text(f"release: '2.3'\nsources: [jobs]\n{more}\n", encoding="utf-8")


def policy(expression: str, selector: str = "", action: str = "Deny") -> None:
    text = POLICY.replace("EXPRESSION", expression).replace("SELECTOR", selector or "matchPolicy: Equivalent")
    Path("policies/p.yaml").write_text(text.replace("ACTION", action), encoding="utf-8")


def checked(job: str, expected: str) -> None:
    """The job is refused by `check` without --strict, by `build` and by `diff`, with this code."""
    Path("jobs/ads/a.yaml").write_text(job, encoding="utf-8")
    for command in ("check", "build"):
        result = run(command)
        assert result.status == 1, (command, result.stderr)
        assert f"error[{expected}]" in result.stderr, result.stderr


@pytest.mark.parametrize(("size", "code"), [(10, "PolicyDenied"), (600, "PolicyNotEvaluated")])
def test_a_policy_whose_steps_a_job_uses_up_refuses_it(size: int, code: str) -> None:
    policy(TRUSTED)
    runtime = OWN_RUNTIME.replace("ARGS", json.dumps(["a"] * size))
    job = JOB.replace("{name: torch-distributed}", "{kind: TrainingRuntime, name: own}").replace(
        "image: evil/x:1, ", ""
    )
    checked(f"{job}---\n{runtime}", code)


@pytest.mark.parametrize("labels", ["{stage: dev}", "{}"])
def test_a_namespace_beside_the_job_does_not_answer_for_it(labels: str) -> None:
    policy("false", "namespaceSelector: {matchLabels: {stage: prod}}")
    checked(JOB, "PolicyNotEvaluated")
    checked(JOB + NAMESPACE.replace("LABELS", labels), "PolicyNotEvaluated")
    Path("policies/n.yaml").write_text(NAMESPACE.replace("LABELS", "{stage: prod}"), encoding="utf-8")
    checked(JOB + NAMESPACE.replace("LABELS", labels), "PolicyDenied")


def test_a_job_without_a_namespace_does_not_evade_pod_security() -> None:
    labels = "{pod-security.kubernetes.io/enforce: restricted}"
    Path("policies/n.yaml").write_text(NAMESPACE.replace("LABELS", labels), encoding="utf-8")
    checked(JOB, "PolicyDenied")
    checked(JOB.replace(", namespace: nlp", ""), "PolicyNotEvaluated")
    checked(JOB.replace("namespace: nlp", "namespace: x"), "PolicyNotEvaluated")


def test_a_job_without_a_namespace_does_not_evade_the_namespaces_of_its_folder() -> None:
    settings("namespaces: {'jobs/ads/**': [ads]}")
    checked(JOB, "ForeignNamespace")
    checked(JOB.replace(", namespace: nlp", ""), "ForeignNamespace")
    Path("jobs/ads/a.yaml").write_text(JOB.replace(", namespace: nlp", ""), encoding="utf-8")
    assert run("check", "--namespace", "ads").status == 0
    assert run("check", "--namespace", "nlp").status == 1


def test_a_namespace_does_not_make_a_policy_that_only_warns_an_error() -> None:
    policy("false", "namespaceSelector: {matchLabels: {stage: prod}}", "Warn")
    Path("jobs/ads/a.yaml").write_text(JOB, encoding="utf-8")
    result = run("check")
    assert (result.status, "warning[PolicyNotEvaluated]" in result.stderr) == (0, True), result.stderr


@pytest.mark.parametrize(
    "expression",
    [
        "double('1e400') >= 0.5",
        "double('1e' + object.metadata.name.replace('a', '400')) >= 0.5",
        "double('0x1') == 1.0",
        "size('aaa'.findAll('a*')) == 2",
        "-9223372036854775808 % -1 == 0",
        r"'a'.matches('\\C')",
    ],
)
def test_what_go_refuses_or_counts_otherwise_is_denied(expression: str) -> None:
    policy(expression)
    Path("jobs/ads/a.yaml").write_text(JOB, encoding="utf-8")
    result = run("check")
    assert result.status == 1
    assert "error[PolicyDenied]" in result.stderr or "error[PolicyInvalid]" in result.stderr


@pytest.mark.parametrize(
    "expression",
    [
        "double('0x1p4') == 16.0 && double('1_0.5') == 10.5 && double('-INF') < 0.0 && double('1e-400') == 0.0",
        "'aaa'.findAll('a*') == ['aaa'] && 'baac'.findAll('a*') == ['', 'aa', ''] && 'ab'.findAll('') == ['', '', '']",
        r"'C'.matches('\\QC\\E') && '\\C'.matches('\\\\C') && -9223372036854775808 % 2 == 0",
    ],
)
def test_what_go_accepts_is_accepted(expression: str) -> None:
    policy(expression)
    Path("jobs/ads/a.yaml").write_text(JOB, encoding="utf-8")
    result = run("check")
    assert result.status == 0, result.stderr
