"""How the input is written changes nothing: order, comments, anchors, quotes, files, Lists, JSON or YAML."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from spelling import SPELLINGS, Json, in_lists, shuffled, spelled
from test_golden import CASES, options_of

from trainc import Compilation, compile_paths
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents

SMALL = sorted(case for case, path in CASES.items() if path.stat().st_size < 3000)


def documents_of(case: str) -> list[Json]:
    documents, problems = read_documents(CASES[case].read_bytes(), "case.yaml", Limits())
    assert not problems
    return [document.data for document in documents]


def compiled(case: str, files: list[tuple[str, bytes]]) -> Compilation:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files:
            (Path(folder) / name).write_bytes(text)
        return compile_paths([folder], options=options_of(case))


def outcome(result: Compilation) -> tuple[str, list[tuple[str, ...]]]:
    """What is written and what is said, less the positions."""
    return result.to_yaml(), sorted((d.code, d.object, d.path, d.message) for d in result.diagnostics)


@cache
def expected(case: str) -> tuple[str, list[tuple[str, ...]]]:
    return outcome(compiled(case, [("case.yaml", CASES[case].read_bytes())]))


def check(case: str, files: list[tuple[str, bytes]]) -> None:
    assert outcome(compiled(case, files)) == expected(case)


@given(st.sampled_from(SMALL), SPELLINGS, st.data())
def test_other_words_for_the_same_documents_give_the_same_output(case: str, how: Any, data: st.DataObject) -> None:
    documents = shuffled(data.draw(st.permutations(documents_of(case))), data.draw)
    wrapped = in_lists(documents, data.draw)
    check(case, [("case.json" if how.as_json else "case.yaml", spelled(wrapped, how))])


@given(st.sampled_from(SMALL), st.lists(SPELLINGS, min_size=5, max_size=5), st.data())
def test_files_of_any_number_and_name_give_the_same_output(case: str, hows: Any, data: st.DataObject) -> None:
    documents = data.draw(st.permutations(documents_of(case)))
    names = data.draw(st.permutations(["a", "b", "c-1", "Z", "10"]))
    files: dict[int, list[Json]] = {}
    for document in documents:
        files.setdefault(data.draw(st.integers(0, 4)), []).append(document)
    check(
        case,
        [
            (f"{names[number]}.{'json' if hows[number].as_json else 'yaml'}", spelled(held, hows[number]))
            for number, held in files.items()
        ],
    )


@pytest.mark.parametrize("case", CASES)
def test_a_case_as_json_gives_the_same_output(case: str) -> None:
    check(case, [("case.json", "\n".join(json.dumps(document) for document in documents_of(case)).encode())])


def in_comments(text: str) -> str:
    """The text with a comment after every document mark and at its end."""
    return text.replace("\n---\n", "\n--- # next\n# a word\n") + "# the end\n...\n"


@pytest.mark.parametrize("change", [in_comments, lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text])
@pytest.mark.parametrize("case", CASES)
def test_the_text_of_a_case_with_comments_or_other_ends_gives_the_same(case: str, change: Callable[[str], str]) -> None:
    check(case, [("case.yaml", change(CASES[case].read_text(encoding="utf-8")).encode())])
