"""What a job asks of the cluster, as columns: before and after."""

from __future__ import annotations

from collections.abc import Callable

from trainc.diff.model import Versions
from trainc.diff.steps import Totals

_MISSING = "-"
COLUMNS: tuple[tuple[str, Callable[[Totals], str]], ...] = (
    ("nodes", lambda totals: str(totals.nodes)),
    ("GPUs", lambda totals: str(totals.gpus)),
    ("CPU", lambda totals: str(totals.cpu)),
    ("memory", lambda totals: str(totals.memory)),
    ("gang", lambda totals: _MISSING if totals.gang is None else str(totals.gang)),
)


def figures(totals: Versions) -> list[tuple[str, str, str]]:
    """Column, value before, value after; `-` where there is none."""
    return [
        (
            name,
            _MISSING if totals.before is None else shown(totals.before),
            _MISSING if totals.after is None else shown(totals.after),
        )
        for name, shown in COLUMNS
    ]


def as_arrow(before: str, after: str) -> str:
    """`4 → 8`, or one of them where they are the same."""
    return before if before == after else f"{before} → {after}"
