"""The deterministic writer: every reader gets back what was written, and the text is what a reviewer expects."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import ruamel.yaml
import yaml
import yaml12
from hypothesis import given, settings, strategies as st
from kubectl import HEAD, Kubectl, as_json_numbers, body_of

from trainc.emit.yaml_writer import dump_yaml, join_stream, text_of
from trainc.reading.yaml_reader import read_value


def dump_json(manifests: list[dict[str, Any]]) -> str:
    return b"".join(join_stream((text_of([manifest], "json") for manifest in manifests), "json")).decode()


JOB_SET = {
    "spec": {
        "replicatedJobs": [
            {
                "template": {
                    "metadata": {"labels": {"b": "1", "a": "x"}, "annotations": {}, "namespace": "n", "name": "m"},
                    "spec": {"parallelism": 2, "args": ["--lr=1e-3", "-c", "a b"], "matrix": [[1, 2], [], [[3]]]},
                },
                "replicas": 1,
                "name": "node",
            },
            {},
        ],
        "network": {},
        "suspend": False,
        "nothing": None,
    },
    "kind": "JobSet",
    "metadata": {"uid": "u", "labels": {"name": "z", "app": "y"}, "name": "llm", "namespace": "team-a"},
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
}
JOB_SET_TEXT = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: llm
  namespace: team-a
  labels:
    name: z
    app: "y"
  uid: u
spec:
  network: {}
  nothing: null
  replicatedJobs:
  - name: node
    replicas: 1
    template:
      metadata:
        name: m
        namespace: "n"
        labels:
          a: x
          b: "1"
        annotations: {}
      spec:
        args:
        - --lr=1e-3
        - -c
        - a b
        matrix:
        - - 1
          - 2
        - []
        - - - 3
        parallelism: 2
  - {}
  suspend: false
"""
READERS: dict[str, Callable[[str], Any]] = {
    "trainc": read_value,
    "ruamel.yaml, YAML 1.2": ruamel.yaml.YAML(typ="safe", pure=True).load,
    "PyYAML, YAML 1.1": yaml.safe_load,
    "py-yaml12, YAML 1.2": yaml12.parse_yaml,
}
# Strings that some reader takes for something else, or that need care in one style or another.
TRICKY = """\
yes|No|ON|off|y|N|true|False|null|Null|~|0|-0|+1|0400|0o17|0x1F|0b11|1_000|1e3|1.5|.5|5.|1.|-.5|.inf|-.INF|.nan|NaN
inf|Infinity|12:30:45|1:20|1:20.5|190:20:30|2026-01-01|2026-01-01T00:00:00Z|2001-12-14 21:59:43.10 -5|=|<<|-|--|---
...|.|?|:|a:|:a|a: b|a :b|a #b|#a|a#|- a|-a|--a|? a|?a|!a|&a|*a|@a|`a|%a|{a|}a|[a|]a|,a|>a|'a|"a|a"b|a'b|a\\b|\\
 a|a |  |a  b|100m|2Gi|1.5Gi|1E|1Ei|1k|1K|8080:80|1.2.3|10.0.0.1|0.1.0|1,000|100%|$(A)|${A}|$A|(a)|/a|./a|../a|a/b
nvidia.com/gpu|http://a:80/b?c=d#e|a::b|a:b:c|e3|_1|x1|0x|0o|1e|é|日本|😀|{{ a }}|a,b|a[0]|a{b}|key: |# a|0.0|1.0e+3
null_|nullx|truey|1e-3x|+|+a|.a|..|0_|_|T00|a=b|=a|~a|^a|;a|a;b|a&&b|a > b|a | b|<a>|*.py|-1|-1a|-x1|-.5|0777|08"""
MULTI_LINE = [
    "a\nb",
    "a\nb\n",
    "a\n\n",
    "a\n\n\nb\n\n",
    "\n",
    "\n\n",
    "\na",
    "\n\n  a\nb\n",
    "  a\nb",
    "\ta\nb",
    "a\n  b\n c",
    "a \nb  \n",
    "a\n  \nb\n",
    "a\n   ",
    "   \na",
    " \n",
    "a\tb\nc\n",
    "a\r\nb",
    "a\u2028b\nc",
    "a\x85b\nc",
    "#a\nb",
    "---\na",
    "a\n---\nb\n...\n",
    "key: value\nlist:\n- a\n",
    "é\n日本\n",
    "a\n\u200b",
    "a\n#b\n",
    "- a\n- b",
    "'\n\"",
    "\\\n",
]
ODD = ["", " ", "\t", "a\tb", "\x00", "\x07", "\x1b[0m", "\x7f", "\x85", "\xa0", "\xad", "\u2028", "\ufeff", "\ufffe"]
ODD += ["\U0001f600", "\U000e0001", "\U0010ffff", "\ue000", "\u200d", "\u202e", "x" * 2000, "a b " * 500, "\ud7ff"]
STRINGS = [*TRICKY.replace("\n", "|").split("|"), "a | b", *MULTI_LINE, *ODD]

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NASTY_TEXT = st.text(st.sampled_from("ab \n\t:#-?'\"|>&*!%@`{}[],.0123eExyno=<~+_/\\\r\u2028\x85\ufeff"), max_size=12)
TEXT = ANY_TEXT | NASTY_TEXT | st.sampled_from(STRINGS)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)


