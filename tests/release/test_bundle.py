"""The program of the image, which has the modules of a build in one file: it does what the installed one does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
EXAMPLE = str(TOP / "examples/demo")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("image") / "trainc"
    subprocess.run([sys.executable, str(TOP / "tools/scripts/bundle.py"), str(path)], check=True)
    return path


def outcome(*words: str) -> tuple[int, bytes, bytes]:
    done = subprocess.run(words, capture_output=True, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["build", EXAMPLE, "--release", "2.3"],
        ["check", EXAMPLE],
        ["build", "no-such-file"],
        ["build", "--no-such-option"],
        ["graph", f"{EXAMPLE}/jobs/digits.yaml"],
        ["schema", "TrainJob"],
        ["version"],
    ],
    ids=" ".join,
)
def test_the_program_of_the_image_answers_as_the_installed_one_does(program: Path, words: list[str]) -> None:
    assert outcome(str(program), *words) == outcome(sys.executable, "-m", "trainc", *words)


def test_the_program_takes_the_modules_of_a_build_from_its_file(program: Path, tmp_path: Path) -> None:
    text, modules = program.read_text(encoding="utf-8"), program.with_name("trainc.modules")
    other = tmp_path / "trainc"
    other.write_text(text.replace(str(modules), str(other) + ".modules"), encoding="utf-8")
    other.chmod(0o755)
    spoilt = modules.read_bytes().replace(b" does not exist", b" is not present")
    other.with_name("trainc.modules").write_bytes(spoilt)
    status, _, message = outcome(str(other), "build", "no-such-file")
    assert (status, b" is not present" in message) == (1, True), message
