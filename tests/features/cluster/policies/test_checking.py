"""What the API server refuses when a policy is created, and what it takes: types, macros, constants."""

from __future__ import annotations

import pytest

from trainc.features.cluster.policies.cel import Environment, InvalidExpressionError, UnsupportedError, parse_type
from trainc.features.cluster.policies.cel.values import DYN

FIELDS = {"kubernetes.AdmissionRequest": {"name": parse_type("string"), "options": DYN}}
NAMES = Environment({"object": DYN, "request": parse_type("kubernetes.AdmissionRequest")}, FIELDS, 36)

# Each was asked of a Kubernetes 1.36 API server's own compiler.
TYPES = {
    "object.x == 1": "bool",
    "object.x": "dyn",
    "object.x + 1": "int",
    "object.x + object.y": "dyn",
    "1 + 2": "int",
    "[1, 2].map(x, x * 2 < 3.0)": "list(bool)",
    "object.items.map(x, x.name)": "list(dyn)",
    "{'a': 1}.transformMap(k, v, v + 1)": "map(string, int)",
    "{'a': 1}.transformMapEntry(k, v, {v: k})": "map(int, string)",
    "[1].transformList(i, v, i)": "list(int)",
    "optional.of(1)": "optional_type(int)",
    "object.?a.?b": "optional_type(dyn)",
    "optional.of({'a': 1}).a": "optional_type(int)",
    "[?object.?a, ?optional.none()]": "list(dyn)",
    "{?'a': optional.of(1), 'b': 2}": "map(string, int)",
    "[].max()": "int",
    "-({}.x)": "double",
    "[]": "list(dyn)",
    "type(1)": "type(int)",
    "type(1) == int": "bool",
    "quantity('1').add(1)": "kubernetes.Quantity",
    "sign(quantity('1'))": "int",
    "object.name.split('-')": "list(string)",
    "request.name": "string",
    "request.options": "dyn",
    "quantity('1') == null": "bool",
    "[1, 2].sortBy(x, -x)": "list(int)",
    "optional.of('a').optMap(x, x.size())": "optional_type(int)",
    "object.all(x, y, x == y)": "bool",
    "'%s and %d'.format([object.a, object.b])": "string",
    "'%s'.format([[1, 'a', null]])": "string",
    "format.dns1123Label().validate('a')": "optional_type(list(string))",
    "1 < 2.0 && 1u >= 0": "bool",
}

REFUSED = {
    "1 == 1.0": "found no matching overload for '_==_' applied to '(int, double)'",
    "'a' == null": "found no matching overload for '_==_' applied to '(string, null)'",
    "object.size() + 'a' == '1a'": "found no matching overload for '_+_' applied to '(int, string)'",
    "quantity('1').sign() == 1": "found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'",
    "object.name in 5": "found no matching overload for '@in' applied to '(dyn, int)'",
    "object.startsWith('a', 'b')": "found no matching overload for 'startsWith' applied to 'dyn.(string, string)'",
    "true ? 1 : 'a'": "found no matching overload for '_?_:_' applied to '(bool, int, string)'",
    "1 && true": "expected type 'bool' but found 'int'",
    "[1, 'a']": "expected type 'int' but found 'string'",
    "{'a': 1, 'b': 'c'}": "expected type 'int' but found 'string'",
    "{?'a': object.?b, 'k': 'v'}": "expected type 'dyn' but found 'string'",
    "[null, 'a']": "expected type 'null' but found 'string'",
    "[duration('1s'), null]": "expected type 'duration' but found 'null'",
    "[?1]": "expected type 'optional_type(int)' but found 'int'",
    "1.all(x, x)": "expression of type 'int' cannot be range of a comprehension",
    "[1].map(x, x, x)": "found no matching overload for '_?_:_'",
    "optional.of(1).foo": "type 'int' does not support field selection",
    "request.foo": "undefined field 'foo'",
    "subject.name": "undeclared reference to 'subject'",
    "cel.bind(n, 1, n)": "undeclared reference to 'cel'",
    "math.greatest(1, 2)": "undeclared reference to 'math'",
    "base64.decode('aGk=')": "undeclared reference to 'base64'",
    "'abc'.reverse()": "found no matching overload for 'reverse' applied to 'string.()'",
    "[1].existsOne(v, v == 1)": "undeclared reference to",
    "[1].all(i, i, true)": "duplicate variable name: i",
    "[1].all(a.b, true)": "must be a simple name",
    "has(object)": "has() takes one field",
    "has(object['a'])": "has() takes one field",
    "namespace == 1": "reserved identifier: namespace",
    "object.name.matches('(?!x)y')": "is not a regular expression",
    "object.name.find('(')": "is not a regular expression",
    "duration('1 day') > duration('1h')": "type conversion error from 'string'",
    "timestamp('2026-01-01') == timestamp('x')": "type conversion error from 'string'",
    "int('x') == 1": "type conversion error from 'string' to 'int'",
    "'%t'.format([true])": 'unrecognized formatting clause "t"',
    "'%d'.format(['a'])": "decimal clause can only be used on integers, was given string",
    "'%s'.format([1, 2])": "too many arguments supplied to string.format (expected 1, got 2)",
    "'%s %s'.format([1])": "index 1 out of range",
    "'%s'.format([[quantity('1')]])": "string clause can only be used on",
    "9223372036854775808": "invalid int literal",
    r"'\q'": "is not an escape",
    "object.`a-b`": "syntax error",
}


