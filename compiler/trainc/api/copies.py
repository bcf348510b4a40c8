"""Copy-on-write for patches: whatever many patches change in one document is copied only once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Lists longer than anyone writes by hand count against a budget of items that a document's patches may merge into.
_LONG, _MOST_ITEMS = 1_000, 5_000_000


class Copies:
    """The mappings and lists that were copied for one document and can be changed in place.

    All other containers are shared. A patch therefore costs time in proportion to what it changes, regardless of the
    size of the document and the number of patches.
    """

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}  # Holds the copies so that their ids are not reused.
        self._items = _MOST_ITEMS

    def of(self, container: Any) -> Any:
        """Return `container` itself if it is already a copy, and otherwise a copy of it."""
        if id(container) in self._made:
            return container
        copy = dict(container) if isinstance(container, Mapping) else list(container)
        self._made[id(copy)] = copy
        return copy

    def may_merge(self, items: list[Any]) -> bool:
        """Return whether another patch may merge into `items`; merging takes linear time, so long lists are limited."""
        self._items -= len(items) if len(items) > _LONG else 0
        return self._items >= 0
