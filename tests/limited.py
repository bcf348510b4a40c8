"""trainc with little memory and little time, both held to by the kernel: commands on stdin, outcomes on stdout, as JSON.

Run as a program. Each line of stdin is a request, `{"folder": ..., "words": [...], "stdin": path or null}`, whose words are
those of a command, or the method of a request to the language server and a file; each line of
stdout is its outcome, `{"status": ..., "codes": [...], "traceback": ..., "stderr": ..., "seconds": ..., "peak": ...}`: the
processor time of the command, and the megabytes that the process has taken at most so far. One that takes more than it
may have is killed.
"""

from __future__ import annotations

import gc
import io
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

MEMORY = 1_500_000_000
SECONDS = 120


def request(folder: Path, words: Sequence[str], stdin: str | None = None) -> dict[str, Any]:
    """A command in a folder, with a file as its standard input."""
    return {"folder": str(folder), "words": list(words), "stdin": stdin}


def outcomes(requests: Iterable[dict[str, Any]], python: Sequence[str] = (sys.executable,)) -> list[dict[str, Any]]:
    """What became of each request, all in one process; AssertionError if it was killed on the way."""
    done = subprocess.run(
        [*python, __file__], input="\n".join(map(json.dumps, requests)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stderr[-2000:]} after {done.stdout.count(chr(10))} commands"
    return [json.loads(line) for line in done.stdout.splitlines()]


def peak() -> int:
    """The megabytes that this process has taken at most. Linux's getrusage counts those of its parent, too."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def main() -> None:
    """Limit, then run one command after the other."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    from trainc.cli.command import Streams
    from trainc.cli.main import main as trainc

    gc.set_threshold(200_000)  # As the console script has it.

    def called(words: Sequence[str], streams: Streams) -> int:
        if words[0].startswith("textDocument/"):
            from requests_of_editors import answer

            answer(words[0], Path(words[1]).read_text(encoding="utf-8"), Path().absolute())
            return 0
        return trainc(words, streams)

    for line in sys.stdin:
        requested = json.loads(line)
        os.chdir(requested["folder"])
        given = Path(requested["stdin"]).read_bytes() if requested["stdin"] else b""
        reported = io.StringIO()
        begun = time.process_time()
        try:
            status = called(requested["words"], Streams(io.BytesIO(given), io.BytesIO(), reported))
        except SystemExit as ended:
            status = int(str(ended.code))
        text = reported.getvalue()
        outcome = {
            "status": status,
            "codes": sorted(set(re.findall(r"(?:error|warning|info)\[(\w+)\]", text))),
            "traceback": "Traceback" in text,
            "stderr": text[:1000],
            "seconds": time.process_time() - begun,
            "peak": peak(),
        }
        sys.stdout.write(json.dumps(outcome) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
