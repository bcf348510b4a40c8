"""Values of expressions as a Kubernetes 1.36 API server's own library computes them."""

from __future__ import annotations

from typing import Any

import pytest
from tables import cases

from trainc.features.cluster.policies.cel import (
    Budget,
    CostExceededError,
    Evaluation,
    EvaluationError,
    Unknown,
    UnknownError,
)
from trainc.features.cluster.policies.cel.syntax import parse

OBJECT: dict[str, Any] = {
    "name": "llm",
    "numbers": [1, 2, 3],
    "float": 1.5,
    "nothing": None,
    "secret": Unknown("only the cluster knows it"),
}


def value(text: str, steps: int = 10_000) -> Any:
    return Evaluation(Budget(steps)).value(
        parse(text), {"object": OBJECT, "authorizer": Unknown("it asks the authorizer")}
    )


TRUE = r"""
string(1.0) == '1' && string(123456789.0) == '1.23456789e+08' && string(100000.0) == '100000' && string(-0.00001) == '-1e-05'
string(1e100) == '1e+100' && string(0.1 + 0.2) == '0.30000000000000004' && string(0.5) == '0.5'
string(duration('1h30m')) == '5400s' && string(duration('-1500ms')) == '-1.5s' && string(duration('1ns')) == '0.000000001s'
string(timestamp('2026-01-01T00:00:00.5+02:00')) == '2026-01-01T00:00:00.5+02:00' && string(b'a') == 'a'
duration('1.5s').getMilliseconds() == 1500 && duration('1h1m1s').getSeconds() == 3661 && duration('-90m').getHours() == -1
timestamp('2026-03-01T12:00:00Z').getDayOfYear() == 59 && timestamp('2026-03-01T12:00:00Z').getDayOfWeek() == 0
timestamp('2026-03-01T23:00:00Z').getDate('02:00') == 2 && timestamp('2026-03-01T00:00:00Z').getHours('-02:00') == 22
timestamp('2026-03-01T00:00:00Z').getMonth() == 2 && timestamp(0) == timestamp('1970-01-01T00:00:00Z')
timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') == duration('24h') && int(duration('1s')) == 1000000000
int('-7') == -7 && int(7.9) == 7 && uint('7') == 7u && double('1e3') == 1000.0 && bool('True') && int(timestamp(5)) == 5
type(1u) == uint && type(1.0) == double && type(b'') == bytes && type(null) == null_type && type(type(1)) == type
type(duration('1s')) == google.protobuf.Duration && type([1]) == list && type(object) == map && type(ip('::1')) == net.IP
type(quantity('1')) == type(quantity('2')) && type(optional.none()) == optional_type
dyn(1) == dyn(1.0) && dyn(1u) == dyn(1) && !(dyn(1) == dyn(true)) && dyn(1) != dyn('1')
1 < 2.5 && 3u > 2 && 1.0 <= 1u && 'a' < 'b' && false < true && b'a' < b'b' && duration('1s') < duration('2s')
1.0 / 0.0 > 1e300 && 7 / -2 == -3 && -7 % 3 == -1 && -9223372036854775808 < 0
[1, 2][dyn(1.0)] == 2 && {1: 'a'}[dyn(1.0)] == 'a' && dyn(1.0) in [1] && !(dyn(true) in {1: 2})
has(object.numbers) && !has(object.name.x) && !has(object.nothing.x) && object.?name.?x.hasValue() == false
has(object.secret) && object.?secret.hasValue() && 'secret' in object
[?object.?name, ?object.?nope].size() == 1 && {?'a': object.?nope}.size() == 0 && {'a': 1, 'a': 2} == {'a': 2}
optional.of([1])[0].value() == 1 && optional.of({'a': 1}).?b.orValue(3) == 3 && dyn(object.name.orValue(1)) == 'llm'
optional.ofNonZeroValue('').hasValue() == false && optional.of(1).or(optional.of(2)).value() == 1
optional.of(1).optFlatMap(x, optional.of(x + 1)).value() == 2 && [optional.of(1), optional.none()].unwrapOpt() == [1]
[1, 2].first().value() == 1 && [].last().hasValue() == false && optional.unwrap([optional.of(1)]) == [1]
[1, 2, 3].all(i, v, v == i + 1) && {'a': 1}.exists(k, v, k == 'a' && v == 1) && [5, 6].existsOne(i, v, i == 1 && v == 6)
{'a': 1}.transformMap(k, v, v > 0, v + 1) == {'a': 2} && [5, 6].transformMap(i, v, v) == {0: 5, 1: 6}
{'a': 'b'}.transformMapEntry(k, v, {v: k}) == {'b': 'a'} && [5, 6].transformList(i, v, i > 0, v) == [6]
[3, 1, 2].sort() == [1, 2, 3] && ['b', 'a'].sort() == ['a', 'b'] && [1, 2, 3].sortBy(x, -x) == [3, 2, 1]
[[1], [2, 3]].flatten() == [1, 2, 3] && [[1], [2]].flatten(2) == [1, 2] && object.numbers.flatten() == [1, 2, 3]
['b', 'a', 'b'].distinct() == ['b', 'a'] && [1, 2, 3].slice(1, 3) == [2, 3] && [1, 2].reverse() == [2, 1] && lists.range(3) == [0, 1, 2]
[1.5, 2.5].sum() == 4.0 && [1u, 2u].sum() == 3u && [duration('1s'), duration('2s')].sum() == duration('3s') && [].sum() == 0
[dyn(1), dyn('a')].min() == 1 && [dyn(1), dyn('a')].isSorted() && [true, false].max()
'abc'.indexOf('', 7) == 7 && 'aXbX'.lastIndexOf('X') == 3 && 'aXbX'.lastIndexOf('X', 2) == 1 && 'abc'.indexOf('c', 9) == -1
'abc'.replace('', '-') == '-a-b-c-' && 'a,b'.split('') == ['a', ',', 'b'] && 'a,b'.split(',', 0) == [] && strings.quote('a"\n') == '"a\\"\\n"'
'%s|%d|%x|%X|%b|%o'.format(['a', 12, 255, 'hi', true, 8]) == 'a|12|ff|6869|1|10'
'%.2f %f %s'.format([1.5, 1234567.891, 1.0]) == '1.50 1,234,567.891000 1' && '%e'.format([1200.0]) == '1.200000\u00d710⁰³'
'%s'.format([[1.0, 'a"', b'x', duration('1s'), null, {'b': 1, 'a': 2u}]]) == '[1.000000, "a\\"", b"x", duration("1s"), null, {"a":2, "b":1}]'
'%s %s %%'.format([duration('1h'), type(1)]) == '3600s int %' && '%f'.format(['NaN']) == 'NaN'
isQuantity('10000000000000000000000') && !isQuantity('1 ') && quantity('1e3').asInteger() == 1000 && sign(quantity('-2')) == -1
url('https://u:p@example.com:80/a%20b?x=1&x=2#f').getHost() == 'example.com:80' && url('HTTPS://A/b').getScheme() == 'https'
url('https://a/b c').getEscapedPath() == '/b%20c' && url('https://a/ä').getEscapedPath() == '/%C3%A4'
url('https://a/?x=1&x=2&y').getQuery() == {'x': ['1', '2'], 'y': ['']} && url('https://[::1]:8080/').getPort() == '8080'
isURL('mailto:x@y') && isURL('/a') && isURL('*') && !isURL('a') && !isURL('http://a:b/') && !isURL('http://a/%zz') && !isURL('http://a b/')
ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:DB8::1') && ip('10.0.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()
ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast() && ip('::').isUnspecified()
cidr('10.1.0.0/8').containsCIDR('10.2.0.0/16') && !cidr('10.0.0.0/8').containsIP(ip('::1')) && string(ip('::1')) == '::1'
semver('1.2.3') == semver('1.2.3+x') && semver('1.2.3-rc.9').isLessThan(semver('1.2.3-rc.10')) && semver('1.2.3-a').isLessThan(semver('1.2.3'))
semver('v1.2', true).minor() == 2 && isSemver('01.2.3') == false && isSemver('01.02.03', true) && !isSemver('1.2.3-01') && isSemver('1.2.3+01')
!format.dns1123Label().validate('a-b').hasValue() && format.dns1123Label().validate('A').hasValue() && format.named('nosuch').hasValue() == false
format.labelValue().validate('a b').value()[0].startsWith('a valid label must be') && !format.labelValue().validate('').hasValue()
format.qualifiedName().validate('/b').value() == ['prefix part must be non-empty'] && !format.qualifiedName().validate('example.com/A_b').hasValue()
!format.dns1123SubdomainPrefix().validate('a.-').hasValue() && format.dns1035Label().validate('1a').hasValue()
!format.uuid().validate('123E4567-e89b-12d3-a456-426614174000').hasValue() && format.byte().validate('aGk').hasValue() && !format.uri().validate('https://a').hasValue()
!format.date().validate('2026-02-28').hasValue() && format.date().validate('2026-02-30').hasValue() && !format.datetime().validate('2026-01-01t00:00:00z').hasValue()
quantity('1') != dyn(1) && !(dyn(1) == quantity('1')) && [dyn('a')].exists(x, x == 1) == false
"""


