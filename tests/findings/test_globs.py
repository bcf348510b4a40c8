"""Globs over paths: what each means, as .gitignore has it."""

from __future__ import annotations

import pytest

from trainc.findings.policy import matches


@pytest.mark.parametrize(
    ("glob", "path", "meant"),
    [
        ("jobs/legacy/**", "jobs/legacy/a.yaml", True),
        ("jobs/legacy/**", "jobs/legacy/deep/er/a.yaml", True),
        ("jobs/legacy/**", "jobs/a.yaml", False),
        ("jobs/legacy/**", "other/jobs/legacy/a.yaml", False),
        ("jobs/*.yaml", "jobs/a.yaml", True),
        ("jobs/*.yaml", "jobs/deep/a.yaml", False),
        ("jobs/**/a.yaml", "jobs/a.yaml", True),
        ("jobs/**/a.yaml", "jobs/x/y/a.yaml", True),
        ("**/legacy/*", "jobs/legacy/a.yaml", True),
        # A folder stands for what it holds, with or without a slash at its end.
        ("jobs/legacy", "jobs/legacy/a.yaml", True),
        ("jobs/legacy/", "jobs/legacy/a.yaml", True),
        ("jobs/leg", "jobs/legacy/a.yaml", False),
        # A name without a slash is looked for everywhere.
        ("charts", "charts/x/templates/a.yaml", True),
        ("charts", "infra/charts/a.yaml", True),
        ("*.bak", "jobs/llm.yaml.bak", True),
        ("a?.yaml", "jobs/a1.yaml", True),
        ("./a.yaml", "a.yaml", True),
        ("./a.yaml", "jobs/a.yaml", False),
        # Characters of regular expressions mean nothing.
        ("a.b", "axb", False),
        ("[ab].yaml", "a.yaml", False),
    ],
)
def test_a_glob_means_what_it_means_in_gitignore(glob: str, path: str, meant: bool) -> None:
    assert matches(path, glob) is meant
