"""Run one target without atheris: `python -m fuzz.changes TARGET SECONDS FINDINGS [SEED]`.

Each input is a seed whose documents are changed at random; one in eight has bytes changed instead. Nothing is instrumented, so
this tries many times as many inputs as libFuzzer in the same time, but learns nothing from them. The first input for each
exception or failed command is kept in the folder FINDINGS.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
import time
import traceback
from pathlib import Path
from random import Random

from fuzz.mutation import mutated
from fuzz.seeds import seeds

_BYTES = b"\n\n  :-#'\"{}[]|>&*!%0aA~\x00\xff"


def main(target: str, seconds: str, findings: str, seed: str = "1") -> int:
    """Try inputs until the time is over, and return how many kinds of failures there were, at most 1."""
    check = importlib.import_module(f"fuzz.targets.{target}").check
    random, known, end = Random(int(seed)), list(seeds(target)), time.monotonic() + float(seconds)  # noqa: S311
    found: dict[str, bytes] = {}
    tried = 0
    while time.monotonic() < end:
        data = changed(random.choice(known), random)
        tried += 1
        started = time.process_time()
        try:
            check(data)
            failure = "it took ten seconds" if time.process_time() - started > 10 else ""
        except Exception:  # noqa: BLE001 - that is what is looked for
            failure = traceback.format_exc()
        if failure and found.setdefault(_kind(failure), data) is data:
            name = hashlib.sha256(data).hexdigest()[:12]
            Path(findings).mkdir(parents=True, exist_ok=True)
            Path(findings, name).write_bytes(data)
            print(f"{name}: {failure}", flush=True)
    print(f"{target}: {tried:,} inputs, {len(found)} kinds of failures")
    return min(len(found), 1)


def changed(seed: bytes, random: Random) -> bytes:
    """A seed with its documents changed, or some of its bytes. The first byte is kept: it says what the documents are."""
    if random.randrange(8):
        return seed[:1] + mutated(seed[1:], random.randrange(1 << 32))
    text = bytearray(seed)
    for _ in range(random.randint(1, 6) if len(text) > 1 else 0):
        text[random.randrange(1, len(text))] = random.choice(_BYTES)
    return bytes(text)


def _kind(failure: str) -> str:
    """Where a failure was, without what the input says: the innermost lines of code."""
    places = [line.strip() for line in failure.splitlines() if line.strip().startswith("File ")]
    return "\n".join(places[-2:]) or failure


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
