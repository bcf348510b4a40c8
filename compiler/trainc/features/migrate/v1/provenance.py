"""Provenance: where a value of a v1 job stands in the documents that it became, for its comments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.findings import Path

# Fields that have another name in the TrainJob.
_RENAMED = {"resources": "resourcesPerNode", "nprocPerNode": "numProcPerNode", "replicas": "numNodes"}
# A document's number, and a path in it.
Place = tuple[int, Path]


class Places:
    """Every path of some documents, by the last name on it."""

    def __init__(self, documents: Sequence[Any]) -> None:
        self._values: dict[Place, Any] = {}
        self._named: dict[str, list[Place]] = {}
        for number, document in enumerate(documents):
            for path, value in _paths(document, ()):
                self._values[number, path] = value
                self._named.setdefault(_name(path), []).append((number, path))

    def of(self, path: Path, value: Any) -> Place | None:
        """Where `value`, which stood at `path`, stands now: under the same name, with the most steps in common.

        Of a mapping or list that has changed, the one of the same name and parents; None if there is none.
        """
        names = {_name(path), _RENAMED.get(_name(path), "")}
        candidates = [place for name in names for place in self._named.get(name, ())]
        same = [place for place in candidates if self._is_same(path, place, value)]
        if not same and isinstance(value, (Mapping, list)):
            same = [place for place in candidates if self._continues(path, place, value)]
        # What a TrainJob says of its trainer wins over what its runtime has in the same place.
        return max(same, key=lambda place: ("trainer" in place[1], _in_common(path, place[1])), default=None)

    def _is_same(self, path: Path, place: Place, value: Any) -> bool:
        other = self._values[place]
        both_items = isinstance(path[-1], int) == isinstance(place[1][-1], int)
        return both_items and (other == value or (not isinstance(value, (Mapping, list)) and str(other) == str(value)))

    def _continues(self, path: Path, place: Place, value: Any) -> bool:
        """Whether a changed collection is that of before: of the same kind, in a parent of the same name."""
        other = self._values[place]
        if isinstance(path[-1], int) != isinstance(place[1][-1], int) or _in_common(path, place[1]) < 1:
            return False
        if not isinstance(path[-1], int):
            return isinstance(other, type(value)) and _in_common(path, place[1]) > 1
        names = [item.get("name") if isinstance(item, Mapping) else None for item in (value, other)]
        return names[0] == names[1] or (names[1] == "node" and path[-1] == place[1][-1])


def _paths(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    inner: Any = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inner:
        yield (*path, step), item
        yield from _paths(item, (*path, step))


def _name(path: Path) -> str:
    """The last step that is a name."""
    return next((step for step in reversed(path) if isinstance(step, str)), "")


def _in_common(path: Path, other: Path) -> int:
    """How many names two paths end with alike, the last ones taken for granted."""
    ours = [step for step in path if isinstance(step, str)][:-1]
    theirs = [step for step in other if isinstance(step, str)][:-1]
    count = 0
    while count < min(len(ours), len(theirs)) and ours[-1 - count] == theirs[-1 - count]:
        count += 1
    return count + 1
