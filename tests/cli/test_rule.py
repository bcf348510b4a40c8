"""`trainc rule`: a page for each code, a line for each page."""

from __future__ import annotations

import pytest
from commands import run

from trainc.findings.codes import _FORMER, codes, page


def test_a_page_is_printed_as_it_is() -> None:
    result = run("rule", "UnknownField")
    assert (result.status, result.stdout, result.stderr) == (0, page("UnknownField"), "")


def test_all_codes_are_listed_with_a_sentence_each() -> None:
    lines = run("rule", "--all").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(codes())
    assert [line for line in lines if not line.endswith((".", "?", "!"))] == []


@pytest.mark.parametrize("typed", ["unknown-field", "unknown_field", "unknownField", "unknownfield", "UNKNOWNFIELD"])
def test_a_page_is_found_however_its_code_is_spelled(typed: str) -> None:
    result = run("rule", typed)
    assert (result.status, result.stdout, result.stderr) == (0, page("UnknownField"), "")


@pytest.mark.parametrize("typed", ["UnknownFeild", "unknown-feild"])
def test_a_near_code_is_named(typed: str) -> None:
    result = run("rule", typed)
    assert (result.status, result.stdout) == (1, "")
    assert "UnknownField" in result.stderr.partition("did you mean ")[2]


def test_a_code_that_is_near_to_nothing_leads_to_the_list() -> None:
    assert run("rule", "Zebra").stderr == "trainc rule: unknown code 'Zebra'; `trainc rule --all` lists them\n"


@pytest.mark.parametrize(("former", "now"), _FORMER.items())
def test_a_former_code_leads_to_what_it_is_called_now(former: str, now: str) -> None:
    assert former not in codes()
    result = run("rule", former)
    assert (result.status, result.stdout, result.stderr) == (0, page(now), f"note: {former} is now {now}\n")


@pytest.mark.parametrize("code", codes())
def test_a_page_says_how_sure_it_is(code: str) -> None:
    _, _, rest = (page(code) or "").partition("## How sure it is\n\n")
    expected = {"error": "**Certain.**", "warning": "**Likely.**", "info": "**Advice.**"}[codes()[code].severity]
    assert rest.startswith(expected)
