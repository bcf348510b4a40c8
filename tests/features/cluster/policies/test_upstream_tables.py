"""Expressions with the outcome that upstream's own tables of tests and documents give them.

Sources: kubernetes apiserver pkg/cel/library/{quantity,ip,cidr,semver,format}_test.go and their Go documents, v1.37;
cel-go v0.26 ext/{strings,lists,sets,comprehensions,formatting}_test.go; cel-spec v0.25 tests/simple/testdata
(comparisons, conversions, fields, macros2, optionals, string_ext, timestamps); kubernetes.io "CEL in Kubernetes".
"""

from __future__ import annotations

from typing import Any

import pytest

from trainc.features.cluster.policies.cel import (
    Budget,
    Environment,
    Evaluation,
    EvaluationError,
    InvalidExpressionError,
)
from trainc.features.cluster.policies.cel.values import DYN

OBJECT: dict[str, Any] = {
    "labels": {"app.kubernetes.io/name": "llm", "team": "nlp"},
    "cpu": "2000m",
    "images": ["registry.example/a@sha256:0", "registry.example/b:1"],
    "nothing": None,
    "count": 3,
}
NAMES = Environment({"object": DYN}, {}, 37)


def value(text: str) -> Any:
    node, _ = NAMES.compile(text)
    return Evaluation(Budget(10_000)).value(node, {"object": OBJECT})


