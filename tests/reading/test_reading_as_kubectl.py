"""The same text to kubectl and to trainc: where both read it, they read the same; where they differ, it is meant."""

from __future__ import annotations

import json

import pytest
from kubectl import HEAD, Kubectl, KubectlRefusedError, as_json_numbers, body_of
from reading import data_of, read

SAME = """\
d: {1: x, true: y, no: t}
d: {0x10: h, 2026-01-01: d, ! 1: s, !!str 2: t}
d: {a: 1, <<: {a: 2}}
d: {<<: {a: 2}, a: 1}
d: {<<: [{a: 2}, {a: 3, b: 4}]}
d: {'<<': 3, e: <<}
d: {!!merge <<: {a: 1}}
d: [&a 1, *a, &a 2, *a]
d: {&k key: 1, e: *k}
d: [&a, *a]
d: !!str 12
d: [!!str ~, !!str '', ! 12, ! '12', !<tag:yaml.org,2002:str> 12, !!str &a 12, &b !!str 12]
d: [!!map {a: 1}, !!seq [a]]
d: [a:b, http://x:80/, -, 'a':b, "c":d]
d: {a:b, u: http://x:80/y, "a":1, 'b' : c, e, f: }
d: {?foo: bar}
d: [1, 2, ]
d: [a#b, a #comment
  ]
d: a # b # c
d: a# b
d: a%b
d: [[[[]]], {}, '', ""]
d: "\\x41\\u00e9\\N\\_\\L\\P\\e\\a\\U0001f600\\
  joined \\
  \\ kept"
d: "a\u2028b"
d: a\u00a0b\ufeffc
d: 'it''s

  folded'
d: a b
   c

   d
d: >-
  a
  b

  c
   d
d: >+
 a

d: |2
   x
d: |1-
 a
d: | # comment
  a
 # comment
d: |+
  x

d: |

  a

   b
  c
d:
- a
- - b
  - c
-   d: e
    f: g
-
  h
-
-
  - i
d:
    a:
        b
    c: d
? d
: e
d: &a
  b: c
e: *a
f: {<<: *a, y: 2}
g: {<<: [*a, {b: 3, z: 4}]}
h: {b: 5, <<: *a}"""


def bodies() -> list[str]:
    """SAME, cut before each line that begins an object's field `d`."""
    found: list[str] = []
    for line in SAME.replace("\n? d\n", "\nd? d\n").split("\n"):
        if line.startswith(("d:", "d?")):
            found.append("")
        found[-1] += line.removeprefix("d") + "\n" if line.startswith("d?") else line + "\n"
    return found


@pytest.mark.parametrize("body", bodies())
def test_a_body_reads_as_kubectl_reads_it(kubectl: Kubectl, body: str) -> None:
    [data] = data_of(HEAD + body)
    assert as_json_numbers(body_of(data)) == as_json_numbers(kubectl.read_body(body))


@pytest.mark.parametrize(
    "body",
    [
        "d: {~: x}",
        "d: {[a]: x}",
        "d: {{a}}",
        "d: {18446744073709551615: x}",
        "d: {<<: 3}",
        "d: {<<: [3]}",
        "d: {<<: }",
        "d: &l [{a: 1}]\ne: {<<: *l}",
        "d: &a [*a]",
        "d: *x",
        "d: {a: *b, c: &b 1}",
        "d: .inf",
        "d: -.INF",
        "d: .nan",
        "d: !!int abc",
        "d: !!int 1.5",
        "d: !!int 1e3",
        "d: !!int ' 1'",
        "d: !!float ''",
        "d: !!bool 1",
        "d: !!null x",
        "d: !!binary '%%'",
        "d: %foo",
        "%d: foo",
        "d: a: b",
        "d: - a",
        "d: [- a]",
        "d: [a, , b]",
        "d: @a",
        "d: `a",
        'd: "x" y',
        "d: 'x",
        "d: [a",
        "d:x",
        "d:\n  a: 1\n b: 2",
        "d: |\n\tx",
        "d:\n  - a\n\t- b",
        "d: &a.b x",
        "d: |0\n a",
        "d: ?",
        'd: "\\x"',
        'd: "\\ud83d\\ude00"',
        "d: a\x7fb",
        "d: a\x85b",
        "d: \x00",
        "--- {a: b}",
        "-----",
    ],
)
def test_what_kubectl_refuses_is_refused(kubectl: Kubectl, body: str) -> None:
    with pytest.raises(KubectlRefusedError):
        kubectl.read(f"{HEAD}{body}\n")
    _, diagnostics = read(f"{HEAD}{body}\n")
    assert diagnostics


@pytest.mark.parametrize(
    ("body", "code", "theirs"),
    [
        ("d: {a: 1, a: 2}", "DuplicateKey", {"a": 2}),
        ("d: !mine x", "UnsupportedTag", "x"),
        ("d: !mine [x]", "UnsupportedTag", ["x"]),
        ("d: !!set {x}", "UnsupportedTag", {"x": None}),
        ("d: !!timestamp 2001-01-01", "UnsupportedTag", "2001-01-01"),
        ("d: !!binary aGVsbG8=", "UnsupportedTag", "hello"),
        ("d: !!int '12'", "UnsupportedTag", 12),
        ("d: {1.5: q}", "UnsupportedKey", {"1.5": "q"}),
        ("d: {.inf: x}", "UnsupportedKey", {".inf": "x"}),
        ("d: [a:]", "YAMLSyntax", ["a:"]),
    ],
)
def test_where_trainc_is_stricter(kubectl: Kubectl, body: str, code: str, theirs: object) -> None:
    assert kubectl.read_body(f"{body}\n") == {"d": theirs}
    _, [error] = read(f"{HEAD}{body}\n")
    assert error.code == code


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "--- # comment\n" + HEAD,
        HEAD + "...\n---\n" + HEAD,
        "null\n---\n" + HEAD,
        HEAD + "d: |\n  no line end",
        (HEAD + "d: |\n  x\n  y\n").replace("\n", "\r\n"),
        (HEAD + "d: |\n  x\n").replace("\n", "\r"),
        b"\xef\xbb\xbf" + HEAD.encode() + b"---\n\xef\xbb\xbf" + HEAD.encode(),
        (HEAD + "d: \u00e9\n").encode("utf-16"),
        b"\xfe\xff" + (HEAD + "d: \U0001f600").encode("utf-16-be"),
        f"apiVersion: v1\nkind: List\nitems:\n- {json.dumps(data_of(HEAD)[0])}\n",
        "apiVersion: a/v1\nkind: SampleList\nitems:\n- {metadata: {name: a}}\n",
        '{"apiVersion":"v1","kind":"A","metadata":{"name":"\\ud83d\\ude00\\/"}}{"apiVersion":"v1","kind":"B","metadata":{}}',
        '{"apiVersion":"v1","kind":"A","metadata":{"name":"a\u2028b"}}\n---\n' + HEAD,
        '{"apiVersion":"v1","kind":"A","metadata":{},"d":[1.0,1e3,9223372036854775808,0.1,-0,1E5]}\n',
        '{"apiVersion":"v1","kind":"A","metadata":{},"d":[1,]}\n',
        '{"apiVersion":"v1","kind":"A","metadata":{},"d":NaN}\n',
        "{apiVersion: v1, kind: A, metadata: {}}\n",
    ],
)
def test_a_file_reads_as_kubectl_reads_it(kubectl: Kubectl, text: str | bytes) -> None:
    assert as_json_numbers(data_of(text)) == as_json_numbers(kubectl.read(text))