# What is wrong with brackets, and the hint.
BRACKETS = {
    "[1].all(i, int(i) <= 2": "write ) at the end: all( at line 1, column 5 is still open",
    "(1 + 2\n== 3": "write ) at the end: ( at line 1, column 1 is still open",
    "[[1], [2] == []": "write ] at the end: [ at line 1, column 1 is still open",
    "has(object.a[0)": "write ] before this ): a[ at line 1, column 12 is still open",
    "{'a': ')'": "write } at the end: { at line 1, column 1 is still open",
    "1 == 1)": "remove this ), or open one before it: none is open",
    "object.a ==": "",
    "[1].all(i, i ==)": "",
    "1 == 1 2": "",
}


@pytest.mark.parametrize(("text", "kind"), TYPES.items(), ids=TYPES)
def test_an_expression_has_a_type(text: str, kind: str) -> None:
    assert str(NAMES.compile(text)[1]) == kind


@pytest.mark.parametrize(("text", "why"), REFUSED.items(), ids=REFUSED)
def test_what_the_api_server_refuses(text: str, why: str) -> None:
    with pytest.raises(InvalidExpressionError) as error:
        NAMES.compile(text)
    assert why in str(error.value)


@pytest.mark.parametrize(("text", "hint"), BRACKETS.items(), ids=BRACKETS)
def test_a_syntax_error_names_the_bracket_that_is_its_reason(text: str, hint: str) -> None:
    with pytest.raises(InvalidExpressionError, match="syntax error at line") as error:
        NAMES.compile(text)
    assert error.value.hint == hint


def test_a_result_of_unknown_type_is_no_bool() -> None:
    with pytest.raises(InvalidExpressionError, match="must evaluate to bool but got dyn"):
        NAMES.compile("object.spec.suspend", [parse_type("bool")])


def test_an_error_says_where_it_is() -> None:
    with pytest.raises(InvalidExpressionError, match="at line 2, column 5"):
        NAMES.compile("object.a == 1 &&\n  1 == 'a'")


def test_a_function_of_a_later_kubernetes_is_not_evaluated() -> None:
    before, after = (Environment({"object": DYN}, {}, minor) for minor in (34, 35))
    after.compile("object.x.slice(0, 1) == [1]")
    with pytest.raises(UnsupportedError, match=r"slice\(\) can be used from Kubernetes 1.35 on"):
        before.compile("object.x.slice(0, 1) == [1]")


def test_macros_with_two_variables_are_for_1_33_and_later() -> None:
    before, after = (Environment({"object": DYN}, {}, minor) for minor in (32, 33))
    for text in ("object.x.all(i, v, true)", "object.x.existsOne(i, v, true)", "object.x.transformList(i, v, v)"):
        after.compile(text)
        with pytest.raises(UnsupportedError, match=r"with two variables can be used from Kubernetes 1.33 on"):
            before.compile(text)
    before.compile("object.x.all(v, true)")


def test_a_field_in_backticks_is_read_from_1_37_on() -> None:
    before, after = (Environment({"object": DYN}, {}, minor) for minor in (36, 37))
    text = "object.metadata.labels.`app.kubernetes.io/name` == 'a' && has(object.?metadata.`a b`)"
    with pytest.raises(InvalidExpressionError, match="syntax error"):
        before.compile(text)
    with pytest.raises(InvalidExpressionError, match="takes one field"):
        after.compile(f"has(object.?metadata) && {text}")
    after.compile(text.replace(".?", "."))
    with pytest.raises(InvalidExpressionError, match="syntax error"):
        after.compile("`object`.a == 1")


@pytest.mark.parametrize("text", ["Object{a: 1}", "a.b.C{}", "google.protobuf.Struct", "[" * 90 + "]" * 90])
def test_what_trainc_does_not_evaluate_is_not_called_wrong(text: str) -> None:
    with pytest.raises(UnsupportedError):
        NAMES.compile(text)
