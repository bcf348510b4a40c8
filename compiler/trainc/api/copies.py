"""Copies on the first write: what many patches change of one document is copied once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Of lists longer than any that people write, how many items all patches of a document together may go through.
_LONG, _MOST_ITEMS = 1_000, 5_000_000


class Copies:
    """The mappings and lists that were made for one document, which may be changed in place; all others are shared.

    So a patch costs what it changes, however large the document is and however many patches there are.
    """

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}  # Kept, so that nothing else gets the identity of one.
        self._items = _MOST_ITEMS

    def of(self, container: Any) -> Any:
        """The mapping or list itself, if it was made here, else a copy of it that is."""
        if id(container) in self._made:
            return container
        copy = dict(container) if isinstance(container, Mapping) else list(container)
        self._made[id(copy)] = copy
        return copy

    def may_merge(self, items: list[Any]) -> bool:
        """Whether one more patch may merge into a list, which takes as long as the list: long ones only so often."""
        self._items -= len(items) if len(items) > _LONG else 0
        return self._items >= 0
