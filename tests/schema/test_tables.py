"""The tables beside the generated data speak of fields that exist, and the generated data is whole."""

from __future__ import annotations

import pytest

from trainc.kube.documents import LIST_MAP_KEYS, SETS
from trainc.kube.releases import RELEASES, Since
from trainc.schema import shapes as zero_values
from trainc.schema.descriptions import DESCRIPTIONS, HINTS
from trainc.schema.field_homes import releases_with
from trainc.schema.rules import RULES, integer_bounds
from trainc.schema.shapes import KEYWORDS, ListOf, MapOf, Scalar, Shape, Struct, definition, definition_names

KEYS = {
    "list keys": LIST_MAP_KEYS.keys(),
    "sets": SETS,
    "pointers": zero_values.KEEPS_ZERO,
    "always written": zero_values.ALWAYS_WRITTEN.keys(),
    "never marshalled": zero_values.NEVER_MARSHALLED,
    "replacements": HINTS["replacements"].keys(),
}


def having(key: str) -> tuple[str, ...]:
    owner, _, field = key.removesuffix("[]").rpartition(".")
    return releases_with(owner, field)


def test_every_row_speaks_of_a_field_that_its_release_or_a_later_one_has() -> None:
    for since, row in KEYWORDS.rows.items():
        for key in row:
            assert any(RELEASES.index(release) >= RELEASES.index(since) for release in having(key)), (since, key)


@pytest.mark.parametrize("name", KEYS)
def test_every_key_is_a_field_of_some_release(name: str) -> None:
    assert [key for key in KEYS[name] if not having(key)] == []


def test_every_rule_is_about_a_definition_that_exists() -> None:
    known = {name for release in RELEASES for name in definition_names(release)}
    assert [name for row in RULES.rows.values() for name in row if name not in known] == []


def test_a_later_row_replaces_an_earlier_one() -> None:
    rows = Since[int]({"2.0": {"a": 1, "b": 1}, "2.2": {"a": 2}})
    assert rows.at("2.1") == {"a": 1, "b": 1}
    assert rows.at("2.3") == {"a": 2, "b": 1}


def test_integers_are_int32_unless_listed() -> None:
    assert integer_bounds("trainer.Trainer.numNodes", "2.3") == (-(2**31), 2**31 - 1)
    assert integer_bounds("trainer.TrainJobSpec.activeDeadlineSeconds", "2.3") == (1, 2**63 - 1)


def structs(shape: Shape) -> list[str]:
    match shape:
        case Struct(name):
            return [name]
        case ListOf(inner) | MapOf(inner):
            return structs(inner)
        case Scalar():
            return []


@pytest.mark.parametrize("release", RELEASES)
def test_every_reference_leads_to_a_definition(release: str) -> None:
    for name in definition_names(release):
        known = definition(release, name)
        assert set(known.required) <= known.fields.keys()
        for shape in known.fields.values():
            for struct in structs(shape):
                definition(release, struct)


@pytest.mark.parametrize("release", RELEASES)
def test_every_field_of_trainers_own_types_is_described(release: str) -> None:
    standard = {"apiVersion", "kind", "metadata", "status"}
    fields = {f"{n}.{f}" for n in definition_names(release) for f in definition(release, n).fields if f not in standard}
    assert {key for key in fields if key.startswith("trainer.")} - DESCRIPTIONS.keys() == set()
