"""The tables: each is well formed, each row is about something, and a program is added with one file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis.strategies import DataObject, data, from_regex
from tables import cases

from trainc.findings.codes import codes
from trainc.knowledge import tables
from trainc.knowledge.conditions import Fact, Facts, failure, holds, number, parse
from trainc.knowledge.tables import ALWAYS, tables_of_text
from trainc.startup.shipped import read_sections

FILES = sorted((Path(tables.__file__).parent / "tables").glob("*.json"))
OTHERS = {"hardware", "models", "names", "readings", "xla_flags"}
FIELDS = {
    *("program", "space", "open", "options", "generated", "extends", "roles", "agree", "alone", "sections", "closed"),
    *("rows", "strict", "ignores", "base", "renamed", "closed_file", "after", "classes"),
}
ROW = {"if", "check", "so", "write", "code", "level", "at", "reads", "source"}
KINDS = {"int", "float", "str", "bool", "flag", "list", "any", "map", "single", "name"}


@pytest.mark.parametrize("path", [path for path in FILES if path.stem not in OTHERS], ids=lambda path: path.stem)
def test_a_table_has_the_fields_that_it_may_have(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    assert set(data) <= FIELDS
    for row in data.get("rows", ()):
        assert set(row) <= ROW, row
        assert row["so"], row
        assert row.get("if"), row
        assert row.get("code", "SettingRefused") in codes(), row
        assert row.get("level", "warning") in {"error", "warning", "info"}, row
        assert "write" in row or "check" in row, row
    known = tables.table(path.stem)
    assert {takes[0] for takes in known.options.values()} <= KINDS


OF_A_VERSION = re.compile(r"\bsince \d|\bremoved (?:it|this)\b|\bLightning 2 has no\b")


@pytest.mark.parametrize("path", [path for path in FILES if path.stem not in OTHERS], ids=lambda path: path.stem)
def test_what_only_some_versions_refuse_is_said_of_these_alone(path: Path) -> None:
    for row in json.loads(path.read_text(encoding="utf-8")).get("rows", ()):
        about = " ".join(row["if"])
        assert (
            not OF_A_VERSION.search(row["so"])
            or row.get("level") == "info"
            or re.search(r"package:|job:image|job:script", about)
        ), row


def test_the_index_names_tables_that_there_are_and_each_is_named() -> None:
    extended = {parent for path in FILES for parent in json.loads(path.read_text(encoding="utf-8")).get("extends", ())}
    sections = read_sections(tables.__file__, "tables/index.txt")
    kinds = (sections[kind] for kind in ("programs", "patterns", "anchors", "together", "files"))
    named = {*ALWAYS, "shell", *(name for kind in kinds for name, _ in kind)}
    assert named | extended == {path.stem for path in FILES} - OTHERS


SHELL = json.loads(Path(tables.__file__).with_name("tables").joinpath("shell.json").read_text(encoding="utf-8"))["rows"]


@pytest.mark.parametrize("row", [row for row in SHELL if "reads" in row], ids=lambda row: row["so"][:40])
@given(data())
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_command_that_a_row_is_about_has_a_text_for_which_the_shell_is_looked_at(row: Any, data: DataObject) -> None:
    reads = row["reads"]["job:script"]
    text = data.draw(from_regex(re.compile(reads, re.ASCII)))
    assume(re.search(reads, text))
    assert "shell" in tables_of_text(text + " ".join(one for one in row["if"] if " ~ " in one))


@cases("condition", "values", "expected")
def test_a_condition_holds_or_not_or_is_unknown(
    condition: str, values: dict[str, object], expected: bool | None
) -> None:
    assert holds(facts_of(values), condition, {}) is expected


def facts_of(values: dict[str, object], *, hidden: bool = False) -> Facts:
    facts = Facts()
    facts.hidden = hidden
    facts.add(Fact(key, value, f"--{key}", word=1) for key, value in values.items())
    return facts


def test_where_more_may_be_hidden_nothing_is_absent() -> None:
    assert holds(facts_of({}, hidden=True), "!a", {}) is None
    assert holds(facts_of({}, hidden=True), "a?1 >= 2", {}) is None


def test_a_failed_check_names_both_sides_and_a_value_that_would_pass() -> None:
    message, about, better = failure(facts_of({"a": 256, "b": 7}), "a % b", {}) or ("", (), {})
    assert message == "--a is 256, and has to be a multiple of 7 (--b)"
    assert [fact.key for fact in about] == ["a", "b"]
    assert better == {"a": [252, 259], "b": [4, 2, 8, 16, 1]}


@pytest.mark.parametrize(("text", "expected"), [("1e-5", 1e-5), ("8", 8), ("1__0", None), (True, None), ("8B", None)])
def test_a_number_is_read_as_programs_read_it(text: object, expected: float | None) -> None:
    assert number(text) == expected


@pytest.mark.parametrize("path", [path for path in FILES if path.stem not in OTHERS], ids=lambda path: path.stem)
def test_each_condition_can_be_read(path: Path) -> None:
    for row in json.loads(path.read_text(encoding="utf-8")).get("rows", ()):
        for condition in (*row["if"], *filter(None, [row.get("check")])):
            relation = parse(condition)
            assert relation.left or relation.operator == "not", condition
            assert not any(word.startswith(("!", "=")) for word in relation.left), condition