def test_the_text_is_what_a_reviewer_expects() -> None:
    assert dump_yaml([JOB_SET]) == JOB_SET_TEXT


def test_documents_are_separated_and_none_is_not_text() -> None:
    assert dump_yaml([{"a": 1}, {}, {"b": "x"}]) == "a: 1\n---\n{}\n---\nb: x\n"
    assert dump_yaml([]) == ""


def test_the_order_of_the_input_does_not_matter() -> None:
    reversed_input = json.loads(json.dumps(JOB_SET), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert dump_yaml([reversed_input]) == JOB_SET_TEXT


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("place", ["value", "item", "key"])
def test_every_tricky_string_reads_back(reader: str, place: str) -> None:
    wrap: dict[str, Callable[[str], Any]] = {
        "value": lambda s: s,
        "item": lambda s: [s, [s]],
        "key": lambda s: {s: {s: 1}},
    }
    for text in STRINGS:
        manifest = {"data": wrap[place](text), "end": [wrap[place](text)]}
        assert READERS[reader](dump_yaml([manifest])) == manifest, text


@settings(max_examples=150)
@given(st.dictionaries(TEXT, VALUES, max_size=4))
def test_whatever_is_written_every_reader_reads_back(manifest: dict[str, Any]) -> None:
    text = dump_yaml([manifest])
    assert dump_yaml([READERS["PyYAML, YAML 1.1"](text)]) == text
    for name, reader in READERS.items():
        assert as_json_numbers(reader(text)) == as_json_numbers(manifest), name


def test_kubectl_reads_back_what_is_written(kubectl: Kubectl) -> None:
    values = [text for text in STRINGS if "\ufffe" not in text]
    body = {"strings": values, "keys": {text: text for text in values}, "numbers": [1, -1, 0.5, 1e21, 1e-7, 2**53, 1.0]}
    [read] = kubectl.read(HEAD + dump_yaml([body]))
    assert as_json_numbers(body_of(read)) == as_json_numbers(body)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("two words", "two words"),
        ("--nnodes=2", "--nnodes=2"),
        ("-c", "-c"),
        ("500m", "500m"),
        ("1.5Gi", "1.5Gi"),
        ("./train.py", "./train.py"),
        ("$(A)", "$(A)"),
        ("http://a:80/b", "http://a:80/b"),
        ("日本 é 😀", "日本 é 😀"),
        ("4", '"4"'),
        ("12:30:45", '"12:30:45"'),
        ("on", '"on"'),
        ("", '""'),
        ("it's", "it's"),
        ('say "no"', 'say "no"'),
        ('"no"', '"\\"no\\""'),
        ("a: b", '"a: b"'),
        ("a\tb", '"a\\tb"'),
        ("\u202e", '"\\u202e"'),
        ("\U000e0001", '"\\U000e0001"'),
        (1.0, "1.0"),
        (1e21, "1.0e+21"),
        (1.5e-7, "1.5e-07"),
        (-0.5, "-0.5"),
        (2**63, "9223372036854775808"),
        (True, "true"),
        (None, "null"),
        ([], "[]"),
        ({}, "{}"),
        ((1,), "\n- 1"),
        ("a\nb", "|-\n  a\n  b"),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\n\nb\n\n", "|+\n  a\n\n  b\n"),
        ("  a\nb\n", "|2\n    a\n  b"),
        ("a\r\nb", '"a\\r\\nb"'),
        ("\n", '"\\n"'),
    ],
)
def test_a_value_is_written_as(value: object, text: str) -> None:
    assert dump_yaml([{"k": value}]) == f"k: {text}\n".replace("k: \n", "k:\n")


@pytest.mark.parametrize(
    "value",
    [
        "\ud800",
        "a\udfffb\nc",
        float("nan"),
        float("inf"),
        b"bytes",
        {1: "a"},
        {None: 1, "a": 2},
        {"\ud800": 1},
        {1, 2},
        object(),
    ],
)
@pytest.mark.parametrize("dump", [dump_yaml, dump_json])
def test_what_no_manifest_can_hold_is_refused(dump: Callable[[list[dict[str, Any]]], str], value: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        dump([{"k": [value]}])


class TestJson:
    def test_it_is_one_list_in_the_order_of_the_yaml(self) -> None:
        text = dump_json([JOB_SET, {"b": 1, "a": "é"}])
        document = json.loads(text)
        assert text.startswith('{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": [\n    {\n      "apiVersion"')
        assert text.endswith("}\n")
        assert document["items"] == [JOB_SET, {"a": "é", "b": 1}]
        assert dump_yaml(document["items"]) == dump_yaml([JOB_SET, {"a": "é", "b": 1}])
        assert list(document["items"][0]["metadata"]) == ["name", "namespace", "labels", "uid"]

    def test_an_empty_list_is_still_a_list(self) -> None:
        assert json.loads(dump_json([])) == {"apiVersion": "v1", "kind": "List", "items": []}
