"""Every table of cases beside a module of tests is read by a test of that module."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from tables import tables_of

MODULES = [module for module in sorted(Path(__file__).parent.rglob("test_*.py")) if tables_of(module).is_file()]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_each_table_has_a_test(module: Path) -> None:
    tables = yaml.load(tables_of(module).read_text(encoding="utf-8"), yaml.CSafeLoader)
    tests = re.findall(r"^@cases\([^()]*\)\n(?:@.*\n)*def (\w+)", module.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(tables) == sorted(tests)