@pytest.mark.parametrize("text", TRUE.strip().splitlines())
def test_it_is_true(text: str) -> None:
    assert value(text) is True


ERRORS = {
    "object.numbers['a'] == 1": "unsupported index type 'string' in list",
    "object.numbers[0.5] == 1": "unsupported index value 0.5 in list",
    "object.name.x == 1": "no such key: x",
    "object.name[0] == 1": "no such key: 0",
    "0.0 / 0.0 <= 1.0": "NaN values cannot be ordered",
    "uint(0) - 1u < 1u": "unsigned integer overflow",
    "-(-9223372036854775807 - 1) > 0": "integer overflow",
    "[1, 2].slice(0, 3) == []": "cannot slice(0, 3), list is length 2",
    "{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k}) == {}": "insert failed: key 1 already exists",
    "dyn(quantity('1')) == 1": "no such overload: ==(kubernetes.Quantity, int)",
    "object.numbers.join(',') == ''": "no such overload: join(list, string)",
    "[dyn('a'), dyn(1)].join() == ''": "join: invalid input: 1",
    "[dyn(1), dyn('a')].sort() == []": "list elements must have the same type",
    "semver('1.2') == semver('1.2.0')": "No Major.Minor.Patch elements found",
    "'%d'.format([object.name]) == ''": "decimal clause can only be used on integers, was given string",
    "string(b'\\377') == ''": "invalid UTF-8 in bytes",
    "quantity('1.5').asInteger() == 1": "cannot convert value to integer",
    "object.nothing.all(x, x)": "unsupported comprehension range type: null_type",
    "duration(object.numbers[0]) == duration('1s')": "type conversion error from 'int'",
    "[?object.name] == []": "cannot initialize optional list element from non-optional value",
    "double('1_0x') == 1.0": "type conversion error from 'string' to 'double'",
}


@pytest.mark.parametrize(("text", "why"), ERRORS.items(), ids=ERRORS)
def test_it_is_an_error_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(EvaluationError) as error:
        value(text)
    assert why in str(error.value)


@cases("text")
def test_what_only_a_cluster_knows_is_neither_true_nor_an_error(text: str) -> None:
    with pytest.raises(UnknownError):
        value(text)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("object.secret == 1 || true", True),
        ("object.secret == 1 && false", False),
        ("[1, 2].exists(x, object.secret == x || x == 2)", True),
        ("object.name == 'llm' ? 1 : object.secret", 1),
    ],
)
def test_what_decides_without_it_decides(text: str, result: object) -> None:
    assert value(text) == result


@pytest.mark.parametrize(
    "text",
    [
        "lists.range(9223372036854775807).size() == 0",
        "lists.range(50000).sort().size() == 0 && lists.range(50000).distinct().size() == 0",
        "'%s'.format([lists.range(9000).map(x, lists.range(90))]) == ''",
        "[1, 2, 3].transformMap(i, v, lists.range(9000).map(x, 'aaaaaaaaaa')).size() == 0",
    ],
)
def test_what_grows_uses_up_its_steps(text: str) -> None:
    with pytest.raises(CostExceededError):
        value(text)
