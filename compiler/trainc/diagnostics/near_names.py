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


def edits(left: str, right: str, most: int) -> int:
    """How many letters to change, add, drop or swap with their neighbour turn `left` into `right`; `most` + 1 if more."""
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
    """The known name that `word` is a slip of the pen away from, in another case or with up to `most` edits; else none."""
    plain = _letters(word)
    found = sorted((edits(plain, _letters(name), most), name) for name in known if name != word)
    return found[0][1] if found and found[0][0] <= most else ""


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
