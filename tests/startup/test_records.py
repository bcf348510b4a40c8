"""trainc's records and the standard library's dataclasses: they differ in nothing but the time they take to define."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import pydoc
import subprocess
import sys
import typing
from collections.abc import Callable
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


def declared(library: Any, *, frozen: bool, eq: bool) -> Any:
    """One declaration, made with either library."""

    @library.dataclass(frozen=frozen, slots=True, eq=eq)
    class Sample:
        """A sample of everything."""

        name: str
        count: int | None = 3
        labels: dict[str, str] = library.field(default_factory=dict)
        secret: str = library.field(default="", repr=False)
        locate: Any = library.field(default=None, compare=False)
        cache: list[int] = library.field(default_factory=list, init=False, repr=False)
        kind: str = library.field(default="sample", init=False)

        def doubled(self) -> int | None:
            """Twice the count."""
            return self.count and 2 * self.count

    return Sample


KINDS = [(frozen, eq) for frozen in (False, True) for eq in (False, True)]
# Python before 3.11.3 leaves the descriptor of weak references in a dataclass with slots.
_INTERNAL = {"_record", "__weakref__"}
LOOKS: dict[str, Callable[[Any], object]] = {
    "signature": lambda cls: str(inspect.signature(cls)),
    "signature of __init__": lambda cls: str(inspect.signature(cls.__init__)),
    "annotations of __init__": lambda cls: cls.__init__.__annotations__,
    "hints": typing.get_type_hints,
    "hints of __init__": lambda cls: typing.get_type_hints(cls.__init__),
    "names": lambda cls: [name for name in dir(cls) if name not in _INTERNAL],
    "bases": lambda cls: cls.__mro__[1:],
    "document": lambda cls: cls.__doc__,
    "slots": lambda cls: (cls.__slots__, cls.__match_args__),
    "fields": lambda cls: repr(dataclasses.fields(cls)),
    "parameters": lambda cls: repr(cls.__dataclass_params__),
    "methods": lambda cls: [(a.name, a.kind) for a in inspect.classify_class_attrs(cls) if a.name not in _INTERNAL],
}


@pytest.mark.parametrize(("frozen", "eq"), KINDS)
@pytest.mark.parametrize("look", LOOKS)
def test_a_record_looks_like_a_dataclass_before_there_is_an_instance(look: str, *, frozen: bool, eq: bool) -> None:
    ours, theirs = (declared(library, frozen=frozen, eq=eq) for library in (records, dataclasses))
    assert LOOKS[look](ours) == LOOKS[look](theirs)


@pytest.mark.parametrize(("frozen", "eq"), KINDS)
def test_help_begins_as_that_of_a_dataclass_and_shows_the_same_arguments(*, frozen: bool, eq: bool) -> None:
    shown = []
    for library in (records, dataclasses):
        text = pydoc.plain(pydoc.render_doc(declared(library, frozen=frozen, eq=eq)))
        head = text.partition("Methods defined here")[0]
        shown.append([head, *(line for line in text.splitlines() if line.startswith(" |  __init__("))])
    assert len(shown[0]) == 2
    assert shown[0] == shown[1]


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((), {"count": 1}),
    (("a", 1, {}, "", None, []), {}),
    (("a",), {"name": "b"}),
    (("a",), {"cache": []}),
    (("a",), {"kind": "other"}),
    (("a",), {"nmae": "b"}),
]


@pytest.mark.parametrize(("words", "named"), CALLS)
@pytest.mark.parametrize("made", [0, 30])
def test_wrong_calls_are_refused_in_the_words_of_a_dataclass(
    words: tuple[Any, ...], named: dict[str, Any], made: int
) -> None:
    errors = []
    for library in (records, dataclasses):
        cls = declared(library, frozen=True, eq=True)
        for _ in range(made):
            cls("a")
        with pytest.raises(TypeError) as caught:
            cls(*words, **named)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("changes", [{"nmae": "b"}, {"cache": []}, {"kind": "other"}])
def test_wrong_replacements_are_refused_in_the_words_of_a_dataclass(changes: dict[str, Any]) -> None:
    errors = []
    for library in (records, dataclasses):
        with pytest.raises((TypeError, ValueError)) as caught:
            library.replace(declared(library, frozen=True, eq=True)("a"), **changes)
        errors.append((caught.type, str(caught.value)))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("change", [lambda r: setattr(r, "name", "b"), lambda r: delattr(r, "name")])
@pytest.mark.parametrize("eq", [False, True])
def test_changes_of_a_frozen_record_are_refused_in_the_words_of_a_dataclass(
    change: Callable[[Any], None], *, eq: bool
) -> None:
    errors = []
    for library in (records, dataclasses):
        with pytest.raises(dataclasses.FrozenInstanceError) as caught:
            change(declared(library, frozen=True, eq=eq)("a"))
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_a_record_that_holds_itself_is_shown() -> None:
    shown = []
    for library in (records, dataclasses):
        record = declared(library, frozen=False, eq=True)("a")
        record.locate = record
        shown.append(repr(record))
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    "looked_at", ["inspect.signature(trainc.Options)", "inspect.signature(trainc.Options.__init__)"]
)
def test_the_public_options_show_their_arguments_at_once(looked_at: str) -> None:
    program = f"import inspect, trainc; print(list({looked_at}.parameters))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "'release', 'semantics'" in done.stdout
