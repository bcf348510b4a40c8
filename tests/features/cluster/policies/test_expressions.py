"""CEL expressions as Kubernetes evaluates them: values, errors, and the field that decided."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import celpy
import pytest
from celpy.adapter import json_to_cel
from hypothesis import given, strategies as st
from tables import cases

from trainc.features.cluster.policies.cel import (
    Environment,
    Evaluation,
    InvalidExpressionError,
    UnknownError,
    UnsupportedError,
)
from trainc.features.cluster.policies.cel.functions import FUNCTIONS
from trainc.features.cluster.policies.cel.syntax import parse
from trainc.features.cluster.policies.cel.values import DYN, Budget, CostExceededError, EvaluationError

OBJECT: dict[str, Any] = {
    "metadata": {"name": "llm", "labels": {"team": "vision", "app.kubernetes.io/name": "llm"}},
    "spec": {
        "numbers": [1, 2, 3],
        "memory": "1Gi",
        "suspend": False,
        "containers": [{"name": "node", "image": "example.com/a:1"}, {"name": "side", "image": "example.com/b:latest"}],
    },
}

NAMES = Environment({"object": DYN, "oldObject": DYN}, {}, 36)


def evaluated(text: str, budget: int = 10_000) -> tuple[Any, Evaluation]:
    evaluation = Evaluation(Budget(budget), OBJECT)
    return evaluation.value(parse(text), {"object": OBJECT, "oldObject": None}), evaluation


TRUE = """
object.metadata.labels.team == 'vision'
object.metadata.labels['app.kubernetes.io/name'] == "llm"
has(object.metadata.labels.team) && !has(object.metadata.labels.owner)
'team' in object.metadata.labels && !('owner' in object.metadata.labels)
oldObject == null
object.spec.containers.all(c, c.image.startsWith('example.com/'))
object.spec.containers.exists(c, c.image.endsWith(':latest'))
object.spec.containers.exists_one(c, c.name == 'node')
object.spec.containers.filter(c, c.name == 'node').size() == 1
object.spec.containers.map(c, c.name) == ['node', 'side']
object.spec.numbers.map(n, n > 1, n * 2) == [4, 6]
object.metadata.labels.all(k, v, k != v)
object.spec.numbers.all(i, n, n == i + 1)
object.nope == 1 || true
!(object.nope == 1 && false)
[1, 2].exists(x, x == 1 || object.nope == x)
object.metadata.?labels.?owner.orValue('nobody') == 'nobody'
object.?nope.?labels[?'a'].hasValue() == false
object.metadata.?labels[?'team'].optMap(t, t + '!').value() == 'vision!'
optional.none().or(optional.of(1)).value() == 1
optional.of({'a': 1}).a.value() == 1
1 == 1.0 && 1 < 1.5 && '1' != 1 && true != 1
[1, [2, {'a': null}]] == [1, [2, {'a': null}]]
-7 / 2 == -3 && -7 % 2 == -1 && 7 / -2 == -3
1 + 2 * 3 - 4 == 3
true ? 'a' == 'a' : false
quantity(object.spec.memory).isGreaterThan(quantity('512Mi'))
quantity('1Gi') == quantity('1024Mi') && quantity('1.5').compareTo(quantity('1500m')) == 0
quantity('2').add(quantity('500m')).sub(1).asApproximateFloat() == 1.5
isQuantity('1Gi') && !isQuantity('a')
'registry.io/a/b:v1'.matches('^registry[.]io/') && 'v12'.find('[0-9]+') == '12'
'a1b2'.findAll('[0-9]') == ['1', '2'] && 'a1b2'.findAll('[0-9]', 1) == ['1']
'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']
['a', 'b'].join('-') == 'a-b' && 'aXbX'.replace('X', 'y', 1) == 'aybX'
'abc'.substring(1) == 'bc' && 'abc'.substring(0, 2) == 'ab' && 'abc'.charAt(3) == ''
'hello'.indexOf('l') == 2 && 'hello'.lastIndexOf('l') == 3 && [1, 2, 1].lastIndexOf(1) == 2
'AbÄ'.lowerAscii() == 'abÄ' && ' a '.trim() == 'a'
[1, 2, 3].isSorted() && [1, 2].sum() == 3 && [3, 1].min() == 1 && [3, 1].max() == 3 && [1, 2].indexOf(2) == 1
sets.contains([1, 2, 3], [2]) && sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1], [1, 2])
url('https://example.com:80/p?q=1').getHost() == 'example.com:80' && url('https://[::1]:80/').getHostname() == '::1'
isURL('https://example.com/') && !isURL('a b')
ip('10.0.0.1').family() == 4 && isIP('::1') && cidr('10.0.0.0/8').containsIP('10.1.2.3')
cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.0.0.0/8').prefixLength() == 8
cidr('10.1.2.3/8').ip() == ip('10.1.2.3') && string(cidr('10.1.2.3/8').masked()) == '10.0.0.0/8'
!isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/255.0.0.0') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0') && !isIP('010.0.0.1')
duration('1h5m').getMinutes() == 65 && duration('90s') > duration('1m')
timestamp('2026-01-01T00:00:00Z') + duration('1h') == timestamp('2026-01-01T01:00:00Z')
int('42') == 42 && string(42) == '42' && double('1.5') == 1.5 && bool('true') && string(true) == 'true'
type(1) == type(2) && type(1) != type('a')
r'\\d' == '\\\\d' && '''it's''' == "it's" && '\\x41\\u0042\\103' == 'ABC'
size(object.spec.numbers) == 3 && size('äö') == 2 && {'a': 1}.size() == 1
true // a comment
"""


@pytest.mark.parametrize("text", TRUE.strip().splitlines())
def test_it_holds(text: str) -> None:
    assert evaluated(text)[0] is True


@cases("text", "reason")
def test_it_fails_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(EvaluationError) as error:
        evaluated(text)
    assert reason in str(error.value)


@pytest.mark.parametrize(
    "text", ["", "a &&", "1 +", "f(", "object..x", "'open", "a b", "=", "!" * 30_000, "a" * 100_001]
)
def test_what_is_not_an_expression_is_refused(text: str) -> None:
    with pytest.raises(InvalidExpressionError):
        parse(text)


@pytest.mark.parametrize(
    "text", ["(" * 5_000, "[" * 5_000 + "]" * 5_000, "-(" * 90 + "1" + ")" * 90, "1" + " + 1" * 500, "a" + ".b" * 500]
)
def test_what_is_nested_too_deeply_is_not_evaluated(text: str) -> None:
    with pytest.raises(UnsupportedError, match="nested more than"):
        parse(text)


def test_long_is_not_deep() -> None:
    assert evaluated(" && ".join(["true"] * 1_000))[0] is True


def test_a_macro_does_not_double_its_target() -> None:
    text = "optional.of(1)" + ".optMap(x, x + 1)" * 15 + ".value() == 16"
    NAMES.compile(text)
    assert evaluated(text)[0] is True


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("has(object.metadata.labels.owner)", ("metadata", "labels", "owner")),
        ("'owner' in object.metadata.labels", ("metadata", "labels", "owner")),
        ("object.metadata.?labels[?'owner'].hasValue()", ("metadata", "labels", "owner")),
        ("object.spec.containers.all(c, !c.image.endsWith(':latest'))", ("spec", "containers", 1, "image")),
        ("object.spec.suspend == true && object.metadata.name == 'x'", ("spec", "suspend")),
        ("object.spec.numbers.sum() < 3", ("spec", "numbers")),
    ],
)
def test_the_field_that_decides_is_the_last_one_read(text: str, path: tuple[str | int, ...]) -> None:
    value, evaluation = evaluated(text)
    assert (value, evaluation.last_read) == (False, path)


@pytest.mark.parametrize("word", ["variables", "f", "g", "d"])
def test_names_from_outside_are_those_that_no_macro_defines(word: str) -> None:
    text = "object.x.all(c, c.y == 1 && [object.d].exists(e, e > 0))"
    NAMES.compile(text)
    broken = {
        "variables": text.replace("1 &&", "variables.z &&"),
        "f": text.replace("c.y", "f(c)"),
        "g": text.replace("c.y", "c.g()"),
        "d": text.replace("e >", "d >"),
    }[word]
    with pytest.raises(InvalidExpressionError, match=f"undeclared reference to '{word}'"):
        NAMES.compile(broken)


BIG = "[1,2,3,4,5,6,7,8,9,10]"


@pytest.mark.parametrize(
    "text",
    [
        "{0}.all(a, {0}.all(b, {0}.all(c, {0}.all(d, {0}.all(e, a + b + c + d + e > 0)))))".replace("{0}", BIG),
        ".".join(["['a']", *["map(x, (x + x + x + x) + (x + x + x + x))"] * 30]) + " == []",
        ".".join(["'aaaaaaaaaa'", *["replace('a', 'aaaaaaaaaa')"] * 12]) + " == ''",
    ],
)
def test_hostile_expressions_end_when_their_steps_are_used_up(text: str) -> None:
    with pytest.raises(CostExceededError):
        evaluated(text, 100_000)


def test_a_regex_that_python_would_take_forever_over_is_linear() -> None:
    assert evaluated("'" + "a" * 5_000 + "b'.matches('^(a+)+$')")[0] is False


@given(
    st.recursive(
        st.integers(-9, 9) | st.booleans() | st.sampled_from(["a", "b"]), lambda inner: st.lists(inner, max_size=3)
    )
)
def test_literals_mean_what_json_means(value: Any) -> None:
    assert Evaluation(Budget(10_000)).value(parse(json.dumps(value)), {}) == value


# Where cel-python itself agrees with Kubernetes, the two evaluators agree.
@pytest.mark.parametrize("text", [line for line in TRUE.strip().splitlines() if not any(
    word in line for word in ("?", "optional", "quantity", "Quantity", "sets.", "url", "URL", "ip(", "cidr", "IP", "k, v", "i, n",
    "find", "split", "join", "substring", "ndexOf", "Ascii", "isSorted", "duration", "//", "1.0", "\\", "nope", "n > 1, n", "type(", "int("))])  # fmt: skip
def test_it_agrees_with_cel_python(text: str) -> None:
    environment = celpy.Environment()
    program = environment.program(environment.compile(text))
    assert bool(program.evaluate({"object": json_to_cel(OBJECT), "oldObject": None})) is True


WORDS = [
    *["object", "oldObject", ".", ".?", "[", "]", "(", ")", "{", "}", ",", ":", "?", "!", "-", "+", "*", "/", "%", "==", "!=", "<", "in", "&&", "||", "'a'", '"b"', "1", "2.5", "0", "-1", "true", "null", "x"],
    *[".size()", ".all(x,", ".map(x,", ".exists(i,x,", "has(", "quantity('1')", ".min()", ".matches(", ".split(", ".orValue(", "ip('::1')", ".add(", "int(", "sets.contains("],
    *[".labels", ".metadata", ".spec", ".numbers", ".containers", ".image", ".team", "[?", "optional.of(", "optional.none()", ".value()", "duration('1s')", "type("],
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12))
def test_no_expression_is_a_defect(words: list[str]) -> None:
    text = "".join(words) + ")" * sum(word.count("(") - word.count(")") for word in words)
    assert_no_defect(text)


def assert_no_defect(text: str) -> None:
    try:
        node, _ = NAMES.compile(text)
    except (InvalidExpressionError, UnsupportedError):
        return
    with suppress(EvaluationError, UnknownError, CostExceededError):
        Evaluation(Budget(1_000), OBJECT).value(node, {"object": OBJECT, "oldObject": None})


VALUES = [
    "1",
    "-1",
    "1.5",
    "'a'",
    "b'x'",
    "true",
    "null",
    "[1]",
    "['a']",
    "{'a':1}",
    "object",
    "duration('1s')",
    "timestamp('2026-01-01T00:00:00Z')",
    "quantity('1Gi')",
    "ip('::1')",
    "cidr('10.0.0.0/8')",
    "url('/a')",
    "optional.of(1)",
    "optional.none()",
    "9223372036854775807",
]
SOME = st.sampled_from(VALUES)


@given(SOME, st.sampled_from(sorted(FUNCTIONS)), st.lists(SOME, max_size=3), st.booleans())
def test_no_call_is_a_defect(base: str, word: str, arguments: list[str], is_method: bool) -> None:
    target = f"({base})." if is_method else ""
    assert_no_defect(f"{target}{word}({', '.join(arguments)})")


@given(SOME, st.sampled_from(["+", "-", "*", "/", "%", "<", ">=", "==", "in", "&&", "||"]), SOME)
def test_no_operation_is_a_defect(left: str, operator: str, right: str) -> None:
    assert_no_defect(f"{left} {operator} {right}")


@pytest.mark.parametrize("text", TRUE.strip().splitlines())
def test_half_of_an_expression_is_not_a_defect(text: str) -> None:
    for end in range(1, len(text)):
        with suppress(InvalidExpressionError, UnsupportedError):
            parse(text[:end])
