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

from trainc.output.folder import apply_plan, plan
from trainc.output.ownership import first_line

pytestmark = pytest.mark.slow

MARK = first_line("jobs.yaml")

OLD = {
    "a/one.yaml": f"{MARK}old one\n",
    "a/two.yaml": f"{MARK}old two\n",
    "b/three.yaml": f"{MARK}old three\n",
    "same.yaml": f"{MARK}same\n",
}
NEW = {
    "a/one.yaml": f"{MARK}new one\n",
    "d/four.yaml": f"{MARK}new four\n",
    "same.yaml": f"{MARK}same\n",
    "a/five.yaml": f"{MARK}new five\n",
}
BY_HAND = {"a/by-hand.yaml": "mine\n", "by-hand.yaml": "mine too\n"}
FAILING = Path(__file__).with_name("failing.py")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an old output and files that somebody wrote by hand."""
    out = tmp_path / "out"
    apply_plan(plan(str(out), OLD, prune=True))
    for name, text in BY_HAND.items():
        (out / name).write_text(text, encoding="utf-8")
    return out


def held(folder: Path) -> dict[str, str]:
    """What a GitOps tool would see."""
    found = [path for path in folder.rglob("*") if path.is_file() and ".trainc" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}


def state(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / ".trainc").glob("*"))


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
    assert apply_plan(plan(str(folder), wanted, prune=True)).refused == ()


@pytest.mark.parametrize("how", ["kill", "once", "full"])
@pytest.mark.parametrize("then", [OLD, NEW], ids=["then the old input", "then the new input"])
def test_wherever_a_build_fails_the_folder_is_old_or_new_or_says_that_it_is_neither(
    how: str, then: dict[str, str], folder: Path
) -> None:
    seen: list[str] = []
    for ended in ends(how, folder):
        now = plan(str(folder), NEW, prune=True)
        if now.interrupted:
            seen.append("interrupted")
            assert ended == (-signal.SIGKILL if how == "kill" else 1)
            assert BY_HAND.items() <= held(folder).items()
        else:
            seen.append("old" if held(folder) == OLD | BY_HAND else "new")
            assert held(folder) == (OLD if seen[-1] == "old" else NEW) | BY_HAND
            # A lock that could not be had, or not be removed, stays; it is held by nobody.
            assert set(state(folder)) <= {"lock"} or how == "kill"
        build(folder, then)
        assert held(folder) == then | BY_HAND
        assert plan(str(folder), then, prune=True).interrupted == ()
    assert set(seen) == {"old", "new"} | ({"interrupted"} if how != "full" else set())
    assert len(seen) > 10, "the builds have hardly been disturbed"


def test_a_build_that_ends_leaves_the_files_of_its_jobs_and_nothing_else(folder: Path) -> None:
    build(folder, NEW)
    assert not (folder / ".trainc").exists()


def test_a_build_of_some_jobs_keeps_the_files_of_the_others(folder: Path) -> None:
    planned = apply_plan(plan(str(folder), {"a/one.yaml": NEW["a/one.yaml"]}, prune=False))
    assert list(planned.actions()) == [("changed", "a/one.yaml")]
    assert planned.kept_files == ("a/two.yaml", "b/three.yaml", "same.yaml")


def test_who_deletes_the_first_line_takes_the_file_over(folder: Path) -> None:
    (folder / "a" / "two.yaml").write_text("mine now\n", encoding="utf-8")
    build(folder, NEW)
    assert (folder / "a" / "two.yaml").read_text(encoding="utf-8") == "mine now\n"
    refused = apply_plan(plan(str(folder), {"a/two.yaml": MARK}, prune=True)).refused
    assert [diagnostic.code for diagnostic in refused] == ["FileInTheWay"]


def test_the_list_of_an_older_trainc_gives_files_over_to_their_jobs_and_goes(folder: Path) -> None:
    (folder / "a" / "one.yaml").write_text("without a mark\n", encoding="utf-8")
    (folder / "a" / "gone.yaml").write_text("without a mark\n", encoding="utf-8")
    (folder / ".trainc").mkdir()
    (folder / ".trainc" / "owned").write_text("a/gone.yaml\na/one.yaml\n", encoding="utf-8")
    planned = apply_plan(plan(str(folder), NEW, prune=True))
    assert planned.kept_files == ("a/gone.yaml",)
    assert (folder / "a" / "one.yaml").read_text(encoding="utf-8") == NEW["a/one.yaml"]
    assert not (folder / ".trainc").exists()
    assert plan(str(folder), NEW, prune=True).kept_files == ()
