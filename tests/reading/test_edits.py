"""Fixes as edits: what each of them changes in a text, in block style, in brackets, in quotes and in scripts."""

from __future__ import annotations

import pytest
from hostile_inputs import SMALL

from trainc.findings import Diagnostic, Fix, Hint, Path, Source, format_path
from trainc.options import Limits
from trainc.reading.edits import Edit, EditedText, trees
from trainc.reading.yaml_reader import read_documents


def applied(text: str, edit: Edit) -> str:
    lines = text.split("\n")
    start, end = (sum(len(line) + 1 for line in lines[: place.line]) + place.column for place in edit.range)
    return text[:start] + edit.text + text[end:]


def fixed(text: str, fix: Fix, path: Path) -> str | None:
    """The text after a fix of a finding at a path; None if it has no edit."""
    document = read_documents(text.encode(), "a.yaml", Limits())[0][0]
    found = Diagnostic("X", "error", "x", Hint("x", fix), "", format_path(path), document.locate(path))
    edits = EditedText(text).edits(found)
    return applied(text, edits[0]) if edits else None


# A text, a fix of the finding at a path, and the text afterwards.
FIXES: dict[str, tuple[str, Fix, Path, str | None]] = {
    "a value": ("a: {b: 1}\n", Fix("set", "2"), ("a", "b"), "a: {b: 2}\n"),
    "a value in quotes": ("a:\n  b: '1' # c\n", Fix("set", "2"), ("a", "b"), "a:\n  b: 2 # c\n"),
    "a list for the one with the item": ("a: [x y]\n", Fix("set", "[x, y]"), ("a", 0), "a: [x, y]\n"),
    "no value for a mapping": ("a: {b: 1}\n", Fix("set", "2"), ("a",), None),
    "no value for a block of lines": ("a: |\n  1\n", Fix("set", "2"), ("a",), None),
    "no value for one that is missing": ("a: {b: 1}\n", Fix("set", "2"), ("a", "c"), None),
    "another field": ("a: {b: 1, c: 2}\n", Fix("set", "3", "c"), ("a", "b"), "a: {b: 1, c: 3}\n"),
    "a new field beside one": ("a:\n  b: 1\n", Fix("set", "3", "c"), ("a", "b"), "a:\n  c: 3\n  b: 1\n"),
    "a new field beside one in brackets": ("a: {b: 1}\n", Fix("set", "3", "c"), ("a", "b"), "a: {c: 3, b: 1}\n"),
    "a missing field": ("a:\n- b: 1\n", Fix("set", "3", "c"), ("a", 0, "c"), "a:\n- c: 3\n  b: 1\n"),
    "a missing field in brackets": ("a: {b: 1}\n", Fix("set", "3", "c"), ("a", "c"), "a: {c: 3, b: 1}\n"),
    "a missing field of the document": ("b: 1\n", Fix("set", "3", "c"), ("c",), "c: 3\nb: 1\n"),
    "a field of an item": ("a: [{b: 1}]\n", Fix("set", "3", "b"), ("a", 0), "a: [{b: 3}]\n"),
    "a key": ("a: {bb: 1}\n", Fix("replace", "b", "bb"), ("a", "bb"), "a: {b: 1}\n"),
    "no key that is there already": ("a: {bb: 1, b: 2}\n", Fix("replace", "b", "bb"), ("a", "bb"), None),
    "a key in quotes": ('a: {"x.y/z": 1}\n', Fix("replace", "x.y/w", "x.y/z"), ("a", "x.y/z"), 'a: {"x.y/w": 1}\n'),
    "a word of a value": ("a: --x=1 --y=2\n", Fix("replace", "--z", "--y"), ("a",), "a: --x=1 --z=2\n"),
    "no part of a word": ("a: --yy=2\n", Fix("replace", "--z", "--y"), ("a",), None),
    "no quotes inside quotes": ("a: 'b'\n", Fix("replace", "it's", "b"), ("a",), None),
    "a word of a script": (
        "a:\n- |\n  set -e\n  run --y 2\n",
        Fix("replace", "--z", "--y"),
        ("a", 0),
        "a:\n- |\n  set -e\n  run --z 2\n",
    ),
    "the name of an item": (
        "a: [{value: x, name: x}]\n",
        Fix("replace", "y", "x"),
        ("a", 0),
        "a: [{value: x, name: y}]\n",
    ),
    "a field gone": ("a:\n  b:\n    c: 1\n  # d\n  e: 1\n", Fix("remove"), ("a", "b"), "a:\n  # d\n  e: 1\n"),
    "an item gone": ("a:\n- b: 1\n  c: 2\n- d: 3\n", Fix("remove"), ("a", 0), "a:\n- d: 3\n"),
    "an item in brackets gone": ("a: [b, {c: 1}, d]\n", Fix("remove"), ("a", 1), "a: [b, d]\n"),
    "the last item in brackets gone": ("a: [b, c]\n", Fix("remove"), ("a", 1), "a: [b]\n"),
    "nothing gone where it is missing": ("a: {b: 1}\n", Fix("remove"), ("a", "c"), None),
    "an option gone": ("a: [run, --x=1, y]\n", Fix("remove", name="--x=1"), ("a", 1), "a: [run, y]\n"),
    "an option of a script gone": ("a: [run --x=1 y]\n", Fix("remove", name="--x=1"), ("a", 0), "a: [run y]\n"),
    "no option with a value of its own": ("a: [run, --x, '1']\n", Fix("remove", name="--x=1"), ("a", 1), None),
    "quotes": ("a: {b: 010}\n", Fix("quote"), ("a", "b"), 'a: {b: "010"}\n'),
    "no quotes around quotes": ("a: {b: 'x'}\n", Fix("quote"), ("a", "b"), None),
    "no quotes": ("a: {b: '4'}\n", Fix("unquote"), ("a", "b"), "a: {b: 4}\n"),
    "characters beyond the basic plane": ("a: {😀: 1, b: 2}\n", Fix("set", "3"), ("a", "b"), "a: {😀: 1, b: 3}\n"),
}


@pytest.mark.parametrize("case", FIXES)
def test_a_fix_changes(case: str) -> None:
    text, fix, path, expected = FIXES[case]
    assert fixed(text, fix, path) == expected


def test_a_hint_is_its_text_and_keeps_its_fixes_when_more_is_said() -> None:
    hint = Hint("remove it", Fix("remove"))
    assert hint == "remove it"
    assert hash(hint) == hash("remove it")
    longer = hint + "; really"
    assert (str(longer), longer.fixes) == ("remove it; really", (Fix("remove"),))
    assert Diagnostic("X", "error", "x", longer).fixes == (Fix("remove"),)
    assert Diagnostic("X", "error", "x", "remove it").fixes == ()


@pytest.mark.parametrize("name", SMALL)
def test_fixes_of_hostile_texts_are_edits_or_nothing(name: str) -> None:
    data = SMALL[name][0]
    text = data if isinstance(data, str) else data.decode(errors="replace")
    edited = EditedText(text)
    places = [(field.path, field.key.start) for tree in trees(text) for field in tree.fields()]
    for path, start in [*places[:: len(places) // 50 + 1], ((), (0, 0)), (("a", "b"), (10**6, 10**6))]:
        source = Source("a.yaml", start[0] + 1, start[1] + 1)
        for fix in (Fix("set", "1"), Fix("set", "1", "b"), Fix("replace", "b", "a"), Fix("remove"), Fix("quote")):
            found = Diagnostic("X", "error", "x", Hint("x", fix), "", format_path(path), source)
            for edit in edited.edits(found):
                assert edit.range.start <= edit.range.end
