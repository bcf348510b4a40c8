"""No regular expression of the package takes longer than its text deserves."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from package import PACKAGE

pytestmark = pytest.mark.slow

PUMPED = Path(__file__).with_name("pumped.py")


def test_no_expression_backtracks_for_ever() -> None:
    done = subprocess.run([sys.executable, str(PUMPED)], capture_output=True, text=True, check=False)
    names = done.stdout.splitlines()
    assert done.returncode == 0, f"{names[-1:]} {done.stderr[-500:]}"
    made = sum(
        len(
            re.findall(
                r"(?:re\.compile|\bpattern)\(\s*r?f?\"|= (?:re\.compile|pattern)\(", source.read_text(encoding="utf-8")
            )
        )
        for source in PACKAGE.rglob("*.py")
    )
    assert len(set(names)) > made / 2, "most expressions have not been found"


# Longer texts than those above, for what would take their square.
LONG = {"trainc.plugins.mpi.lints._WAITS": "'sleep 1' + ' ' * 100_000 + 'x'"}


@pytest.mark.parametrize("name", LONG)
def test_a_long_text_does_not_take_its_square(name: str) -> None:
    module, _, expression = name.rpartition(".")
    program = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
sys.path[:0] = {sys.path!r}
from {module} import {expression} as expression
assert expression.fullmatch({LONG[name]}) is None
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("expression", ["(a+)+b", "[-+.]?[0-9_]+(?:[.eb][0-9_a-f]*)*", "(a|a)*$"])
def test_one_that_does_is_noticed(expression: str, tmp_path: Path) -> None:
    program = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
sys.path.insert(0, {str(PUMPED.parent)!r})
import re
from pumped import texts
for text in texts({expression!r}):
    re.fullmatch({expression!r}, text)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False, capture_output=True).returncode < 0
