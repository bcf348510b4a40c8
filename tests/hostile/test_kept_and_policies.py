"""Kept files and policies as an attacker writes them: a table of each. None is obeyed, followed, or passed in silence."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from commands import Result, run
from hostile_inputs import HEAD
from repositories import RUNTIME, SETTINGS, build, edit, job, read, runtime, write

KEPT, OUTSIDE = "rendered/nlp/llm.yaml", "outside.yaml"
DIGEST = re.compile(r"(?<=TrainJob 2:)[0-9a-f]{12}")
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: miner}\nspec: {containers: [{name: a, image: example.com/miner}]}\n"


def body(text: str) -> Callable[[], None]:
    """Keep the lines that say what the file was built from, and write something else behind them."""

    def write_it() -> None:
        head = read(KEPT).split("\n", 2)[:2]
        Path(KEPT).write_bytes("\n".join((*head, text)).encode("utf-8", "surrogateescape"))

    return write_it


def a_link() -> None:
    Path(OUTSIDE).write_bytes(Path(KEPT).read_bytes())
    Path(KEPT).unlink()
    os.symlink(Path(OUTSIDE).absolute(), KEPT)


def a_folder() -> None:
    Path(KEPT).unlink()
    write(f"{KEPT}/llm.yaml", "a: b\n")


def up_to(line: str, rest: str = "") -> Callable[[], None]:
    """Keep what is before a line, as in a file that was cut off, and write something else behind it."""
    return lambda: write(KEPT, read(KEPT).partition(line)[0] + rest)


def another_digest(text: str) -> Callable[[], None]:
    return lambda: write(KEPT, DIGEST.sub(text, read(KEPT), count=1))


# What becomes of a kept file, and whether a build may still call it kept.
FILES: Mapping[str, tuple[Callable[[], None], bool]] = {
    "a bomb of aliases": (body("a: &a [x]\n" + "".join(f"b{i}: &b{i} [{'*a, ' * 9}]\n" for i in range(2_000))), False),
    "ten thousand lists": (body("a: " + "[" * 10_000 + "]" * 10_000 + "\n"), False),
    "no YAML": (body("{{{\n"), False),
    "NUL": (body("a: b\0c\n"), False),
    "an escape sequence": (body("a: b\x1b[31mc\n"), False),
    "bytes that are no UTF-8": (body("a: b\udcffc\n"), False),
    "a tag of Python": (body("!!python/object/apply:os.system [exit]\n"), False),
    "text": (body("no mapping\n"), False),
    "a kind that is a list": (body("apiVersion: [1]\nkind: {a: b}\nmetadata: 5\n"), True),
    "a name that leads elsewhere": (body("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ../../etc}\n"), True),
    "a digest of another job": (another_digest("0" * 12), False),
    "a digest that is none": (another_digest("../../../../"), False),
    "nothing behind the first lines": (body(""), False),
    "a JobSet without a spec": (up_to("spec:"), False),
    "a JobSet with a spec of nulls": (up_to("spec:", "spec: {network: null, replicatedJobs: null}\n"), False),
    "a job without pods": (up_to("spec:", "spec: {replicatedJobs: [{name: node, template: {spec: null}}]}\n"), False),
    "the JobSet of another job": (
        lambda: write(KEPT, read(KEPT).replace("  name: llm", "  name: other", 1)),
        False,
    ),
    "the JobSet of another namespace": (
        lambda: write(KEPT, read(KEPT).replace("space: nlp\n", "space: vision\n")),
        False,
    ),
    "a number of replicas that is null": (
        lambda: write(KEPT, read(KEPT).replace("replicas: 1", "replicas: null")),
        True,
    ),
    "a folder": (a_folder, False),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def assert_no_defect(result: Result) -> None:
    assert result.status in (0, 1), result.stderr
    assert "Traceback" not in result.stderr
    assert "for Python" not in result.stderr
    assert "\x1b" not in result.stderr
    assert "\0" not in result.stderr


@pytest.fixture
def kept() -> None:
    """A job that is kept as it was built before its runtime changed."""
    write("trainc.yaml", SETTINGS)
    runtime()
    job("nlp", "llm")
    build()
    write("runtimes/torch-h100.yaml", RUNTIME.replace("NAME", "torch-h100").replace("WARN", "INFO"))
    build()
    assert "WARN" in read(KEPT)


@pytest.mark.parametrize("attack", FILES)
@pytest.mark.usefixtures("kept")
def test_a_kept_file_is_read_like_any_other_input(attack: str) -> None:
    change, may_stay = FILES[attack]
    change()
    before = Path(KEPT).read_bytes() if Path(KEPT).is_file() else b""
    for words in (["check"], ["explain", "nlp/llm"], ["diff", KEPT, "jobs"], ["fits", "--cluster", "trainc.yaml"]):
        if words[0] == "check":
            assert_no_defect(run(*words))
        else:
            assert run(*words).status in (0, 1, 2)
    built = run("build")
    assert_no_defect(built)
    after = Path(KEPT).read_bytes() if Path(KEPT).is_file() else b""
    assert may_stay or built.status == 1 or after != before, "what cannot be read is refused or built again"


@pytest.mark.usefixtures("kept")
def test_a_kept_file_that_is_a_link_is_not_followed() -> None:
    a_link()
    before = read(OUTSIDE)
    edit("jobs/nlp/llm.yaml", "numNodes: 2", "numNodes: 3")
    assert_no_defect(run("build"))
    assert read(OUTSIDE) == before


POLICY = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [jobset.x-k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [jobsets]}]}
  failurePolicy: FAILURE
  MORE
  validations: [{expression: EXPRESSION}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
"""


