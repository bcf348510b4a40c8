"""What users decide about diagnostics: rules in trainc.yaml and overlays, comments in files, and --strict."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from commands import Result, run
from tables import cases

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: example.com/train:1
    command: [python]
    args: ["--port=$PORT"]
"""
# An error in spite of which there is a JobSet: its pods look for each other where none of them is.
ALONE = (
    JOB
    + """\
    numNodes: 2
    env:
      - name: NCCL_SOCKET_IFNAME
        value: lo
"""
)
WARNING, ERROR = "UnexpandedShellVariable", "LoopbackInterface"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("jobs/llm.yaml", JOB)


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def configure(rules: str) -> None:
    write("trainc.yaml", f'release: "2.3"\nsources: [jobs]\nrules: {rules}\n')


def severities(result: Result) -> dict[str, str]:
    return {code: severity for severity, code in re.findall(r"(error|warning|info)\[(\w+)\]", result.stderr)}


@cases("rules", "severity")
def test_a_rule_decides_the_severity_of_its_code_in_every_command(rules: str, severity: str | None) -> None:
    configure(rules)
    for words in (("check",), ("build",), ("build", "jobs")):
        result = run(*words)
        assert severities(result).get(WARNING) == severity, words
        assert result.status == (severity == "error")
    assert run("report", "-o", "-").status == (severity == "error")


@pytest.mark.parametrize(
    ("rules", "flags", "status", "shown"),
    [
        ("{}", (), 0, {}),
        ("{}", ("--strict",), 1, {}),
        (f"{{{WARNING}: error}}", (), 1, {WARNING: "error"}),
        (f"{{'jobs/**': {{{WARNING}: error}}}}", (), 1, {WARNING: "error"}),
    ],
)
def test_a_quiet_build_fails_as_a_loud_one_does(
    rules: str, flags: tuple[str, ...], status: int, shown: dict[str, str]
) -> None:
    configure(rules)
    quiet, loud = run("build", "--quiet", *flags), run("build", *flags)
    assert (quiet.status, severities(quiet)) == (status, shown)
    assert (quiet.status, quiet.stdout) == (loud.status, loud.stdout)


def test_paths_of_rules_begin_at_trainc_yaml_wherever_trainc_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    configure(f"{{'jobs/**': {{{WARNING}: ignore}}}}")
    absolute = str(Path("jobs/llm.yaml").resolve())
    monkeypatch.chdir("jobs")
    for words in (("check",), ("check", "llm.yaml"), ("check", absolute)):
        assert f"[{WARNING}]" not in run(*words).stderr


@pytest.mark.parametrize(
    ("rules", "status", "expected"),
    [
        (f"{{{ERROR}: ignore}}", 1, f"an error is ignored only with a reason: `{ERROR}: {{level: ignore, reason: why"),
        (f"{{{ERROR}: {{level: ignore, reason: a webhook sets it}}}}", 0, ""),
        (f"{{{ERROR}: warning}}", 0, f"warning[{ERROR}]"),
        (f"{{'jobs/**': {{{ERROR}: info}}}}", 0, f"info[{ERROR}]"),
    ],
)
def test_an_error_that_does_not_keep_a_job_from_being_compiled_can_be_lowered(
    rules: str, status: int, expected: str
) -> None:
    write("jobs/llm.yaml", ALONE)
    configure(rules)
    for words in (("check",), ("build",), ("explain", "jobs")):
        result = run(*words)
        assert result.status == status, words
        assert expected in result.stderr or words[0] == "explain"
    assert (run("build").stdout != "") is (status == 0)


def test_an_error_without_which_nothing_is_compiled_stays_one_and_says_so() -> None:
    write("jobs/llm.yaml", JOB.replace("numNodes", "x") + "    numNode: 2 # trainc: ignore[UnknownField] we know\n")
    configure("{UnknownField: info}")
    for words in (("check",), ("build",)):
        result = run(*words)
        assert (result.status, result.stdout) == (1, "")
        assert result.stderr.count("this error cannot be ignored: nothing can be compiled until it is fixed") == 1


