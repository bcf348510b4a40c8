"""Command lines that a launcher refuses, and those that look alike and run. The programs themselves were asked."""

from __future__ import annotations

from typing import Any

import pytest
from trainings import findings, reported, shell, training

ACCELERATE = ["accelerate", "launch"]
MACHINES = ["--num_machines=4", "--machine_rank=$(PET_NODE_RANK)", "--main_process_ip=$(PET_MASTER_ADDR)"]
TUNE = ["tune", "run"]
CONFIG = ["--config", "llama3_2/1B_lora"]

# The command, and a part of the message or the hint.
REFUSED: dict[str, tuple[list[str], str]] = {
    "a flag and its value in one word": (["torchrun", "--nproc_per_node 8", "t.py"], '"--nproc_per_node=8"'),
    "the same with dashes": (["torchrun", "--rdzv-backend c10d", "t.py"], '"--rdzv-backend", "c10d"'),
    "the same behind another flag": (["torchrun", "--nnodes=4", "--nproc_per_node 8", "t.py"], "is one word"),
    "two flags in one word": (["torchrun", "--nnodes=4 --nproc_per_node=8", "t.py"], "is not a number of nodes"),
    "a misspelt flag": (["torchrun", "--nporc_per_node=8", "t.py"], "did you mean --nproc_per_node?"),
    "a misspelt flag with dashes": (
        ["torchrun", "--nproc-per-nod=8", "-m", "--nprocs-per-node=8", "t"],
        "nproc-per-node",
    ),
    "dashes and underscores": (["torchrun", "--nproc_per-node=8", "t.py"], "did you mean"),
    "one dash": (["torchrun", "-nnodes=4", "t.py"], "has no option -nnodes"),
    "a flag of accelerate": (["torchrun", "--num_machines=4", "t.py"], "it is one of accelerate launch"),
    "a flag of deepspeed": (["torchrun", "--num_gpus=8", "t.py"], "write --nproc_per_node"),
    "a flag of Slurm": (["torchrun", "--ntasks=8", "t.py"], "it is one of srun"),
    "a flag of the program": (["torchrun", "--lr", "1e-4", "t.py"], "put options of your program after its name"),
    "an ambiguous beginning": (["torchrun", "--max=3", "--m=1", "t.py"], "is ambiguous"),
    "no script": (["torchrun", "--nproc_per_node=8"], "has no script"),
    "nothing at all": (["torchrun"], "has no script"),
    "a flag that takes the script": (["torchrun", "--nproc_per_node", "t.py"], "is not a number of processes"),
    "a flag without its value": (["torchrun", "--nnodes", "--nproc_per_node=8", "t.py"], "--nnodes needs a value"),
    "a flag that takes none": (["torchrun", "--no-python=true", "t.sh"], "write --no-python alone"),
    "an empty rank": (["torchrun", "--node_rank=", "t.py"], "is not an integer"),
    "automatic processes of a number": (["torchrun", "--nproc_per_node=auto8", "t.py"], "write --nproc_per_node=auto"),
    "a device for a number": (["torchrun", "--nproc_per_node=cuda", "t.py"], "is not a number of processes"),
    "no processes": (["torchrun", "--nproc_per_node=0", "t.py"], "is not a number of processes"),
    "two underscores in a number": (["torchrun", "--nproc_per_node=1__0", "t.py"], "is not a number of processes"),
    "a number with too many digits": (["torchrun", f"--max_restarts={'9' * 5000}", "t.py"], "is not a number of times"),
    "too many digits of nodes": (["torchrun", f"--nnodes={'9' * 5000}", "t.py"], "is not a number of nodes"),
    "a range with a dash": (["torchrun", "--nnodes=2-4", "t.py"], "a range such as 2:4"),
    "a range from more to less": (["torchrun", "--nnodes=4:2", "t.py"], "is not a number of nodes"),
    "a port that there is not": (["torchrun", "--master_port=99999", "t.py"], "is not a port"),
    "restarts in words": (["torchrun", "--max_restarts=three", "t.py"], "is not a number of times"),
    "fewer than no restarts": (["torchrun", "--max_restarts=-1", "t.py"], "is not a number of times"),
    "a start method": (["torchrun", "--start_method=thread", "t.py"], "is not one of spawn, fork"),
    "a backend of process groups": (["torchrun", "--rdzv_backend=nccl", "t.py"], "is not a rendezvous backend"),
    "a misspelt backend": (["torchrun", "--rdzv_backend=c10", "t.py"], "is not a rendezvous backend"),
    "a home folder": (["torchrun", "~/t.py"], "no folder called ~"),
    "a module": (["python", "-m", "torch.distributed.run", "--nporc_per_node=8", "t.py"], "did you mean"),
    "a script in quotes": (shell('torchrun "--nproc_per_node 8" t.py'), "is one word"),
    "a misspelt flag in a script": (shell("cd /app && torchrun --nporc_per_node=8 t.py"), "did you mean"),
    "no script in a script": (shell("torchrun --nproc_per_node=8"), "has no script"),
    "a broken line in a script": (shell("torchrun --nnodes=4\n  t.py"), "has no script"),
    "no arguments for a script": (shell('torchrun "$@"'), "has no script"),
    "accelerate without a rank": (
        [*ACCELERATE, MACHINES[0], MACHINES[2], "t.py"],
        "add --machine_rank=$(PET_NODE_RANK)",
    ),
    "accelerate without an address": ([*ACCELERATE, *MACHINES[:2], "t.py"], "add --main_process_ip=$(PET_MASTER_ADDR)"),
    "accelerate in a script": (shell("accelerate launch --num_machines 4 t.py"), "$PET_NODE_RANK"),
    "accelerate's precision": ([*ACCELERATE, "--mixed_precision=fp32", "t.py"], "is not one of no, fp16, bf16, fp8"),
    "accelerate with a flag of torchrun": ([*ACCELERATE, "--nproc_per_node=8", "t.py"], "it is one of torchrun"),
    "the beginning of a flag of accelerate": ([*ACCELERATE, "--num_proc=8", "t.py"], "has no option"),
    "accelerate without a script": ([*ACCELERATE, "--multi_gpu"], "has no script"),
    "accelerate on two kinds": ([*ACCELERATE, "--multi_gpu", "--use_fsdp", "t.py"], "only one of --multi_gpu and"),
    "accelerate with one process": ([*ACCELERATE, "--multi_gpu", "--num_processes=1", "t.py"], "at least 2 processes"),
    "accelerate with fewer processes than machines": (
        [*ACCELERATE, *MACHINES, "--num_processes=2", "t.py"],
        "leave none for each",
    ),
    "accelerate with degrees and no FSDP": ([*ACCELERATE, "--use_parallelism_config", "t.py"], "needs --use_fsdp"),
    "deepspeed's nodes": (["deepspeed", "--num_nodes=4", "--num_gpus=8", "t.py"], "without a list of hosts"),
    "deepspeed's nodes in a script": (shell("deepspeed --num_nodes 4 t.py"), "without a list of hosts"),
    "deepspeed with dashes": (["deepspeed", "--num-gpus=8", "t.py"], "did you mean --num_gpus?"),
    "deepspeed's two ways": (["deepspeed", "--num_gpus=8", "--include=localhost:0", "t.py"], "not both"),
    "a distributed recipe alone": ([*TUNE, "lora_finetune_distributed", *CONFIG], "--nproc_per_node=8"),
    "the same in a script": (shell("tune run full_finetune_distributed --config llama3_2/1B_full"), "needs several"),
    "another distributed recipe": ([*TUNE, "qat_distributed", *CONFIG], "needs several processes"),
    "a recipe for one device with options": (
        [*TUNE, "--nproc_per_node=2", "lora_finetune_single_device", *CONFIG],
        "or run lora_finetune_distributed",
    ),
    "a misspelt option of tune": ([*TUNE, "--nporc_per_node=2", "lora_finetune_distributed", *CONFIG], "did you mean"),
    "a recipe without a configuration": ([*TUNE, "--nproc_per_node=2", "full_finetune_distributed"], "needs --config"),
    "a configuration in one word": (
        [*TUNE, "--nproc_per_node=2", "full_finetune_distributed", "--config=llama3_2/1B_full"],
        "write two words: --config llama3_2/1B_full",
    ),
    "a misspelt recipe": ([*TUNE, "--nproc_per_node=2", "full_finetune_distributd", *CONFIG], "tune has no recipe"),
    "tune without a recipe": ([*TUNE, "--nproc_per_node=2"], "has no recipe"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_launcher_refuses_is_an_error(case: str) -> None:
    command, words = REFUSED[case]
    (found,) = [
        d for d in reported(training(command, nodes=1 if "tune" in str(command) else 4)) if d.severity == "error"
    ]
    assert found.code == "InvalidLauncherArguments"
    assert words in found.message + found.hint
    assert found.path.startswith("spec.trainer.command[")


RIGHT: dict[str, tuple[list[str], dict[str, Any]]] = {
    "two words": (["torchrun", "--nproc_per_node", "8", "t.py"], {}),
    "dashes": (["torchrun", "--nproc-per-node=8", "--rdzv-conf=timeout=900", "t.py"], {}),
    "the beginning of a flag": (["torchrun", "--nnode=1", "--standal", "t.py"], {"nodes": 1, "gpus": 0}),
    "short flags": (["torchrun", "-r", "3", "-t3", "-m", "acme.train"], {}),
    "a script without Python": (["torchrun", "--no-python", "./run.sh"], {}),
    "two dashes": (["torchrun", "--", "t.py", "--nproc", "4"], {}),
    "flags of the program": (["torchrun", "t.py", "--nporc_per_node 8", "--lr"], {}),
    "blanks in an argument": (["torchrun", "t.py", "--prompt x y"], {}),
    "newer flags": (["torchrun", "--virtual-local-rank", "--shutdown_timeout=30", "--numa-binding=node", "t.py"], {}),
    "a variable for a script": (["torchrun", "$(SCRIPT)"], {"env": {"SCRIPT": "t.py"}}),
    "a rank from the pod": (["torchrun", "--node_rank=$(PET_NODE_RANK)", "t.py"], {}),
    "a backend of one's own": (["torchrun", "--rdzv_backend=acme", "--rdzv_endpoint=store:1", "t.py"], {}),
    "a device of another kind": (["torchrun", "--nproc_per_node=npu", "t.py"], {"gpus": 0}),
    "help": (["torchrun", "--help"], {"nodes": 1}),
    "a home folder in a script": (shell("torchrun ~/t.py"), {}),
    "a script whose options are in a variable": (shell("torchrun $ARGS t.py"), {}),
    "a script whose name is in a variable": (shell("torchrun --nnodes=4 ${SCRIPT}"), {}),
    "a script that looks for torchrun": (shell("command -v torchrun || pip install torch; torchrun t.py"), {}),
    "xargs": (shell("cat names | xargs torchrun"), {}),
    "a program that may run torchrun": (["/opt/wrap", "torchrun"], {}),
    "arguments behind a script": (["bash", "-c", 'torchrun "$@"', "--", "t.py"], {}),
    "lines that go on": (shell("torchrun --nnodes=4 \\\n  t.py"), {}),
    "options in an array": (shell("ARGS=(--nnodes 4\n --nproc_per_node 8)\ntorchrun ${ARGS[@]} t.py"), {}),
    "accelerate alone": ([*ACCELERATE, "t.py"], {}),
    "accelerate with all it needs": ([*ACCELERATE, *MACHINES, "--num_processes=32", "t.py"], {}),
    "accelerate that counts by machine": ([*ACCELERATE, "--num_processes=8", "t.py"], {}),
    "accelerate with dashes": ([*ACCELERATE, "--mixed-precision=bf16", "--multi-gpu", "t.py"], {}),
    "accelerate with a configuration": ([*ACCELERATE, "--config_file=a.yaml", "--num_machines=4", "t.py"], {}),
    "accelerate's command line by module": (
        ["python", "-m", "accelerate.commands.accelerate_cli", "launch", "--multi_gpu", "t.py"],
        {},
    ),
    "accelerate with Megatron": ([*ACCELERATE, "--use_megatron_lm", "--megatron_lm_tp_degree=8", "t.py"], {}),
    "deepspeed on one node": (["deepspeed", "--num_gpus=8", "t.py"], {"nodes": 1}),
    "deepspeed with its default list of hosts": (
        ["deepspeed", "--num_nodes=4", "t.py"],
        {
            "mounts": [{"name": "hosts", "mountPath": "/job"}],
            "pod": {"volumes": [{"name": "hosts", "configMap": {"name": "hosts"}}]},
        },
    ),
    "a distributed recipe with processes": (
        [*TUNE, "--nproc_per_node=8", "lora_finetune_distributed", *CONFIG],
        {"nodes": 1},
    ),
    "a recipe for one device": ([*TUNE, "lora_finetune_single_device", *CONFIG], {"nodes": 1, "gpus": 1}),
    "a recipe of one's own": ([*TUNE, "recipes/my_distributed.py", "--config", "c.yaml"], {"nodes": 1, "gpus": 1}),
    "a recipe that Trainer chooses": (TUNE, {"nodes": 1, "gpus": 2, "runtime": "torchtune-llama3.2-1b"}),
    "another command of tune": (["tune", "download", "meta-llama/Llama-3.2-1B"], {"nodes": 1, "gpus": 1}),
}


@pytest.mark.parametrize("case", RIGHT)
def test_what_a_launcher_accepts_is_left_alone(case: str) -> None:
    command, fields = RIGHT[case]
    other = {"ForeignLauncher", "ArgumentsDropped", "ArgumentNotSplit"}
    assert [found for found in findings(training(command, **fields)) if found[1] not in other] == []


def test_a_launcher_under_a_condition_is_a_warning() -> None:
    command = "if [ -f x ]; then torchrun --nporc_per_node=8 t.py; else torchrun t.py; fi"
    assert findings(training(command)) == [("warning", "InvalidLauncherArguments")]


def test_a_launcher_is_reported_once_at_its_first_mistake() -> None:
    (found,) = reported(training(["torchrun", "--nporc_per_node=8", "--rdzv_backend=nccl"], nodes=1))
    assert found.path == "spec.trainer.command[1]"


@pytest.mark.parametrize("command", [["python", "~/t.py"], ["~/bin/train"], ["bash", "~/run.sh"]])
def test_a_home_folder_needs_a_shell(command: list[str]) -> None:
    assert ("error", "CommandCannotStart") in findings(training(command))
    assert ("error", "CommandCannotStart") not in findings(training(" ".join(command)))


@pytest.mark.parametrize("name", ["sbatch", "/usr/bin/qsub"])
def test_a_command_that_hands_the_training_to_another_scheduler_is_an_error(name: str) -> None:
    assert findings(training([name, "train.sbatch"])) == [("error", "CommandCannotStart")]
    assert findings(training(f"cd /app && {name} train.sbatch")) == [("error", "CommandCannotStart")]
    assert findings(training(f"if [ -f x ]; then {name} t; else torchrun t.py; fi")) == [
        ("warning", "CommandCannotStart")
    ]
