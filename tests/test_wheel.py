"""The wheel: everything that the package reads at run time is in it, and it works away from the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "compiler" / "trainc"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The contents of the wheel, as an installer unpacks them."""
    builders = pytest.importorskip("hatchling.builders.wheel")
    folder = tmp_path_factory.mktemp("wheel")
    (wheel,) = builders.WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def trainc(installed: Path, *words: str) -> str:
    """The output of the unpacked program, run in an empty folder."""
    (installed.parent / "empty").mkdir(exist_ok=True)
    program = "import sys; from trainc.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=installed.parent / "empty",
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def files(folder: Path) -> set[str]:
    found = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    return {path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts)}


def test_every_file_of_the_package_is_in_it(installed: Path) -> None:
    assert files(PACKAGE) - files(installed / "trainc") == set()


def test_the_catalog_is_in_it(installed: Path) -> None:
    assert files(installed / "trainc" / "catalog") == files(ROOT / "runtimes")


def test_nothing_but_the_package_is_in_it(installed: Path) -> None:
    assert {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")} == {"trainc"}


@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        ["rule", "--all"],
        ["runtimes", "list"],
        ["build", str(ROOT / "tests" / "cases" / "torch-distributed.yaml"), "--release", "2.3", "--quiet"],
    ],
)
def test_it_gives_what_the_repository_gives(words: list[str], installed: Path) -> None:
    located = "import trainc; print(trainc.__file__)"
    where = subprocess.run(
        [sys.executable, "-c", located],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=installed,
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.startswith(str(installed))
    here = subprocess.run([sys.executable, "-m", "trainc", *words], capture_output=True, text=True, check=True)
    assert trainc(installed, *words) == here.stdout
