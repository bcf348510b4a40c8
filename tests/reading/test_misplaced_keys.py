"""Keys in the wrong column: the report names the key that they belong beside, where the lines above show it."""

from __future__ import annotations

from typing import Any

import pytest
from tables import cases

from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents


@cases("text", "expected")
def test_a_key_in_the_wrong_column_is_told_where_to_go(text: Any, expected: Any) -> None:
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


JOB = """\
kind: TrainJob
metadata:
  name: llm
  namespace: team-a
spec:
  runtimeRef:
    name: torch-distributed
  trainer:
    numNodes: 4 # of eight
    command: [torchrun, train.py]
    env:
    - name: A
      value: b
    resourcesPerNode:
      limits:
        nvidia.com/gpu: 8
        cpu: 4
  suspend: false
"""
# Lines and the spaces by which they are moved: of mappings and lists with a second line, which shows where the first
# belongs. Of an item that is moved to the right, the key below it is the odd one.
SLIPS = [
    (line, by) for line in (3, 4, 6, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18) for by in (-1, 1) if (line, by) != (12, 1)
]


@pytest.mark.parametrize(("line", "spaces"), SLIPS)
def test_a_line_one_space_off_is_the_line_that_is_reported(line: int, spaces: int) -> None:
    lines = JOB.splitlines()
    lines[line - 1] = lines[line - 1][1:] if spaces < 0 else f" {lines[line - 1]}"
    _, (error, *_) = read_documents("\n".join(lines).encode(), "a.yaml", Limits())
    assert error.source is not None
    assert (error.code, error.source.line) == ("YAMLSyntax", line), error


def test_the_first_key_of_a_mapping_is_moved_to_the_others() -> None:
    _, (error,) = read_documents(JOB.replace("    numNodes", "   numNodes").encode(), "a.yaml", Limits())
    assert error.message == "`numNodes` is indented by 3 spaces, and `command` below it by 4 spaces"
    assert error.hint == "indent `numNodes` by 4 spaces"