def test_an_error_that_would_leave_a_hole_in_the_output_stays_one() -> None:
    write("jobs/llm.yaml", JOB.replace("torch-distributed", "deepspeed-distributed"))
    write("trainc.yaml", "release: '2.3'\nsecrets: sealed\nrules: {SealedSecretMissing: {level: ignore, reason: x}}\n")
    result = run("build", "jobs")
    assert (result.status, result.stdout) == (1, "")
    assert severities(result)["SealedSecretMissing"] == "error"
    assert "cannot be ignored" in result.stderr


@cases("rules", "expected")
def test_what_is_wrong_with_rules_is_reported_at_its_place(rules: str, expected: str) -> None:
    configure(rules)
    result = run("check")
    assert result.status == 1
    assert "trainc.yaml:3:" in result.stderr
    assert expected in result.stderr


def with_comment(comment: str, *, above: bool = False) -> str:
    line = '    args: ["--port=$PORT"]\n'
    return JOB.replace(line, f"    {comment}\n{line}" if above else line.replace("\n", f" {comment}\n"))


@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize(
    "comment",
    [
        f"# trainc: ignore[{WARNING}] the program expands it",
        f"#trainc:ignore[{WARNING}]: the program expands it",
        f"# we know. # trainc: ignore[{WARNING}] the program expands it",
    ],
)
def test_a_comment_on_the_line_or_above_it_ignores_a_diagnostic(comment: str, above: bool) -> None:
    configure("{}")
    write("jobs/llm.yaml", with_comment(comment, above=above))
    for words in (("build",), ("build", "jobs/llm.yaml")):
        assert run(*words).stderr == ""
    counted = f"trainc: info[FindingsIgnored] 1 finding ignored: {WARNING} jobs/llm.yaml:9\n"
    assert run("check").stderr == f"{counted}1 document checked, 1 TrainJob compiled\n"
    assert run("build", "-", stdin=Path("jobs/llm.yaml").read_bytes()).stderr == ""


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        (f"# trainc: ignore[{WARNING}]", f"jobs/llm.yaml:9:45: warning[IgnoreWithoutReason] {WARNING} is ignored"),
        ("# trainc: ignore[UnknownFeild] why", "jobs/llm.yaml:9:45: warning[UnknownCode] there is no diagnostic Unk"),
        ("# trainc: ignore[UnknownFeild] why", "help: did you mean UnknownField"),
        ("# trainc: ignore it", "jobs/llm.yaml:9:28: warning[UnknownCode] the comment has no code"),
        (f"# trainc: ignore[{WARNING}, {ERROR}] why", f"info[UnusedIgnore] there is no {ERROR} on line 9 to ignore"),
    ],
)
def test_check_says_what_is_wrong_with_a_comment(comment: str, expected: str) -> None:
    configure("{}")
    write("jobs/llm.yaml", with_comment(comment))
    assert expected in run("check").stderr
    assert "Ignore" not in run("build").stderr


def test_an_ignore_is_not_called_unused_while_something_else_is_wrong() -> None:
    configure("{}")
    write("jobs/llm.yaml", JOB + f"    numNode: 2\n    numNodes: 2 # trainc: ignore[{ERROR}] why\n")
    assert set(severities(run("check"))) == {"UnexpandedShellVariable", "UnknownField"}


def test_an_error_is_ignored_by_a_comment_with_a_reason_only() -> None:
    configure("{}")
    commands = (("build",), ("check",))
    write("jobs/llm.yaml", ALONE.replace("IFNAME", f"IFNAME # trainc: ignore[{ERROR}]"))
    for words in commands:
        result = run(*words)
        assert result.status == 1
        assert f"only with a reason: `# trainc: ignore[{ERROR}] why it is fine`" in result.stderr
    write("jobs/llm.yaml", ALONE.replace("IFNAME", f"IFNAME # trainc: ignore[{ERROR}] one host is simulated"))
    for words in commands:
        assert run(*words).status == 0


@pytest.mark.parametrize("words", [("check",), ("build",), ("build", "-o", "out")])
def test_strict_makes_warnings_fail(words: tuple[str, ...]) -> None:
    configure("{}")
    strict = run(*words, "--strict")
    assert (strict.status, strict.stdout) == (1, "")
    assert severities(strict) == {WARNING: "warning"}
    assert not Path("out").exists()
    configure(f"{{{WARNING}: info}}")
    assert run(*words, "--strict").status == 0