TRUE = {
    "quantities": """
        quantity('200M') == quantity('0.2G') && quantity('2000k') == quantity('2M')
        quantity('1Ki') == quantity('1024') && quantity('1k') != quantity('1Ki')
        quantity('50k').add(20).sub(quantity('100k')).asInteger() == -49980
        quantity('50k').sub(quantity('20')) == quantity('49.98k')
        quantity('50.703k').asApproximateFloat() == 50703.0
        !quantity('9999999999999999999999999999999999999G').isInteger()
        [quantity('9999999999999999999999999999999999999')].all(x, x.add(quantity('1')).compareTo(x.add(quantity('2'))) == -1)
        quantity('9999999999999999999Ei') == quantity('9223372036854775807') && quantity('9223372036854775808').isGreaterThan(quantity('9Ei'))
        !quantity('2000m').isInteger() && quantity('2000m') == quantity('2') && quantity('2').isInteger()
        !quantity('1.5Gi').isInteger() && quantity('1536Mi').isInteger() && quantity('1e3').asInteger() == 1000
        !quantity('500m').add(quantity('500m')).isInteger() && quantity('1').sub(1).isInteger()
        quantity('1n').compareTo(quantity('0.1n')) == 0 && sign(quantity('-0.1n')) == -1 && sign(quantity('0')) == 0
        isQuantity('1.3Gi') && isQuantity('-5') && isQuantity('1E3') && isQuantity('1E') && !isQuantity('1,3G') && !isQuantity('')
        !isQuantity('10000k m') && !isQuantity('10Mo') && !isQuantity('10Mm') && !isQuantity('1.2.3')
    """,
    "addresses": """
        ip('2001:db8:0::68') == ip('2001:db8::68') && string(ip('2001:DB8::68')) == '2001:db8::68'
        ip.isCanonical('127.0.0.1') && !ip.isCanonical('2001:DB8::ABCD') && ip.isCanonical('2001:db8::abcd')
        !isIP('127.0.0.1.0') && !isIP('192.168.0.0/24') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%en0') && !isIP('010.0.0.1')
        ip('0.0.0.0').isUnspecified() && ip('127.0.0.1').isLoopback() && ip('::1').isLoopback()
        ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast() && !ip('224.0.1.1').isLinkLocalMulticast()
        ip('169.254.169.254').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast() && ip('192.168.0.1').isGlobalUnicast()
        !ip('255.255.255.255').isGlobalUnicast() && ip('2001:db8::abcd').isGlobalUnicast() && !ip('ff00::1').isGlobalUnicast()
        cidr('192.168.0.0/24').containsIP(ip('192.168.0.255')) && !cidr('192.168.0.0/24').containsIP('192.168.1.1')
        cidr('192.168.0.0/24').containsCIDR('192.168.0.0/25') && !cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/23'))
        cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24') && cidr('192.168.0.1/24') != cidr('192.168.0.0/24')
        cidr('192.168.0.1/24').ip() == ip('192.168.0.1') && cidr('::1/128').prefixLength() == 128
        !cidr('2001:db8::/32').containsIP('192.168.0.1') && !isCIDR('192.168.0.0/33') && !isCIDR('192.168.0.0')
    """,
    "versions": """
        isSemver('1.2.3-beta.1+build.1') && !isSemver('v1.0.0') && !isSemver('1.0') && !isSemver('01.1.0') && !isSemver('1.0.0-01')
        isSemver('v1.0', true) && isSemver('01.01.01', true) && !isSemver('1.0-beta', true)
        semver('1.0.0-alpha').isLessThan(semver('1.0.0-alpha.1')) && semver('1.0.0-alpha.1').isLessThan(semver('1.0.0-alpha.beta'))
        semver('1.0.0-beta.2').isLessThan(semver('1.0.0-beta.11')) && semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))
        semver('1.2.3+build.1') == semver('1.2.3+build.2') && semver('1.2.3').compareTo(semver('2.0.0')) < 0
        semver('v01.2', true).minor() == 2 && semver('10.11.12').patch() == 12
    """,
    "named formats": """
        !format.dns1123Label().validate('my-label-name').hasValue() && format.dns1123Label().validate('My').hasValue()
        !format.dns1123LabelPrefix().validate('prefix-').hasValue() && format.dns1123Label().validate('prefix-').hasValue()
        !format.dns1123Subdomain().validate('a.b-c.d').hasValue() && format.dns1123Subdomain().validate('a..b').hasValue()
        format.dns1035Label().validate('1a').hasValue() && !format.dns1035LabelPrefix().validate('a-').hasValue()
        !format.qualifiedName().validate('apps.example/my_name').hasValue() && format.qualifiedName().validate('a/b/c').hasValue()
        format.qualifiedName().validate('/name').hasValue() && format.qualifiedName().validate('example.com/').hasValue()
        !format.labelValue().validate('').hasValue() && format.labelValue().validate('-a').hasValue()
        format.labelValue().validate('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').value() == ['must be no more than 63 characters']
        !format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue() && format.uuid().validate('123').hasValue()
        !format.byte().validate('aGVsbG8gd29ybGQ=').hasValue() && format.byte().validate('aGVsbG8gd29ybG').hasValue()
        !format.date().validate('2021-01-01').hasValue() && format.date().validate('2021-13-01').hasValue()
        !format.datetime().validate('2021-01-01T00:00:00Z').hasValue() && format.datetime().validate('2021-01-01').hasValue()
        !format.uri().validate('https://example.com/a?b#c').hasValue() && format.uri().validate('no-scheme').hasValue()
        format.named('dns1123Label').value() == format.dns1123Label() && !format.named('dns1123LabelX').hasValue()
    """,
    "text": r"""
        'ta©o©aT'.indexOf('©a', 3) == 4 && 'ta©o©aT'.indexOf('©a', 5) == -1 && ''.lastIndexOf('@@') == -1
        'bananananana'.lastIndexOf('nana', 7) == 6 && 'hello wello'.lastIndexOf('ello', 6) == 1
        'hello hello'.replace('', '_') == '_h_e_l_l_o_ _h_e_l_l_o_' && 'hello'.replace('h', '', 0) == 'hello'
        'hello world'.split('', 3) == ['h', 'e', 'llo world'] && 'hello'.split('x', 0) == [] && ''.split('') == []
        'ta©o©aT'.substring(2, 6) == '©o©a' && 'ta©o©aT'.substring(7) == '' && 'tacocat'.charAt(7) == ''
        '\u0085\u00a0\u2003text\u3000'.trim() == 'text' && '\u200btext'.trim() == '\u200btext'
        strings.quote('first\nsecond\t"quoted"') == '"first\\nsecond\\t\\"quoted\\""'
        ['x', '', 'y'].join('-') == 'x--y' && [].join() == '' && 'TacoCÆt'.lowerAscii() == 'tacocÆt'
        '%d %s %.2f%%'.format([7, 'of', 12.345]) == '7 of 12.35%' && '%b %o %x %X'.format([5, 8, 'Hi', 255]) == '101 10 4869 FF'
        '%s %s'.format([[1, 'a', 2.5], {'k': true, 'a': null}]) == '[1, "a", 2.500000] {"a":null, "k":true}'
        '%s %s'.format([duration('90m'), timestamp('2026-02-03T23:31:20Z')]) == '5400s 2026-02-03T23:31:20Z'
        'registry.example/a:v1.2'.find('v[0-9.]+') == 'v1.2' && 'abc'.find('x') == '' && '123 abc 456'.findAll('[0-9]+', 1) == ['123']
    """,
    "lists, maps and macros": """
        [5, 1, 3].sort() == [1, 3, 5] && ['b', 'a'].isSorted() == false && [timestamp(1), timestamp(0)].max() == timestamp(1)
        [1, 2, 3, 4].slice(0, 2) == [1, 2] && [1, 2].slice(2, 2) == [] && [[1], [2, 3]].flatten() == [1, 2, 3]
        [[[1]], [[2]]].flatten(2) == [1, 2] && [dyn(1), dyn([dyn(2), dyn([3])])].flatten() == [dyn(1), dyn(2), dyn([3])]
        ['foo', 'baz', 'ba'].sortBy(s, s.size()) == ['ba', 'foo', 'baz'] && [dyn(1), dyn(1.0), dyn(2)].distinct() == [1, 2]
        sets.contains([], []) && sets.contains([1], []) && !sets.intersects([1], []) && sets.equivalent([1, 1], [1])
        sets.contains([[1], [2, 3]], [[2, 3]]) && sets.intersects([dyn(1u)], [dyn(1.0)])
        {'a': 1, 'b': 2}.transformList(k, v, k + string(v)).all(s, s in ['a1', 'b2']) && [1, 2].transformMap(i, v, i > 0, v) == {1: 2}
        ['k1=v1', 'k2=v2'].transformMapEntry(i, s, {s.split('=')[0]: s.split('=')[1]}) == {'k1': 'v1', 'k2': 'v2'}
        {'tacocat': 1}.exists_one(k, v, k.size() == 7 && v == 1) && ![1, 1].existsOne(i, v, v == 1)
        [1, 2, 3].exists(x, x / 0 == 1 || x == 2) && ![1, 2, 3].all(x, x / 0 == 1 && x < 2)
    """,
    "optional values": """
        {'a': {'b': 1}}[?'a'][?'b'].value() == 1 && !{'a': 1}.?b.hasValue() && object.?labels[?'team'].orValue('') == 'nlp'
        object.labels.`app.kubernetes.io/name` == 'llm' && !has(object.labels.`app/x`) && object.labels.?`a b`.orValue('-') == '-'
        optional.of(optional.none()).hasValue() && optional.ofNonZeroValue(dyn(0)).or(optional.of(dyn(5))).value() == 5
        [1, ?optional.none(), ?optional.of(3)] == [1, 3] && {?'c': optional.of(1), ?'d': optional.none()} == {'c': 1}
        optional.of([10, 20])[?1].optMap(v, v + 1).value() == 21 && !optional.none().optFlatMap(v, optional.of(v)).hasValue()
    """,
    "numbers and times": """
        dyn(9223372036854775807) == 9223372036854775808.0 && !(dyn(9223372036854775807) < 9223372036854775808.0)
        dyn(18446744073709551615u) > 9223372036854775807 && dyn(1) < 1.5 && -5 / 3 == -1 && -5 % 3 == -2
        1 / 2 * 2 == 0 && 9223372036854775807 - 1 == 9223372036854775806 && int(-3.9) == -3
        duration('1h') + timestamp('2026-12-31T23:30:00Z') == timestamp('2027-01-01T00:30:00Z')
        timestamp('2009-02-13T23:31:30Z').getHours('-09:30') == 14 && timestamp('2009-02-13T23:31:30Z').getDayOfMonth('+11:00') == 13
        timestamp('2009-02-13T23:31:20.123456789Z').getMilliseconds() == 123 && duration('123.321456789s').getMilliseconds() == 123321
        string(1.25e-7) == '1.25e-07' && string(123u) == '123' && double('-0.5') == -0.5 && bool('f') == false
    """,
}  # fmt: skip
TRUE_LINES = [(area, line.strip()) for area, lines in TRUE.items() for line in lines.strip().splitlines()]

