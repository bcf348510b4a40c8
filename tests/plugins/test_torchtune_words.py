"""torchtune's words: what the job that is built drops, names twice, or gives to a recipe that does not read it."""

from __future__ import annotations

from typing import Any

from builders import trainjob
from tables import cases

from trainc import CompileError, Diagnostic, Options, catalog, compile_trainjob

RUNTIMES = list(catalog("2.3"))
BUILT: dict[str, Any] = {"command": ["tune", "run"]}
CODES = ("ArgumentsDropped", "RecipeTwice", "LoRAIgnored")


def diagnostics_of(runtime: str = "torchtune-llama3.2-1b", **trainer: Any) -> list[Diagnostic]:
    try:
        found = compile_trainjob(
            trainjob(trainer, runtime=runtime), RUNTIMES, options=Options(release="2.3")
        ).diagnostics
    except CompileError as error:
        found = error.diagnostics
    return [d for d in found if d.code in CODES]


@cases("trainer", "expected")
def test_words_that_come_to_nothing_are_named(trainer: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    assert [(d.severity, d.code, d.path) for d in diagnostics_of(**trainer)] == [tuple(each) for each in expected]


def test_the_hint_repeats_what_is_dropped() -> None:
    (dropped,) = diagnostics_of(**BUILT)
    assert "dataset.source=parquet" in dropped.hint
    assert "output_dir" not in dropped.hint
