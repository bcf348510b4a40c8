"""torchtune's words: what the job that is built drops, names twice, or gives to a recipe that does not read it."""

from __future__ import annotations

from typing import Any

import pytest
from builders import trainjob

from trainc import CompileError, Diagnostic, Options, catalog, compile_trainjob

RUNTIMES = list(catalog("2.3"))
LORA = "model.lora_attn_modules=[q_proj,v_proj]"
DATA = ["dataset=torchtune.datasets.chat_dataset", "dataset.source=json"]
BUILT: dict[str, Any] = {"command": ["tune", "run"]}
OWN = {"command": ["tune", "run", "full_finetune_distributed", "--config", "llama3_2/1B_full"]}
CODES = ("ArgumentsDropped", "RecipeTwice", "LoRAIgnored")


def diagnostics_of(runtime: str = "torchtune-llama3.2-1b", **trainer: Any) -> list[Diagnostic]:
    try:
        found = compile_trainjob(
            trainjob(trainer, runtime=runtime), RUNTIMES, options=Options(release="2.3")
        ).diagnostics
    except CompileError as error:
        found = error.diagnostics
    return [d for d in found if d.code in CODES]


CASES: dict[str, tuple[dict[str, Any], list[tuple[str, str, str]]]] = {
    "the runtime's command as it is": ({}, []),
    "settings behind the runtime's command": ({"args": ["epochs=3"]}, []),
    "a command of the user's own": (OWN, []),
    "a command of another program": ({"command": ["python", "train.py"], "args": ["--config", "x"]}, []),
    "a command that is built, without its data": (
        {**BUILT, "args": ["epochs=3"]},
        [("warning", "ArgumentsDropped", "spec.trainer.command[0]")],
    ),
    "a command that is built, with its data": ({**BUILT, "args": DATA}, []),
    "LoRA that is chosen": ({**BUILT, "args": [LORA, "model.lora_rank=16", *DATA]}, []),
    "a rank of LoRA alone": (
        {**BUILT, "args": [*DATA, "model.lora_rank=16"]},
        [("warning", "LoRAIgnored", "spec.trainer.args[2]")],
    ),
    "LoRA for the runtime's recipe": ({"args": [LORA]}, [("warning", "LoRAIgnored", "spec.trainer.args[0]")]),
    "LoRA for the user's recipe": ({**OWN, "args": [LORA]}, [("warning", "LoRAIgnored", "spec.trainer.args[0]")]),
    "LoRA that is switched off": ({"args": ["model.use_dora=False"]}, []),
    "a recipe behind the runtime's": (
        {"args": ["lora_finetune_distributed", "--config", "llama3_2/1B_lora", LORA]},
        [("error", "RecipeTwice", "spec.trainer.args[0]")],
    ),
    "a configuration behind the one that is built": (
        {**BUILT, "args": [*DATA, "--config", "llama3_2/1B_lora"]},
        [("error", "RecipeTwice", "spec.trainer.args[2]")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_words_that_come_to_nothing_are_named(case: str) -> None:
    trainer, expected = CASES[case]
    assert [(d.severity, d.code, d.path) for d in diagnostics_of(**trainer)] == expected


def test_the_hint_repeats_what_is_dropped() -> None:
    (dropped,) = diagnostics_of(**BUILT)
    assert "dataset.source=parquet" in dropped.hint
    assert "output_dir" not in dropped.hint
