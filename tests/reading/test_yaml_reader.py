"""Files to documents: what is read, what is refused and where, and that one bad document hides no other."""

from __future__ import annotations

import pytest
from reading import data_of, errors_of, read
from tables import cases

from trainc.findings import CompileError
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents, read_value

GOOD = "kind: A\nname: a\n"


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("", []),
        ("# only a comment\n", []),
        ("---\n---\n", []),
        ("null\n---\n~\n---\n", []),
        ("a: 1", [{"a": 1}]),
        ("---\na: 1\n", [{"a": 1}]),
        ("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("a: 1\n--- # a comment\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("a: 1\n...\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("a: 1\n---\n\n---\n# nothing\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("a: |\n  ---\n  b\n", [{"a": "---\nb\n"}]),
        ("a: |\n---\nb: 2\n", [{"a": ""}, {"b": 2}]),
        ("a: |\n  no line end", [{"a": "no line end\n"}]),
        ("a: &x 1\n---\na: &x 2\nb: *x\n", [{"a": 1}, {"a": 2, "b": 2}]),
        ("{}\n", [{}]),
        ("a:\tb\t# c\n", [{"a": "b"}]),
        ("a: b\r\nc: |\r\n  d\r\n  e\r\n", [{"a": "b", "c": "d\ne\n"}]),
        ("a: b\rc: d\r---\re: f\r", [{"a": "b", "c": "d"}, {"e": "f"}]),
        ("\ufeffa: 1\n---\n\ufeffb: 2\n", [{"a": 1}, {"b": 2}]),
    ],
)
def test_a_file_holds_these_documents(text: str, documents: list[object]) -> None:
    assert data_of(text) == documents


@cases("text", "errors")
def test_a_file_is_refused_at_this_place(text: str, errors: list[tuple[str, int, int]]) -> None:
    assert errors_of(text) == [tuple(each) for each in errors]


def test_a_duplicate_key_names_the_line_of_the_first() -> None:
    _, [error] = read("a:\n  b: 1\n  c: 2\n  b: 3\n")
    assert "line 2" in error.message


@pytest.mark.parametrize(
    "bad",
    [
        "a: [1\n",
        "a: 'x\n",
        "a:\n\tb: 1\n",
        "a: 1\na: 2\n",
        "a: .inf\n",
        "- a\n",
        "{" * 200 + "\n",
        '{"a": 1,\n',
        "a: \x07\n",
        "metadata:\nname: x\n",
        "a: *x\n",
    ],
)
def test_a_bad_document_hides_neither_its_neighbours_nor_their_positions(bad: str) -> None:
    documents, [error] = read(f"{GOOD}---\n{bad}---\n{GOOD}---\na: *gone\n".removesuffix("---\na: *gone\n"))
    assert [document.data for document in documents] == [{"kind": "A", "name": "a"}] * 2
    assert error.source is not None
    assert error.source.line >= 4
    line = 5 + bad.count("\n")
    assert str(documents[1].locate(("name",))) == f"jobs.yaml:{line + 1}:1"


def test_errors_of_all_documents_are_reported_together() -> None:
    assert [code for code, _, _ in errors_of("a: [\n---\na: 1\na: 1\n---\n- x\n---\na: !x y\n")] == [
        "YAMLSyntax",
        "DuplicateKey",
        "NotAnObject",
        "UnsupportedTag",
    ]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("image: {{ .Values.image }}", "helm template CHART"),
        ("{{ if .Values.on }}", "helm template CHART"),
        ("{{ image }}", "rename the file to jobs.yaml.j2"),
        ("{% if on %}", "rename the file to jobs.yaml.j2"),
        ("$IMAGE_AND_MORE", "envsubst < jobs.yaml"),
        ("@image", "quotes"),
    ],
)
def test_a_hint_names_the_likely_cause(line: str, hint: str) -> None:
    _, [error] = read(f"a: 1\n{line}\n")
    assert hint in error.hint


