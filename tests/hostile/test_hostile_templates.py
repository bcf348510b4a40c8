"""Templates that run on and on or fill the memory: each is stopped by its steps and bytes, before the clock has a say."""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import Any

import pytest

from trainc.options import Limits
from trainc.reading.templates import TemplateFailedError, render
from trainc.reading.templates.rendering import Budget, TooMuchError

# The clock is put out of action: what stops these is counted. The kernel ends the test where nothing does.
BY_COUNTING = Limits(template_seconds=1_000_000)
SECONDS, MEMORY = 60, 1_500_000_000
TEXT = "{% set n = namespace(s='f') %}{% for i in range(20) %}{% set n.s = n.s ~ n.s %}{% endfor %}"
HASHES = "{% set n = namespace(l=[]) %}{% for i in range(300) %}{% set n.l = n.l + [i * (2**61 - 1)] %}{% endfor %}"
HOSTILE = {
    "numbers of many digits": (
        "{% set n = namespace(s='f') %}{% for i in range(23) %}{% set n.s = n.s ~ n.s %}{% endfor %}"
        "{% set a = n.s|int(0,16) %}{% set b = n.s[:4000000]|int(0,16) %}{% if a // b == 1 %}{% endif %}"
    ),
    "filters in a loop": (
        "{% for i in range(30000) %}{% if range(30000)|map('string')|map('upper')|sort|list|length == 1 %}{% endif %}"
        "{% endfor %}"
    ),
    "a test for each item": "{% if range(49000)|select('in', range(49000)|list)|list|length == 1 %}{% endif %}",
    "a filter on a long text": TEXT + "{% for i in range(40000) %}{% if n.s|upper == 'a' %}{% endif %}{% endfor %}",
    "texts in namespaces": (
        TEXT + "{% for i in range(20000) %}{% set n.p = namespace(p=n.p|d(none), t=n.s ~ i) %}{% endfor %}"
    ),
    "lists in namespaces": (
        "{% set n = namespace(p=none) %}{% for i in range(20000) %}"
        "{% set n.p = namespace(p=n.p, t=range(50000)|list) %}{% endfor %}"
    ),
    "comparing texts": TEXT + "{% set m = n.s ~ '' %}{% for i in range(40000) %}{% if n.s == m %}{% endif %}{% endfor %}",
    "comparing lists": "{% set l = range(5000)|list %}{% for i in range(9000) %}{% if l == l %}{% endif %}{% endfor %}",
    "looking for a value": "{% set l = range(9000)|list %}{% for i in range(9000) %}{% if -1 in l %}{% endif %}{% endfor %}",
    "looking for it with a method": "{% set l = range(9000)|list %}{% for i in range(9000) %}{{ l.count(1) }}{% endfor %}",
    "looking in a range": "{% for i in range(30000) %}{{ range(49000).count(1.5) }}{% endfor %}",
    "slices of a text": TEXT + "{% for i in range(40000) %}{% set a = n.s[1:] %}{% endfor %}",
    "slices that are kept": TEXT + "{% for i in range(40000) %}{% set n.p = [n.p|d(none), n.s[1:]] %}{% endfor %}",
    "slices of a list": "{% set l = range(9000)|list %}{% for i in range(9000) %}{% set a = l[1:] %}{% endfor %}",
    "a text split": TEXT + "{% set a = (n.s|replace('f', 'a ')).split() %}",
    "a text split into lines": TEXT + "{% set a = (n.s|replace('f', 'a\n')).splitlines() %}",
    "a text split at a word": TEXT + "{% for i in range(40000) %}{% set a = n.s.split('xyz') %}{% endfor %}",
    "a text stripped": TEXT + "{% set a = n.s.strip(('g' ~ n.s)|replace('f', 'h') ~ 'f') %}",
    "characters of a text": TEXT + "{% set a = n.s|list %}",
    "characters of a text, sorted": TEXT + "{% set a = n.s|sort %}",
    "characters of a text, joined": TEXT + "{% set a = n.s|join(',') %}",
    "characters of a text, mapped": TEXT + "{% for c in n.s|map('upper') %}{% endfor %}",
    "a sum of lists": "{% set a = range(40000)|map('list')|sum(start=[]) %}",
    "a sum of a list of lists": "{% set l = [[1]] %}{% for i in range(40000) %}{% set a = (l + l)|sum(start=[]) %}{% endfor %}",
    "a list that doubles": "{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l = [n.l, n.l] %}{% endfor %}",
    "a mapping that doubles": "{% set n = namespace(l=1) %}{% for i in range(60) %}{% set n.l = dict(a=n.l, b=n.l) %}{% endfor %}",
    "a large mapping, written": "{% set l = range(9000)|list %}{% for i in range(9000) %}{{ l }}{% endfor %}",
    "a large mapping, as JSON": "{% set l = range(9000)|list %}{% for i in range(9000) %}{% set a = l|tojson %}{% endfor %}",
    "a large mapping, copied": (
        "{% set n = namespace(d={}) %}{% for i in range(40000) %}{% set n.d = dict(n.d, **{i|string: i}) %}{% endfor %}"
    ),
    "numbers of one hash": HASHES + "{{ dict(n.l|map('string')|list) }}{{ n.l|unique|list|length }}",
    "a wide body": "{% for i in range(90000) %}" + "{% if i == 1 %}{% endif %}" * 1000 + "{% endfor %}",
    "a wide macro": "{% macro m() %}" + "{% if 1 == 2 %}{% endif %}" * 900 + "{% endmacro %}{% for i in range(9e4|int) %}{{ m() }}{% endfor %}",
    "a wide block": (
        "{% block a %}" + "{% if 1 == 2 %}{% endif %}" * 900 + "{% endblock %}"
        "{% for i in range(90000) %}{{ self.a() }}{% endfor %}"
    ),
    "a block in itself": "{% block a %}{{ self.a() }}{{ self.a() }}{% endblock %}",
    "a call block": (
        "{% macro m() %}{% for i in range(90) %}{{ caller() }}{% endfor %}{% endmacro %}"
        + "{% call m() %}" * 8 + "x" + "{% endcall %}" * 8
    ),
    "a filter block": "{% for i in range(90000) %}{% filter upper %}" + "x" * 5000 + "{% endfilter %}{% endfor %}",
    "text of a loop, set": (
        "{% set n = namespace(p=none) %}{% for i in range(90000) %}{% set t %}" + "x" * 9000 + "{{ i }}{% endset %}"
        "{% set n.p = namespace(p=n.p, t=t) %}{% endfor %}"
    ),
    "many arguments": "{% macro m() %}{% endmacro %}{% set l = range(40000)|list %}{% for i in l %}{{ m(*l) }}{% endfor %}",
    "loop.cycle": "{% set l = range(40000)|list %}{% for i in l %}{{ loop.cycle(*l) }}{% endfor %}",
    "loop.changed": "{% set l = range(40000)|list %}{% for i in l %}{{ loop.changed(l) }}{% endfor %}",
    "an attribute of many parts": "{% set a = range(40000)|map(attribute='" + "a." * 40000 + "a', default=1)|list %}",
    "HTML's texts": "{% autoescape true %}{% set m %}a{% endset %}{{ m.ljust(1000000000) }}{% endautoescape %}",
    "indenting nothing": "{{ '' | indent(1000000000) }}",
    "dict.update": "{% set _ = dict.update(cfg, image='evil') %}",
    "a generator driven by hand": "{% set g = range(9)|map('string') %}{{ g.send(none) }}",
    "a text full of backslashes": "{{ '" + "\\" * 5_000_000,
    "blocks without end": "".join(f"{{% block a{i} %}}{{% endblock %}}" for i in range(8000)),
    "pairs as keys": "{% set d = dict([(('a', 1), 2)]) %}",
}  # fmt: skip


