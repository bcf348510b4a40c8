"""Breakages over all rooms: does the room in which something breaks notice it by its own tests?

Each is one mutant of a random function anywhere in the package, tried in a clone of the commit with all tests of its room,
those that start programs among them. The seed is the commit, so that everybody draws the same ones.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mutation.mutants import Mutant, mutants_of

# Seconds until the tests of a room count as hanging.
_LONGEST = 1200
# Statuses of pytest: tests failed, or could not even be collected.
_CAUGHT = (1, 2, 3)


def try_rooms(root: Path, package: Path, number: int, seed: str, workers: int) -> None:
    """Print for each of `number` breakages whether its room caught it. Without `seed`, the commit is it."""
    commit = seed or _git(root, "rev-parse", "HEAD")
    caught, tried = 0, 0
    with tempfile.TemporaryDirectory(prefix="breakages-") as folder:
        _git(root, "clone", "--quiet", "--shared", ".", folder)
        _git(Path(folder), "checkout", "--quiet", _git(root, "rev-parse", "HEAD"))
        for mutant in _draw(package, number, random.Random(commit)):  # noqa: S311 - no secret
            place = mutant.file.relative_to(root)
            room = room_of(mutant.file.relative_to(package), root / "tests")
            outcome = _try(Path(folder), place, mutant.source, room, workers)
            tried, caught = tried + 1, caught + (outcome != "alive")
            print(f"{outcome}: {place}:{mutant.lines.start} {mutant.function}, by {room}\n{mutant.change}", flush=True)
    print(f"{caught} of {tried} breakages caught by their rooms (seed {commit})")


def _draw(package: Path, number: int, chance: random.Random) -> Iterator[Mutant]:
    """Mutants of random files, longer ones more often, each of another function."""
    files = sorted(package.rglob("*.py"))
    weights = [file.read_bytes().count(b"\n") + 1 for file in files]
    drawn: set[tuple[Path, str]] = set()
    while len(drawn) < number:
        (file,) = chance.choices(files, weights)
        mutants = [mutant for mutant in mutants_of(file) if (file, mutant.function) not in drawn]
        if mutants:
            mutant = chance.choice(mutants)
            drawn.add((file, mutant.function))
            yield mutant


def room_of(module: Path, tests: Path) -> str:
    """The tests of a module's room: the folder of the same name, or of one around it; for a module of no room, all of tests/."""
    folders = [folder for folder in module.parents if folder.name and (tests / folder).is_dir()]
    return f"tests/{folders[0].as_posix()}" if folders else "tests"


def _try(clone: Path, place: Path, source: str, room: str, workers: int) -> str:
    file, path = clone / place, os.pathsep.join(str(clone / part) for part in ("compiler", "tests", "tools"))
    whole = file.read_text(encoding="utf-8")
    file.write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", str(workers), "-p", "no:cacheprovider", room]
    try:
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, timeout=_LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return "hangs"
    finally:
        file.write_text(whole, encoding="utf-8")
    return "caught" if done.returncode in _CAUGHT else "alive"


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
