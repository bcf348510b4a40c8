"""The recorded counts of instructions are of the commands that are counted, and the screen of growth finds what grows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from growing import fields

from benchmarks.commands import RECORDED, START, over_jobs
from benchmarks.growth import grow_together, seem_to_grow
from trainc.schema import unknown_fields


def test_what_has_a_recorded_count_is_counted() -> None:
    recorded = json.loads(RECORDED.read_text())["counts"]
    single = {"start of Python, M", *(f"{name}, M" for name in START)}
    single |= {"build, one job, M", "build, a warning in each job, one job, M", "explain, one job, M"}
    # A count that was out of date is left out until the next whole run.
    assert single <= recorded.keys() <= single | {f"{name}, k per job" for name in over_jobs(Path())}
    assert all(count > 0 for count in recorded.values())


@pytest.mark.slow
def test_the_screen_of_growth_finds_what_is_planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list in which each item is looked for, in C: what costs least of what is quadratic, and one field of its group."""
    numbered = [field for field in fields("TrainJob") if field.way == "numbered"]
    (group,) = (group for group in grow_together(numbered) if "TrainJob spec.trainer.env numbered" in map(str, group))
    assert len(group) > 2
    walk = unknown_fields.nodes

    def planted(node: unknown_fields.Node, release: str) -> Iterator[unknown_fields.Node]:
        seen: list[Any] = []
        for found in walk(node, release):
            if found.path[-2:-1] == ("env",) and found.value not in seen:
                seen.append(found.value)
            yield found

    assert [*seem_to_grow(group, "check")] == []
    monkeypatch.setattr(unknown_fields, "nodes", planted)
    assert [[str(field) for field in suspects] for suspects in seem_to_grow(group, "check")] == [
        ["TrainJob spec.trainer.env numbered"]
    ]


def test_fields_of_a_group_are_no_parts_of_each_other_and_none_is_left_out() -> None:
    members = [*fields("Sweep")]
    grouped = [*grow_together(members)]
    assert sorted(map(str, members)) == sorted(str(field) for group in grouped for field in group)
    for group in grouped:
        paths = [field.path for field in group]
        assert not [(a, b) for i, a in enumerate(paths) for j, b in enumerate(paths) if i != j and b[: len(a)] == a]
    assert max(map(len, grouped)) > 2
