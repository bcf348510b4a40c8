"""Near names, for hints: what somebody who mistyped a word most likely meant."""

from __future__ import annotations

from collections.abc import Iterable


def near_names(word: str, known: Iterable[str], limit: int = 3, cutoff: float = 0.6) -> list[str]:
    """Up to `limit` of the `known` names, the most similar first; none that is less similar than `cutoff` (0 to 1)."""
    # Imported here because good input never needs it.
    from difflib import get_close_matches

    return get_close_matches(word, sorted(known), n=limit, cutoff=cutoff)


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """`did you mean a or b?`, or nothing where no known name is near."""
    near = near_names(word, known, cutoff=cutoff)
    return f"did you mean {' or '.join(near)}?" if near else ""