def test_rules_of_an_overlay_win_and_serve_kustomize_too() -> None:
    configure(f"{{{WARNING}: error}}")
    overlay = f"apiVersion: trainc/v1alpha1\nkind: Overlay\nrules: {{{WARNING}: ignore}}\n"
    write("prod/overlay.yaml", overlay)
    assert run("check").status == 1
    assert run("check", "--overlay", "prod").status == 0
    write("prod/overlay.yaml", overlay.replace(WARNING, "Nothing"))
    assert "prod/overlay.yaml:3:9: error[InvalidOverlay] rules.Nothing: there is no diagnostic Nothing" in (
        run("check", "--overlay", "prod").stderr
    )
    job = json.dumps(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "llm", "namespace": "a"},
            "spec": {
                "runtimeRef": {"name": "torch-distributed"},
                "trainer": {"image": "a", "command": ["python"], "args": ["$PORT"]},
            },
        }
    )
    for rules, shown in (("{}", True), (f"{{{WARNING}: ignore}}", False)):
        config = f"{{apiVersion: trainc/v1alpha1, kind: Overlay, release: '2.3', rules: {rules}}}"
        items = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [{job}]\nfunctionConfig: {config}\n"
        result = run("krm", stdin=items.encode())
        assert result.status == 0
        assert (WARNING in result.stderr) is shown


def test_diff_tells_of_no_warning_that_is_ignored() -> None:
    write("a/llm.yaml", JOB.replace("$PORT", "1"))
    write("b/llm.yaml", JOB)
    configure("{}")
    assert f"warning[{WARNING}]" in run("diff", "a", "b").stderr
    configure(f"{{{WARNING}: ignore}}")
    assert run("diff", "a", "b").stderr == ""


POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [jobset.x-k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [jobsets]}]
  validations: [{expression: "false"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
"""


def denied(rules: str = "{}", comment: str = "", overlay: str = "") -> Result:
    """A job that a policy denies, checked in spite of what its author and the project say."""
    write("policy.yaml", POLICY)
    write("jobs/llm.yaml", JOB.replace("team-a}\n", f"team-a}} {comment}\n").replace("$PORT", "8080"))
    chosen = "overlay: overlay\n" if overlay else ""
    write("trainc.yaml", f'release: "2.3"\nsources: [jobs]\npolicies: [policy.yaml]\n{chosen}rules: {rules}\n')
    if overlay:
        write("overlay/overlay.yaml", f"apiVersion: trainc/v1alpha1\nkind: Overlay\nrules: {overlay}\n")
    return run("check")


def test_what_a_policy_denies_is_not_ignored_by_a_comment() -> None:
    result = denied(comment="# trainc: ignore[PolicyDenied] a reason")
    assert result.status == 1
    assert "error[PolicyDenied]" in result.stderr
    assert "only `rules:` in trainc.yaml can ignore this, with a reason" in result.stderr


@pytest.mark.parametrize("rule", ["info", "ignore", "{level: ignore, reason: ' '}"])
def test_nor_by_a_rule_without_a_reason(rule: str) -> None:
    result = denied(rules=f"{{PolicyDenied: {rule}}}")
    assert result.status == 1
    assert "rules.PolicyDenied: PolicyDenied can be changed only in trainc.yaml, and only with" in result.stderr


def test_nor_by_an_overlay() -> None:
    result = denied(overlay="{PolicyDenied: {level: ignore, reason: a reason}}")
    assert result.status == 1
    assert "move the rule to `rules:` in trainc.yaml" in result.stderr


def test_the_project_may_ignore_it_with_a_reason_and_every_format_counts_it() -> None:
    result = denied(rules="{PolicyDenied: {level: ignore, reason: the policy is a draft}}")
    counted = "1 finding ignored: PolicyDenied jobs/llm.yaml:3"
    assert result.status == 0
    assert f"info[FindingsIgnored] {counted}\n" in result.stderr
    for form in ("json", "github", "sarif"):
        assert counted in run("check", "--format", form).stdout


def test_an_error_of_a_policy_may_be_demanded_anywhere() -> None:
    assert denied(overlay="{PolicyNotEvaluated: error}").stderr.count("InvalidOverlay") == 0


def test_a_comment_that_tries_to_is_reported() -> None:
    configure("{}")
    write("jobs/llm.yaml", with_comment(f"# trainc: ignore[{WARNING}, PolicyDenied] why"))
    assert "info[UnusedIgnore] a comment cannot ignore PolicyDenied" in run("check").stderr
