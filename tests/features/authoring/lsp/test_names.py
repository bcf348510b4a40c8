"""Definition and references: runtimes, replicated jobs, containers and volumes, and the files that overlays name."""

from __future__ import annotations

from typing import Any

import pytest
from editor import OVERLAY, PATCHED, RUNTIME, Editor
from tables import cases

TEXTS = {"jobs/patched.yaml": PATCHED, "runtimes/pretrain.yaml": RUNTIME, "overlays/large/overlay.yaml": OVERLAY}


def place(text: str, words: str) -> tuple[int, int]:
    """The line and character of the bar in `words`, which stand in a text without it."""
    before = text[: text.index(words.replace("|", ""))] + words.partition("|")[0]
    return before.count("\n"), len(before.rpartition("\n")[2])


def asked(editor: Editor, method: str, name: str, words: str, **more: Any) -> list[tuple[str, int, str]]:
    """The places of an answer: file, line, and the words there."""
    editor.open(name)
    found = editor.request(f"textDocument/{method}", editor.at(name, *place(TEXTS[name], words), **more))
    shown = []
    for one in found:
        file = one["uri"].removeprefix(editor.root.as_uri() + "/")
        start, end = one["range"]["start"], one["range"]["end"]
        text = (editor.root / file).read_text().split("\n")[start["line"]] if not file.startswith("file:") else ""
        shown.append((file, start["line"], text[start["character"] : end["character"]]))
    return shown


@cases("file", "words", "expected")
def test_a_name_leads_to_where_it_is_given(
    file: str, words: str, expected: list[tuple[str, int, str]], editor: Editor
) -> None:
    assert asked(editor, "definition", file, words) == [tuple(each) for each in expected]


def test_a_runtime_of_the_catalog_leads_to_its_file(editor: Editor) -> None:
    text = PATCHED.replace("pretrain", "torch-distributed")
    editor.open("jobs/shipped.yaml", text)
    line, character = place(text, "{name: torch-|distributed")
    (found,) = editor.request("textDocument/definition", editor.at("jobs/shipped.yaml", line, character))
    assert found["uri"].endswith("/torch-distributed.yaml") or "/torch-distributed/" in found["uri"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("  name: pre|train", [("jobs/llm.yaml", 8, "pretrain"), ("jobs/patched.yaml", 4, "pretrain")]),
        ("- name: no|de\n        template", [("jobs/patched.yaml", 13, "node")]),
        ("- name: no|de\n                  image", [("jobs/patched.yaml", 21, "node")]),
        ("- name: da|ta\n", [("jobs/patched.yaml", 24, "data"), ("runtimes/pretrain.yaml", 20, "data")]),
    ],
)
def test_a_name_knows_where_it_is_used(words: str, expected: list[tuple[str, int, str]], editor: Editor) -> None:
    context = {"includeDeclaration": False}
    assert asked(editor, "references", "runtimes/pretrain.yaml", words, context=context) == expected


def test_the_transcript_of_a_definition(editor: Editor) -> None:
    editor.open("jobs/llm.yaml")
    found = editor.request("textDocument/definition", editor.at("jobs/llm.yaml", 8, 12))
    place_of_name = {"start": {"line": 3, "character": 8}, "end": {"line": 3, "character": 16}}
    assert found == [{"uri": editor.uri("runtimes/pretrain.yaml"), "range": place_of_name}]
