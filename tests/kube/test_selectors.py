"""Label selectors in both forms: which labels they match, and what Kubernetes cannot parse."""

from __future__ import annotations

from typing import Any

import pytest

from trainc.kube.selectors import MalformedSelector, Requirement, matches_selector, parse_selector, read_requirement

LABELS = {"tier": "gold", "size": "8", "empty": ""}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("requirement", "holds"),
    [
        pytest.param(expression("tier", "In", "gold", "silver"), True, id="one of the values"),
        pytest.param(expression("tier", "In", "silver"), False, id="none of the values"),
        pytest.param(expression("other", "In", ""), False, id="a missing label has no value, not an empty one"),
        pytest.param(expression("other", "NotIn", "gold"), True, id="a missing label is not among the values"),
        pytest.param(expression("empty", "Exists"), True, id="an empty label exists"),
        pytest.param(expression("other", "DoesNotExist"), True, id="a missing label does not exist"),
        pytest.param(expression("size", "Gt", "7"), True, id="more than"),
        pytest.param(expression("size", "Gt", "8"), False, id="not more than the same"),
        pytest.param(expression("size", "Lt", "10"), True, id="numbers are not compared as text"),
        pytest.param(expression("tier", "Gt", "1"), False, id="text is not more than a number"),
        pytest.param(expression("other", "Lt", "1"), False, id="nor is a missing label less"),
    ],
)
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


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        pytest.param(None, False, id="no selector matches nothing"),
        pytest.param({}, True, id="an empty selector matches everything"),
        pytest.param({"matchLabels": {"tier": "gold"}}, True, id="a label"),
        pytest.param({"matchLabels": {"tier": "gold", "size": "9"}}, False, id="all labels have to match"),
        pytest.param(
            {"matchLabels": {"tier": "gold"}, "matchExpressions": [expression("size", "DoesNotExist")]},
            False,
            id="and all expressions",
        ),
    ],
)
def test_a_label_selector(selector: dict[str, Any] | None, matches: bool) -> None:
    assert matches_selector(selector, LABELS) is matches


def test_both_forms_are_read_to_the_same_requirements() -> None:
    assert parse_selector("tier in (gold, silver), size!=8, empty, !other") == (
        Requirement("tier", "In", ("gold", "silver")),
        Requirement("size", "NotIn", ("8",)),
        Requirement("empty", "Exists"),
        Requirement("other", "DoesNotExist"),
    )
