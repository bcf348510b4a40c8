"""The forms of names beside the regular expressions of kubernetes/apimachinery pkg/util/validation."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from trainc.kube import names

LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
QUALIFIED = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
FORMS: list[tuple[Callable[[str], bool], str]] = [
    (names.is_dns1035_label, r"[a-z](?:[-a-z0-9]*[a-z0-9])?"),
    (names.is_dns1123_label, LABEL),
    (names.is_dns1123_subdomain, rf"{LABEL}(?:\.{LABEL})*"),
    (names.is_qualified_name, QUALIFIED),
    (names.is_label_value, rf"(?:{QUALIFIED})?"),
    (names.is_domain_prefixed_path, rf"{LABEL}(?:\.{LABEL})*/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"),
]


@pytest.mark.parametrize(("fits", "form"), FORMS, ids=[fits.__name__ for fits, _ in FORMS])
@given(text=st.text("ab1Z-._/\n\u00e9 ", max_size=8))
def test_a_form_is_the_one_of_kubernetes(fits: Callable[[str], bool], form: str, text: str) -> None:
    assert fits(text) == (re.fullmatch(form, text) is not None)


def test_half_a_character_has_a_length_too() -> None:
    assert names.length("a\ud800") == 4