ERRORS = {
    "quantity(object.cpu).asInteger() <= 8": "cannot convert value to integer",
    "quantity('10Mo') == quantity('1')": "quantities must match the regular expression",
    "quantity('10Mm') == quantity('1')": "unable to parse quantity's suffix",
    "ip('fe80::1%eth0') == ip('fe80::1')": "with zone value is not allowed",
    "ip('::ffff:192.168.0.1').family() == 4": "IPv4-mapped IPv6 address",
    "cidr('192.168.0.0') == cidr('::/0')": "network address parse error",
    "semver('1.0') == semver('1.0.0')": "No Major.Minor.Patch elements found",
    "semver('1.0-beta', true).major() == 1": "short version cannot contain PreRelease/Build meta data",
    "[1, 2, 3].slice(0, 4) == []": "cannot slice(0, 4), list is length 3",
    "[1, 2, 3].slice(2, 1) == []": "start index must be less than or equal to end index",
    "[[1]].flatten(-1) == []": "level must be non-negative",
    "[dyn(1), dyn('a')].sort() == []": "list elements must have the same type",
    "[object.labels].min() == 1": "no such overload",
    "'tacocat'.charAt(30) == ''": "index out of range: 30",
    "'tacocat'.substring(4, 3) == ''": "invalid substring range. start: 4, end: 3",
    "'tacocat'.substring(40) == ''": "index out of range: 40",
    "optional.none().value() == 1": "optional.none() dereference",
    "object.labels.absent == 'a'": "no such key: absent",
    "object.nothing.name == 'a'": "no such key: name",
    "object.images[2] == 'a'": "index out of bounds: 2",
    "{'a': 1}.transformMapEntry(k, v, {'x': 1}) == {} || [1, 1].transformMapEntry(i, v, {v: i}) == {}": "insert failed: key 1 already exists",
    "9223372036854775807 + object.count > 0": "integer overflow",
    "object.count / 0 == 1": "division by zero",
    "[true, false].exists_one(b, b || object.labels.x == '')": "no such key: x",
}  # fmt: skip

