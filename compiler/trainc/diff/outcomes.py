"""What a cluster does about a change, in one word."""

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

# From harmless to harmful, with the words for people.
LABELS: dict[Outcome, str] = {
    "nothing": "nothing",
    "in-place": "in-place",
    "created": "created",
    "unknown": "not known",
    "needs-suspend": "needs suspend",
    "immutable": "refused as immutable",
    "invalid": "refused as invalid",
    "deleted": "deleted",
    "re-created": "re-created",
    "lost": "deleted, then refused",
}
MEANINGS: dict[Outcome, str] = {
    "nothing": "the object stays as it is",
    "in-place": "the object is updated; running pods stay, and do not see a change of their template",
    "created": "a new object",
    "unknown": "trainc does not know this kind's rules",
    "needs-suspend": "refused, unless the JobSet is suspended first",
    "immutable": "the API server refuses the update, and what runs goes on as before",
    "invalid": "the API server refuses the object itself",
    "deleted": "the object is removed, and its pods with it",
    "re-created": "deleted and created again, or created under a new name: training restarts",
    "lost": "deleted, and the new object is then refused: training stops",
}
_RANK = {outcome: rank for rank, outcome in enumerate(LABELS)}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The most harmful of `outcomes`; "nothing" if there are none."""
    return max(outcomes, key=_RANK.__getitem__, default="nothing")
