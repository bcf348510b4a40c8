"""Tables of cases that are data: `<name>.yaml` beside `test_<name>.py`, with a table for each test that reads one.

A table is a mapping, from what a case is called to its values, or a list of them. The values of a case are a mapping of
the arguments that `cases` names; where it names one argument, they are that argument.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

Test = TypeVar("Test", bound=Callable[..., None])


def cases(*arguments: str) -> Callable[[Test], Test]:
    """Run a test for each case of the table that has its name."""

    def parametrized(test: Test) -> Test:
        table = _tables(test.__code__.co_filename)[test.__name__]
        rows = [_row(arguments, values) for values in (table.values() if isinstance(table, dict) else table)]
        marked: Test = pytest.mark.parametrize(arguments, rows, ids=table if isinstance(table, dict) else None)(test)
        return marked

    return parametrized


def _row(arguments: tuple[str, ...], values: Any) -> tuple[Any, ...]:
    if len(arguments) == 1:
        return (values,)
    assert values.keys() == set(arguments), f"{values} is not {arguments}"
    return tuple(values[argument] for argument in arguments)


@functools.cache
def _tables(module: str) -> dict[str, Any]:
    tables: dict[str, Any] = yaml.load(tables_of(Path(module)).read_text(encoding="utf-8"), yaml.CSafeLoader)
    return tables


def tables_of(module: Path) -> Path:
    """The file with the tables of a module of tests."""
    return module.with_name(f"{module.stem.removeprefix('test_')}.yaml")
