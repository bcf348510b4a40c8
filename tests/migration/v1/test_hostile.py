"""Whatever stands in a v1 job, it is migrated or refused, and never a defect of trainc."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from trainc import CompileError, migrate
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents

SHAPES = sorted((Path(__file__).parent / "shapes").glob("*.yaml"))
JUNK: tuple[Any, ...] = (None, 0, -1, 3, True, "", "x", "$(RANK)", [], [1], {}, {"a": 1}, ["x"], [None], 1.5, "1e3")


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inner:
        yield (*path, step)
        yield from paths(item, (*path, step))


def changed(document: dict[str, Any], random: Random) -> dict[str, Any]:
    """The document with one value gone or replaced."""
    result = copy.deepcopy(document)
    *above, last = random.choice(list(paths(document)))
    parent = result
    for step in above:
        parent = parent[step]
    if random.random() < 0.3:
        del parent[last]
    else:
        parent[last] = random.choice(JUNK)
    return result


@pytest.mark.parametrize("shape", SHAPES, ids=lambda path: path.stem)
def test_a_job_with_one_value_changed_is_migrated_or_refused(shape: Path) -> None:
    documents, _ = read_documents(shape.read_bytes(), shape.name, Limits())
    random = Random(shape.name)
    for _ in range(15):
        job = changed(random.choice(documents).data, random)
        with suppress(CompileError):
            migrate([job], into=random.choice(("runtime", "catalog")), variables=random.choice(("keep", "torchrun")))
