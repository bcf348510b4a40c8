"""What the fate of one object does to the others of its job, where a tool tries all of them before it applies any.

Source: fluxcd/pkg ssa/manager_apply.go (ApplyAll): a dry run of every object, and no apply after one that failed.
"""

from __future__ import annotations

from collections.abc import Sequence

from trainc.diff.model import ObjectDiff
from trainc.diff.outcomes import Outcome
from trainc.diff.verdicts import Verdict
from trainc.diff.ways import WAYS
from trainc.startup.records import replace

_STOPS: tuple[Outcome, ...] = ("needs-suspend", "immutable", "invalid", "lost")


def with_common_fate(objects: Sequence[ObjectDiff]) -> list[ObjectDiff]:
    """The objects of a job as Flux leaves them: as they were, all of them, if one is refused."""
    for way in WAYS:
        if way.tool == "flux" and any(diff.verdicts[way.id].outcome in _STOPS for diff in objects):
            objects = [_held_back(diff, way.id) for diff in objects]
    return list(objects)


def _held_back(diff: ObjectDiff, way: str) -> ObjectDiff:
    """An object that would be updated or created is not. What is pruned is pruned after the apply, and so stays too."""
    verdict = diff.verdicts[way]
    if verdict.outcome in _STOPS or verdict.outcome == "re-created":
        return diff
    return replace(diff, verdicts={**diff.verdicts, way: Verdict("nothing", verdict.per_change)})
