"""Distributions: two builds of one source are equal byte for byte, whenever and wherever they are made."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("compiler", "runtimes", "pyproject.toml", "README.md", "LICENSE", "Makefile", ".gitignore")


@pytest.fixture
def elsewhere(tmp_path: Path) -> tuple[Path, Path]:
    """Two copies of the source that differ in their place, and in the dates and modes of their files."""
    copies = tmp_path / "one", tmp_path / "another-place" / "of-other-length"
    for copy, date, mode in zip(copies, (1_000_000_000, 1_700_000_000), (0o644, 0o600), strict=True):
        for name in SOURCES:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                copy.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, copy / name)
        for path in sorted(copy.rglob("*")):
            if path.is_file():
                path.chmod(mode)
                os.utime(path, (date, date))
    return copies


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_two_builds_are_equal(kind: str, elsewhere: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    builders = pytest.importorskip(f"hatchling.builders.{kind}")
    builder = builders.WheelBuilder if kind == "wheel" else builders.SdistBuilder
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1750000000")
    built = [Path(*builder(str(source)).build(directory=str(source / "dist"))) for source in elsewhere]
    assert built[0].name == built[1].name
    assert built[0].stat().st_size > 100_000
    assert built[0].read_bytes() == built[1].read_bytes()
