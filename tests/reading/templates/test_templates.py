"""Templates: what they yield, what they may not do, and the place of everything that is wrong."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tables import cases

from trainc.options import Limits
from trainc.reading.templates import TemplateFailedError, read_template, render

LIMITS = Limits(template_steps=2000, document_bytes=100_000)


def text(template: str, **values: Any) -> str:
    return render(template, "job.yaml.j2", values, LIMITS)


def failure(template: str, **values: Any) -> tuple[int, str]:
    with pytest.raises(TemplateFailedError) as failed:
        text(template, **values)
    diagnostic = failed.value.diagnostic
    assert diagnostic.code == "TemplateError"
    assert diagnostic.hint
    assert diagnostic.source is not None
    assert diagnostic.source.file == "job.yaml.j2"
    return diagnostic.source.line, diagnostic.message


@cases("template", "values", "output")
def test_what_a_template_yields(template: str, values: dict[str, Any], output: str) -> None:
    assert text(template, **values) == output


@cases("template", "line", "message")
def test_what_fails_is_reported_on_its_line(template: str, line: int, message: str) -> None:
    found, reported = failure(template, known={})
    assert found == line
    assert message in reported


@cases("template")
def test_a_template_reaches_nothing_outside_itself(template: str) -> None:
    values: dict[str, Any] = {"x": ["a"], "d": {}}
    failure(template, **values)
    assert values == {"x": ["a"], "d": {}}


@cases("template")
def test_a_template_is_stopped_before_it_takes_too_much(template: str) -> None:
    failure(template, x=list(range(100)), y="a" * 1000)


def test_the_limits_can_be_raised() -> None:
    template = "{% for i in range(3000) %}{% endfor %}"
    failure(template)
    assert render(template, "t", {}, Limits()) == ""


TEMPLATE = """\
{# A comment
over two lines. #}
apiVersion: v1
{% if true %}
kind: A
{% endif %}
spec:
{%- for i in range(2) %}

  f{{ i }}: {{ i }}
{%- endfor %}

  text: |
    {{ long | indent(4) }}
  last: x
"""


def test_places_are_those_of_the_template() -> None:
    (document,), problems = read_template(TEMPLATE.encode(), "t.yaml.j2", {"long": "a\nb\nc"}, Limits())
    assert problems == []
    assert document.data["spec"]["text"] == "a\nb\nc\n"
    lines = TEMPLATE.split("\n")
    for path, needle in {
        ("apiVersion",): "apiVersion",
        ("kind",): "kind",
        ("spec",): "spec",
        ("spec", "f0"): "  f{{",
        ("spec", "f1"): "  f{{",
        ("spec", "text"): "  text",
        ("spec", "last"): "  last",
    }.items():
        source = document.locate(path)
        assert source is not None
        assert (source.file, lines[source.line - 1][: len(needle)]) == ("t.yaml.j2", needle), path


def test_what_is_wrong_with_the_rendered_text_is_reported_in_the_template() -> None:
    _, (problem,) = read_template(b"{% set x = 1 %}\n{# x #}\n\na: 1\na: {{ x }}\n", "t.yaml.j2", {}, Limits())
    assert (problem.code, problem.source and problem.source.line) == ("DuplicateKey", 5)
    assert problem.message.endswith("already in this mapping, on line 4")
    _, (problem,) = read_template(b"{% for x in [1, 2] %}\na: {{ x }}\n{% endfor %}", "t.yaml.j2", {}, Limits())
    assert (problem.source and problem.source.line) == 2
    assert problem.message.endswith("already in this mapping, from the round before")


@given(st.text(alphabet="ab: -{}%#\n'\"|x", max_size=40))
def test_any_text_yields_text_or_a_diagnostic(template: str) -> None:
    documents, problems = read_template(template.encode(), "t.yaml.j2", {"x": "v"}, LIMITS)
    assert all(problem.source for problem in problems)
    assert all(document.locate(()) for document in documents)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
        lambda s: st.lists(s) | st.dictionaries(st.text(), s),
    )
)
def test_tojson_writes_every_value_as_yaml_reads_it(value: Any) -> None:
    (document,), problems = read_template(b"a: {{ x | tojson }}\n", "t.yaml.j2", {"x": value}, Limits())
    assert problems == []
    assert document.data == {"a": value}


def test_without_templates_jinja_is_not_imported() -> None:
    program = "import sys, trainc.pipeline.inputs; sys.exit('jinja2' in sys.modules or 'deepmerge' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
