"""The recorded controller cases as checks: hundreds of whole jobs at a few milliseconds each."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from conformance import SETS, Case
from conformance.controllers import judge_objects

from mutation.trial import Check


def recorded_checks(folder: Path) -> Iterator[tuple[str, Check]]:
    """Each case in `folder` that trainc answers as recorded, with its name."""
    for recorded in SETS:
        if recorded.name.startswith("trainer-") and recorded.least == 1:
            for case in recorded.cases(folder):
                yield f"{recorded.name}/{case['id']}", functools.partial(_is_exact, case)


def _is_exact(case: Case) -> bool:
    return not any(problems for _, problems in judge_objects([case]))
