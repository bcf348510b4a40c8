"""Months of pull requests in repositories of kept jobs: the laws hold, and each mechanism is what makes one of them hold.

`make test-months` plays 2,000 pull requests.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from months import GOOD, Make, Months, Request, break_runtime, by_hand, edit, in_place, undo_by_hand

from trainc.cli import at_base, compiling, judging, kept
from trainc.output import keeping

pytestmark = pytest.mark.slow

MONTHS, REQUESTS = int(os.environ.get("TRAINC_MONTHS", "1")), int(os.environ.get("TRAINC_REQUESTS", "10"))


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("seed", range(1, MONTHS + 1))
def test_the_laws_hold_for_random_pull_requests(seed: int) -> None:
    months = Months(seed)
    for _ in range(REQUESTS):
        months.step()
    assert months.broken == []


def another_image(months: Months) -> Request:
    for runtime in months.world.runtimes.values():
        runtime.image = f"{GOOD}/train:2"
    return Request("runtime", expects="green")


def stricter_images(months: Months) -> Request:
    months.world.image_end = ":9"
    return Request("rule", expects="green")


def common_label(months: Months) -> Request:
    months.world.label = "a"
    return Request("overlay", expects="green")


def only_first_images(months: Months) -> Request:
    months.world.image_end = ":1"
    return Request("rule", expects="green")


def audit_and_use(months: Months) -> Request:
    job = months.a_job()
    months.world.action, job.image = "Audit", f"{GOOD}/train:2"
    return Request("loosened and used", changed=frozenset([job.name]), expects="red")


class Removed:
    """A mechanism that is taken out, the pull requests that show it, and the law that no longer holds."""

    def __init__(self, where: Any, name: str, instead: Any, requests: Sequence[Make], law: str) -> None:
        self.where, self.name, self.instead, self.requests, self.law = where, name, instead, requests, law


def nothing(*_: Any) -> Any:
    return None


REMOVED: dict[str, Removed] = {
    "what a change breaks": Removed(judging.Before, "lacks", lambda *_: False, [break_runtime], "L3"),
    "what a rule refuses of kept jobs": Removed(judging.Before, "lacks", lambda *_: True, [stricter_images], "L10"),
    "own and held back": Removed(at_base, "own_trainjob", lambda d, **_: d.data, [common_label], "L1 "),
    "changes in place": Removed(keeping, "with_changes_in_place", nothing, [another_image, in_place], "L1i"),
    "a revert": Removed(at_base, "History", lambda *_: lambda _: (), [another_image, edit, undo_by_hand], "L6"),
    "the rules of the base": Removed(
        compiling,
        "_court_at_base",
        lambda _, court: (None, court, []),
        [only_first_images, audit_and_use],
        "L7 red: loosened",
    ),
    "the proof of kept files": Removed(kept, "prove", lambda *_: ([], []), [by_hand], "L7 red: hand"),
}


@pytest.mark.parametrize("mechanism", REMOVED)
def test_a_law_breaks_without_the_mechanism_that_keeps_it(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    removed = REMOVED[mechanism]
    for is_there in (True, False):
        Path(str(is_there)).mkdir()
        with monkeypatch.context() as without:
            without.chdir(str(is_there))
            if not is_there:
                without.setattr(removed.where, removed.name, removed.instead)
            months = Months(3)
            for make in removed.requests:
                months.step(make)
        assert any(broken.startswith(removed.law) for broken in months.broken) is not is_there, months.broken
        assert months.judged
