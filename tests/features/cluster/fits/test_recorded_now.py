"""What Kueue's own scheduler was recorded to lack for a new job where others run and wait, besides what conformance judges."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trainc import Fit, fits


def cases(vectors: Path, name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(vectors / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def answer(case: dict[str, Any]) -> Fit:
    return fits([case["job"]], case["case"]["objects"], now=True, at=case["case"]["at"]).now[0]


def test_what_the_first_attempt_lacks_is_as_recorded(vectors: Path) -> None:
    different = []
    for case in cases(vectors, "now"):
        recorded, fit = case["answer"], answer(case)
        if fit.verdict not in ("waits", "preempts"):
            continue
        tries = [recorded.get("short"), *(attempt.get("short") for attempt in recorded.get("distinctTries") or ())]
        lacks = sorted((item["resource"], item["flavor"], item["more"]) for item in fit.missing)
        if lacks not in [
            sorted((s["resource"], s["flavor"], s["more"]) for s in short or () if s.get("more")) for short in tries
        ]:
            different.append((case["id"], lacks))
    assert different == []
