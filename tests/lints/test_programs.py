"""What programs are given is compared with their tables: slips are found, and a script's own options are none."""

from __future__ import annotations

import pytest
from trainings import reported, training

HF = "torchrun run_clm.py --per_device_train_batch_size 4 "
MEGATRON = "torchrun pretrain_gpt.py --num-layers 32 --tensor-model-parallel-size 4 "
SLIPS = {
    "a slip in a long name": (HF + "--gradient_acumulation_steps 2", "--gradient_acumulation_steps"),
    "a word for a number": (HF + "--max_steps many", "--max_steps"),
    "a value of a switch": (MEGATRON + "--group-query-attention 8", "--group-query-attention takes"),
    "a fraction that is a percentage": (HF + "--warmup_ratio 10", "warmup_ratio"),
    "both precisions": (HF + "--fp16 --bf16", "--fp16 with --bf16"),
    "torchrun and python": ("torchrun python train.py", "'python'"),
    "a file as a module": ("torchrun -m train.py", "'train.py'"),
    "a space after a backslash": ("torchrun train.py \\ \n  --lr 1", "a space follows"),
    "a pattern of braces": ("torchrun t.py data=/d/{0..3}.tar", "{0..3}"),
}


@pytest.mark.parametrize("case", SLIPS)
def test_a_slip_is_reported_with_a_hint(case: str) -> None:
    command, part = SLIPS[case]
    warnings = [d for d in reported(training(command)) if part in d.message and d.severity == "warning"]
    assert len(warnings) == 1
    assert warnings[0].hint


HARMLESS = {
    "an option of the script": HF + "--my_own_option 3 --dataset wiki",
    "a switch before a file": MEGATRON + "--sequence-parallel ./data",
    "more arguments in a variable": HF + "--load_best_model_at_end $EXTRA_ARGS",
    "a number in scientific notation": HF + "--learning_rate 5e-5 --max_steps 1e3",
    "module and package": "torchrun -m acme.train",
    "quoted braces": "torchrun t.py 'data=/d/{0..3}.tar'",
    "a program without a table": "torchrun train.py --num_generations_per_epoch 1",
}


@pytest.mark.parametrize("case", HARMLESS)
def test_what_is_right_or_not_known_is_left_alone(case: str) -> None:
    assert [str(d) for d in reported(training(HARMLESS[case])) if d.severity != "info"] == []
