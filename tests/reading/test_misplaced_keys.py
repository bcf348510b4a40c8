"""Keys in the wrong column: the report names the key that they belong beside, where the lines above show it."""

from __future__ import annotations

import pytest

from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents

# text -> the line and column of the key, a piece of what is said, and of how to mend it.
MISPLACED = {
    "in the column of the dash": (
        "a:\n  - name: x\n  image: y\n",
        (3, 3, "`image` is in the same column as the dash", "column 5, below `name`"),
    ),
    "in the column of a dash, and of the list's own key": (
        "a:\n-   name: x\nimage: y\nb:\n- c\n",
        None,
    ),
    "below a longer item": (
        "a:\n  - name: x\n    args:\n      - b\n  image: y\n",
        (5, 3, "`image` is in the same column as the dash", "column 5, below `name`"),
    ),
    "deeper than a field with a value": (
        "a:\n  name: x\n    image: y\n",
        (3, 5, "`image` is indented under `name`", "column 3, below `name`"),
    ),
    "deeper than an item's field with a value": (
        "a:\n  - name: x\n        image:\n          b: c\n",
        (3, 9, "`image` is indented under `name`", "column 5, below `name`"),
    ),
    "behind a comment": (
        "a:\n  name: x\n  # A comment.\n    image: y\n",
        (4, 5, "`image` is indented under `name`", "column 3, below `name`"),
    ),
}


@pytest.mark.parametrize("case", MISPLACED)
def test_a_key_in_the_wrong_column_is_told_where_to_go(case: str) -> None:
    text, expected = MISPLACED[case]
    _, errors = read_documents(text.encode(), "a.yaml", Limits())
    if expected is None:
        assert [e for e in errors if "column of the dash" in e.message] == []
        return
    (error,) = errors
    line, column, message, hint = expected
    assert error.source is not None
    assert (error.code, error.source.line, error.source.column) == ("YAMLSyntax", line, column)
    assert message in error.message
    assert hint in error.hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (b"a:\n    b: 1\n  c: 2\n", "indent it by 4 spaces like `b:`, or not at all, like `a:`"),
        (
            b"spec:\n  trainer:\n    image: i\n   numNodes: 4\n",
            "indent it by 4 spaces like `image:`, or by 2 spaces like `trainer:`",
        ),
        (b"env:\n- name: A\n value: b\n", "indent it by 2 spaces like `name:`, or not at all, like `env:`"),
        (b"- 'a'\n b: 1\n", "put all keys of a mapping, and all dashes of a list, in the same column"),
    ],
)
def test_a_key_between_two_columns_may_belong_to_either(text: bytes, hint: str) -> None:
    _, (error, *_) = read_documents(text, "a.yaml", Limits())
    assert (error.code, error.hint) == ("YAMLSyntax", hint)