def policy(expression: str, more: str = "", failure: str = "Ignore") -> str:
    text = POLICY.replace("EXPRESSION", json.dumps(expression)).replace("FAILURE", failure)
    return text.replace("  MORE\n", f"  {more}\n" if more else "")


def variables(read: str) -> str:
    """A chain of 400 variables, each of which reads the one before it with these words."""
    rest = ({"name": f"v{i}", "expression": f"{read}{i - 1} + 1"} for i in range(1, 401))
    return f"variables: {json.dumps([{'name': 'v0', 'expression': '1'}, *rest])}"


# Each is written to be swallowed or to take for ever; with what may say that it was refused, or not decided.
POLICIES: Mapping[str, tuple[str, set[str]]] = {
    "nested comprehensions": (policy("[1,2,3,4,5,6,7,8,9]" + ".map(x, [1,2,3,4,5,6,7,8,9]" * 12 + ")" * 12 + " == []"), {"PolicyNotEvaluated", "PolicyDenied", "PolicyInvalid"}),
    "a text that doubles": (policy("variables.v30 != ''", "variables: [{name: v0, expression: \"'a'\"}" + "".join(f", {{name: v{i}, expression: variables.v{i - 1} + variables.v{i - 1}}}" for i in range(1, 31)) + "]"), {"PolicyNotEvaluated", "PolicyDenied", "PolicyInvalid"}),
    "a variable of itself": (policy("variables.a", "variables: [{name: a, expression: variables.a}]"), {"PolicyInvalid", "PolicyNotEvaluated"}),
    "a pattern of patterns": (policy(f"object.metadata.name.matches('{'(a+)+' * 50}$')"), {"PolicyNotEvaluated", "PolicyDenied", "PolicyInvalid"}),
    "a function that does not exist": (policy("system('exit')"), {"PolicyInvalid", "PolicyNotEvaluated"}),
    "an attribute of Python": (policy("object.__class__.__init__.__globals__ == {}", failure="Fail"), {"PolicyDenied"}),
    "a hundred thousand terms": (policy("true" + " && true" * 100_000), {"PolicyInvalid"}),
    "a list of a million": (policy(f"[{'1,' * 40_000}1].exists(x, x == 2)"), {"PolicyNotEvaluated", "PolicyDenied", "PolicyInvalid"}),
    "a number beyond 64 bits": (policy(f"{'9' * 100} == 1"), {"PolicyInvalid"}),
    "an escape sequence": (policy("object.kind == '\x1b[31m'", failure="Fail"), {"PolicyDenied", "PolicyInvalid"}),
    "a failure that is no word": (policy("false", failure="[a]"), {"PolicyInvalid"}),
    "a parameter with a selector of nothing": (policy("true", "paramKind: {apiVersion: v1, kind: ConfigMap}").replace("policyName: p,", "policyName: p, paramRef: {parameterNotFoundAction: Allow, selector: {matchExpressions: [{key: a, operator: In}]}},") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", {"PolicyInvalid"}),
    "variables with comments between their names": (policy("variables.v400 == 0", variables("variables//\n.v"), "Fail"), {"PolicyDenied"}),
    "variables of variables in disguise": (policy("variables.v400 == 0", variables("dyn(variables).v")), {"PolicyNotEvaluated"}),
    "a misspelt kind": (policy("false").replace("kind: ValidatingAdmissionPolicy\n", "kind: ValidatingAdmissionPolcy\n").partition("---")[0], {"PolicyNotEvaluated"}),
    "a misspelt group": (policy("false").replace("k8s.io/v1", "k8.io/v1"), {"PolicyInvalid"}),
    "a kind that changes objects": (policy("false").replace("Validating", "Mutating"), {"PolicyNotEvaluated"}),
    "a misspelt field": (policy("true", "matchConditons: [{name: a, expression: 'false'}]"), {"PolicyInvalid"}),
    "another policy of the same name": (policy("false") + "---\n" + policy("true").partition("---")[0], {"PolicyInvalid"}),
    "a hundred bindings of much work": (policy("[1,2,3,4,5,6,7,8,9]" + ".map(x, [1,2,3,4,5,6,7,8,9]" * 5 + ")" * 5 + " != []") + "".join("---" + policy("").partition("---")[2].replace("{name: p}", f"{{name: p{i}}}") for i in range(100)), {"PolicyNotEvaluated"}),
    "an expression that is a list": (POLICY.replace("EXPRESSION", "[a]").replace("FAILURE", "Fail").replace("  MORE\n", ""), {"PolicyInvalid"}),
}  # fmt: skip


@pytest.mark.parametrize("attack", POLICIES)
def test_a_policy_that_cannot_be_decided_says_so(attack: str) -> None:
    text, said = POLICIES[attack]
    write("job.yaml", HEAD)
    write("trainc.yaml", "policies: [policy.yaml]\nrelease: '2.3'\n")
    write("policy.yaml", text)
    for words in (["check", "job.yaml"], ["build", "job.yaml"]):
        result = run(*words, "--strict") if words[0] == "check" else run(*words)
        assert_no_defect(result)
        found = set(re.findall(r"(?:error|warning|info)\[(\w+)\]", result.stderr))
        assert found & said, result.stderr
        assert words[0] == "build" or result.status == 1
