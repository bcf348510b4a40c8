"""`python -m benchmarks.growth [WORD ...]`: whether what a document costs grows faster than one of its fields.

Every list, mapping and text of every schema (tests/growing.py) grows, and every command that knows its kind reads it.
Fields of one document grow together, those that are refused for the same reasons, so that none hides another: a screen of
processor time tells what takes a while and grows faster than the fields. Of such a group the halves are screened, and what
is left at the end is counted under callgrind, which no other process disturbs, and which sees copies of lists: twice the
field may take at most 2.3 times the instructions. Words choose fields, as in `growth TrainJob numbered`. Prints what seemed
to take more, and what does.
"""

from __future__ import annotations

import gc
import io
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from growing import KINDS, Field, fields, groups, write

from trainc.cli.command import Streams
from trainc.cli.main import main as trainc

MOST = 2.3
COUNTED = (2_000, 4_000)
# The collector, and tables that grow.
_INSTRUCTIONS = 100e6
# Long texts are read so fast that they would not show.
SCREENED, LONG = (500, 1_000, 4_000), (2_000, 4_000, 16_000)
TEXTS = ("long", "lines")
# Of a text, most of what it costs is what a command costs without it; of a list, nothing is.
_TOGETHER = {True: 16, False: 6}
# What takes no longer is let through; six times is linear: a field of half the size is subtracted from one, and one from four.
# In a group, one field that is not linear shows less.
_SECONDS, _TIMES, _TIMES_OF_GROUPS, _NOISE = 0.25, 7.2, 6.4, 0.06
_MOST_SECONDS = 120
_COLLECTED = re.compile(r"Collected : (\d+)")
_REFUSED = re.compile(r"error\[(\w+)\]")


def main(words: Sequence[str]) -> int:
    """Screen every field that the words choose, count what it found, and return 1 if one grows too fast."""
    chosen = [field for kind in KINDS for field in fields(kind) if set(words) <= set(str(field).split())]
    gc.set_threshold(200_000)  # As the console script has it.
    with TemporaryDirectory() as folder, chdir(folder):  # What each command imports is not imported in each fork.
        next(fields("TrainJob")).write(Path(folder), 1)
        for command in KINDS["TrainJob"].commands:
            trainc(command.split(), Streams(io.BytesIO(), io.BytesIO(), io.StringIO()))
    seemed: list[tuple[Sequence[Field], str]] = []
    for kind in dict.fromkeys(field.kind for field in chosen):
        of_kind, began, before = [field for field in chosen if field.kind == kind], time.monotonic(), len(seemed)
        grouped = [*grow_together(of_kind)]
        for group, command in product(grouped, KINDS[kind].commands):
            for suspects in seem_to_grow(group, command):
                print(f"seems to grow | {_names(suspects)} | {command}", flush=True)
                seemed.append((suspects, command))
        about = f"in {len(grouped)} groups, {len(KINDS[kind].commands)} commands, {time.monotonic() - began:.0f} s"
        print(
            f"{sum(map(len, grouped))} of {len(of_kind)} fields of {kind} {about}, {len(seemed) - before} seem to grow",
            flush=True,
        )
    found = 0
    for suspects, command in seemed:
        names = _names(suspects)
        print(f"counting | {names} | {command}", flush=True)
        # Not three sizes: what is shown of a long list is bounded, so that twice of it may take less.
        small = _cost(suspects, 1, command, counted)
        half, whole = (_cost(suspects, size // len(suspects), command, counted) - small for size in COUNTED)
        grows = whole > MOST * half + _INSTRUCTIONS
        found += grows
        times = whole / max(half, 1)
        print(f"{'TOO FAST' if grows else 'linear'} | {names} | {command} | {times:.2f} times", flush=True)
    print(f"{len(chosen)} fields, {len(seemed)} counted, {found} with more than {MOST} times")
    return min(found, 1)


def _names(suspects: Sequence[Field]) -> str:
    return " and ".join(map(str, suspects))


def grow_together(members: Sequence[Field]) -> Iterator[list[Field]]:
    """Groups of fields that are refused together for the reasons for which each is refused alone."""
    alike: dict[tuple[bool, frozenset[str]], list[Field]] = {}
    for field in members:
        alike.setdefault((field.way in TEXTS, _reasons([field])), []).append(field)
    for (is_text, reasons), those in alike.items():
        waiting = groups(those, _TOGETHER[is_text])
        while waiting:
            group = waiting.pop()
            if len(group) == 1 or _reasons(group) == reasons:
                yield group
            else:
                waiting += _halves(group)


def _halves(group: Sequence[Field]) -> list[list[Field]]:
    return [[*group[: len(group) // 2]], [*group[len(group) // 2 :]]]


def _reasons(group: Sequence[Field]) -> frozenset[str]:
    """The exit code and the codes of errors of the first command that reads the kind of these fields."""
    out, err = io.BytesIO(), io.StringIO()
    with TemporaryDirectory() as folder, chdir(folder):
        write(group, Path(folder), _sizes(group)[0])
        status = trainc(KINDS[group[0].kind].commands[0].split(), Streams(io.BytesIO(), out, err))
    return frozenset((str(status), *_REFUSED.findall(out.getvalue().decode() + err.getvalue())))


def seem_to_grow(group: Sequence[Field], command: str) -> Iterator[Sequence[Field]]:
    """Yield the fields for which a command takes more time than in proportion; several only if it takes that for no half."""
    if _seems_to_grow(group, command):
        halves = _halves(group) if len(group) > 1 else []
        yield from [suspects for half in halves for suspects in seem_to_grow(half, command)] or [group]


def _seems_to_grow(group: Sequence[Field], command: str) -> bool:
    first, second, third = _sizes(group)
    most_times = _TIMES if len(group) == 1 else _TIMES_OF_GROUPS
    for _ in range(2):  # Other processes slow one down for a while.
        most = _cost(group, third, command, timed)
        if most < _SECONDS:
            return False
        half, once = (_cost(group, size, command, timed) for size in (first, second))
        if most - once <= most_times * (once - half) + _NOISE:
            return False
    return True


def _sizes(group: Sequence[Field]) -> tuple[int, int, int]:
    return LONG if group[0].way in TEXTS else SCREENED


def _cost(group: Sequence[Field], size: int, command: str, count: Callable[[Sequence[str], Path], float]) -> float:
    with TemporaryDirectory() as folder:
        write(group, Path(folder), size)
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
