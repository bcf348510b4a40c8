"""Degrees of parallelism and batch sizes against the ranks of a job: what exits, what is slow, and what is right."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import Json, diagnostics_of, job, runtime, trainjob
from trainings import findings, reported, training

from trainc import CompileError, Diagnostic, Options, compile_paths
from trainc.ir.parallelism import FRAMEWORKS, groups

MEGATRON = "torchrun pretrain_gpt.py --bf16 --num-layers 32 "
TP8_PP4 = "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4"
TITAN = "torchrun -m torchtitan.train --job.config_file llama3_8b.toml "
TUNE = "tune run --rdzv_endpoint=$PET_MASTER_ADDR:$PET_MASTER_PORT full_finetune_distributed --config x.yaml "
ACCELERATE = "accelerate launch --use_fsdp --fsdp_version=2 --use_parallelism_config "
SCRIPT = """\
TP=8
PP=3
MODEL_ARGS=(
    --num-layers 32  # layers
    --tensor-model-parallel-size $TP
    --pipeline-model-parallel-size ${PP}
)
torchrun --nproc_per_node 8 pretrain_gpt.py ${MODEL_ARGS[@]} --data-path $DATA
"""
HEREDOC = """\
cat > ds.json <<'EOF'
{"train_batch_size": 100, "train_micro_batch_size_per_gpu": 2}
EOF
torchrun train.py --deepspeed ds.json
"""

# 4 nodes x 8 processes, unless the case says otherwise; the code and a part of the message or hint.
WRONG: dict[str, tuple[list[str] | str, dict[str, Any], str, str]] = {
    "Megatron-LM": (
        MEGATRON + "--tensor-model-parallel-size 16 --pipeline-model-parallel-size 3",
        {},
        "Mismatch",
        "is 48",
    ),
    "Megatron-LM on too few nodes": (MEGATRON + TP8_PP4, {"nodes": 3}, "Mismatch", "set numNodes to a multiple of 4"),
    "Megatron-LM's context": (
        MEGATRON + TP8_PP4 + " --context-parallel-size 2",
        {},
        "Mismatch",
        "context 2 x pipeline 4",
    ),
    "Megatron-LM's experts": (
        MEGATRON + "--tensor-model-parallel-size 2 --expert-model-parallel-size 32",
        {},
        "Mismatch",
        "expert 32 is 64",
    ),
    "Megatron-LM in a list": (["torchrun", "t.py", "--tensor-model-parallel-size=5"], {}, "Mismatch", "tensor 5 is 5"),
    "Megatron-LM in arrays": (SCRIPT, {}, "Mismatch", "is 24, which does not divide the 32 ranks"),
    "Megatron-LM with fewer processes": (
        "torchrun --nproc_per_node=6 pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4",
        {},
        "Mismatch",
        "4 nodes x 6 processes",
    ),
    "Megatron-LM under MPI": (
        ["mpirun", "-np", "32", "python", "pretrain_gpt.py", "--tensor-model-parallel-size", "3"],
        {"runtime": "deepspeed-distributed"},
        "Mismatch",
        "32 ranks",
    ),
    "NeMo's overrides": (
        "torchrun train.py model.tensor_model_parallel_size=8 ++model.pipeline_model_parallel_size=3",
        {},
        "Mismatch",
        "NeMo exits",
    ),
    "NeMo 2's overrides": ("torchrun t.py trainer.strategy.tensor_model_parallel_size=3", {}, "Mismatch", "tensor 3"),
    "Lightning's overrides": (
        "torchrun train.py trainer.num_nodes=8 trainer.devices=8",
        {},
        "Mismatch",
        "write trainer.num_nodes=4 and trainer.devices=8",
    ),
    "Lightning's options": (
        "torchrun t.py fit --trainer.devices=4 --trainer.num_nodes 4",
        {},
        "Mismatch",
        "is 16, but",
    ),
    "torchtitan": (TITAN + "--parallelism.tensor_parallel_degree=3", {}, "Mismatch", "torchtitan exits"),
    "torchtitan's data": (
        TITAN + "--parallelism.tensor_parallel_degree 8 --parallelism.data_parallel_shard_degree 8",
        {},
        "Mismatch",
        "is 64",
    ),
    "an older torchtitan": (TITAN + "--training.tensor_parallel_degree 64", {}, "Mismatch", "tensor 64"),
    "torchtitan with all of its degrees": (
        TITAN
        + "--parallelism.tensor_parallel_degree=2 --parallelism.pipeline_parallel_degree=2 "
        + "--parallelism.context_parallel_degree=1 --parallelism.data_parallel_replicate_degree=1 "
        + "--parallelism.data_parallel_shard_degree=4",
        {},
        "Mismatch",
        "set --parallelism.data_parallel_shard_degree to 8",
    ),
    "torchtune": (TUNE + "tensor_parallel_dim=5", {}, "Mismatch", "torchtune exits"),
    "accelerate": (
        ACCELERATE + "--parallelism_config_tp_size 8 t.py",
        {},
        "Mismatch",
        "is 8, but there are 32 ranks",
    ),
    "accelerate's Megatron-LM": (
        "accelerate launch --use_megatron_lm --megatron_lm_tp_degree 8 --megatron_lm_pp_degree 3 t.py",
        {},
        "Mismatch",
        "accelerate's Megatron-LM exits",
    ),
    "a batch of Megatron-LM": (
        MEGATRON + "--tensor-model-parallel-size 8 --micro-batch-size 2 --global-batch-size 30",
        {},
        "Batch",
        "such as 24 or 32",
    ),
    "a batch without micro batches": (
        MEGATRON + TP8_PP4 + " --global-batch-size 31",
        {"nodes": 8},
        "Batch",
        "data 2",
    ),
    "DeepSpeed's batch in the script": (HEREDOC, {}, "Batch", "DeepSpeed exits"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_divided_is_an_error(case: str) -> None:
    command, fields, code, words = WRONG[case]
    (found,) = [d for d in reported(training(command, **fields)) if d.severity == "error"]
    assert found.code == {"Mismatch": "ParallelismMismatch", "Batch": "BatchDoesNotDivide"}[code]
    assert words in found.message + found.hint


RIGHT: dict[str, tuple[list[str] | str, dict[str, Any]]] = {
    "Megatron-LM": (MEGATRON + TP8_PP4 + " --micro-batch-size 1 --global-batch-size 64", {}),
    "Megatron-LM's experts": (
        MEGATRON + "--num-experts 8 --sequence-parallel --tensor-model-parallel-size 4 --expert-model-parallel-size 8",
        {},
    ),
    "experts with a tensor degree of their own": (
        MEGATRON
        + "--num-experts 32 --sequence-parallel --tensor-model-parallel-size 8 --expert-tensor-parallel-size 1 --expert-model-parallel-size 32",
        {},
    ),
    "a degree that comes later": (MEGATRON + "--tensor-model-parallel-size 5 --tensor-model-parallel-size 4", {}),
    "a degree that is not known": (MEGATRON + "--tensor-model-parallel-size $TENSOR", {}),
    "arguments that may have another": (MEGATRON + "--tensor-model-parallel-size 5 $EXTRA_ARGS", {}),
    "arguments of a function": ("f() { " + MEGATRON + '--tensor-model-parallel-size 5 "$@"; }; f', {}),
    "degrees of a checkpoint": (MEGATRON + "--tensor-model-parallel-size 5 --use-checkpoint-args", {}),
    "a batch that grows": (
        MEGATRON + "--tensor-model-parallel-size 8 --global-batch-size 30 --rampup-batch-size 2 2 1000",
        {},
    ),
    "a batch that is not Megatron-LM's": ("torchrun t.py --global-batch-size 30 --micro-batch-size 7", {}),
    "ranks that are not known": ("torchrun --nproc_per_node=$N pretrain_gpt.py --tensor-model-parallel-size 5", {}),
    "an elastic job": (
        f"torchrun --nnodes=2:4 --rdzv_backend=c10d --rdzv_endpoint=$PET_MASTER_ADDR:1 t.py {TP8_PP4} --x",
        {},
    ),
    "options of one's own": ("torchrun t.py --tp 5 --tensor_parallel 3 --pp-size 7", {}),
    "degrees of an inference server": ("torchrun serve.py --tensor-parallel-size 5", {}),
    "Lightning on all devices": ("torchrun t.py trainer.num_nodes=4 trainer.devices=auto", {}),
    "Lightning, of which half is elsewhere": ("torchrun t.py trainer.num_nodes=2", {}),
    "torchtitan, of which the rest is data": (TITAN + "--parallelism.tensor_parallel_degree 8", {}),
    "torchtitan, of which half is elsewhere": (
        TITAN + "--parallelism.tensor_parallel_degree 2 --parallelism.data_parallel_shard_degree 4",
        {},
    ),
    "torchtune": (TUNE + "tensor_parallel_dim=8 data_parallel_shard_dim=-1", {}),
    "accelerate": (
        ACCELERATE + "--parallelism_config_tp_size 8 --parallelism_config_dp_shard_size 4 t.py",
        {},
    ),
    "accelerate's options without effect": ("accelerate launch --parallelism_config_tp_size 5 t.py", {}),
    "accelerate's sequences, which DeepSpeed divides": (
        ACCELERATE + "--parallelism_config_sp_size 4 t.py",
        {},
    ),
    "another program's argument of this name": ("echo --tensor-model-parallel-size 5; torchrun t.py", {}),
}


@pytest.mark.parametrize("case", RIGHT)
def test_what_can_be_divided_or_is_not_all_visible_gets_nothing(case: str) -> None:
    command, fields = RIGHT[case]
    assert findings(training(command, **fields)) == []


def test_a_command_under_a_condition_is_a_warning() -> None:
    command = f"if [ -f x ]; then {MEGATRON} --tensor-model-parallel-size 5; else torchrun t.py; fi"
    assert findings(training(command)) == [("warning", "ParallelismMismatch")]


ACROSS = "TensorParallelAcrossNodes"
RACK = {"nodeSelector": {"node.kubernetes.io/instance-type": "a4x-highgpu-4g"}}
DOMAIN = {"resourceClaims": [{"name": "channel", "resourceClaimTemplateName": "llm-compute-domain-channel"}]}


@pytest.mark.parametrize(
    ("command", "fields", "found"),
    [
        (MEGATRON + "--tensor-model-parallel-size 16", {}, 1),
        (TITAN + "--parallelism.tensor_parallel_degree 32", {}, 1),
        (TUNE + "tensor_parallel_dim=16", {}, 1),
        ("torchrun --nproc_per_node=6 t.py --tensor-model-parallel-size 4", {"gpus": 6, "nodes": 2}, 1),
        (MEGATRON + "--tensor-model-parallel-size 8", {}, 0),
        (MEGATRON + "--tensor-model-parallel-size 8", {"nodes": 1}, 0),
        (
            MEGATRON + "--tensor-model-parallel-size 16",
            {"pod": {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-GB200"}}},
            0,
        ),
        (MEGATRON + "--tensor-model-parallel-size 16", {"pod": RACK, "gpus": 4, "nodes": 8}, 0),
        (MEGATRON + "--pipeline-model-parallel-size 16", {}, 0),
    ],
)
def test_a_tensor_parallel_group_stays_on_a_node(command: str, fields: dict[str, Any], found: int) -> None:
    assert findings(training(command, **fields)) == [("warning", ACROSS)] * found


def test_a_compute_domain_is_a_rack() -> None:
    command = ["torchrun", "pretrain_gpt.py", "--tensor-model-parallel-size=16"]
    document = trainjob({"numNodes": 4, "command": command, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}})
    for pod, found in ((DOMAIN, 0), ({}, 1)):
        assert len(diagnostics_of(ACROSS, document, runtime(job(pod=pod), policy={"torch": {}}))) == found


def written(folder: Any, document: Json, **files: str) -> list[Diagnostic]:
    """What is reported of a job with a ConfigMap of these files, mounted at /cfg."""
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "team-a"}}
    texts = [
        json.dumps({**settings, "data": {name.replace("__", "."): text for name, text in files.items()}}),
        json.dumps(document),
    ]
    (folder / "job.yaml").write_text("\n---\n".join(texts), encoding="utf-8")
    try:
        found = compile_paths([str(folder)], options=Options(release="2.3")).diagnostics
    except CompileError as error:
        found = error.diagnostics
    return [diagnostic for diagnostic in found if diagnostic.severity != "info"]


MOUNTED: Json = {
    "pod": {"volumes": [{"name": "settings", "configMap": {"name": "settings"}}]},
    "mounts": [{"name": "settings", "mountPath": "/cfg"}],
}
TOML = "[parallelism]\ntensor_parallel_degree = 2\ndata_parallel_shard_degree = 4\n[training]\nsteps = 10\n"
PARALLEL = "parallelism_config:\n  parallelism_config_tp_size: 5\nuse_cpu: false\n"
CONFIGURED: dict[str, tuple[str, dict[str, str], list[tuple[str, str]]]] = {
    "DeepSpeed's batch": (
        "torchrun t.py --deepspeed /cfg/ds.json",
        {
            "ds__json": '{"train_batch_size": 100, "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 1}'
        },
        [("error", "BatchDoesNotDivide")],
    ),
    "DeepSpeed's batch that fits": (
        "torchrun t.py --deepspeed /cfg/ds.json",
        {
            "ds__json": '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 1}'
        },
        [],
    ),
    "DeepSpeed's batch, of which the steps are worked out": (
        "torchrun t.py --deepspeed_config=/cfg/ds.json",
        {"ds__json": '{"train_batch_size": 512, "train_micro_batch_size_per_gpu": 8}'},
        [],
    ),
    "DeepSpeed's batch that the program fills in": (
        "torchrun t.py --deepspeed /cfg/ds.json",
        {"ds__json": '{"train_batch_size": 100, "train_micro_batch_size_per_gpu": "auto"}'},
        [],
    ),
    "DeepSpeed with tensor parallelism": (
        "torchrun t.py --deepspeed /cfg/ds.json",
        {
            "ds__json": '{"train_batch_size": 8, "train_micro_batch_size_per_gpu": 2, "tensor_parallel": {"autotp_size": 8}}'
        },
        [],
    ),
    "DeepSpeed under accelerate": (
        "accelerate launch --use_deepspeed --deepspeed_config_file /cfg/ds.json t.py",
        {"ds__json": '{"train_batch_size": 33}'},
        [("error", "BatchDoesNotDivide")],
    ),
    "torchtitan's file": (
        "torchrun -m torchtitan.train --job.config_file /cfg/t.toml",
        {"t__toml": TOML},
        [("error", "ParallelismMismatch")],
    ),
    "torchtitan's file with an option": (
        "torchrun -m torchtitan.train --job.config_file /cfg/t.toml --parallelism.data_parallel_shard_degree 16",
        {"t__toml": TOML},
        [],
    ),
    "a file of other settings": ("torchrun t.py --config /cfg/t.toml", {"t__toml": "[model]\nlayers = 3\n"}, []),
    "a file that cannot be read": ("torchrun t.py --config /cfg/t.toml", {"t__toml": "[[["}, []),
    "a file that is nested without end": ("torchrun t.py --deepspeed /cfg/a.json", {"a__json": "[" * 5_000}, []),
    "a table that is nested without end": ("torchrun t.py --config /cfg/a.toml", {"a__toml": "a = " + "[" * 5_000}, []),
    "accelerate's file": (
        "accelerate launch --use_fsdp --fsdp_version=2 --config_file /cfg/a.yaml t.py",
        {"a__yaml": PARALLEL},
        [],
    ),
    "a file that is not mounted": (
        "torchrun t.py --deepspeed /other/ds.json",
        {"ds__json": '{"train_batch_size": 3}'},
        [],
    ),
}


@pytest.mark.parametrize("case", CONFIGURED)
def test_settings_are_read_from_files_of_the_input(case: str, tmp_path: Any) -> None:
    command, files, expected = CONFIGURED[case]
    found = written(tmp_path, training(command, **MOUNTED), **files)
    assert [(d.severity, d.code) for d in found] == expected


def test_every_framework_says_how_its_ranks_are_numbered() -> None:
    for framework in FRAMEWORKS:
        axes = {axis for each in framework.divides for axis in each} | set(framework.fills)
        assert framework.anchors <= framework.keys.keys()
        assert set(framework.keys.values()) >= axes
        assert not framework.order or set(framework.order) >= (axes & {"tp", "pp"})


def test_groups_of_neighbors_come_first() -> None:
    sizes, order = {"tp": 2, "dp": 2, "pp": 2}, ("tp", "dp", "pp")
    assert groups(sizes, order, "tp") == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert groups(sizes, order, "dp") == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert groups(sizes, order, "pp") == [[0, 4], [1, 5], [2, 6], [3, 7]]
