"""Label selectors in both forms: which labels they match, and what Kubernetes cannot parse."""

from __future__ import annotations

from typing import Any

import pytest
from tables import cases

from trainc.kube.selectors import MalformedSelector, Requirement, matches_selector, parse_selector, read_requirement

LABELS = {"tier": "gold", "size": "8", "empty": ""}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@cases("requirement", "holds")
def test_a_requirement(requirement: dict[str, Any], holds: bool) -> None:
    assert read_requirement(requirement).holds(LABELS) is holds


@pytest.mark.parametrize(
    "requirement",
    [
        expression("tier", "In"),
        expression("tier", "Exists", "gold"),
        expression("size", "Gt", "7", "8"),
        expression("size", "Gt", "seven"),
        expression("size", "Lt", "9223372036854775808"),
        expression("tier", "Contains", "gold"),
        expression("-tier", "Exists"),
        expression("tier", "In", "a b"),
        {"key": "tier"},
    ],
    ids=str,
)
def test_what_kubernetes_cannot_parse(requirement: dict[str, Any]) -> None:
    with pytest.raises(MalformedSelector):
        read_requirement(requirement)


@cases("selector", "matches")
def test_a_label_selector(selector: dict[str, Any] | None, matches: bool) -> None:
    assert matches_selector(selector, LABELS) is matches


def test_both_forms_are_read_to_the_same_requirements() -> None:
    assert parse_selector("tier in (gold, silver), size!=8, empty, !other") == (
        Requirement("tier", "In", ("gold", "silver")),
        Requirement("size", "NotIn", ("8",)),
        Requirement("empty", "Exists"),
        Requirement("other", "DoesNotExist"),
    )
