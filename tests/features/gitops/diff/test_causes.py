"""Every cause that `trainc diff` names is one, and none is left out: the law, on a made-up repository of 30 jobs."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from law_of_causes import rounds
from made_up_monorepo import monorepo, possible_edits

from trainc.features.gitops.diff.causes import Causes
from trainc.project.overlays.patterns import Edited

ROUNDS = int(os.environ.get("TRAINC_ROUNDS", "20"))
# The seeds of rounds that break the law for a known reason.
KNOWN: frozenset[int] = frozenset()


@pytest.mark.slow
def test_the_law_holds(tmp_path: Path) -> None:
    broken, changes, _ = rounds([seed for seed in range(ROUNDS) if seed not in KNOWN], tmp_path)
    assert changes >= ROUNDS
    assert broken == []


def test_every_kind_of_edit_can_be_made() -> None:
    made = {edit.name for seed in range(60) for edit in possible_edits(monorepo(), random.Random(seed))}
    assert len(made) >= 34


@pytest.mark.parametrize(
    ("owner", "step", "seeds"),
    [
        (Edited, "written", range(30)),
        (Causes, "_of_template", range(30)),
        (Causes, "_runtime", range(30)),
        (Causes, "_options", range(30)),
    ],
    ids=["overlays", "templates", "runtimeRef", "settings"],
)
@pytest.mark.slow
def test_the_law_is_broken_without_a_step(
    owner: type, step: str, seeds: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = {"written": lambda self, path: [(self.document, path)]}.get(step, lambda *_: ())
    monkeypatch.setattr(owner, step, last)
    broken, _, _ = rounds(seeds, tmp_path)
    assert broken
