"""What is found in several environments is said once where it is the same."""

from __future__ import annotations

import pytest

from trainc.findings import Diagnostic, Source
from trainc.project.configuration import merge_diagnostics

LINE = Source("jobs/a.yaml", 1, 1)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["has 16 nodes", "has 12 nodes"], ["has 16 or 12 nodes"]),
        (["has 16 nodes", "has 16 nodes"], ["has 16 nodes"]),
        (["has # nodes", "has 5 nodes"], ["has # nodes", "has 5 nodes"]),
        (["has \0 nodes", "has 5 nodes"], ["has \0 nodes", "has 5 nodes"]),
        (["a 1 b # c", "a # b 2 c"], ["a # b 2 c", "a 1 b # c"]),
    ],
)
def test_texts_that_differ_in_numbers_alone_are_one(texts: list[str], said: list[str]) -> None:
    found = {str(n): [Diagnostic("NoNodeFits", "error", text, "", source=LINE)] for n, text in enumerate(texts)}
    assert sorted(d.message for d in merge_diagnostics(found)) == sorted(said)
