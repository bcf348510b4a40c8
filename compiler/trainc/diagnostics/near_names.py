"""Near names, for hints: what somebody who mistyped a word most likely meant."""

from __future__ import annotations

from collections.abc import Iterable

_BEGINNING = 3  # Characters of a name's beginning that say which name is meant.


def near_names(word: str, known: Iterable[str], limit: int = 3, cutoff: float = 0.6) -> list[str]:
    """Up to `limit` of the `known` names, the most similar first; none that is less similar than `cutoff` (0 to 1).

    Where none is as similar as that, those that begin with the word: somebody has not written it to its end.
    """
    # Imported here because good input never needs it.
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(word, names, n=limit, cutoff=cutoff)
    return near or [name for name in names if name.startswith(word) and len(word) >= _BEGINNING][:limit]


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """`did you mean a or b?`, or nothing where no known name is near."""
    near = near_names(word, known, cutoff=cutoff)
    return f"did you mean {' or '.join(near)}?" if near else ""
