"""Each test that the table of attacks names is one, and each attack has one."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = [
    line for line in Path(__file__).with_name("README.md").read_text(encoding="utf-8").splitlines() if line[:2] == "| "
]


@cache
def named_in(file: str) -> set[str]:
    """The names of the tests of a file."""
    body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_each_attack_has_a_test_that_exists() -> None:
    attacks = [row for row in ROWS if not row.startswith("| attack |")]
    assert len(attacks) > 40
    for row in attacks:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row)
        assert named, row
        assert [f"{file}::{test}" for file, test in named if test not in named_in(file)] == []