def outcome(template: str) -> str:
    try:
        render(template, "t.yaml.j2", {"cfg": {"image": "good"}}, BY_COUNTING)
    except TemplateFailedError as failed:
        return failed.diagnostic.code
    return "rendered"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_template_is_stopped_by_what_is_counted(name: str) -> None:
    done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "TemplateError"), done.stderr[-500:]


def test_a_template_changes_nothing_for_the_next_one() -> None:
    values: dict[str, Any] = {"cfg": {"image": "good", "tags": ["a"]}}
    for template in (
        "{{ dict.update(cfg, image='evil') }}",
        "{{ cfg.update(image='evil') }}",
        "{{ cfg.tags.append(1) }}",
    ):
        with pytest.raises(TemplateFailedError):
            render(template, "a.yaml.j2", values, Limits())
    given = "{% set c = dict(cfg, image='other') %}{{ c.image }}"
    assert render(given, "a.yaml.j2", values, Limits()) == "other"
    assert values == {"cfg": {"image": "good", "tags": ["a"]}}


def test_the_clock_stops_what_is_not_counted() -> None:
    seconds = iter(range(100))
    budget = Budget(Limits(), lambda: float(next(seconds)))
    with pytest.raises(TooMuchError, match="too long"):
        for _ in budget.charge_items(range(50)):
            pass


def test_a_sweep_of_a_thousand_jobs_is_not_an_attack() -> None:
    template = (
        "{% for rate in rates %}\n{% for image in images %}\n---\nname: sweep-{{ loop.index }}-{{ rate | tojson }}\n"
        "image: {{ image | lower }}\nargs: [{{ args | join(', ') }}]\n{% if loop.first and rate in rates %}a: 1\n{% endif %}\n"
        "{% endfor %}\n{% endfor %}\n"
    )
    values = {"rates": list(range(100)), "images": ["A:1"] * 10, "args": ["--a", "--b"]}
    assert render(template, "t.yaml.j2", values, Limits()).count("---") == 1000


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.stdout.write(outcome(HOSTILE[sys.argv[1]]))