class TestLists:
    def test_items_become_documents_that_know_their_place(self) -> None:
        documents, diagnostics = read(
            "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  name: a\n- kind: B\n  name: b\n"
        )
        assert diagnostics == []
        assert [document.data for document in documents] == [{"kind": "A", "name": "a"}, {"kind": "B", "name": "b"}]
        assert str(documents[1].locate(("name",))) == "jobs.yaml:7:3"

    def test_items_of_a_named_list_take_kind_and_version_from_it(self) -> None:
        [job, other] = data_of("apiVersion: x/v1\nkind: TrainJobList\nitems: [{name: a}, {kind: B}]\n")
        assert job == {"apiVersion": "x/v1", "kind": "TrainJob", "name": "a"}
        assert other == {"kind": "B"}

    def test_lists_inside_lists_are_opened(self) -> None:
        assert data_of("kind: List\nitems: [{kind: List, items: [{kind: A}]}, {kind: B}]\n") == [
            {"kind": "A"},
            {"kind": "B"},
        ]

    def test_an_empty_list_holds_nothing_and_a_list_without_items_is_a_document(self) -> None:
        assert data_of("kind: List\nitems: []\n") == []
        assert data_of("kind: List\nitems:\n") == [{"kind": "List", "items": None}]


class TestLimits:
    @pytest.mark.parametrize("levels", [101, 10_000])
    @pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
    def test_depth(self, opening: str, levels: int) -> None:
        [(code, line, _)] = errors_of(opening * levels + "\n")
        assert (code, line) == ("TooDeep", 1)

    def test_depth_of_json(self) -> None:
        [(code, _, column)] = errors_of('{"a":' * 101 + "1" + "}" * 101)
        assert (code, column) == ("TooDeep", 501)
        assert errors_of('{"a":' * 100_000 + "1" + "}" * 100_000)[0][0] == "TooDeep"
        assert data_of('{"a":' * 100 + "1" + "}" * 100)

    def test_depth_counts_what_aliases_stand_for(self) -> None:
        nested = "[" * 60 + "]" * 60
        [(code, line, _)] = errors_of(f"a: &a {nested}\nb: {'[' * 50}*a{']' * 50}\n")
        assert (code, line) == ("TooDeep", 2)

    def test_depth_at_the_limit_is_read(self) -> None:
        assert data_of("a: " + "[" * 99 + "]" * 99)

    def test_aliases_that_multiply(self) -> None:
        rows = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
        [(code, line, _)] = errors_of("\n".join(rows) + "\n")
        assert (code, line) == ("TooManyAliases", 5)

    def test_few_aliases_of_something_large(self) -> None:
        large = "[" + "x, " * 5000 + "]"
        [(code, _, _)] = errors_of(f"a: &a {large}\nb: [{'*a, ' * 100}]\n")
        assert code == "TooManyAliases"

    @pytest.mark.parametrize("many", ["[{0}]", "[&b [{0}], *b]", "{{c: &b {{d: [{0}]}}, e: *b}}"])
    def test_few_aliases_of_a_long_text(self, many: str) -> None:
        copies = 100 if "*b" not in many else 50
        for count, refused in ((copies - 1, False), (copies + 1, True)):
            text = f"a: &a {'x' * 100_000}\nb: {many.format('*a, ' * count)}\n"
            documents, found = read_documents(text.encode(), "", Limits())
            assert ([error.code for error in found], len(documents)) == (["TooManyAliases"] * refused, not refused)

    def test_many_aliases_within_the_limit_are_read(self) -> None:
        [data] = data_of(f"a: &a {{x: 1}}\nb: [{'*a, ' * 10_000}]\n")
        assert data["b"] == [{"x": 1}] * 10_000

    def test_size_of_a_document(self) -> None:
        limits = Limits(document_bytes=100)
        assert errors_of("a: 1\n---\na: " + "\u00e9" * 60 + "\n---\nb: 1\n", limits) == [("DocumentTooLarge", 3, 1)]
        assert errors_of("a: " + "x" * 90, limits) == []

    def test_number_of_documents(self) -> None:
        documents, [error] = read("a: 1\n---\n" * 5, Limits(documents=3))
        assert len(documents) == 3
        assert (error.code, str(error.source)) == ("TooManyDocuments", "jobs.yaml:7:1")

    def test_thousands_of_errors_are_reported_in_reasonable_time(self) -> None:
        assert len(errors_of("a: 1\n" * 20_000)) == 19_999


def test_aliases_give_values_of_their_own() -> None:
    [data] = data_of("a: &a {x: [1]}\nb: *a\n")
    assert data["a"] == data["b"]
    assert data["a"] is not data["b"]
    assert data["a"]["x"] is not data["b"]["x"]


def test_one_value_is_read_whatever_its_type() -> None:
    assert read_value("[1, yes, x]") == [1, True, "x"]
    assert read_value("") is None
    with pytest.raises(CompileError, match="YAMLSyntax"):
        read_value("[1")
