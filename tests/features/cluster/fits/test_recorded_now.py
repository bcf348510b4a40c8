"""Recorded decisions of Kueue's own scheduler about a new job, in clusters where others run and wait."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trainc import Fit, fits


def cases(vectors: Path, name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(vectors / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def answer(case: dict[str, Any]) -> Fit:
    return fits([case["job"]], case["case"]["objects"], now=True, at=case["case"]["at"]).now[0]


def wanted(recorded: dict[str, Any]) -> dict[str, Any]:
    """What has to be the same: all that decides, and who is evicted."""
    answered: dict[str, Any] = {"verdict": recorded["verdict"]}
    if recorded["verdict"] in ("admitted", "reserved", "preempts"):
        answered |= {"flavors": recorded["flavors"], "borrows": recorded["borrows"]}
    if recorded["verdict"] == "preempts":
        answered["preempts"] = sorted(target["workload"] for target in recorded["preempts"])
    if recorded["verdict"] == "waits":
        answered["tried"] = recorded["tries"] > 0
    return answered


@pytest.mark.parametrize("name", ["now", "now-facts"])
def test_every_recorded_job_gets_the_recorded_answer(name: str, vectors: Path) -> None:
    different = []
    for case in cases(vectors, name):
        fit, expected = answer(case), wanted(case["answer"])
        given = {key: list(value) if isinstance(value, tuple) else value for key, value in vars_of(fit).items()}
        if expected != {key: given[key] for key in expected}:
            different.append((case["id"], expected, fit))
    assert different == []


def vars_of(fit: Fit) -> dict[str, Any]:
    return {name: getattr(fit, name) for name in ("verdict", "flavors", "borrows", "preempts", "tried")}


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
