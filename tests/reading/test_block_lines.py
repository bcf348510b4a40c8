"""The quick reader and the strict one: what it reads, it reads the same; what it does not, it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from kubectl import HEAD, Kubectl, as_json_numbers, body_of

import trainc
from trainc.options import Limits
from trainc.reading.block_lines import read_lines
from trainc.reading.document import Chunk
from trainc.reading.libyaml import read_strictly
from trainc.reading.yaml_reader import Positions

REPOSITORY = Path(trainc.__file__).parents[2]
VALUES = (
    *(
        "",
        "x",
        "a b",
        "8",
        "0400",
        "1e3",
        "0x1F",
        "1_000",
        "-1",
        "+.5",
        "2.0",
        "96Gi",
        "500m",
        "yes",
        "No",
        "~",
        "null",
    ),
    *(
        "'a: b'",
        '"a # b"',
        "'it''s'",
        '"\\n"',
        "'open",
        '"a" b',
        "a # c",
        "a #c",
        "a# c",
        "#c",
        "a: b",
        "a:",
        ":a",
        "- a",
    ),
    *(
        "-",
        "--",
        "---",
        "-x",
        "...",
        "?",
        "? a",
        "&a b",
        "*a",
        "!t x",
        "%x",
        "@x",
        "`x",
        "<<",
        "=",
        "$(A)",
        "${A}",
        "a\\b",
    ),
    *(
        "[]",
        "{}",
        "[a, b]",
        "[a, 'b, c', 1]",
        "[a b]",
        "[a",
        "[a]]",
        "{a: b}",
        "{a: b, a: c}",
        "{a}",
        "{a:}",
        "{a: [b, {c: d}]}",
    ),
    *(
        "[a, ]",
        "[,]",
        "[ -, -a]",
        "[http://a/b:1]",
        "[a:, b]",
        "{y: z}",
        "{'a': b}",
        "[a] # c",
        "[a]#c",
        "[a]x",
        "[[1], {}]",
        "[a b, c  d]",
        "{a: b c, 'd': e}",
        '{"2.0": [a - b]}',
        "[a #b]",
        "[a#b, c]",
        "[#a]",
    ),
    *(
        "|",
        "|-",
        "|+",
        "|2",
        ">",
        ">-",
        "| # c",
        "\u00e9",
        "a\u00a0b",
        "a\u2028b",
        "\ufeffa",
        "x\ty",
        "  x  ",
        ".inf",
        "a\x85",
    ),
)
KEYS = (
    "a",
    "b",
    "c",
    "kind",
    "a/b",
    "a.b-c",
    "nvidia.com/gpu",
    "y",
    "null",
    "1",
    "-a",
    "a b",
    "'a'",
    '"a"',
    '"2.0"',
    "'a b'",
    '"y"',
    '""',
    '"<<"',
    '"a: b"',
    "<<",
    "a:b",
    "$a",
)
LINES = st.builds(
    lambda indent, dashes, key, value: f"{' ' * indent}{dashes}{key}{value}".rstrip("\r"),
    st.sampled_from((0, 0, 1, 2, 2, 3, 4, 4, 6)),
    st.sampled_from(("", "", "", "- ", "- ", "-   ", "- - ", "-")),
    st.sampled_from(("", "", *(f"{key}: " for key in KEYS), *(f"{key}:" for key in KEYS), "a : ", "a:  ")),
    st.sampled_from(VALUES),
)
TEXTS = st.lists(LINES | st.sampled_from(("", "  ", "# c", "   # c", "...", "--- x")), max_size=9).map("\n".join)


def carefully(text: str, depth: int = 100) -> Any:
    value, problems = read_strictly(Chunk(text, "jobs.yaml"), Limits(depth=depth))
    assert problems == []
    return value


@given(TEXTS, st.sampled_from((100, 2)))
@example("a:\n- b\n-  c: d\n   e:\n   - f\ng: |\n\n  x\n   y\n\nh: |+\n x\n\n", 100)
@example("a: |\n   x\n  y\nb: c", 100)
@example("a: |\n  x\n    \nb: c", 100)
@example("a:\n  b: [c, {d: e}]", 3)
@example("a:\n  b: [c, {d: e}]", 4)
@example("a:\n-   b:   {c: [1,  {d: e}], f: 'g'}  # h\n- - i\n", 100)
def test_what_it_reads_it_reads_as_the_careful_reader_does(lines: str, depth: int) -> None:
    text = f"{lines}\n"
    try:
        value = read_lines(text, depth)
    except ValueError:
        return
    assert repr(value) == repr(carefully(text, depth))  # As text: 1, 1.0 and true are equal to Python.
    assert_same_places(text, value)


class Careful(Positions):
    """Positions as the careful reader has them."""

    def _read(self) -> None:
        self._root = self._compose()


def assert_same_places(text: str, value: Any) -> None:
    quick, careful = (kind(Chunk(text, "jobs.yaml"), Limits()) for kind in (Positions, Careful))
    for path in paths_in(value, ()):
        assert quick.find(path) == careful.find(path), path


def paths_in(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Every path of a value, and for each one that does not exist below it."""
    yield from (path, (*path, "missing"), (*path, 99))
    for step, inner in (
        value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    ):
        yield from paths_in(inner, (*path, step))


