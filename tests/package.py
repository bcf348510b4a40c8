"""The code of the package as trees, parsed and walked once for all tests that look at it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

import trainc

PACKAGE = Path(trainc.__file__).parent
# These tests share a worker, so that the code is parsed once.
GROUP = pytest.mark.xdist_group("package")
Kind = TypeVar("Kind", bound=ast.AST)


@cache
def trees() -> dict[str, ast.Module]:
    """Each module, by its path in the package: `reading/git.py`."""
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def _walked() -> list[tuple[str, ast.AST]]:
    return [(module, node) for module, tree in trees().items() for node in ast.walk(tree)]


def nodes(kind: type[Kind]) -> Iterator[tuple[str, Kind]]:
    """Each node of a kind, with its module."""
    return ((module, node) for module, node in _walked() if isinstance(node, kind))
