"""The three collections of rpds that jsonschema and referencing use, in Python.

rpds is written in Rust and published for no browser. Here each change copies the collection, which is slower for large
ones and the same for all: jsonschema keeps a handful of schemas in them. A test compares them with rpds itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Self, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")
H = TypeVar("H", bound=Hashable)


class HashTrieMap(Mapping[K, V]):
    """A mapping whose changes give back another mapping."""

    __slots__ = ("_entries",)

    def __init__(self, value: Mapping[K, V] | Iterable[tuple[K, V]] = (), **entries: V) -> None:
        self._entries: dict[Any, V] = dict(value, **entries)

    @classmethod
    def convert(cls, value: Any) -> HashTrieMap[K, V]:
        """`value` itself if it is such a mapping, else one made of it."""
        return value if isinstance(value, HashTrieMap) else cls(value)

    def __getitem__(self, key: K) -> V:
        return self._entries[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def __repr__(self) -> str:
        return f"HashTrieMap({self._entries!r})"

    def insert(self, key: K, value: V) -> HashTrieMap[K, V]:
        """This mapping and one entry, which replaces another of its key."""
        return HashTrieMap({**self._entries, key: value})

    def remove(self, key: K) -> HashTrieMap[K, V]:
        """This mapping without one entry. KeyError if there is none of that key."""
        if key not in self._entries:
            raise KeyError(key)
        return self.discard(key)

    def discard(self, key: K) -> HashTrieMap[K, V]:
        """This mapping without one entry, if it has it."""
        return HashTrieMap({known: value for known, value in self._entries.items() if known != key})

    def update(self, *others: Mapping[K, V] | Iterable[tuple[K, V]], **entries: V) -> HashTrieMap[K, V]:
        """This mapping and the entries of others, which replace its own."""
        merged = dict(self._entries)
        for other in others:
            merged.update(other)
        merged.update(entries)
        return HashTrieMap(merged)


class HashTrieSet(frozenset[H]):
    """A set whose changes give back another set."""

    __slots__ = ()

    def insert(self, value: H) -> HashTrieSet[H]:
        """This set and one value."""
        return HashTrieSet((*self, value))

    def remove(self, value: H) -> HashTrieSet[H]:
        """This set without one value. KeyError if it does not hold it."""
        if value not in self:
            raise KeyError(value)
        return self.discard(value)

    def discard(self, value: H) -> HashTrieSet[H]:
        """This set without one value, if it holds it."""
        return HashTrieSet(known for known in self if known != value)

    def update(self, *others: Iterable[H]) -> HashTrieSet[H]:
        """This set and the values of others."""
        return HashTrieSet(self.union(*others))


class List(tuple[T, ...]):
    """A list that grows at its front, each time as another list."""

    __slots__ = ()

    def __new__(cls, *values: Any) -> Self:
        """`List([1, 2])` and `List(1, 2)` are the same."""
        return super().__new__(cls, values[0] if len(values) == 1 else values)

    def push_front(self, value: T) -> List[T]:
        """This list after one value."""
        return List((value, *self))

    def drop_first(self) -> List[T]:
        """This list without its first value. IndexError if it is empty."""
        if not self:
            raise IndexError("empty list")
        return List(self[1:])

    @property
    def first(self) -> T:
        """The first value. IndexError if there is none."""
        if not self:
            raise IndexError("empty list")
        return self[0]

    @property
    def rest(self) -> List[T]:
        """This list without its first value, empty where it is."""
        return List(self[1:])
