"""The stand-in for rpds in the browser does what rpds does."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
import referencing
import rpds
from hypothesis import given, strategies as st

FILE = Path(__file__).parents[2] / "tools" / "playground" / "python" / "rpds.py"


def loaded() -> ModuleType:
    spec = spec_from_file_location("rpds_of_the_playground", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


OURS = loaded()
keys = st.integers(0, 5)
changes = st.lists(st.tuples(st.sampled_from(["insert", "remove", "discard", "update"]), keys, keys), max_size=12)


def after(collection: Any, name: str, *arguments: Any) -> Any:
    """What a change gives, or the error that it raises."""
    try:
        return getattr(collection, name)(*arguments)
    except (KeyError, IndexError) as error:
        return type(error)


@given(changes)
def test_mappings_change_alike(steps: list[tuple[str, int, int]]) -> None:
    ours, theirs = OURS.HashTrieMap({0: 1}), rpds.HashTrieMap({0: 1})
    for name, key, value in steps:
        given = {"insert": (key, value), "update": ({key: value, 9: value},)}.get(name, (key,))
        before = dict(ours.items())
        ours_after, theirs_after = after(ours, name, *given), after(theirs, name, *given)
        assert dict(ours.items()) == before
        if isinstance(ours_after, type):
            assert ours_after is theirs_after
            continue
        ours, theirs = ours_after, theirs_after
        assert dict(ours.items()) == dict(theirs.items())
        assert (len(ours), key in ours, ours.get(key, -1)) == (len(theirs), key in theirs, theirs.get(key, -1))


@given(changes)
def test_sets_change_alike(steps: list[tuple[str, int, int]]) -> None:
    ours, theirs = OURS.HashTrieSet([0]), rpds.HashTrieSet([0])
    for name, key, value in steps:
        given = ([key, value],) if name == "update" else (key,)
        ours_after, theirs_after = after(ours, name, *given), after(theirs, name, *given)
        if isinstance(ours_after, type):
            assert ours_after is theirs_after
            continue
        ours, theirs = ours_after, theirs_after
        assert (set(ours), len(ours), bool(ours)) == (set(theirs), len(theirs), bool(theirs))


@given(st.lists(keys), keys)
def test_lists_change_alike(values: list[int], value: int) -> None:
    theirs: Any = rpds.List(values)
    ours = OURS.List(values)
    assert list(ours.push_front(value)) == list(theirs.push_front(value))
    assert list(ours.rest) == list(theirs.rest)
    assert (list(ours), list(OURS.List(*values, 7, 8))) == (list(theirs), [*values, 7, 8])
    if values:
        assert (ours.first, list(ours.drop_first())) == (theirs.first, list(theirs.drop_first()))
    else:
        with pytest.raises(IndexError):
            ours.drop_first()


def test_a_mapping_is_converted_once() -> None:
    ours = OURS.HashTrieMap.convert({1: 2})
    assert OURS.HashTrieMap.convert(ours) is ours
    assert {ours: 1}[OURS.HashTrieMap({1: 2})] == 1


def test_all_that_jsonschema_takes_from_rpds_is_there() -> None:
    packages = [Path(str(package.__file__)).parent for package in (jsonschema, referencing)]
    sources = "".join(path.read_text(encoding="utf-8") for package in packages for path in package.glob("*.py"))
    taken = {
        name
        for line in sources.splitlines()
        if line.startswith("from rpds import ")
        for name in line.split(" import ")[1].split(", ")
    }
    assert taken
    assert {name for name in taken if not hasattr(OURS, name)} == set()
