"""Initializers that nothing waits for."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, diagnostics_of, job, runtime, trainjob

CODE = "InitializerNotOrdered"


def step(name: str, after: str = "") -> dict[str, Any]:
    return job(name, name, [container(name)], **waits(after))


def waits(after: str, status: str = "Complete") -> dict[str, Any]:
    return {"dependsOn": [{"name": after, "status": status}]} if after else {}


DATA, MODEL = "dataset-initializer", "model-initializer"
STARTING: dict[str, tuple[dict[str, Any], list[str]]] = {
    "the trainer waits for nothing": (runtime(step(DATA), job()), [DATA]),
    "only one of two is awaited": (runtime(step(DATA), step(MODEL), job(**waits(MODEL))), [DATA]),
    "none of two is awaited": (runtime(step(DATA), step(MODEL), job()), [DATA, MODEL]),
    "the trainer waits until it is ready": (runtime(step(DATA), job(**waits(DATA, "Ready"))), [DATA]),
}
ORDERED: dict[str, dict[str, Any]] = {
    "the trainer waits for it": runtime(step(DATA), job(**waits(DATA))),
    "they wait for one another": runtime(step(DATA), step(MODEL, DATA), job(**waits(MODEL))),
    "there is none": runtime(job("prepare", None), job()),
    "it is alone": runtime(step(DATA)),
}


@pytest.mark.parametrize("case", STARTING)
def test_an_initializer_runs_alongside_the_trainer_when(case: str) -> None:
    document, names = STARTING[case]
    found = diagnostics_of(CODE, trainjob(), document)
    assert [d.severity for d in found] == ["warning"] * len(names)
    assert [name for d, name in zip(found, names, strict=True) if f"'{name}'" not in d.message] == []
    assert all("status: Complete" in d.hint for d in found)


@pytest.mark.parametrize("case", ORDERED)
def test_the_order_is_right_when(case: str) -> None:
    assert diagnostics_of(CODE, trainjob(), ORDERED[case]) == []