# Lines of which several make a document often enough; kubectl gives tabs, odd line ends and doubled keys meanings of its own.
PIECES = [
    f"{indent}{dash}{key}{value}"
    for indent in ("", "  ")
    for dash in ("", "- ")
    for key in ("", "a: ", "b: ", "c/d.e-f: ")
    for value in VALUES
    if value.isprintable() and (key or dash)
]


PLAIN_VALUES = st.sampled_from(VALUES[:18]) | st.from_regex(r"[a-z][a-z0-9./:-]{0,8}[a-z0-9]", fullmatch=True)
TREES = st.recursive(
    PLAIN_VALUES,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.sampled_from(("a", "spec", "x-y", "a.b/c", "name")), inner, min_size=1, max_size=3)
    ),
    max_leaves=12,
)


def written(tree: Any, indent: int, step: int) -> str:
    """A tree as people write one; the texts at its leaves stand as they are."""
    spaces = " " * indent
    if isinstance(tree, dict):
        return "".join(f"{spaces}{key}:{below(value, indent, step)}" for key, value in tree.items())
    if isinstance(tree, list):
        return "".join(f"{spaces}- {item(value, indent)}" for value in tree)
    return f"{spaces}{tree}\n"


def below(value: Any, indent: int, step: int) -> str:
    if isinstance(value, str):
        return f" {value}\n"
    return "\n\n" + written(value, indent + (step if isinstance(value, dict) else 0), step)


def item(value: Any, indent: int) -> str:
    return f"{value or '~'}\n" if isinstance(value, str) else written(value, indent + 2, 2).lstrip(" ")


@given(st.dictionaries(st.sampled_from(("kind", "spec")), TREES, min_size=1), st.sampled_from((1, 2, 4)))
def test_it_reads_whatever_is_written_plainly(tree: dict[str, Any], step: int) -> None:
    text = written(tree, 0, step)
    assert repr(read_lines(text, 100)) == repr(carefully(text))
    assert_same_places(text, carefully(text))


def test_kubectl_reads_the_same(kubectl: Kubectl) -> None:
    """Hundreds of small documents in one call."""
    random = Random(0)
    read: list[Any] = []
    text = HEAD
    for number in range(2000):
        lines = [random.choice(PIECES) for _ in range(random.randint(1, 4))]
        body = f"d{number}:\n" + "".join(f"  {line}\n" for line in lines)
        try:
            read.append((f"d{number}", read_lines(body, 100)[f"d{number}"]))
        except ValueError:
            continue
        text += body
    assert len(read) > 300
    assert as_json_numbers(body_of(kubectl.read(text)[0])) == as_json_numbers(dict(read))


@pytest.mark.parametrize("path", sorted((REPOSITORY / "runtimes").rglob("*.yaml")), ids=lambda path: path.stem)
def test_it_reads_every_runtime_of_the_catalog(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert repr(read_lines(text, 100)) == repr(carefully(text))
    assert_same_places(text, carefully(text))


def test_it_reads_most_of_what_the_tests_compile() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "tests" / "cases").glob("*.yaml"))]
    documents = [f"{part}\n" for text in texts for part in text.split("\n---\n")]
    assert sum(map(is_plain, documents)) > 0.9 * len(documents)


def is_plain(text: str) -> bool:
    try:
        read_lines(text, 100)
    except ValueError:
        return False
    return True
