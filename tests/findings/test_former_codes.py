"""Ignore comments and `rules:` with a code of an older release mean what it is called now."""

from __future__ import annotations

from trainc.findings.policy import read_rules, unknown_code
from trainc.reading.ignores import ignores_of


def test_a_comment_with_a_former_code_ignores_what_it_is_called_now() -> None:
    (ignore,) = ignores_of("a: 1 # trainc: ignore[StaleGroup] the platform makes it\n", "job.yaml")
    assert (ignore.code, unknown_code(ignore.code)) == ("StaleReference", "")


def test_a_rule_with_a_former_code_is_about_what_it_is_called_now() -> None:
    rules, problems = read_rules({"PodNameTooLong": {"level": "info", "reason": "short pods"}}, "", "X")
    assert ([rule.code for rule in rules], problems) == (["JobNameTooLong"], [])


def test_a_code_that_never_was_is_unknown() -> None:
    rules, problems = read_rules({"PodNameTooShort": "info"}, "", "X")
    assert (rules, [problem.message for problem in problems]) == ([], ["there is no diagnostic PodNameTooShort"])
