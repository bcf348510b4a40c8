"""The tables: each is well formed, each row is about something, and a program is added with one file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainc.findings.codes import codes
from trainc.knowledge import tables
from trainc.knowledge.conditions import failure, holds, parse
from trainc.knowledge.facts import Fact, Facts, number
from trainc.knowledge.index import names

FILES = sorted((Path(tables.__file__).parent / "tables").glob("*.json"))
OTHERS = {"models", "log", "names"}
FIELDS = {
    *("program", "space", "open", "options", "generated", "extends", "roles", "agree", "alone", "sections", "closed"),
    "rows",
}
ROW = {"if", "check", "so", "write", "code", "level", "at", "reads"}
KINDS = {"int", "float", "str", "bool", "flag", "list", "any"}


@pytest.mark.parametrize("path", [path for path in FILES if path.stem not in OTHERS], ids=lambda path: path.stem)
def test_a_table_has_the_fields_that_it_may_have(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    assert set(data) <= FIELDS
    for row in data.get("rows", ()):
        assert set(row) <= ROW, row
        assert row["so"], row
        assert row.get("if"), row
        assert row.get("code", "SettingRefused") in codes(), row
        assert row.get("level", "warning") in {"warning", "info"}, row
        assert "write" in row or "check" in row, row
    known = tables.table(path.stem)
    assert {takes[0] for takes in known.options.values()} <= KINDS


def test_the_index_names_tables_that_there_are_and_each_is_named() -> None:
    extended = {parent for path in FILES for parent in json.loads(path.read_text(encoding="utf-8")).get("extends", ())}
    assert names() | extended == {path.stem for path in FILES} - OTHERS


FACTS: dict[str, tuple[str, dict[str, object], bool | None]] = {
    "a relation that holds": ("a >= 2", {"a": "4"}, True),
    "a relation that fails": ("a >= 2", {"a": 1}, False),
    "a value that is known only in the pod": ("a >= 2", {"a": None}, None),
    "a value that is not given": ("a >= 2", {}, None),
    "a default": ("a?1 >= 2", {}, False),
    "a multiple of a product": ("a % b * c", {"a": 24, "b": 2, "c": 4}, True),
    "no multiple": ("a % b * c", {"a": 20, "b": 2, "c": 4}, False),
    "a sum": ("a + b <= 10", {"a": 4, "b": "7"}, False),
    "a word": ("a == sft", {"a": "SFT"}, True),
    "a text in another case": ("a is b", {"a": "X", "b": "x"}, False),
    "one of several": ("a in x|y", {"a": "z"}, False),
    "none of several": ("a not in x|y", {"a": "z"}, True),
    "a pattern": ("a ~ meta-*", {"a": "Meta-Llama"}, True),
    "an option that is given": ("a", {"a": True}, True),
    "an option that is switched off": ("a", {"a": "False"}, False),
    "an option that is absent": ("!a", {}, True),
    "an option that is switched off is given": ("not a", {"a": "False"}, False),
}


@pytest.mark.parametrize("case", FACTS)
def test_a_condition_holds_or_not_or_is_unknown(case: str) -> None:
    condition, values, expected = FACTS[case]
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
    message, about, better = failure(facts_of({"a": 256, "b": 7}), "a % b", {}) or ("", (), None)
    assert message == "--a is 256, and has to be a multiple of 7 (--b)"
    assert [fact.key for fact in about] == ["a", "b"]
    assert better == 252


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
