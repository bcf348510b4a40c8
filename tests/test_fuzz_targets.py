"""The fuzz targets, without the fuzzer: on their seeds, on what was found before, and on some thousand changes."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, strategies as st

from fuzz import scalars
from fuzz.mutation import mutated
from fuzz.seeds import seeds
from fuzz.targets.commands import JOB, run
from trainc.reading.block_lines import NotFiniteError, plain

pytestmark = pytest.mark.slow

TARGETS = ("cel", "merge", "pipeline", "quantity", "reader", "rewriting", "shell", "templates")
FINDINGS = sorted(
    path for path in (Path(__file__).parents[1] / "tools" / "fuzz" / "findings").rglob("*") if path.is_file()
)


def check_of(target: str) -> Callable[[bytes], None]:
    check: Callable[[bytes], None] = importlib.import_module(f"fuzz.targets.{target}").check
    return check


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda path: f"{path.parent.name}: {path.name}")
def test_what_was_found_before_is_fixed(finding: Path) -> None:
    check_of(finding.parent.name)(finding.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_accepts_its_seeds(target: str) -> None:
    found = list(seeds(target))
    assert found
    for seed in found:
        check_of(target)(seed)


@pytest.mark.parametrize(
    "seed", [b"\0" + JOB.replace("llm", "other").encode(), *(s for s in seeds("commands") if s[:1] in b"\1\10")][:3]
)
def test_good_documents_get_past_the_words_of_the_commands(
    seed: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert {command: text for command, (status, text) in run(seed).items() if status not in (0, 1)} == {}


@pytest.mark.parametrize("part", range(4))
def test_documents_that_are_changed_compile_or_are_refused(part: int) -> None:
    for number, seed in enumerate(seeds("pipeline")):
        check_of("pipeline")(seed[:1] + mutated(seed[1:], number * 4 + part))


@pytest.mark.parametrize("part", range(4))
def test_documents_that_are_changed_are_rewritten_or_refused(part: int) -> None:
    for number, seed in enumerate(seeds("rewriting")):
        check_of("rewriting")(str(part).encode() + mutated(seed[1:], number * 4 + part))


@pytest.mark.parametrize("part", range(4))
def test_templates_that_are_changed_render_or_are_refused(part: int) -> None:
    known = [word for seed in seeds("templates") for word in re.findall(rb"\w+|\W", seed)]
    for number, seed in enumerate(seeds("templates")):
        random = Random(number * 4 + part)
        words = re.findall(rb"\w+|\W", seed)
        for _ in range(4):
            words[random.randrange(len(words))] = random.choice(known)
        check_of("templates")(b"".join(words))


@pytest.mark.parametrize("part", range(4))
def test_text_that_is_changed_is_read_in_one_way(part: int) -> None:
    for number, seed in enumerate(seeds("reader")):
        random = Random(number * 4 + part)
        text = bytearray(seed)
        for _ in range(3):
            text[random.randrange(len(text))] = random.choice(b"\n\n  :-#'\"{}[]|>&*!%0aA~\x00\xff")
        check_of("reader")(bytes(text))


@given(st.lists(st.from_regex(r"[-+]?[0-9.]{1,20}([eE][-+]?[0-9]{1,3}|[numkMGTPE]i?)?", fullmatch=True), max_size=5))
def test_quantities_are_what_fractions_say(texts: list[str]) -> None:
    check_of("quantity")("\n".join(texts).encode())


@given(st.binary(max_size=200))
def test_the_two_merges_agree(data: bytes) -> None:
    check_of("merge")(data)


@given(st.from_regex(r"[-+0]?[0-9a-fxobe_.+-]{1,12}|[a-zA-Z~.]{1,5}", fullmatch=True))
def test_plain_scalars_are_what_a_second_reading_of_the_rules_says(text: str) -> None:
    try:
        expected = scalars.plain_value(text)
    except ValueError:
        with pytest.raises(NotFiniteError):
            plain(text)
        return
    value = plain(text)
    assert (type(value), value) == (type(expected), expected)
