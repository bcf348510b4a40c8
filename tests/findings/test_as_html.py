"""Diagnostics in a notebook: how many there are of each severity, and a list with the worst first."""

from __future__ import annotations

import pytest

from trainc.findings import Diagnostic, Severity
from trainc.findings.as_html import count_severities, diagnostics_html


def some(**counts: int) -> list[Diagnostic]:
    levels: tuple[Severity, ...] = ("info", "ignored", "warning", "error")
    return [Diagnostic("Code", level, f"an {level}") for level in levels for _ in range(counts.get(level, 0))]


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({}, ""),
        ({"info": 1, "error": 2}, "2 errors, 1 info"),
        ({"warning": 1}, "1 warning"),
        ({"ignored": 3, "error": 1}, "1 error"),
    ],
)
def test_each_severity_is_counted(counts: dict[str, int], text: str) -> None:
    assert count_severities(some(**counts)) == text


def test_the_worst_come_first_and_the_rest_is_a_count() -> None:
    html = diagnostics_html(some(info=2, error=1), most=2)
    assert html.index("an error") < html.index("an info")
    assert html.count("an info") == 1
    assert "and 1 more" in html
    assert not diagnostics_html([])
