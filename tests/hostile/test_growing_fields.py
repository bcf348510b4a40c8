"""Fields of a TrainJob that grow, made from its schema, take steps in proportion."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from growing import Field, fields, write
from steps import assert_linear, steps

from benchmarks.growth import grow_together, seem_to_grow
from trainc.cli.command import Streams
from trainc.cli.main import main
from trainc.schema import unknown_fields

SIZES = (150, 300, 600)
GROWN = [field for field in fields("TrainJob") if field.way in ("numbered", "keys")]


def _streams() -> Streams:
    return Streams(io.BytesIO(), io.BytesIO(), io.StringIO())


@pytest.mark.slow
@pytest.mark.parametrize("grown", GROWN, ids=str)
def test_check_takes_steps_in_proportion(grown: Field, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    for size in SIZES:
        grown.write(tmp_path, size)
        main(["check"], _streams())  # What is remembered of an input is remembered before it is counted.
        found.append(steps(lambda: main(["check"], _streams())))
    # Some of what is remembered is bounded, so that the largest document is read anew.
    assert_linear(found, 40_000)


def test_changes_that_are_refused_take_steps_in_proportion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each change is about a refusal, of which there are as many: fields that grow together found it."""
    monkeypatch.chdir(tmp_path)
    pods = "JobSet spec.replicatedJobs.0.template.spec.template.spec"
    anti_affinity = "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    ways = (f"{pods}.{anti_affinity} numbered", f"{pods}.containers.0.env numbered")
    together, found = [field for field in fields("JobSet") if str(field) in ways], []
    for size in (20, 40, 80, 160):  # The first one imports what a difference needs.
        write(together, tmp_path, size)
        found.append(steps(lambda: main(["diff", "before/rendered.yaml", "rendered.yaml"], _streams())))
    assert_linear(found[1:], 40_000)


def test_every_kind_of_field_is_found() -> None:
    assert len(GROWN) >= 20
    assert {"spec.trainer.args", "spec.trainer.env", "metadata.labels"} <= {".".join(map(str, f.path)) for f in GROWN}


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
