"""The report for people: place, line, caret and help; colour only where somebody looks."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tables import cases

from trainc.cli.diagnostics import Files
from trainc.cli.reporting import Paint, excerpt, summarize, text_report
from trainc.findings import Diagnostic, Source

PLAIN = Paint("never", io.StringIO())


def found(severity: str = "error", file: str = "a.yaml", line: int = 1, column: int = 1) -> Diagnostic:
    source = Source(file, line, column) if file else None
    return Diagnostic("SomeCode", severity, "it is wrong", "do it right", "TrainJob a/b", "spec.x", source)  # type: ignore[arg-type]


def carets(text: str, line: int, column: int, tmp_path: Path) -> list[str]:
    path = tmp_path / "a.yaml"
    path.write_bytes(text.encode())
    return excerpt(Files(), Source(str(path), line, column))


def test_a_diagnostic_reads_from_place_to_help() -> None:
    report = text_report([found(file="-", line=2, column=3)], Files(b"a:\n  spec: 1\n"), PLAIN)
    assert report == (
        "-:2:3: error[SomeCode] spec.x: it is wrong\n"
        "  |\n"
        "2 |   spec: 1\n"
        "  |   ^^^^\n"
        "  help: do it right\n"
        "  rule: trainc rule SomeCode\n"
        "1 error in 1 file\n"
    )


def test_the_page_of_a_rule_follows_the_first_of_each_code() -> None:
    report = text_report([found(line=1), found(line=2), found("info", file="")], Files(), PLAIN)
    assert report.count("trainc rule SomeCode") == 1
    assert "trainc rule SomeCode" in text_report([found("info")], Files(), PLAIN)
    assert "trainc rule SomeCode" not in text_report([found("info", file="")], Files(), PLAIN)


def test_without_a_position_the_object_is_named() -> None:
    assert text_report([found(file="")], Files(), PLAIN).startswith(
        "TrainJob a/b: error[SomeCode] spec.x: it is wrong\n"
    )


def test_a_line_that_cannot_be_read_again_is_left_out() -> None:
    assert "|" not in text_report([found(file="/nowhere/at/all.yaml")], Files(), PLAIN)


@pytest.mark.parametrize(
    ("text", "line", "column", "underlined"),
    [
        ("abc: 1\n", 1, 1, "abc"),
        ("  - {name: x}\n", 1, 6, "name"),
        ('k: "a b"\n', 1, 4, '"a b"'),
        ("k: nvidia.com/gpu\n", 1, 4, "nvidia.com/gpu"),
        ("k: é\r\n", 1, 4, "é"),
        ("k: [\n", 1, 4, "["),
        ("last", 1, 1, "last"),
        ("a:\n\tb: 1\n", 2, 2, "b"),
    ],
)
def test_the_caret_stands_under_the_word(text: str, line: int, column: int, underlined: str, tmp_path: Path) -> None:
    _, shown, marks = carets(text, line, column, tmp_path)
    start = marks.index("^")
    assert shown[start : start + marks.count("^")] == underlined


@pytest.mark.parametrize("text", ["x" * 200 + "\n", "a\x1b[31mb: 1\n", "\t\n", ""])
def test_a_line_that_would_spoil_the_screen_is_left_out(text: str, tmp_path: Path) -> None:
    assert carets(text, 1, 1, tmp_path) == []


@pytest.mark.parametrize(("text", "seen"), [("\tnumNodes: 4\n", "→numNodes: 4"), ("numNodes:\u00a04\n", "numNodes:·4")])
def test_a_space_that_yaml_does_not_take_for_one_can_be_seen(text: str, seen: str, tmp_path: Path) -> None:
    _, shown, _ = carets(text, 1, 1, tmp_path)
    assert shown == f"1 | {seen}"


def test_the_number_of_a_line_has_room(tmp_path: Path) -> None:
    assert carets("\n" * 99 + "a: 1\n", 100, 1, tmp_path) == ["    |", "100 | a: 1", "    | ^"]


@pytest.mark.parametrize(
    ("diagnostics", "summary"),
    [
        ([], ""),
        ([found("info")], ""),
        ([found()], "1 error in 1 file"),
        ([found(), found("warning", "b.yaml"), found("warning")], "1 error, 2 warnings in 2 files"),
        ([found("warning", "")], "1 warning"),
        ([found()] * 1000, "1,000 errors in 1 file"),
    ],
)
def test_the_last_line_counts(diagnostics: list[Diagnostic], summary: str) -> None:
    assert summarize(diagnostics) == summary


def test_quiet_leaves_errors_only() -> None:
    report = text_report([found("warning"), found("info"), found()], Files(), PLAIN, quiet=True)
    assert "warning" not in report
    assert "info" not in report
    assert report.endswith("1 error in 1 file\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("wanted", "environment", "stream", "coloured"),
    [
        ("auto", {}, Terminal(), True),
        ("auto", {}, io.StringIO(), False),
        ("auto", {"TERM": "dumb"}, Terminal(), False),
        ("auto", {"NO_COLOR": "1"}, Terminal(), False),
        ("auto", {"NO_COLOR": ""}, Terminal(), True),
        ("auto", {"FORCE_COLOR": "1"}, io.StringIO(), True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, Terminal(), False),
        ("always", {"NO_COLOR": "1"}, io.StringIO(), True),
        ("never", {"FORCE_COLOR": "1"}, Terminal(), False),
    ],
)
def test_colour_is_for_those_who_can_see_it(
    wanted: str, environment: dict[str, str], stream: io.StringIO, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in text_report([found()], Files(), Paint(wanted, stream))) == coloured


@pytest.mark.parametrize("hostile", ["\x1b[31m", "\n::add-mask::x", "\r", "\x07", "\u202e", "\u2028", "\x9b31m"])
@pytest.mark.parametrize("field", ["message", "hint", "object", "path", "file"])
def test_nothing_in_a_report_is_obeyed_by_a_terminal_or_a_runner(field: str, hostile: str) -> None:
    parts: dict[str, Any] = {"message": "m", "hint": "h", "object": "", "path": "p", "file": "f", field: f"a{hostile}b"}
    source = None if field == "object" else Source(parts.pop("file"), 1, 1)
    parts.pop("file", None)
    report = text_report([Diagnostic("SomeCode", "error", source=source, **parts)], Files(), PLAIN)
    assert len(report.splitlines()) == 4
    assert all(line.isprintable() for line in report.splitlines())


def test_of_very_many_the_errors_come_first() -> None:
    many = [found("warning", line=line) for line in range(1, 2_001)]
    report = text_report([*many, found("error", line=3_000)], Files(), PLAIN)
    assert "a.yaml:3000:1: error" in report
    assert report.endswith("... and 1,001 more; fix these first\n1 error, 2,000 warnings in 1 file\n")


@cases("case", "line", "column", "message", "underlined")
def test_the_value_is_underlined_where_the_finding_is_about_it(
    case: str, line: str, column: int, message: str, underlined: str, tmp_path: Path
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(f"{line}\n", encoding="utf-8")
    _, shown, marks = excerpt(Files(), Source(str(path), 1, column), message)
    start = marks.index("^")
    assert shown[start : start + marks.count("^")] == underlined, case


def test_inside_a_block_of_text_the_line_is_shown_that_holds_what_is_named(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(
        "command:\n- bash\n- -c\n- |\n  set -e\n  torchrun --nnodes=8 t.py\nargs: [--nnodes]\n", encoding="utf-8"
    )
    source = Source(str(path), 4, 3)
    assert excerpt(Files(), source, "--nnodes 8 waits for 8 nodes") == [
        "  |",
        "6 |   torchrun --nnodes=8 t.py",
        "  |            ^^^^^^^^",
    ]
    assert excerpt(Files(), source, "--node_rank 0 is the same for all")[1] == "6 |   torchrun --nnodes=8 t.py"


def test_what_every_job_of_a_kind_needs_is_reported_once() -> None:
    needed = [Diagnostic("SecretNeeded", "info", f"pods mount {name}", object=f"TrainJob a/{name}") for name in "xyz"]
    report = text_report([*needed, found(file="")], Files(), PLAIN)
    assert report.count("SecretNeeded") == 1
    assert "pods mount x (and 2 more like it)" in report
    assert "1 error" in report


@pytest.mark.parametrize(
    ("diagnostics", "shown"),
    [
        ([replace(found(), object=f"TrainJob a/{name}") for name in "xyz"], ["and 2 more like it"]),
        (
            [replace(found(), message=f"{name} is wrong", object=f"TrainJob a/{name}") for name in "xyz"],
            ["x is wrong (and 2"],
        ),
        (
            [replace(found(), message=f"{name} is wrong", object="TrainJob a/x") for name in "xy"],
            ["x is wrong\n", "y is wrong\n"],
        ),
        ([found(file=f"{name}.yaml") for name in "xy"], ["x.yaml", "y.yaml"]),
        (
            [replace(found("info", f"{name}.yaml"), object=f"TrainJob a/{name}") for name in "xyz"],
            ["x.yaml", "and 2 more like it"],
        ),
    ],
    ids=["one line", "words differ", "two problems of a job", "two files", "infos with the same words"],
)
def test_findings_with_one_cause_are_shown_as_one_with_a_count(diagnostics: list[Diagnostic], shown: list[str]) -> None:
    report = text_report(diagnostics, Files(), PLAIN)
    assert all(words in report for words in shown)
    assert report.count("more like it") == sum("more" in words or "(and" in words for words in shown)
    errors = report.count(": error[")
    assert (f"{errors} error" in report) is (errors > 0)
