"""`build --watch`, as a process whose input is edited while it runs: every save is built, and every mistake survived."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import run

pytestmark = pytest.mark.slow

pytest.importorskip("watchfiles", reason="the extra `watch` is not installed")

JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}, namespace: team-a}}
spec:
  runtimeRef: {{name: torch-distributed}}
  trainer: {{numNodes: {nodes}}}
"""
READY = "watching for changes; press Ctrl-C to stop"
# No test waits so long unless something is broken; then it fails rather than hangs.
_GIVE_UP = 60


class Watching:
    """A running `build --watch`, read line by line."""

    def __init__(self, *words: str) -> None:
        # Where the tests run in the background, SIGINT is ignored, and what they start would inherit that.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "trainc", "build", "--release", "2.3", "--watch", "--prune", *words],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        signal.signal(signal.SIGINT, before)
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def until(self, wanted: str) -> list[str]:
        """The lines up to one that is `wanted`."""
        lines: list[str] = []
        while wanted not in lines:
            line = self._lines.get(timeout=_GIVE_UP)
            assert line is not None, lines
            lines.append(line)
        return lines

    def end(self) -> int:
        """The status after Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        return self.close()

    def close(self) -> int:
        status = self.process.wait(timeout=_GIVE_UP)
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        return status


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "a.yaml").write_text(JOB.format(name="a", nodes=1))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def watching(folder: Path) -> Iterator[Watching]:
    running = Watching("jobs", "-o", "out", "--cache", "jobs/kept")
    yield running
    if running.process.poll() is None:
        running.process.kill()
        running.close()


def test_a_save_is_built_and_a_mistake_leaves_the_output_as_it_was(watching: Watching, folder: Path) -> None:
    job, out = folder / "jobs" / "a.yaml", folder / "out" / "team-a" / "a.yaml"
    assert watching.until(READY)[-2:] == ["out: 1 file created", READY]
    job.write_text(JOB.format(name="a", nodes=2))
    assert watching.until("out: 1 file changed")[0] == "jobs/a.yaml changed"
    watching.until(READY)
    good = out.read_text()
    assert good.partition("\n")[2] == run("build", "jobs", "--release", "2.3").stdout
    job.write_text(JOB.format(name="a", nodes="many"))
    refused = watching.until("out: not updated")
    assert any("jobs/a.yaml:6:13: error[" in line for line in refused)
    watching.until(READY)
    assert out.read_text() == good
    # As editors save: beside, then in its place.
    (folder / "jobs" / ".a.yaml.swp").write_text(JOB.format(name="a", nodes=3))
    (folder / "jobs" / ".a.yaml.swp").rename(job)
    watching.until("out: 1 file changed")
    watching.until(READY)
    assert watching.end() == 0
    assert out.read_text().partition("\n")[2] == run("build", "jobs", "--release", "2.3").stdout


def test_new_folders_and_files_that_go_are_noticed(watching: Watching, folder: Path) -> None:
    watching.until(READY)
    (folder / "jobs" / "team").mkdir()
    watching.until("jobs/team changed")
    watching.until(READY)
    (folder / "jobs" / "team" / "b.yaml").write_text(JOB.format(name="b", nodes=1))
    watching.until("out: 1 file created")
    watching.until(READY)
    (folder / "jobs" / "team" / "b.yaml").unlink()
    watching.until("out: 1 file removed")
    watching.until(READY)
    assert watching.end() == 0
    assert not (folder / "out" / "team-a" / "b.yaml").exists()


def test_settings_and_overlays_are_watched_too(folder: Path) -> None:
    (folder / "trainc.yaml").write_text("sources: [jobs]\noutput: out\noverlay: [prod]\n")
    (folder / "prod").mkdir()
    overlay = "apiVersion: trainc/v1alpha1\nkind: Overlay\nnamePrefix: {}-\n"
    (folder / "prod" / "overlay.yaml").write_text(overlay.format("p"))
    running = Watching()
    try:
        running.until(READY)
        (folder / "prod" / "overlay.yaml").write_text(overlay.format("q"))
        assert "prod/overlay.yaml changed" in running.until("out: 1 file created, 1 file removed")
        running.until(READY)
        (folder / "trainc.yaml").write_text("sources: [jobs]\noutput: out\n")
        assert "trainc.yaml changed" in running.until("out: 1 file created, 1 file removed")
        running.until(READY)
        assert running.end() == 0
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.close()
    assert [path.name for path in (folder / "out" / "team-a").iterdir()] == ["a.yaml"]


@pytest.mark.parametrize("words", [["jobs"], ["-", "-o", "out"], ["jobs", "-o", "out", "--check"]])
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_watched_is_wrong_usage(words: list[str]) -> None:
    result = run("build", "--watch", *words)
    assert result.status == 2
    assert "--watch needs input files and an output folder" in result.stderr


@pytest.mark.usefixtures("folder")
def test_without_watchfiles_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    result = run("build", "jobs", "-o", "out", "--watch")
    assert (result.status, result.stdout) == (2, "")
    assert "pip install 'trainc[watch]'" in result.stderr
