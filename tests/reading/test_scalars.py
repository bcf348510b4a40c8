"""Plain scalars: every recorded one, the quirks of Go's number syntax, and whatever hypothesis can think of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from kubectl import Kubectl, as_json_numbers
from tables import cases

from trainc.reading.block_lines import NotFiniteError, integer, plain, through_json

# Characters that numbers, words and timestamps are made of in some dialect.
NUMBERS = st.text(alphabet="0123456789+-._eExXoObBaf:", min_size=1, max_size=8)
WORDS = st.sampled_from(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", ".inf", ".nan", "<<", "="])
CASED = st.tuples(WORDS, st.sampled_from([str.upper, str.title, str.lower, str.swapcase])).map(
    lambda pair: pair[1](pair[0])
)


def test_every_recorded_scalar_reads_as_kubectl_read_it(vectors: Path) -> None:
    recorded: dict[str, Any] = json.loads((vectors / "yaml-scalars.json").read_text(encoding="utf-8"))["reads"]
    read = {text: as_json_numbers(plain(text)) for text in recorded}
    assert read == as_json_numbers(recorded)
    assert {text: type(value) for text, value in read.items()} == {
        text: type(as_json_numbers(value)) for text, value in recorded.items()
    }


@cases("text", "value")
def test_a_plain_scalar_reads_as_go_reads_it(text: str, value: object) -> None:
    read = plain(text)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize("text", [".inf", "-.Inf", "+.INF", ".nan", ".NaN", ".NAN"])
def test_what_is_not_a_finite_number_is_refused(text: str) -> None:
    with pytest.raises(NotFiniteError):
        plain(text)


def test_integers_are_those_of_64_bits() -> None:
    assert integer(str(2**63)) == 2**63
    assert integer(str(2**64)) is None
    assert type(through_json(2**63)) is float
    assert type(through_json(2**63 - 1)) is int


@settings(max_examples=3)
@given(st.lists(NUMBERS | CASED, min_size=300, max_size=300))
def test_scalars_of_any_form_read_as_kubectl_reads_them(kubectl: Kubectl, texts: list[str]) -> None:
    ours: dict[str, object] = {}
    for text in texts:
        try:
            ours[text] = plain(text)
        except NotFiniteError:
            continue
    requested = [text for text in ours if text != "-" and not text.endswith(":")]  # Those two are no scalars to YAML.
    assert as_json_numbers([ours[text] for text in requested]) == as_json_numbers(kubectl.read_values(requested))
