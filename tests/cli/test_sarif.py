"""SARIF, held to the schema that its standard publishes; and GitHub's commands, held to what its runner reads."""

from __future__ import annotations

import json
import re
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from commands import run
from hypothesis import given, strategies as st
from published_schemas import published

from trainc.cli.diagnostics import Files, once
from trainc.cli.report_formats import github_report, sarif_report
from trainc.findings import Diagnostic, Source
from trainc.findings.codes import codes, page
from trainc.findings.text import escape_line

CASES = sorted((Path(__file__).parents[1] / "cases" / "errors").glob("*.yaml"))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
DIAGNOSTICS = st.builds(
    Diagnostic,
    st.sampled_from(list(codes())),
    st.sampled_from(["error", "warning", "info"]),
    TEXTS,
    TEXTS,
    st.sampled_from(["", "TrainJob team-a/llm"]),
    TEXTS,
    st.none() | st.builds(Source, TEXTS, st.integers(1, 10**6), st.integers(1, 10**4)),
)


@pytest.fixture(scope="session")
def validator() -> Any:
    """The published schema."""
    from jsonschema import Draft7Validator

    schema = published("sarif-2.1.0.json")
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


@pytest.mark.parametrize("case", CASES, ids=[case.stem for case in CASES])
def test_a_report_of_refused_input_is_valid(case: Path, validator: Any) -> None:
    log = json.loads(run("check", str(case), "--format", "sarif").stdout)
    assert log["runs"][0]["results"]
    assert [error.message for error in validator.iter_errors(log)] == []


@given(found=st.lists(DIAGNOSTICS, max_size=4))
def test_a_report_of_any_diagnostics_is_valid(found: list[Diagnostic], validator: Any) -> None:
    log = json.loads(sarif_report(found, Files()))
    assert [error.message for error in validator.iter_errors(log)] == []
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == [d.code for d in found]


def test_fixes_are_edits_of_the_file_that_is_named_from_the_root(tmp_path: Path, validator: Any) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "jobs").mkdir()
    text = (CASES[0].parent / "typos-at-every-depth.yaml").read_text(encoding="utf-8")
    (tmp_path / "jobs" / "job.yaml").write_text(text, encoding="utf-8")
    with chdir(tmp_path / "jobs"):
        log = json.loads(run("check", "job.yaml", "--release", "2.3", "--format", "sarif").stdout)
        entries = json.loads(run("check", "job.yaml", "--release", "2.3", "--format", "json").stdout)["diagnostics"]
    assert [error.message for error in validator.iter_errors(log)] == []
    results = log["runs"][0]["results"]
    fixes = [fix for result in results for fix in result.get("fixes", ())]
    assert {fix["artifactChanges"][0]["artifactLocation"]["uri"] for fix in fixes} == {"jobs/job.yaml"}
    titles = [fix["title"] for entry in entries for fix in entry.get("fixes", ())]
    assert [fix["description"]["text"] for fix in fixes] == titles
    lines = text.split("\n")
    (misspelt,) = [
        e for entry in entries for f in entry.get("fixes", ()) for e in f["edits"] if e["text"] == "numNodes"
    ]
    assert lines[misspelt["line"] - 1][misspelt["column"] - 1 : misspelt["endColumn"] - 1] == "numNode"


def test_a_rule_carries_its_page() -> None:
    (rule,) = json.loads(sarif_report([Diagnostic("UnknownField", "error", "x")], Files()))["runs"][0]["tool"][
        "driver"
    ]["rules"]
    assert rule["help"]["markdown"] == page("UnknownField")
    assert "```" not in rule["help"]["text"]


@given(found=st.lists(DIAGNOSTICS, max_size=4))
def test_a_command_of_github_says_all_of_a_diagnostic_on_one_line(found: list[Diagnostic]) -> None:
    lines = github_report(found).split("\n")[:-1]
    assert len(lines) == len(once(found))
    for line, d in zip(lines, once(found), strict=True):
        matched = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line, re.DOTALL)
        assert matched is not None
        properties = dict(part.split("=", 1) for part in matched[2].split(","))
        assert _read(properties["title"]).startswith(d.code)
        assert _read(properties.get("file", "")) == (_harmless(d.source.file) if d.source else "")
        assert _harmless(d.message) in _read(matched[3])


def _harmless(text: str) -> str:
    """Without what a terminal would obey; line breaks are escaped in another way."""
    return "".join(c if c in "\r\n" else escape_line(c) for c in text)


def _read(text: str) -> str:
    """As the runner undoes the escapes."""
    for escape, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, character)
    return text
