"""An output folder after a build that was killed, or that the disk failed: the old output or the new one."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainc.output.folder import carry_out, plan

OLD = {"a/one.yaml": "old one\n", "a/two.yaml": "old two\n", "b/three.yaml": "old three\n", "same.yaml": "same\n"}
NEW = {"a/one.yaml": "new one\n", "d/four.yaml": "new four\n", "same.yaml": "same\n", "a/five.yaml": "new five\n"}
BY_HAND = {"a/by-hand.yaml": "mine\n", "by-hand.yaml": "mine too\n"}
FAILING = Path(__file__).with_name("failing.py")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an old output and files that somebody wrote by hand."""
    out = tmp_path / "out"
    carry_out(plan(str(out), OLD))
    for name, text in BY_HAND.items():
        (out / name).write_text(text, encoding="utf-8")
    return out


def held(folder: Path) -> dict[str, str]:
    """What a GitOps tool would see."""
    found = [path for path in folder.rglob("*") if path.is_file() and ".trainc" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}


def state(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / ".trainc").iterdir())


def ends(how: str, folder: Path) -> Iterator[int]:
    """How each failing build ended; the folder is put back between them."""
    before = folder.with_name("before")
    shutil.copytree(folder, before)
    words = [sys.executable, str(FAILING), how, str(folder), json.dumps(NEW)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for line in program.stdout:
            yield int(line)
            shutil.rmtree(folder)
            shutil.copytree(before, folder)
            program.stdin.write("\n")
            program.stdin.flush()
    assert program.returncode == 0


def build(folder: Path, wanted: dict[str, str]) -> None:
    assert carry_out(plan(str(folder), wanted)).refused == ()


@pytest.mark.parametrize("how", ["kill", "once", "full"])
@pytest.mark.parametrize("then", [OLD, NEW], ids=["then the old input", "then the new input"])
def test_wherever_a_build_fails_the_folder_is_old_or_new_or_says_that_it_is_neither(
    how: str, then: dict[str, str], folder: Path
) -> None:
    seen: list[str] = []
    for ended in ends(how, folder):
        now = plan(str(folder), NEW)
        if now.interrupted:
            seen.append("interrupted")
            assert ended == (-signal.SIGKILL if how == "kill" else 1)
            assert BY_HAND.items() <= held(folder).items()
        else:
            seen.append("old" if held(folder) == OLD | BY_HAND else "new")
            assert held(folder) == (OLD if seen[-1] == "old" else NEW) | BY_HAND
            # A lock that could not be had, or not be removed, stays; it is held by nobody.
            assert {"owned"} <= set(state(folder)) <= {"owned", *({"lock"} if how == "once" else ())} or how == "kill"
        build(folder, then)
        assert held(folder) == then | BY_HAND
        assert plan(str(folder), then).interrupted == ()
    assert set(seen) == {"old", "new"} | ({"interrupted"} if how != "full" else set())
    assert len(seen) > 10, "the builds have hardly been disturbed"


def test_a_build_that_ends_leaves_the_list_of_its_files_and_nothing_else(folder: Path) -> None:
    build(folder, NEW)
    assert state(folder) == ["owned"]
    assert (folder / ".trainc" / "owned").read_text(encoding="utf-8").splitlines() == sorted(NEW)
