"""The outcomes of delivering a change to a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal[
    "nothing",
    "in-place",
    "created",
    "unknown",
    "needs-suspend",
    "immutable",
    "invalid",
    "deleted",
    "re-created",
    "lost",
]

# Ordered from harmless to harmful, with their labels for readers.
LABELS: dict[Outcome, str] = {
    "nothing": "nothing",
    "in-place": "in-place",
    "created": "created",
    "unknown": "unknown",
    "needs-suspend": "needs suspend",
    "immutable": "refused as immutable",
    "invalid": "refused as invalid",
    "deleted": "deleted",
    "re-created": "re-created",
    "lost": "deleted, then refused",
}
MEANINGS: dict[Outcome, str] = {
    "nothing": "the object stays as it is",
    "in-place": "the object is updated; running pods keep running and do not pick up changes to their template",
    "created": "the object is new",
    "unknown": "trainc does not know how the cluster treats this kind",
    "needs-suspend": "the update is refused unless the JobSet is suspended first",
    "immutable": "the API server refuses the update, and the job keeps running as it is",
    "invalid": "the API server refuses the object itself",
    "deleted": "the object and its pods are deleted",
    "re-created": "the object is deleted and created again, or created under a new name: training restarts",
    "lost": "the object is deleted, and the new one is then refused: training stops",
}
_RANK = {outcome: rank for rank, outcome in enumerate(LABELS)}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The most harmful of `outcomes`, or "nothing" if there are none."""
    return max(outcomes, key=_RANK.__getitem__, default="nothing")
