"""What `diff --live` says of a cluster after people and controllers acted on what was rendered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from commands import run

from conformance import Case


def judge_dumps(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    """Compare objects, states, conditions and drift, with managedFields and without them."""
    for case in cases:
        with_managers = [f"with managedFields: {each}" for each in _wrong(case, case["managed"])]
        yield case["id"], [*with_managers, *_wrong(case, case["dump"], managers=False)]


def _wrong(case: Case, dump: Any, *, managers: bool = True) -> Iterator[str]:
    answers = {each["name"]: each for each in _answer(case, dump)}
    for recorded in case["expected"]:
        answer = answers.pop(recorded["name"], None)
        if answer is None:
            yield f"{recorded['name']} is missing"
            continue
        # Without managers, what a queue set cannot be told from what a person did.
        by_a_queue = recorded["object"] == "same" and recorded["drift"] and not managers
        if answer["object"] != recorded["object"] and not by_a_queue:
            yield f"{recorded['name']} is {answer['object']}, recorded {recorded['object']}"
        if answer["state"] != recorded["state"]:
            yield f"{recorded['name']}: state {answer['state']}, recorded {recorded['state']}"
        if (wanted := recorded["condition"]) and _condition(answer["condition"]) != _condition(wanted):
            yield f"{recorded['name']}: condition {answer['condition']}, recorded {wanted}"
        yield from (f"{recorded['name']}: {each}" for each in _wrong_drift(recorded, answer, managers=managers))
    # Objects that every namespace has, or that strangers made.
    yield from (f"{name} is made up" for name in answers if not name.startswith("ConfigMap "))


def _answer(case: Case, dump: Any) -> list[Case]:
    with TemporaryDirectory() as folder:
        (Path(folder) / "rendered").mkdir()
        for number, document in enumerate(case["rendered"]):
            (Path(folder) / "rendered" / f"{number:02}.yaml").write_text(json.dumps(document), encoding="utf-8")
        (Path(folder) / "live.json").write_text(json.dumps(dump), encoding="utf-8")
        where = ("diff", f"{folder}/rendered", "--live", f"{folder}/live.json")
        done = run(*where, "--release", "2.3", "--format", "json")
        answer: list[Case] = json.loads(done.stdout)["live"]
        return answer


def _condition(condition: Case | None) -> tuple[str, str] | None:
    return (condition["type"], condition["reason"]) if condition else None


def _wrong_drift(recorded: Case, answer: Case, *, managers: bool) -> Iterator[str]:
    for drift in recorded["drift"]:
        met = [each for each in answer["drift"] if _meet(each["path"], drift["path"])]
        if not met:
            yield f"{drift['path']} by {drift['by']} is missed"
        elif managers and drift["by"] and all(each["by"] != drift["by"] for each in met):
            yield f"{drift['path']} is by {[each['by'] for each in met]}, recorded {drift['by']}"
    for drift in answer["drift"]:
        if not any(_meet(drift["path"], each["path"]) for each in recorded["drift"]):
            yield f"{drift['path']} is made up"


def _meet(one: str, other: str) -> bool:
    """Whether one path is at or above the other, quotes and indexes aside."""
    first, second = (
        [word for word in re.split(r"[.\[\]\"/]+", path) if word and not word.isdigit()] for path in (one, other)
    )
    return all(a == b for a, b in zip(first, second, strict=False))
