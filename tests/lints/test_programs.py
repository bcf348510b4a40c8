"""What programs are given is compared with their tables: slips are found, and a script's own options are none."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Json
from steps import SIZES, assert_linear, steps
from tables import cases
from trainings import findings, reported, training

HF = "torchrun run_clm.py --per_device_train_batch_size 4 "
MEGATRON = "torchrun pretrain_gpt.py --num-layers 32 --tensor-model-parallel-size 4 "


@cases("command", "part")
def test_a_slip_is_reported_with_a_hint(command: Any, part: Any) -> None:
    warnings = [d for d in reported(training(command)) if part in d.message and d.severity == "warning"]
    assert len(warnings) == 1
    assert warnings[0].hint


@cases("job", "env")
def test_each_wrong_value_of_a_variable_is_reported_and_a_right_one_is_not(job: Any, env: Any) -> None:
    job = {"command": ["python" if "runtime" in job else "torchrun", "t.py"]} | job
    for name, (bad, good) in env.items():
        assert any(name in d.message for d in reported(training(**job, env={name: bad}))), name
        twin = reported(training(**job, env={name: good} if good is not None else {}))
        assert [str(d) for d in twin if name in d.message or d.severity == "warning"] == [], name


@cases("bad", "good")
def test_a_mistake_in_a_command_is_reported_and_its_twin_is_left_alone(bad: Any, good: Any) -> None:
    runtime = "deepspeed-distributed" if bad[0] == "mpirun" else "torch-distributed"
    said = {d.message for d in reported(training(good, runtime=runtime))}
    assert [d for d in reported(training(bad, runtime=runtime)) if d.severity != "info" and d.message not in said]
    assert findings(training(good, runtime=runtime)) == []


@cases("wrong", "right", "part")
def test_a_mistake_of_a_job_is_said_with_its_mend_and_its_twins_are_left_alone(
    wrong: Any, right: Any, part: str
) -> None:
    """Each twin is what differs from the wrong job."""
    said = [
        [f"{d.message} — {d.hint}" for d in reported(training(**job))] for job in (wrong, *(wrong | r for r in right))
    ]
    assert [any(part in text for text in texts) for texts in said] == [True, *(False for _ in right)], said


@cases("script", "wrong", "right", "part", "job")
def test_a_mistake_in_a_script_is_reported_and_its_twins_are_left_alone(
    script: str, wrong: str, right: list[str], part: str, job: Any
) -> None:
    job = {"command": "torchrun t.py"} | job
    for call in (wrong, *right):
        command = f"cat > t.py <<'EOF'\n{script.replace('CALL', call)}\nEOF\n{job['command']}\n"
        said = [d.message for d in reported(training(**job | {"command": command})) if d.severity != "info"]
        assert [part in message for message in said] == [True] * (call == wrong), call


HUB = "torchrun run_clm.py --per_device_train_batch_size 1 --model_name_or_path Qwen/Qwen2.5-7B"


@pytest.mark.parametrize(
    ("command", "fields", "part"),
    [
        (HUB, {"limits": {"ephemeral-storage": "10Gi"}}, "takes 14 GB"),
        (HUB, {"limits": {"ephemeral-storage": "40Gi"}}, ""),
        (HUB, {"pod": {"securityContext": {"runAsUser": 1000}}}, "/.cache"),
        (HUB, {"pod": {"securityContext": {"runAsUser": 1000}}, "env": {"HF_HOME": "/tmp/hf"}}, ""),
    ],
)
def test_a_model_that_a_pod_cannot_keep_is_reported(command: str, fields: Any, part: str) -> None:
    said = [d for d in reported(training(command, **fields)) if d.code in {"UnlikelyAmount", "UnsetVariable"}]
    assert [d.message for d in said if part and part in d.message] or (said == [] and not part)


def test_a_slip_that_is_near_to_several_options_is_taken_for_the_nearest() -> None:
    verl = "python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.clip_ratio_b=0.1"
    (finding,) = [d for d in reported(training(verl)) if "clip_ratio_b" in d.message]
    assert finding.hint == "did you mean actor_rollout_ref.actor.clip_ratio_c?"


SCRIPT = """cat > t.py <<'EOF'
import os, torch
import torch.distributed as dist, torch.multiprocessing as mp
dist.init_process_group('nccl')
rank = dist.get_rank()
{}
EOF
torchrun t.py
"""

HARMLESS = {
    "a variable for this program": "set -e\nNCCL_DEBUG=INFO torchrun t.py\n",
    "variables that are exported": "set -a\nNCCL_DEBUG=INFO\ntorchrun t.py\n",
    "a variable that is exported later": "NCCL_DEBUG=INFO\nexport NCCL_DEBUG\ntorchrun t.py\n",
    "a variable for the command line": "HF_HOME=/data\ntorchrun t.py --cache $HF_HOME\n",
    "a comparison": 'if [ "$A" = 1 ]; then torchrun t.py; fi\n',
    "a script behind a backslash": "accelerate launch \\\n  t.py\n",
    "a model that is there": "torchrun run_clm.py --model_name_or_path /models/meta-llama/Llama-3.1-8B",
    "a reference in quotes": "torchrun --node_rank '$(PET_NODE_RANK)' t.py",
    "an option of the script": HF + "--my_own_option 3 --dataset wiki",
    "a switch before a file": MEGATRON + "--sequence-parallel ./data",
    "experts in bf16": MEGATRON + "--num-experts 8 --expert-model-parallel-size 2 --bf16 --sequence-parallel",
    "a schedule by evaluations": HF + "--lr_scheduler_type reduce_lr_on_plateau --eval_strategy epoch",
    "an evaluation with data": "torchrun src/train.py --stage sft --finetuning_type lora --eval_strategy epoch --val_size 0.1",
    "old names of another Megatron": MEGATRON + "--hidden-size 64 --deepspeed --checkpoint-activations",
    "samples in verl's evaluation": "python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.val_kwargs.do_sample=true",
    "more arguments in a variable": HF + "--load_best_model_at_end $EXTRA_ARGS",
    "a number in scientific notation": HF + "--learning_rate 5e-5 --warmup_ratio 1e-1",
    "module and package": "torchrun -m acme.train",
    "quoted braces": "torchrun t.py 'data=/d/{0..3}.tar'",
    "a value with dashes": "torchrun train.py --note=before--after --run=a--b",
    "a stage that may be quantized": "torchrun src/train.py --stage sft --finetuning_type lora --quantization_bit 4 --deepspeed ds_z2.json",
    "a template": "torchrun src/train.py --stage sft --finetuning_type lora --template qwen3",
    "the devices of the pod": "torchrun main.py fit --trainer.devices [0,1,2,3,4,5,6,7] --trainer.accelerator gpu",
    "what only a script knows": "cat > t.py <<'EOF'\nSFTConfig(fp16=half, bf16=True, per_device_train_batch_size=4)\nEOF\ntorchrun t.py\n",
    "what a script says twice": "cat > t.py <<'EOF'\nSFTConfig(bf16=True)\nSFTConfig(bf16=False, fp16=True)\nEOF\ntorchrun t.py\n",
    "a script that is none": "cat > t.py <<'EOF'\nSFTConfig(bf16=True, fp16=True\nEOF\ntorchrun t.py\n",
    "a module of another program": "torchrun train.py -m resnet50 --gpus 0,",
    "an adapter by its file": "mlx_lm.lora --config /data/lora.yaml --model mlx-community/Llama-3.2-3B",
    "a text in another script": "torchrun train.py --prompt 一只“猫”",
    "an option of the script, too": "accelerate launch --num_machines 4 --num_processes 32 --machine_rank $(PET_NODE_RANK) --main_process_ip $(PET_MASTER_ADDR) train.py --num_steps 8 --num_machines_of_mine 1",
    "conda that is loaded": "source /opt/conda/etc/profile.d/conda.sh && conda activate x\ntorchrun train.py\n",
    "a server in the background": "vllm serve m --port 8000 &\ntorchrun train.py\n",
    "a server on several lines": "vllm serve m \\\n  --port 8000 &\ntorchrun train.py\n",
    "a line with its backslash": "torchrun train.py \\\n  --lr 1\n",
    "a random seed": "torchrun train.py --seed $RANDOM\n",
    "a loop that ends": "while true; do torchrun train.py && break; done\n",
    "quotes inside a value": """NOTE='say "hello" to "it"' torchrun train.py\n""",
    "the script's option, given before it too": "torchrun --master_port 29501 train.py --master_port 29501",
    "a device of each process": "torchrun --nproc_per_node 8 t.py gpus=[0,1,2,3,4,5,6,7] --device cuda:0",
    "a device that is numbered in a program of one": "torchrun t.py --gpus 0, --local_device cuda",
    "code in a file of Python": "cat > /c/t.py <<'EOF'\nfor x in 'ab': n_layer = 1\nEOF\ntorchrun /c/t.py",
    "a semicolon in a text": "python -c 'import t; t.run()'",
    "the device of each process of YOLO": "torchrun --nproc_per_node 8 train.py --hyp h.yaml --batch-size 64 --device 0,1,2,3,4,5,6,7 --sync-bn",
    "a window that is not opened": "torchrun scripts/rsl_rl/train.py --task Isaac-Ant-v0 --headless --distributed",
    "a tracker of submissions": "torchrun train.py --submitit_folder /out --num_gpus 8",
    "the folders of nnU-Net": "nnUNet_raw=/d/raw nnUNet_preprocessed=/d/pre nnUNet_results=/d/out nnUNetv2_train 1 3d_fullres 0",
    "settings of OpenMMLab in Python": "cat > /c/a.py <<'EOF'\nnorm_cfg = dict(type='SyncBN')\ntrain_cfg = dict(type='IterBasedTrainLoop', max_iters=9)\nEOF\ntorchrun tools/train.py /c/a.py --launcher pytorch",
    "the devices of all pods": "torchrun train.py --world_size 32 --gpus 8 --gpu 0 --n_gpu 8",
    "a text of its own as an option": "torchrun t.py --name= --tag=a 3",
    "a switch with a number behind it": "torchrun run_clm.py --per_device_train_batch_size 4 --max_steps -1 --bf16",
    "variables that are exported in one line": "export NCCL_DEBUG=INFO NCCL_IB_DISABLE=1\ntorchrun t.py\n",
    "an optimizer of a newer axolotl": "cat > /c/a.yml <<'EOF'\n{base_model: a, datasets: [], optimizer: brand_new, adapter: lora, lora_r: 8, lora_target_linear: true}\nEOF\naxolotl train /c/a.yml",
    "a rendezvous by its variables": "torchrun train.py --dist-url env://",
    "the address of the first pod": "python t.py --num-machines 4 --machine-rank $PET_NODE_RANK --dist-url tcp://$PET_MASTER_ADDR:1",
    "nodes of a graph": "torchrun t.py --num_nodes 169343",
    "the launcher of the script": "torchrun tools/train.py configs/a.py --launcher pytorch",
    "an empty override": "torchrun t.py trainer.max_steps=5 model.restore_from_path= model.lr=1",
    "a list in one word": "python -m acme model.lr=1 data.files=[/a,/b] --rank $PET_NODE_RANK",
    "names of a script of its own": "torchrun train.py --model_name_or_path bert --output_dir /out --epochs 3",
    "a model that is saved whole": "accelerate launch --use_fsdp --fsdp_state_dict_type FULL_STATE_DICT t.py --per_device_train_batch_size 1 --save_only_model true",
    "a tracker that is offline": "WANDB_MODE=offline torchrun train.py --report_to wandb",
    "a tracker that is off": "torchrun train.py --report_to none --use_wandb false",
    "interfaces that are left": "NCCL_SOCKET_IFNAME=^docker,lo,veth torchrun t.py",
    "devices that ROCR leaves": "ROCR_VISIBLE_DEVICES=4,5,6,7 HIP_VISIBLE_DEVICES=0,1,2,3 torchrun t.py",
    "devices of their own": "CUDA_VISIBLE_DEVICES=0,1,2,3 trl vllm-serve --model /m &\nCUDA_VISIBLE_DEVICES=4,5,6,7 torchrun --nproc_per_node 4 t.py",
    "a command that is empty": 'X=""\n$X\ntorchrun train.py\n',
    "a port with a default": "MASTER_PORT=${MASTER_PORT:-29500} torchrun train.py\n",
    "a template of a newer release": "torchrun src/train.py --stage sft --finetuning_type lora --template brand_new_one",
    "checkpoints at evaluations": "torchrun x.py --load_best_model_at_end --eval_strategy steps --eval_steps 500 --save_steps 1000",
    "Paddle with a master": "python -m paddle.distributed.launch --nnodes 4 --master $PET_MASTER_ADDR:8090 t.py",
    "xtuner with its variables": "NPROC_PER_NODE=8 NNODES=4 NODE_RANK=$PET_NODE_RANK ADDR=$PET_MASTER_ADDR PORT=29500 xtuner train a.py",
    "fairseq under torchrun": "torchrun $(which fairseq-train) /d --distributed-world-size 32",
    "a script of the shell, said so": "torchrun --no-python ./train.sh",
    "a time with its unit": "timeout 24h torchrun t.py",
    "architectures by number": "TORCH_CUDA_ARCH_LIST='8.0;9.0+PTX' torchrun t.py",
    "a tracker that is switched off": "WANDB_MODE=disabled torchrun t.py",
    "a collective call of each branch": SCRIPT.format(
        "if rank != 0:\n  dist.barrier()\nif rank == 0:\n  dist.barrier()"
    ),
    "a collective call of others in a loop": SCRIPT.format(
        "while rank and f():\n  dist.barrier()\nif rank == 0:\n  dist.barrier()"
    ),
    "a collective call of others in a function": SCRIPT.format(
        "def f():\n  dist.barrier()\nif rank == 0:\n  dist.barrier()\nif rank:\n  f()"
    ),
    "a collective call of an expression": SCRIPT.format("rank and dist.barrier()\nif rank == 0:\n  dist.barrier()"),
    "a barrier of a group": SCRIPT.format("if rank == 0:\n  dist.barrier(some)\n  dist.broadcast(x, 0, some)"),
    "a device by Slurm": SCRIPT.format("if 'SLURM_PROCID' in os.environ:\n  torch.cuda.set_device(rank)"),
    "a device in an argument": SCRIPT.format(
        "def f(rank):\n  torch.cuda.set_device(rank)\nf(int(os.environ['LOCAL_RANK']))"
    ),
    "a device that is changed": SCRIPT.format("rank %= 8\ntorch.cuda.set_device(rank)"),
    "processes that are started without a launcher": SCRIPT.format(
        "def f():\n  if 'RANK' in os.environ:\n    return g()\n  mp.spawn(g, nprocs=torch.cuda.device_count())\nf()"
    ),
    "a file of the first rank": SCRIPT.format("import sys\nif rank:\n  sys.exit()\ntorch.save(x, '/c/a.pt')"),
    "a file of each rank": SCRIPT.format("torch.save(x, '/c/%d.pt' % rank)\ntorch.save(x, f'/c/{rank}.pt')"),
    "a function for files of the first rank": SCRIPT.format("@first\ndef save():\n  torch.save(x, '/c/a.pt')\nsave()"),
    "saving that is replaced": SCRIPT.format("if rank:\n  torch.save = print\ntorch.save(x, '/c/a.pt')"),
    "a model beside the one that is trained": SCRIPT.format(
        "from transformers import AutoModel, Trainer\nAutoModel.from_pretrained('a', device_map='auto')\nTrainer(AutoModel.from_pretrained('b'), train_dataset=d).train()"
    ),
    "a program without a table": "torchrun train.py --num_generations_per_epoch 1",
}


@pytest.mark.parametrize("case", HARMLESS)
def test_what_is_right_or_not_known_is_left_alone(case: str) -> None:
    assert [str(d) for d in reported(training(HARMLESS[case])) if d.severity != "info"] == []


LARGE = "torchrun sft.py --model_name_or_path meta-llama/Llama-3.3-70B-Instruct --per_device_train_batch_size 1"


@pytest.mark.parametrize(
    ("command", "node", "gpus", "expected"),
    [
        (LARGE, "g5.12xlarge", 4, "take 140 GB with 2 bytes a parameter, and all devices of the job together have 96 GB"),
        (LARGE.replace("Llama-3.3-70B-Instruct", "Llama-3.1-8B"), "g4dn.xlarge", 1, ""),  # 16 GB exactly.
        (LARGE, "p4de.24xlarge", 8, "each process keeps all of the weights"),
        (LARGE + " --fsdp full_shard", "p4de.24xlarge", 8, ""),
        (LARGE, "p5.48xlarge", 2, "weights and gradients of meta-llama/Llama-3.3-70B-Instruct take 280 GB"),
        (LARGE, "m5.large", 4, ""),
        (LARGE + " --use_peft", "g5.12xlarge", 4, "LoRA does not make frozen weights smaller"),
        (LARGE + " --use_peft --load_in_4bit", "g5.12xlarge", 4, ""),
        (LARGE + " --load_in_4bit true", "g5.12xlarge", 4, ""),
        (LARGE + " --deepspeed zero3_offload.json", "g5.12xlarge", 4, ""),
        (LARGE + " --deepspeed zero3.json", "g5.12xlarge", 4, ""),  # Nobody has seen the file.
        (LARGE + " $EXTRA_ARGS", "g5.12xlarge", 4, ""),
        (LARGE.replace("meta-llama/Llama-3.3", "acme/own"), "g5.12xlarge", 4, ""),
        ("llamafactory-cli train --model_name_or_path meta-llama/Llama-3.3-70B --stage sft", "g5.12xlarge", 4, ""),
    ],
)  # fmt: skip
def test_a_model_that_fits_into_no_memory_is_reported_if_nothing_makes_it_smaller(
    command: str, node: str, gpus: int, expected: str
) -> None:
    job = training(command, nodes=1, gpus=gpus, pod={"nodeSelector": {"node.kubernetes.io/instance-type": node}})
    said = [
        d.message
        for d in reported(job)
        if d.code == "ModelExceedsMemory" and (d.severity == "info") == ("gradients" in expected)
    ]
    assert (expected in said[0]) if expected else said == []


def test_the_number_of_nodes_is_put_into_the_hint_and_into_no_name() -> None:
    (hint,) = [
        d.hint for d in reported(training("swift sft --model a/b --train_type lora")) if d.code == "ForeignLauncher"
    ]
    assert "NNODES=4 " in hint


MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cfg", "namespace": "team-a"}}
ACCELERATE = (
    "compute_environment: LOCAL_MACHINE\nnum_machines: 1\ndeepspeed_config: {deepspeed_config_file: /c/z.json}\n"
)
OF_MAP: dict[str, Any] = {"configMap": {"name": "cfg"}}


@pytest.mark.parametrize(
    ("command", "volume", "mount", "data", "expected"),
    [
        (["accelerate", "launch", "--config_file=/c/a.yaml", "t.py"], OF_MAP, {}, {"a.yaml": ACCELERATE}, "/c/z.json is not in"),
        (["accelerate", "launch", "--config_file=/c/a.yaml", "t.py"], OF_MAP, {}, {"a.yaml": ACCELERATE, "z.json": "{}"}, ""),
        (["torchrun", "t.py", "--config=/c/a.toml"], {"configMap": {"name": "config"}}, {}, {"a.toml": ""}, "did you mean cfg"),
        (["torchrun", "t.py", "--config=/c/b.toml"], {"configMap": {"name": "config"}}, {}, {"a.toml": ""}, ""),
        (["torchrun", "t.py", "--config=/c/a.toml"], {"configMap": {"name": "other"}}, {}, {"a.toml": ""}, ""),
        (["torchrun", "t.py"], OF_MAP, {"mountPath": "/c/a.toml", "subPath": "b.toml"}, {"a.toml": ""}, "/c/a.toml is an empty folder"),
        (["torchrun", "t.py"], OF_MAP, {"mountPath": "/c/b.toml", "subPath": "a.toml"}, {"a.toml": ""}, ""),
        (["/c/run.sh"], OF_MAP, {}, {"run.sh": ""}, "is not executable"),
        (["/c/run.sh"], {"configMap": {"name": "cfg", "defaultMode": 0o755}}, {}, {"run.sh": ""}, ""),
        (["bash", "/c/run.sh"], OF_MAP, {}, {"run.sh": ""}, ""),
        (["bash", "/c/run.sh", "16"], OF_MAP, {}, {"run.sh": "torchrun --nproc_per_node=$1 t.py\n"}, "16 processes for 8"),
        (["bash", "/c/run.sh", "8"], OF_MAP, {}, {"run.sh": "set -e\ntorchrun --nproc_per_node=${1} t.py $@\n"}, ""),
        (["bash", "/c/run.sh"], OF_MAP, {}, {"run.sh": "torchrun t.py\r\n"}, "as on Windows"),
        (["sh", "-c", "exec bash /c/run.sh"], OF_MAP, {}, {"run.sh": "torchrun t.py || true\n"}, "count as done"),
        (["bash", "/c/run.sh"], OF_MAP, {}, {"run.sh": "torchrun t.py 2>&1 | tee /tmp/log\n"}, "that of tee"),
        (["bash", "-eo", "pipefail", "/c/run.sh"], OF_MAP, {}, {"run.sh": "torchrun t.py 2>&1 | tee /tmp/log\n"}, ""),
        (["python", "t.py", "--config=/c/a.yaml"], OF_MAP, {}, {"a.yaml": "train: {num_gpus: 16}\n"}, "num_gpus in a.yaml"),
        (["torchrun", "t.py", "--config=/c/a.yaml"], OF_MAP, {}, {"a.yaml": "data:\n  root: ???\n"}, "placeholder"),
        (["torchrun", "t.py", "--config=/c/a.yaml", "data.root=/d"], OF_MAP, {}, {"a.yaml": "data:\n  root: ???\n"}, ""),
        (["torchrun", "/c/t.py"], {"emptyDir": {}}, {}, {"t.py": ""}, "is empty in every new pod"),
        (["torchrun", "-m", "acme.t"], {"emptyDir": {}}, {}, {}, ""),
        (["bash", "-c", "torchrun t.py --deepspeed=ds.json"], OF_MAP, {}, {"ds.json": "{}"}, "did you mean /c/ds.json"),
        (["bash", "-c", "torchrun t.py --deepspeed=ds.json"], OF_MAP, {"mountPath": "/workspace"}, {"ds.json": "{}"}, ""),
        (["torchrun", "t.py", "--config=/c/a.toml"], OF_MAP, {"subPath": "a.toml"}, {"a.toml": ""}, "is this file, and no folder"),
        (["bash", "-c", "git clone x /c && torchrun /c/t.py"], {"emptyDir": {}}, {}, {}, ""),
        (["torchrun", "t.py"], {"emptyDir": {"medium": "Memory"}}, {"mountPath": "/dev/smh"}, {}, "did you mean /dev/shm?"),
        (["torchrun", "t.py"], {"emptyDir": {"medium": "Memory"}}, {"mountPath": "/dev/hugepages"}, {}, ""),
    ],
)  # fmt: skip
def test_a_file_that_is_not_where_the_command_looks_is_named(
    command: list[str], volume: Json, mount: Json, data: Json, expected: str
) -> None:
    pod = {"volumes": [{"name": "v", **volume}]}
    job = training(command, nodes=1, pod=pod, mounts=[{"name": "v", "mountPath": "/c", **mount}])
    said = [f"{d.message} {d.hint}" for d in reported(job, {**MAP, "data": data}) if d.severity == "warning"]
    assert (expected in said[0]) if expected else said == []


def test_what_a_script_of_a_config_map_does_is_reported_at_its_line() -> None:
    script = (
        "#!/bin/bash\n# --standalone is for one node\nset -e\ntorchrun --standalone \\\n  --nproc_per_node=$WHAT t.py\n"
    )
    job = training(
        ["bash", "/c/run.sh"], pod={"volumes": [{"name": "v", **OF_MAP}]}, mounts=[{"name": "v", "mountPath": "/c"}]
    )
    said = [
        d for d in reported(job, {**MAP, "data": {"run.sh": script}}) if d.code in {"RanksDoNotMeet", "UnsetVariable"}
    ]
    assert [(d.severity, d.path) for d in said] == [("error", 'data["run.sh"]'), ("info", 'data["run.sh"]')]
    assert said[1].hint == "write --nproc_per_node=8"


def test_findings_about_a_script_of_a_config_map_take_steps_in_proportion() -> None:
    volumes, line = [{"name": "v", **OF_MAP}], "torchrun --nnodes=$SLURM_NNODES t{0}.py --output_dir=/out{0}\n"
    job = training(["bash", "/c/run.sh"], pod={"volumes": volumes}, mounts=[{"name": "v", "mountPath": "/c"}])

    def found(count: int) -> int:
        script = "#!/bin/bash\n" + "".join(line.format(n) for n in range(count))
        return len(reported(job, {**MAP, "data": {"run.sh": script}}))

    assert found(SIZES[-1]) > SIZES[-1]
    assert_linear([steps(lambda n=n: found(n)) for n in SIZES])  # type: ignore[misc]


@pytest.mark.parametrize(
    ("command", "env", "expected"),
    [
        (["torchrun", "t.py", "--data=/workspace/data"], {}, "writes to /workspace/dataset"),
        (["torchrun", "t.py"], {"MODEL_DIR": "/workspace/models"}, "writes to /workspace/model"),
        (["torchrun", "t.py", "--model=/workspace/model/x"], {"DATA": "/workspace/dataset"}, ""),
        (["torchrun", "t.py", "--save_model=/workspace/models"], {}, ""),
    ],
)
def test_a_path_is_compared_with_those_that_initializers_fill(command: list[str], env: Json, expected: str) -> None:
    steps = {name: {"storageUri": f"hf://acme/{name}"} for name in ("model", "dataset")}
    job = training(command, nodes=1, env=env, runtime="torch-distributed-with-initializers", initializer=steps)
    said = [d.message for d in reported(job) if d.code == "FileNotMounted"]
    assert (expected in said[0]) if expected else said == []


@pytest.mark.parametrize(
    ("device", "env", "command", "code"),
    [
        ("neuroncore", {"NEURON_RT_NUM_CORES": "4"}, ["python", "t.py"], "InvalidVariableValue"),
        ("neuroncore", {"NEURON_RT_VISIBLE_CORES": "0-2"}, ["python", "t.py"], "InvalidVariableValue"),
        ("neuroncore", {"NEURON_RT_NUM_CORES": "2"}, ["python", "t.py"], ""),
        ("neuroncore", {"NEURON_RT_VISIBLE_CORES": "0,1"}, ["python", "t.py"], ""),
        ("neuron", {"NEURON_RT_NUM_CORES": "8"}, ["python", "t.py"], "InvalidVariableValue"),
        ("neuron", {}, ["torchrun", "--nproc_per_node=5", "t.py"], "MoreProcessesThanDevices"),
        ("neuron", {}, ["torchrun", "--nproc_per_node=4", "t.py"], ""),
    ],
)
def test_neuron_cores_are_those_of_the_pod(device: str, env: Json, command: list[str], code: str) -> None:
    node = {"nodeSelector": {"node.kubernetes.io/instance-type": "inf2.48xlarge"}}
    job = training(command, nodes=1, gpus=0, limits={f"aws.amazon.com/{device}": 2}, env=env, pod=node)
    assert [d.code for d in reported(job) if d.severity == "warning"] == [code] * bool(code)


@pytest.mark.parametrize(
    ("command", "part"),
    [
        (["tune", "run", "--nproc_per_node=8", "lora_finetune_distribtued", "--config", "a"], "neither a recipe nor a file"),
        (["tune", "run", "--nproc_per_node=8", "recipes/mine.py", "--config", "a"], ""),
        ("pip install lightning==2.5; torchrun t.py trainer.devices=8 trainer.progress_bar_refresh_rate=10", "has such a setting"),
        # Only some version lacks it, and nobody knows which one this is.
        ("torchrun t.py trainer.devices=8 trainer.progress_bar_refresh_rate=10", ""),
        ("torchrun t.py trainer.devices=8 trainer.max_epochs=2 trainer.accelerator=ddp", ""),
        ("XRT_TPU_CONFIG='w;0;10.0.0.2:8470' torchrun t.py", ""),
        ("torchrun t.py trainer.devices=8 trainer.sft.max_steps=10", ""),
    ],
)  # fmt: skip
def test_what_a_program_no_longer_has_is_named(command: Any, part: str) -> None:
    said = [d.message for d in reported(training(command, nodes=1)) if d.severity != "info"]
    assert (part in said[0]) if part else said == []


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ("--tensor-model-parallel-size 8 --num-attention-heads 32 --num-query-groups 6", "--num-query-groups 8"),
        (
            "--pipeline-model-parallel-size 4 --num-layers 32 --num-layers-per-virtual-pipeline-stage 3",
            "--num-layers-per-virtual-pipeline-stage 2",
        ),
    ],
)
def test_the_value_of_a_help_passes_all_other_checks(options: str, hint: str) -> None:
    said = [d for d in reported(training(f"torchrun pretrain_gpt.py {options}")) if "has to be a multiple" in d.message]
    assert [d.hint for d in said] == [f"write {hint}"]


def test_pods_that_nothing_joins_to_one_ray_are_a_warning() -> None:
    verl = "python3 -m verl.trainer.main_ppo trainer.nnodes=4 trainer.n_gpus_per_node=8"
    found = [d.severity for d in reported(training(verl)) if "one Ray" in d.message]
    assert found == ["warning"]
