"""`python -m benchmarks.growth [WORD ...]`: the instructions that a document costs which grows in one field.

Every list, mapping and text of every schema (tests/growing.py) grows to n, 2n and 4n, is read by every command that knows
its kind, and what the last step costs is compared with what the one before it did: at most 2.3 times as much. Callgrind
counts instructions, those that copy lists included, which lines of Python would not show. Words choose fields, as in
`growth TrainJob numbered`; `seconds` counts processor time instead, for a first look at larger sizes. One
process of trainc is forked for each document, so that only the command is counted. Prints what takes more.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from growing import KINDS, Field, fields

MOST = 2.3
SIZES, LARGE = (1_000, 2_000, 4_000), (4_000, 8_000, 16_000)
# Less than that is what the collector or a table that grows takes.
_LEAST = {"instructions": 100e6, "seconds": 0.5}
_COUNTED = re.compile(r"Collected : (\d+)")


def main(words: Sequence[str]) -> int:
    """Count every field that the words choose, and return 1 if one grows too fast."""
    unit = "seconds" if "seconds" in words else "instructions"
    wanted = set(words) - {"seconds"}
    chosen = [field for kind in KINDS for field in fields(kind) if wanted <= set(str(field).split())]
    found = 0
    with TemporaryDirectory() as folder:
        counter = _Counter(Path(folder), unit)
        for field in chosen:
            for command, (first, second, third) in counter.counts(field):
                if third - second > MOST * (second - first) + _LEAST[unit]:
                    found += 1
                    print(f"{field} | {command} | {first:,.2f} {second:,.2f} {third:,.2f}", flush=True)
    print(f"{len(chosen)} fields, {found} times more than {MOST} times the {unit}")
    return min(found, 1)


class _Counter:
    """A process of trainc, under callgrind unless it is for seconds, that is forked for each command."""

    def __init__(self, root: Path, unit: str) -> None:
        self._root, self._unit = root, unit
        callgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}", f"--log-file={root}/log.%p"]
        forked = [sys.executable, "-c", "from benchmarks.growth import answer; answer()"]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        self._process = subprocess.Popen(
            [*(callgrind if unit == "instructions" else ()), *forked],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def counts(self, field: Field) -> Iterator[tuple[str, list[float]]]:
        """Each command that reads the field's document, and what it took at each size."""
        sizes = SIZES if self._unit == "instructions" else LARGE
        for size in sizes:
            field.write(self._root / str(size), size)
        for command in KINDS[field.kind].commands:
            yield command, [self._count(command, self._root / str(size)) for size in sizes]

    def _count(self, command: str, folder: Path) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"words": command.split(), "folder": str(folder)}) + "\n")
        self._process.stdin.flush()
        done: Mapping[str, float] = json.loads(self._process.stdout.readline())
        if done["status"] not in (0, 1, 2):
            print(f"{command}: status {done['status']}", flush=True)
        if self._unit == "seconds":
            return done["seconds"]
        log = self._root / f"log.{done['pid']}"
        match = _COUNTED.search(log.read_text(encoding="utf-8"))
        assert match is not None, log
        log.unlink()
        return int(match[1])


def answer() -> None:
    """Fork for each command on stdin, and say how it ended on stdout. What all need is imported before."""
    from trainc.cli.command import Streams
    from trainc.cli.main import main as trainc

    with TemporaryDirectory() as folder:
        next(fields("TrainJob")).write(Path(folder), 1)
        os.chdir(folder)
        for command in (*KINDS["TrainJob"].commands, "check rendered.yaml"):
            trainc(command.split(), Streams(io.BytesIO(), io.BytesIO(), io.StringIO()))
    for line in sys.stdin:
        request = json.loads(line)
        os.chdir(request["folder"])
        child = os.fork()
        if not child:
            status = 3
            try:
                status = trainc(request["words"], Streams(io.BytesIO(), io.BytesIO(), io.StringIO()))
            finally:
                os._exit(status)
        _, status, used = os.wait4(child, 0)
        done = {"pid": child, "status": os.waitstatus_to_exitcode(status), "seconds": used.ru_utime + used.ru_stime}
        sys.stdout.write(json.dumps(done) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
