"""Golden reports: every refused file of tests/cases/errors, and what its author is told."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from commands import run
from golden_files import GoldenFile
from syrupy.assertion import SnapshotAssertion

ROOT = Path(__file__).parents[1]
CASES = {path.stem: path for path in sorted((ROOT / "tests" / "cases" / "errors").glob("*.yaml"))}
pytestmark = pytest.mark.golden


class ReportExtension(GoldenFile):
    """One text file per refused case."""

    file_extension = "txt"
    folder = GoldenFile.folder / "errors"


def test_there_are_cases() -> None:
    assert len(CASES) > 10


# syrupy expects snapshots beside the test; ours have a folder of their own that people read.
@pytest.mark.filterwarnings(r"ignore:\s*Can not relate snapshot:UserWarning")
@pytest.mark.parametrize("case", CASES)
def test_a_refused_file_gets_its_report(
    case: str, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CASES[case].parent)
    flags = CASES[case].read_text(encoding="utf-8").partition("\n")[0].removeprefix("# trainc:")
    result = run("build", CASES[case].name, *shlex.split(flags))
    assert (result.status, result.stdout) == (1, "")
    assert result.stderr == snapshot.use_extension(ReportExtension)(name=case)
