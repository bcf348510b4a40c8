"""Quantities: canonical text, sums and bounds as Go's Quantity has them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from tables import cases

from trainc.kube.quantity import Quantity, add_resources, canonical, max_resources, parse_quantity


@cases("written", "printed")
def test_a_quantity_prints_as_kubernetes_prints_what_it_has_parsed(written: str | float, printed: str) -> None:
    assert canonical(written) == printed


@given(st.from_regex(r"[0-9]{1,9}(?:[numkMGTPE]|[KMGTPE]i)?", fullmatch=True))
def test_leading_zeros_mean_nothing(text: str) -> None:
    # A long text is taken apart by the whole grammar, a short one is not.
    try:
        amount = parse_quantity("0" * 10 + text)
    except ValueError:
        with pytest.raises(ValueError, match="above"):
            parse_quantity(text)
    else:
        assert parse_quantity(text) == amount


@pytest.mark.parametrize(
    "text", ["", "abc", "1 Gi", "Gi", "1GiB", "0x10", "1e", "--1", "1_000", "٣", "1.2.3", "1" * 400]
)
def test_text_that_is_not_a_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="quantity"):
        parse_quantity(text)


@pytest.mark.parametrize("text", ["9223372036854775808", "1e30", "10E", "8Ei"])
def test_an_amount_that_kubernetes_would_clamp_in_silence_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="above"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "units"), [("2500m", 3), ("2", 2), ("1n", 1), ("0", 0), ("-1500m", -2), ("1Ki", 1024)]
)
def test_whole_units_round_away_from_zero(text: str, units: int) -> None:
    assert parse_quantity(text).units == units


def test_a_sum_keeps_the_suffix_family_of_its_first_operand_that_is_not_zero() -> None:
    assert str(parse_quantity("1Gi") + parse_quantity("1e9")) == "2073741824"
    assert (parse_quantity("1Gi") + parse_quantity("1e9")).family == "binary"
    assert str(parse_quantity("0") + parse_quantity("1Gi")) == "1Gi"


def test_resource_lists_add_and_take_the_maximum_per_name() -> None:
    one, two = {"cpu": parse_quantity("1"), "memory": parse_quantity("1Gi")}, {"cpu": parse_quantity("500m")}
    assert {n: str(q) for n, q in add_resources(one, two).items()} == {"cpu": "1500m", "memory": "1Gi"}
    assert {n: str(q) for n, q in max_resources(two, one).items()} == {"cpu": "1", "memory": "1Gi"}


_AMOUNTS = st.builds(
    Quantity,
    st.integers(min_value=-(2**62), max_value=2**62),
    st.sampled_from(["decimal", "binary", "exponent"]),
)


@given(_AMOUNTS)
def test_printing_loses_nothing_and_printing_again_changes_nothing(amount: Quantity) -> None:
    assert parse_quantity(str(amount)).nanos == amount.nanos
    assert canonical(str(amount)) == str(amount)


@given(_AMOUNTS, _AMOUNTS, st.integers(min_value=0, max_value=1000))
def test_multiplication_is_repeated_addition(left: Quantity, right: Quantity, count: int) -> None:
    assert (left * count).nanos == left.nanos * count
    assert (left + right).nanos == (right + left).nanos
