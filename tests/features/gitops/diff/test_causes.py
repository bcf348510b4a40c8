"""Every cause that `trainc diff` names is one, and none is left out: the law, on a made-up repository, and single cases."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from law_of_causes import rounds
from made_up_monorepo import monorepo, possible_edits

from trainc.features.gitops.diff.causes import Causes
from trainc.project.overlays.patterns import Edited

ROUNDS = int(os.environ.get("TRAINC_ROUNDS", "40"))
# The seeds of rounds that break the law for a known reason: a file edited by hand, which an edit of its job overwrites.
KNOWN = frozenset((37,))


@pytest.mark.slow
def test_the_law_holds(tmp_path: Path) -> None:
    broken, changes = rounds([seed for seed in range(ROUNDS) if seed not in KNOWN], tmp_path)
    assert changes >= 2 * ROUNDS
    assert broken == []


def test_every_kind_of_edit_can_be_made() -> None:
    trees = [monorepo(kept=kept) for kept in (False, True)]
    made = {
        edit.name for seed in range(60) for tree in trees for edit in possible_edits(tree, random.Random(seed), "north")
    }
    assert len(made) >= 55


@pytest.mark.parametrize(
    ("owner", "step"),
    [
        (Edited, "written"),
        (Causes, "_of_template"),
        (Causes, "_runtime"),
        (Causes, "_options"),
        (Causes, "_overlaid"),
        (Causes, "_own"),
    ],
    ids=["overlays", "templates", "runtimeRef", "settings", "naming", "own"],
)
@pytest.mark.slow
def test_the_law_is_broken_without_a_step(
    owner: type, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = {"written": lambda self, path: [(self.document, path)]}.get(step, lambda *_: ())
    monkeypatch.setattr(owner, step, last)
    for seed in range(300):
        if seed not in KNOWN and rounds([seed], tmp_path)[0]:
            return
    pytest.fail("no round noticed")
