"""`python -m benchmarks.growth [WORD ...]`: whether what a document costs grows faster than one of its fields.

Every list, mapping and text of every schema (tests/growing.py) grows, and every command that knows its kind reads it. A
screen of processor time tells what takes a while and grows faster than the field. Only that is counted under callgrind,
which no other process disturbs, and which sees copies of lists: twice the field may take at most 2.3 times the
instructions. Words choose fields, as in `growth TrainJob numbered`. Prints what seemed to take more, and what does.
"""

from __future__ import annotations

import gc
import io
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from growing import KINDS, Field, fields

from trainc.cli.command import Streams
from trainc.cli.main import main as trainc

MOST = 2.3
COUNTED = (1_000, 2_000, 4_000)
# The collector, and tables that grow.
_INSTRUCTIONS = 100e6
# Long texts are read so fast that they would not show.
SCREENED, LONG = (500, 1_000, 4_000), (2_000, 4_000, 16_000)
# What takes no longer is let through; six times is linear: a field of half the size is subtracted from one, and one from four.
_SECONDS, _TIMES, _NOISE = 0.25, 7.2, 0.06
_MOST_SECONDS = 120
_COLLECTED = re.compile(r"Collected : (\d+)")


def main(words: Sequence[str]) -> int:
    """Screen every field that the words choose, count what it found, and return 1 if one grows too fast."""
    chosen = [field for kind in KINDS for field in fields(kind) if set(words) <= set(str(field).split())]
    gc.set_threshold(200_000)  # As the console script has it.
    with TemporaryDirectory() as folder:  # What each command imports is not imported in each fork.
        next(fields("TrainJob")).write(Path(folder), 1)
        os.chdir(folder)
        for command in KINDS["TrainJob"].commands:
            trainc(command.split(), Streams(io.BytesIO(), io.BytesIO(), io.StringIO()))
    commands, seemed, found = 0, 0, 0
    for field in chosen:
        for command in KINDS[field.kind].commands:
            commands += 1
            if not seems_to_grow(field, command):
                continue
            seemed += 1
            first, second, third = (_cost(field, size, command, counted) for size in COUNTED)
            grows = third - second > MOST * (second - first) + _INSTRUCTIONS
            found += grows
            times = (third - second) / max(second - first, 1)
            print(f"{'TOO FAST' if grows else 'linear'} | {field} | {command} | {times:.2f} times", flush=True)
    print(f"{len(chosen)} fields, {commands} commands, {seemed} counted, {found} with more than {MOST} times")
    return min(found, 1)


def seems_to_grow(field: Field, command: str) -> bool:
    """Whether a command takes more processor time than in proportion to a field."""
    first, second, third = LONG if field.way in ("long", "lines") else SCREENED
    for _ in range(2):  # Other processes slow one down for a while.
        most = _cost(field, third, command, timed)
        if most < _SECONDS:
            return False
        half, once = (_cost(field, size, command, timed) for size in (first, second))
        if most - once <= _TIMES * (once - half) + _NOISE:
            return False
    return True


def _cost(field: Field, size: int, command: str, count: Callable[[Sequence[str], Path], float]) -> float:
    with TemporaryDirectory() as folder:
        field.write(Path(folder), size)
        return count(command.split(), Path(folder))


def timed(words: Sequence[str], folder: Path) -> float:
    """The processor time that a command takes in a folder, in a fork of this process."""
    child = os.fork()
    if not child:
        status = 3
        resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS))
        try:
            os.chdir(folder)
            status = trainc(words, Streams(io.BytesIO(), io.BytesIO(), io.StringIO()))
        finally:
            os._exit(status)
    _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1, 2):
        print(f"{' '.join(words)}: status {os.waitstatus_to_exitcode(status)}", flush=True)
    return used.ru_utime + used.ru_stime


def counted(words: Sequence[str], folder: Path) -> float:
    """The instructions of a process of trainc; what it costs to start is the same for each size."""
    callgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}"]
    done = subprocess.run(
        [*callgrind, sys.executable, "-m", "trainc", *words],
        cwd=folder, env={**os.environ, "PYTHONHASHSEED": "0"}, check=False, capture_output=True, text=True,
    )  # fmt: skip
    return int(_COLLECTED.findall(done.stderr)[-1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
