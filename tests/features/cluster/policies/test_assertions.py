"""Assertions about policies in the tests of a repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainc import Compilation, Options, catalog, compile_trainjob
from trainc.testing import assert_allowed, assert_denied

JOB = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "llm", "namespace": "prod", "labels": {"team": "vision"}},
    "spec": {"runtimeRef": {"name": "torch-distributed"}},
}
NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "prod", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
}
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: team}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [jobset.x-k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [jobsets]}
  validations:
  - {expression: "object.metadata.?labels.?team.orValue('') == 'nlp'", message: only nlp}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: team}
spec: {policyName: team, validationActions: [Deny]}
"""


@pytest.fixture
def compiled() -> Compilation:
    return compile_trainjob(JOB, catalog("2.3"), Options(release="2.3"))


def test_a_denial_is_asserted(compiled: Compilation) -> None:
    assert_denied(compiled, POLICY)
    assert_denied(compiled.manifests, POLICY, by="team")
    assert_denied(compiled.manifests[-1], [POLICY, NAMESPACE], by="PodSecurity")


def test_a_denial_by_another_policy_is_not_enough(compiled: Compilation) -> None:
    with pytest.raises(AssertionError, match=r"(?s)tea denies these objects.*policy team: only nlp"):
        assert_denied(compiled, POLICY, by="tea")


def test_a_permission_is_asserted(compiled: Compilation, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY.replace("'nlp'", "'vision'"))
    assert_allowed(compiled, tmp_path)
    assert_allowed(compiled, [])
    with pytest.raises(AssertionError, match="no policy denies these objects; the policies say: nothing"):
        assert_denied(compiled, tmp_path)


def test_a_denial_fails_the_assertion_that_there_is_none(compiled: Compilation) -> None:
    with pytest.raises(AssertionError, match="JobSet prod/llm: policy team: only nlp"):
        assert_allowed(compiled, POLICY)


@pytest.mark.parametrize("text", ["request.userInfo.username == 'me'", "[1].includes(1)"])
def test_what_is_not_evaluated_is_not_asserted_to_be_allowed(compiled: Compilation, text: str) -> None:
    unknown = POLICY.replace("object.metadata.?labels.?team.orValue('') == 'nlp'", text)
    with pytest.raises(AssertionError, match="was not evaluated"):
        assert_allowed(compiled, unknown)


def test_policies_that_cannot_be_used_fail_both(compiled: Compilation) -> None:
    for check in (assert_allowed, assert_denied):
        with pytest.raises(AssertionError, match="the policies cannot be used"):
            check(compiled, POLICY.replace("orValue('')", "orValue("))
        with pytest.raises(AssertionError, match="the policies cannot be used"):
            check(compiled, "no/such/folder")
