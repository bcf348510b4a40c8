"""The classes of the second audit: nesting, wrong shapes, streams that end, and output that depends on nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from commands import run
from hostile_inputs import CLUSTER, FLAGS, HEAD

from trainc.features.authoring.sweeps.grid import read_assignments
from trainc.features.cluster.policies.cel import Environment, InvalidExpressionError
from trainc.features.cluster.policies.cel.values import DYN
from trainc.kube.documents import is_deeper, read_json

CASES = Path(__file__).parents[1] / "cases"
POLICY = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [jobset.x-k8s.io], apiVersions: ["*"], operations: ["*"], resources: [jobsets]}]}
  validations: [{expression: %s}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")


def script(text: str) -> Callable[[int], str]:
    return lambda n: f"{HEAD}  trainer: {{command: [bash, -c, {json.dumps(text * n)}]}}\n"


def annotated(name: str) -> Callable[[int], str]:
    return lambda n: HEAD.replace("{name: l", f"{{annotations: {{{name}: {json.dumps('[' * n)}}}, name: l")


# Everything that reads what may be nested, each with its bound.
NESTING: Mapping[str, tuple[int, Callable[[int], str]]] = {
    "if": (50, script("if x; then ")),
    "pipes into braces": (50, script("x | { ")),
    "case": (50, script("case x in x) ")),
    "if and braces": (50, script("if x; then { ")),
    "functions": (50, script("f() { ")),
    "substitutions": (50, script("$(")),
    "quoted substitutions": (50, script('"$(')),
    "defaults": (50, script("${a:-")),
    "arithmetic": (50, script("$((")),
    "Kueue's slices": (100, annotated("kueue.x-k8s.io/podset-slice-required-topology-constraints")),
    "Kueue's spreading": (100, annotated("kueue.x-k8s.io/podset-topology-spread")),
    "tolerations": (100, annotated("scheduler.alpha.kubernetes.io/tolerations")),
    "misplaced keys": (100, lambda n: HEAD + "  x: " + "{image: " * n + "a" + "}" * n + "\n"),
    "JSON": (100, lambda n: '{"kind": "TrainJob", "x": ' + "[" * n + "]" * n + "}"),
    "JSON in a List": (100, lambda n: '{"kind": "List", "items": [' * n + "]}" * n),
    "flow": (100, lambda n: f"{HEAD}  x: {'[' * n}{']' * n}\n"),
}


@pytest.mark.parametrize("where", NESTING)
def test_nesting_is_bounded_by_counting_and_not_by_the_stack(where: str) -> None:
    bound, text = NESTING[where]
    for depth in (bound + 1, 10 * bound):
        Path("job.yaml").write_text(text(depth), encoding="utf-8")
        for words in (["check", "job.yaml"], ["build", "job.yaml"], ["fits", "job.yaml", "--cluster", "cluster.yaml"]):
            result = run(*words, *FLAGS)
            assert result.status in (0, 1), result.stderr
            assert "for Python" not in result.stderr


@pytest.mark.parametrize("expression", ["(", "[", "!(", "{1: ", "size(", "a[", "true ? ", "-", "!", "1 + ", "a."])
def test_nesting_in_a_policy_is_bounded_by_counting(expression: str) -> None:
    Path("job.yaml").write_text(HEAD, encoding="utf-8")
    Path("trainc.yaml").write_text("policies: [policy.yaml]\nrelease: '2.3'\n", encoding="utf-8")
    Path("policy.yaml").write_text(POLICY % json.dumps(expression * 1_000 + "a"), encoding="utf-8")
    result = run("check", "job.yaml")
    assert result.status in (0, 1), result.stderr
    assert "for Python" not in result.stderr


def test_json_is_measured_before_it_is_parsed() -> None:
    assert not is_deeper('{"a": ["[[[[", {"b": "\\"[[[["}]}' * 50, 3)
    assert is_deeper("[[[[]]]]", 3)
    assert is_deeper("[" * 100_000, 100)
    assert read_json("[" * 100 + "]" * 100) is not None
    with pytest.raises(ValueError, match="nested too deeply"):
        read_json("[" * 101 + "]" * 101)


META = ("x", "5", "[a]", "{name: {a: b}}", "{name: [a]}", "{name: a, namespace: [b]}", "{name: a, labels: [b]}")


@pytest.mark.parametrize("metadata", META)
@pytest.mark.parametrize("kind", ["JobSet", "ConfigMap", "PodGroup", "PersistentVolumeClaim", "ResourceClaimTemplate"])
def test_documents_that_no_schema_has_checked_may_have_any_shape(kind: str, metadata: str) -> None:
    api = "jobset.x-k8s.io/v1alpha2" if kind == "JobSet" else "v1"
    Path("job.yaml").write_text(HEAD, encoding="utf-8")
    text = f"apiVersion: {api}\nkind: {kind}\nmetadata: {metadata}\nspec: [x]\ndata: [x]\n"
    Path("other.yaml").write_text(text, encoding="utf-8")
    for words in (["check", "."], ["build", "."], ["fits", ".", "--cluster", "cluster.yaml"]):
        assert run(*words, *FLAGS).status in (0, 1)


@pytest.mark.parametrize("suffix", ["", "u"])
def test_a_number_of_five_thousand_digits_is_refused(suffix: str) -> None:
    with pytest.raises(InvalidExpressionError):
        Environment({"object": DYN}, {}, 36).compile(f"object.x == {'9' * 5_000}{suffix}", ())


def test_excluded_rows_are_looked_up() -> None:
    values = list(range(50))
    rows = [{"a": 1, "b": "x"}] * 2_000 + [{"a": 1}, {"b": 2}]
    found, findings = read_assignments({"parameters": {"a": values, "b": values}, "exclude": rows})
    assert len(found) == 49 * 49
    assert len(findings) == 2_000
    many = [{f"p{index}": 0} for index in range(12)]
    _, (refused,) = read_assignments(
        {
            "parameters": {f"p{i}": [0, 1, 2] if i < 10 else [0] for i in range(12)},
            "exclude": [*many, *({**a, **b} for a in many for b in many)],
        }
    )
    assert "kinds of rows" in refused.message
