"""Fields of former releases and of no release: what is honoured under `gitops` is checked all the same."""

from __future__ import annotations

from typing import Any

from builders import refused
from tables import cases


@cases("document", "rt", "expected")
def test_the_release_that_has_the_field_refuses_it_too(
    document: dict[str, Any], rt: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert tuple(expected) in [(d.code, d.path) for d in refused(document, rt)]
