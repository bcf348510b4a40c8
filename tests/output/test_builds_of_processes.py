"""`trainc build -o` as processes of their own: killed at any time, without room on the disk, several at once."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trainc.output.ownership import first_line

pytestmark = pytest.mark.slow

# How often a build is killed; the figure in docs/reliability.md comes from a run with more.
KILLS = int(os.environ.get("TRAINC_KILLS", "3"))
TRAINC = [sys.executable, "-m", "trainc", "build", "--release", "2.3", "--quiet", "--prune"]
JOBS = 12


def jobs(folder: Path, nodes: int, count: int = JOBS) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}.yaml").write_text(
            f"""apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: job-{number}, namespace: team-{number % 3}}}
spec: {{runtimeRef: {{name: torch-distributed}}, trainer: {{numNodes: {nodes}}}}}
""",
            encoding="utf-8",
        )
    return folder


def build(source: Path, out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TRAINC, str(source), "-o", str(out), *words], capture_output=True, text=True, check=False)


def held(folder: Path) -> dict[str, str]:
    """Every file, those of trainc's own folder too."""
    return {str(p.relative_to(folder)): p.read_text(encoding="utf-8") for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Path, Path]:
    return jobs(tmp_path / "old", nodes=2), jobs(tmp_path / "new", nodes=3, count=JOBS - 2)


def test_a_build_killed_at_any_time_leaves_old_or_new_or_an_interrupted_build(
    inputs: tuple[Path, Path], tmp_path: Path
) -> None:
    old, new = inputs
    out, first, wanted = tmp_path / "out", tmp_path / "first", tmp_path / "wanted"
    started = time.monotonic()
    assert build(old, first).returncode == build(new, wanted).returncode == 0
    takes = (time.monotonic() - started) / 2
    before, after = held(first), held(wanted)
    chance = random.Random(7)
    for _ in range(KILLS):
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(first, out)
        with subprocess.Popen([*TRAINC, str(new), "-o", str(out)]) as process:
            # Most of a run is reading and compiling; the folder changes near its end.
            time.sleep(takes * (0.6 + 0.5 * chance.random()))
            process.send_signal(signal.SIGKILL)
        applied = {name: text for name, text in held(out).items() if not name.startswith(".trainc")}
        if (out / ".trainc" / "journal").exists():
            checked = build(new, out, "--check")
            assert (checked.returncode, "InterruptedBuild" in checked.stderr) == (1, True)
        else:
            assert applied in (before, after)
        assert build(new, out).returncode == 0
        assert held(out) in (after, after | {".trainc/lock": ""})


def test_an_interrupted_build_is_reported_by_check_and_completed_by_the_next(
    inputs: tuple[Path, Path], tmp_path: Path
) -> None:
    _, new = inputs
    out = tmp_path / "out"
    build(new, out)
    state = out / ".trainc"
    (state / "staged").mkdir(parents=True)
    (state / "staged" / "0").write_text(first_line("x.yaml"), encoding="utf-8")
    (state / "journal").write_text("trainc journal 1\n0 team-9/x.yaml\n", encoding="utf-8")
    checked = build(new, out, "--check")
    assert (checked.returncode, checked.stdout) == (1, "")
    assert "error[InterruptedBuild]" in checked.stderr
    assert build(new, out).returncode == 0
    assert not state.exists()
    assert not (out / "team-9").exists()


def test_a_disk_that_takes_only_part_of_a_file_leaves_the_old_output(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = inputs
    out = tmp_path / "out"
    build(old, out)
    before = held(out)
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *TRAINC, str(new), "-o", str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("trainc: ")
    assert done.stderr.count("\n") == 1
    assert held(out) == before


def test_a_disk_without_room_leaves_the_old_output(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = inputs
    disk = tmp_path / "disk"
    disk.mkdir()
    # A disk of this size holds one output and not two: the new one is staged beside the old one.
    words = " ".join(TRAINC)
    script = f"""mount -t tmpfs -o size=80k tmpfs {disk} || exit 77
{words} {old} -o {disk}/out || exit 78
cp -r {disk}/out {tmp_path}/before
{words} {new} -o {disk}/out
echo "status $?"
cp -r {disk}/out {tmp_path}/after"""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare, which mounts a small disk for one process")
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=False)
    if done.returncode in (1, 77):
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    assert "No space left on device" in done.stderr
    assert done.stdout.endswith("status 1\n")
    assert held(tmp_path / "after") == held(tmp_path / "before")


def test_builds_into_one_folder_at_once_do_not_mix(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    outputs = []
    for source in inputs:
        alone = tmp_path / f"{source.name}-alone"
        build(source, alone)
        outputs.append(held(alone))
    out = tmp_path / "out"
    processes = [subprocess.Popen([*TRAINC, str(source), "-o", str(out)]) for source in (*inputs, *inputs)]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    assert held(out) in outputs