REFUSED = {
    "isQuantity([1, 2, 3])": "found no matching overload for 'isQuantity'",
    "quantity('1') < quantity('2')": "found no matching overload for '_<_'",
    "quantity('1') + quantity('2') == quantity('3')": "found no matching overload for '_+_'",
    "cidr('10.0.0.0/8').containsIP(1)": "found no matching overload for 'containsIP'",
    "isIP(cidr('192.168.0.0/24'))": "found no matching overload for 'isIP'",
    "semver(1).major() == 1": "found no matching overload for 'semver'",
    "format.dns1123label().validate('a').hasValue()": "undeclared reference to",
    "[1, 2.0].distinct() == [1]": "expected type 'int' but found 'double'",
    "['a'].sum() == 'a'": "found no matching overload for 'sum'",
    "[[1], [2]].sort() == []": "found no matching overload for 'sort'",
    "'abc'.transformList(i, c, c) == []": "cannot be range of a comprehension",
    "[1].transformMap(i, i, i) == {}": "duplicate variable name: i",
    "[1].sortBy(object.x, 1) == [1]": "must be a simple name",
    "'%s %d'.format(['a', 'b']) == ''": "decimal clause can only be used on integers",
    "timestamp('2009-13-01T00:00:00Z') == timestamp(0)": "type conversion error",
    "object.images.all(i, i.matches('(?=a)b'))": "is not a regular expression",
    "duration('1w') == duration('7d')": "type conversion error",
    "object.metadata.`a:b` == 1": "syntax error",
}


@pytest.mark.parametrize(("area", "text"), TRUE_LINES, ids=[f"{area}: {line[:50]}" for area, line in TRUE_LINES])
def test_an_expression_holds(area: str, text: str) -> None:
    pytest.importorskip("re2")
    assert value(text) is True, area


@pytest.mark.parametrize(("text", "why"), ERRORS.items(), ids=list(ERRORS))
def test_an_evaluation_fails(text: str, why: str) -> None:
    with pytest.raises(EvaluationError) as error:
        value(text)
    assert why in str(error.value)


@pytest.mark.parametrize(("text", "why"), REFUSED.items(), ids=list(REFUSED))
def test_a_policy_is_refused(text: str, why: str) -> None:
    pytest.importorskip("re2")
    with pytest.raises(InvalidExpressionError) as error:
        NAMES.compile(text)
    assert why in str(error.value)
