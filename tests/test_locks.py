"""Locks: what `make setup` installs is pinned, hashed, and what pyproject.toml asks for."""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NEEDED = {
    "runtime": [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]],
    "development": [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["dev"]],
    **{group: PROJECT["dependency-groups"][group] for group in ("audit", "fuzz", "mutation", "release")},
}
LOCKS = {name: (ROOT / "tools" / "locks" / f"{name}.txt").read_text() for name in NEEDED}


def pins(lock: str) -> dict[str, Requirement]:
    """What a lock pins, by name."""
    found = [Requirement(line.removesuffix("\\")) for line in lock.splitlines() if re.match(r"\w", line)]
    return {canonicalize_name(pin.name): pin for pin in found}


def version(pin: Requirement) -> str:
    (specifier,) = pin.specifier
    assert specifier.operator == "=="
    return specifier.version


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_holds_what_the_project_asks_for(name: str) -> None:
    locked = pins(LOCKS[name])
    for requested in map(Requirement, NEEDED[name]):
        assert requested.specifier.contains(version(locked[canonicalize_name(requested.name)])), requested


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_hashes_of_published_files_and_names_no_place(name: str) -> None:
    lock = LOCKS[name]
    assert "://" not in lock
    assert not re.search(r"^\s*-(?!-hash)", lock, flags=re.MULTILINE)
    blocks = re.split(r"^(?=\w)", lock, flags=re.MULTILINE)[1:]
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in blocks)


def test_all_locks_agree() -> None:
    development = pins(LOCKS["development"])
    for name, lock in LOCKS.items():
        for package, pin in pins(lock).items():
            assert version(pin) == version(development.get(package, pin)), (name, package)


def test_every_dependency_has_a_lower_and_an_upper_bound() -> None:
    for requested in map(Requirement, PROJECT["project"]["dependencies"]):
        assert {specifier.operator for specifier in requested.specifier} == {">=", "<"}, requested


@pytest.mark.parametrize("program", ["kubectl", "mypy", "pre-commit", "ruff", "uv", "zizmor"])
def test_a_program_that_the_lock_installs_is_the_one_that_tests_run(program: str) -> None:
    """Otherwise a test of it would be skipped, and nobody would see."""
    assert Path(shutil.which(program) or "").parent == Path(sys.executable).parent
