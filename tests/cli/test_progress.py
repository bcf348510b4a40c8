"""The line that says how far a build has come: on a terminal, after a while, and gone when it is done."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from trainc.cli import command
from trainc.cli.command import Progress

JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: j{n}, namespace: team-a}}
spec: {{runtimeRef: {{name: torch-distributed}}, trainer: {{numNodes: 1}}}}
"""
# trainc without its patience: what takes a second elsewhere is shown at once.
IMPATIENT = "import trainc.cli.command as p; p._PATIENCE = p._BETWEEN = 0; from trainc.cli.main import run; run()"


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The present, as one number that a test moves."""
    now = [100.0]
    monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setenv("TERM", "xterm")
    return now


def test_nothing_is_shown_in_the_first_second_and_then_ten_times_a_second(clock: list[float]) -> None:
    terminal = Terminal()
    line = Progress(terminal)
    for now, done in ((100.0, 1), (100.9, 2), (101.0, 3), (101.05, 4), (101.2, 1500)):
        clock[0] = now
        line.step("compiling", done, 3000)
    shown = terminal.getvalue().split("\r")[1:]
    assert shown == [
        "compiling [..............................] 3 of 3,000",
        f"compiling [{'#' * 15}{'.' * 15}] 1,500 of 3,000",
    ]
    line.clear()
    assert terminal.getvalue().endswith(f"\r{' ' * len(shown[-1])}\r")


def test_a_shorter_line_covers_a_longer_one(clock: list[float]) -> None:
    terminal = Terminal()
    line = Progress(terminal)
    for now, done in ((102.0, 1_000_000), (103.0, 1)):
        clock[0] = now
        line.step("reading", done)
    assert terminal.getvalue() == "\rreading 1,000,000\rreading 1        "


@pytest.mark.usefixtures("clock")
def test_what_was_never_shown_is_not_cleared() -> None:
    terminal = Terminal()
    Progress(terminal).clear()
    assert terminal.getvalue() == ""


def on_a_terminal(*words: str, **environment: str) -> tuple[str, str]:
    """What a command writes to stdout, and to a real terminal as stderr."""
    leader, follower = pty.openpty()
    written: list[bytes] = []

    def read() -> None:
        while True:
            try:
                data = os.read(leader, 4096)
            except OSError:  # Linux's way to say that the terminal has no other side any more.
                return
            if not data:
                return
            written.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    ran = subprocess.run(
        [sys.executable, "-c", IMPATIENT, *words],
        stdout=subprocess.PIPE,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", **environment},
        check=True,
    )
    os.close(follower)
    reader.join()
    os.close(leader)
    return ran.stdout.decode(), b"".join(written).decode()


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    for n in range(3):
        (tmp_path / f"{n}.yaml").write_text(JOB.format(n=n))
    return "."


def test_on_a_terminal_it_is_shown_and_taken_away(jobs: str) -> None:
    _, shown = on_a_terminal("build", jobs, "--release", "2.3", "-v")
    assert "\rreading 1\rreading 2\rreading 3\rcompiling [##########" in shown
    assert shown.rpartition("\r" + " " * 10)[2].strip() == "3 documents read, 3 TrainJobs compiled"
    assert "\x1b" not in re.sub(r"\x1b\[[0-9;]*m", "", shown)


@pytest.mark.parametrize("words", [["-o", "out"]])
def test_it_is_shown_in_every_way_of_building(words: list[str], jobs: str) -> None:
    _, shown = on_a_terminal("build", jobs, "--release", "2.3", *words)
    assert "compiling [##############################] 3 of 3" in shown


def test_check_shows_it_too(jobs: str) -> None:
    _, shown = on_a_terminal("check", jobs, "--release", "2.3")
    assert "compiling [##############################] 3 of 3" in shown
    assert shown.rstrip().rpartition("\r")[2] == "3 documents checked, 3 TrainJobs compiled"


@pytest.mark.parametrize(
    ("words", "last"),
    [
        (["report", ".", "-o", "page.html"], "drawing"),
        (["fits", ".", "--cluster", "cluster"], "judging"),
        (["diff", ".", "old"], "comparing"),
        (["migrate", ".", "--check"], "migrating"),
        (["migrate", ".", "--report"], "migrating"),
    ],
)
def test_so_does_each_command_that_can_take_long(words: list[str], last: str, jobs: str, tmp_path: Path) -> None:
    assert jobs == "."
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "queues.json").write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "0.yaml").write_text(JOB.format(n=7))
    if words[0] != "migrate":
        words = [*words, "--release", "2.3"]
    _, shown = on_a_terminal(*words)
    assert f"{last} [##############################]" in shown
    assert re.search(r"\r +\r[^\r]*(\r\n|$)", shown)


def test_without_colours_it_has_none_and_a_dumb_terminal_has_no_line(jobs: str) -> None:
    _, plain = on_a_terminal("build", jobs, "--release", "2.3", NO_COLOR="1")
    assert "3 of 3" in plain
    assert "\x1b" not in plain
    assert "\r" not in on_a_terminal("build", jobs, "--release", "2.3", TERM="dumb")[1].replace("\r\n", "")


def test_a_pipe_sees_nothing_of_it(jobs: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", IMPATIENT, "build", jobs, "--release", "2.3"], capture_output=True, check=True
    )
    assert ran.stderr == b""
