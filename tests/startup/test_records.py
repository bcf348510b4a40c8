"""trainc's records beside the standard library's dataclasses: nobody can tell them apart, but by the time they take."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from trainc.startup import records
from trainc.startup.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Ours:
    name: str
    count: int = 3
    labels: dict[str, str] = field(default_factory=dict)
    secret: str = field(default="", repr=False)
    locate: Any = field(default=None, compare=False)
    cache: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError(self.name)

    @property
    def doubled(self) -> int:
        return 2 * self.count


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    name: str
    count: int = 3
    labels: dict[str, str] = dataclasses.field(default_factory=dict)
    secret: str = dataclasses.field(default="", repr=False)
    locate: Any = dataclasses.field(default=None, compare=False)
    cache: list[int] = dataclasses.field(default_factory=list, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Leaf:
    a: int
    b: str = ""


@dataclass(slots=True)
class Open:
    items: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Node:
    kind: str


MADE: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}),
    (("a", 4, {"x": "y"}), {"secret": "s"}),
    ((), {"name": "a", "locate": len}),
]


@pytest.mark.parametrize(("words", "named"), MADE)
def test_a_record_holds_and_shows_what_a_dataclass_does(words: tuple[Any, ...], named: dict[str, Any]) -> None:
    ours, theirs = Ours(*words, **named), Theirs(*words, **named)
    names = [part.name for part in dataclasses.fields(theirs)]
    assert [getattr(ours, name) for name in names] == [getattr(theirs, name) for name in names]
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert Ours.__match_args__ == Theirs.__match_args__


def test_the_standard_library_takes_a_record_for_a_dataclass() -> None:
    record = Ours("a", labels={"x": "y"})
    assert dataclasses.is_dataclass(record)
    assert [f.name for f in dataclasses.fields(record)] == [f.name for f in dataclasses.fields(Theirs)]
    assert dataclasses.asdict(record) == dataclasses.asdict(Theirs("a", labels={"x": "y"}))
    assert dataclasses.replace(record, count=5).count == 5
    assert Ours.__dataclass_params__.frozen  # type: ignore[attr-defined]


@pytest.mark.parametrize("cls", [Ours, Theirs])
@pytest.mark.parametrize(
    ("words", "named"), [((), {}), (("a", 1, {}, "", None, []), {}), (("a",), {"name": "b"}), (("a",), {"cache": []})]
)
def test_wrong_arguments_are_refused(cls: Any, words: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        cls(*words, **named)


def test_frozen_means_frozen() -> None:
    leaf: Any = Leaf(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        leaf.a = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del leaf.a
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
        leaf.other = 1
    assert not hasattr(leaf, "__dict__")


def test_equal_records_have_equal_hashes_and_other_classes_differ() -> None:
    assert Leaf(1) == Leaf(1)
    assert hash(Leaf(1)) == hash(Leaf(1))
    assert Leaf(1) != Leaf(2)
    assert Leaf.__eq__(Leaf(1), (1, "")) is NotImplemented
    assert Ours("a", locate=len) == Ours("a", locate=max)
    with pytest.raises(TypeError):
        hash(Ours("a"))


def test_open_records_change_and_have_no_hash() -> None:
    first, second = Open(), Open()
    first.items.append(1)
    assert second.items == []
    second.items = [1]
    assert first == second
    with pytest.raises(TypeError):
        hash(first)


def test_records_without_equality_are_themselves_only() -> None:
    node = Node("scalar")
    assert node == node  # noqa: PLR0124 - that is what is tested
    assert node != Node("scalar")
    assert len({node, Node("scalar")}) == 2


def test_replace_checks_as_making_does() -> None:
    record = Ours("a")
    record.cache.append(1)
    changed = records.replace(record, count=4)
    assert (changed.doubled, changed.cache) == (8, [])
    with pytest.raises(ValueError, match="a"):
        records.replace(record, count=-1)


@pytest.mark.parametrize("record", [Leaf(1, "b"), Ours("a", labels={"x": "y"}), Open([1, 2])])
def test_records_survive_copying_and_pickling(record: Any) -> None:
    assert pickle.loads(pickle.dumps(record)) == record
    assert copy.deepcopy(record) == record


def test_a_record_matches_by_position() -> None:
    match Leaf(1, "x"):
        case Leaf(a, b):
            assert (a, b) == (1, "x")
