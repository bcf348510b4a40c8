"""Equality as Go's webhook sees it."""

from __future__ import annotations

from typing import Any

from tables import cases

from trainc.admission.updates import differences
from trainc.findings import Path


def differ(old: Any, new: Any) -> list[Path]:
    return list(differences(old, new))


@cases("old", "new")
def test_these_are_equal(old: Any, new: Any) -> None:
    assert differ(old, new) == differ(new, old) == []


@cases("old", "new", "paths")
def test_these_differ(old: Any, new: Any, paths: Any) -> None:
    assert differ(old, new) == differ(new, old) == [tuple(each) for each in paths]
