"""The recorded cases: what controllers, API servers and Kueue were recorded to do, and what is said about runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance import SETS, Recorded
from conformance.__main__ import HERE
from conformance.api_server import placed_where_it_is_refused

# The share of refusals that name the field that the API server names.
PLACED = 0.97


@pytest.mark.conformance
@pytest.mark.parametrize("recorded", SETS, ids=lambda recorded: recorded.name)
def test_recorded_cases_get_the_recorded_answer(recorded: Recorded, vectors: Path) -> None:
    answers = list(recorded.problems(vectors))
    wrong = {case: problems for case, problems in answers if problems}
    assert answers
    assert len(answers) - len(wrong) >= recorded.least * len(answers), wrong


@pytest.mark.conformance
def test_a_refusal_is_placed_where_the_api_server_places_it(vectors: Path) -> None:
    (pods,) = (recorded for recorded in SETS if recorded.name == "pods")
    placed = [place for case in pods.cases(vectors) if (place := placed_where_it_is_refused(case)) is not None]
    assert sum(placed) >= PLACED * len(placed) > 0


def test_every_recorded_set_is_in_the_table_of_its_folder() -> None:
    files = {path.name.partition(".jsonl")[0] for path in HERE.iterdir()} - {"README.md", "yaml-scalars.json"}
    described = (HERE / "README.md").read_text(encoding="utf-8")
    assert {name for name in files if f"`{name}`" not in described} <= {"trainer-2.1", "trainer-2.2"}
    assert {recorded.name for recorded in SETS} <= files
