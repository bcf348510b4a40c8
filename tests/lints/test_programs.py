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
    "experts in fp16": (
        MEGATRON + "--hidden-size 64 --num-experts 8 --expert-model-parallel-size 2 --fp16",
        "--fp16 with",
    ),
    "overlap without what it overlaps": (MEGATRON + "--tp-comm-overlap", "needs sequence_parallel"),
    "two sources of data": (MEGATRON + "--mock-data --data-path /data/c4", "--mock-data with"),
    "an option of older releases": (MEGATRON + "--hidden-size 64 --checkpoint-activations", "--checkpoint-activations"),
    "a schedule by evaluations without any": (HF + "--lr_scheduler_type reduce_lr_on_plateau", "--lr_scheduler_type"),
    "an optimizer without its layers": (HF + "--optim galore_adamw", "--optim"),
    "an evaluation without data": (
        "llamafactory-cli train --stage sft --finetuning_type lora --do_train --eval_strategy steps --eval_steps 5",
        "--eval_strategy",
    ),
    "GaLore for an adapter": (
        "llamafactory-cli train --stage sft --finetuning_type lora --use_galore",
        "--use_galore with",
    ),
    "packed samples without their engine": (
        "python3 -m openrlhf.cli.train_ppo_ray --packing_samples --train_batch_size 64",
        "--packing_samples",
    ),
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
    "experts in bf16": MEGATRON + "--num-experts 8 --expert-model-parallel-size 2 --bf16 --sequence-parallel",
    "a schedule by evaluations": HF + "--lr_scheduler_type reduce_lr_on_plateau --eval_strategy epoch",
    "an evaluation with data": "torchrun src/train.py --stage sft --finetuning_type lora --eval_strategy epoch --val_size 0.1",
    "old names of another Megatron": MEGATRON + "--hidden-size 64 --deepspeed --checkpoint-activations",
    "samples in verl's evaluation": "python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.val_kwargs.do_sample=true",
    "more arguments in a variable": HF + "--load_best_model_at_end $EXTRA_ARGS",
    "a number in scientific notation": HF + "--learning_rate 5e-5 --max_steps 1e3",
    "module and package": "torchrun -m acme.train",
    "quoted braces": "torchrun t.py 'data=/d/{0..3}.tar'",
    "a program without a table": "torchrun train.py --num_generations_per_epoch 1",
}


@pytest.mark.parametrize("case", HARMLESS)
def test_what_is_right_or_not_known_is_left_alone(case: str) -> None:
    assert [str(d) for d in reported(training(HARMLESS[case])) if d.severity != "info"] == []
