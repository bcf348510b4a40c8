"""Suggestions for misspelled names."""

from __future__ import annotations

from collections.abc import Iterable

_BEGINNING = 3  # The shortest prefix worth completing.


def near_names(word: str, known: Iterable[str], limit: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return up to `limit` of the `known` names, most similar first, with a similarity (0 to 1) of at least `cutoff`.

    If no name is similar enough, return names that start with `word`, since it may be incomplete.
    """
    # Only needed for bad input.
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(word, names, n=limit, cutoff=cutoff)
    return near or [name for name in names if name.startswith(word) and len(word) >= _BEGINNING][:limit]


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return `did you mean a or b?`, or an empty string if no known name is similar."""
    near = near_names(word, known, cutoff=cutoff)
    return f"did you mean {' or '.join(near)}?" if near else ""


def edits(left: str, right: str, most: int) -> int:
    """Return the edit distance (with swaps) between `left` and `right`, or `most` + 1 if it is larger than `most`."""
    if abs(len(left) - len(right)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, last, row = row, before, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]


def misspelt(word: str, known: Iterable[str], most: int = 2) -> str:
    """Return the known name that `word` misspells, or "".

    Ignores case, `_` and `-`, and allows up to `most` edits.
    """
    plain = _letters(word)
    found = sorted((edits(plain, _letters(name), most), name) for name in known if name != word)
    return found[0][1] if found and found[0][0] <= most else ""


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
