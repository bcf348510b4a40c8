"""What is done without `re` and `json`, because importing them takes longer than their work, does what they do."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path

from hypothesis import given, strategies as st

import trainc
from trainc.kube import names
from trainc.pipeline import inputs
from trainc.startup.patterns import matcher
from trainc.startup.shipped import read_data


@given(st.text("ab/"), st.text("ab/*?"))
def test_a_glob_is_that_of_fnmatch(text: str, written: str) -> None:
    assert matcher(written)(text) == fnmatchcase(text, written)


@given(st.text("a9.-_/:A @\té"))
def test_an_image_that_is_called_plain_is_a_usual_one(image: str) -> None:
    assert not names._is_plain(image) or names._problem(image) is None


@given(st.lists(st.sampled_from(["a", "=", ".", "-", "/", ".yaml", ".json", "$", "./"]), max_size=7).map("".join))
def test_the_paths_of_a_word_are_those_of_the_pattern(word: str) -> None:
    assert inputs._paths_in(word) == [match[0] for match in inputs._PATH.finditer(word)]


def test_data_that_trainc_ships_is_read_as_json_reads_it() -> None:
    root = Path(trainc.__file__).parent
    for file in root.rglob("*.json"):
        assert read_data(trainc.__file__, str(file.relative_to(root))) == json.loads(file.read_text())
