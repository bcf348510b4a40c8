"""Commands that run, in the many ways in which people wrap, script and start them: nothing is said of any."""

from __future__ import annotations

from typing import Any

import pytest
from builders import trainjob
from tables import cases

from trainc import CompileError, Diagnostic, Options, catalog, compile_trainjob

RUNTIMES = list(catalog("2.3"))
RANK = "--machine_rank $PET_NODE_RANK --main_process_ip $PET_MASTER_ADDR --main_process_port $PET_MASTER_PORT"
MPI = {"runtime": "deepspeed-distributed"}
MEET = "$(PET_MASTER_ADDR):$(PET_MASTER_PORT)"
ONE = {"nodes": 1}

WORDS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "numactl": (["numactl", "--interleave=all", "torchrun", "train.py"], {}),
    "numactl with values": (["numactl", "-N", "0", "-m", "0", "torchrun", "train.py"], {}),
    "torch.distributed.run": (["python", "-m", "torch.distributed.run", "train.py"], {}),
    "torch.distributed.launch": (["python3", "-m", "torch.distributed.launch", "--use_env", "train.py"], {}),
    "variables of the container": (["torchrun", "--nnodes=$(PET_NNODES)", "--node_rank=$(PET_NODE_RANK)", "t.py"], {}),
    "a home folder that the Trainer finds": (["torchrun", "t.py", "--output_dir", "~/out", "--logging_dir=~/logs"], {}),
    "options of others, each one of a known program": (
        "torchrun t.py --network_module x.py --local_loss --load_size 64 --crop_size 96 --num_generations 1 --tuning a"
        " --resume b --enable_fsdp --quantization --base 1 --num_minibatches 3 --num_envs 4 --num_steps 5".split(),
        {},
    ),
    "scripts whose names others have": ("python my_grpo.py --top_p 0 --hyp h.yaml --batch-size 60".split(), ONE),
    "a script of one's own": (["/workspace/entrypoint.sh", "--epochs", "3"], {}),
    "a script for bash": (["bash", "-ex", "/workspace/run.sh"], {}),
    "a configuration of accelerate": (["accelerate", "launch", "--config_file", "fsdp.yaml", "train.py"], {}),
    "accelerate as a module": (["python", "-m", "accelerate.commands.launch", "--multi_gpu", "train.py"], {}),
    "accelerate that runs a module": (["accelerate", "launch", "-m", "axolotl.cli.train", "cfg.yaml"], {}),
    "deepspeed with its hosts": (["deepspeed", "--hostfile", "/etc/mpi/hostfile", "train.py"], MPI),
    "deepspeed on one node": (["deepspeed", "train.py"], ONE),
    "torchrun for DeepSpeed": (["torchrun", "train.py", "--deepspeed", "ds.json"], {}),
    "Jupyter": (["jupyter", "lab", "--ip=0.0.0.0", "--allow-root"], {**ONE, "gpus": 1}),
    "horovodrun with its hosts": (
        ["horovodrun", "-np", "32", "--hostfile", "/etc/mpi/hostfile", "python", "t.py"],
        MPI,
    ),
    "mpirun": (["mpirun", "-np", "32", "--bind-to", "none", "-x", "NCCL_DEBUG=INFO", "python", "t.py"], MPI),
    "mpirun by node": (["mpirun", "--hostfile", "/etc/mpi/hostfile", "-n", "32", "-N", "8", "python", "t.py"], MPI),
    "processes that Python spawns": (["python", "-c", "import train; train.spawn(8)"], ONE),
    "conda": (["conda", "run", "-n", "train", "--no-capture-output", "torchrun", "train.py"], {}),
    "conda by path": (["conda", "run", "--live-stream", "-p", "/opt/env", "torchrun", "train.py"], {}),
    "uv": (["uv", "run", "--with", "datasets", "--no-sync", "torchrun", "--nproc-per-node", "8", "train.py"], {}),
    "poetry": (["poetry", "run", "torchrun", "train.py"], {}),
    "pipenv": (["pipenv", "run", "torchrun", "train.py"], {}),
    "singularity": (["singularity", "exec", "--nv", "img.sif", "torchrun", "train.py"], {}),
    "nsys": (["nsys", "profile", "-o", "/out/x", "--trace=cuda,nvtx", "torchrun", "train.py"], {}),
    "py-spy": (["py-spy", "record", "-o", "p.svg", "--", "torchrun", "train.py"], {}),
    "env": (["env", "NCCL_DEBUG=INFO", "torchrun", "train.py"], {}),
    "env with a text": (["env", "-S", "torchrun train.py"], {}),
    "timeout": (["timeout", "24h", "torchrun", "train.py"], {}),
    "tini": (["tini", "--", "torchrun", "train.py"], {}),
    "dumb-init": (["/usr/bin/dumb-init", "--", "bash", "-c", "torchrun train.py"], {}),
    "gosu": (["gosu", "1000", "torchrun", "train.py"], {}),
    "make": (["make", "train"], {}),
    "litgpt": (["litgpt", "finetune", "--devices", "8"], {}),
    "composer": (["composer", "train.py"], ONE),
    "spark": (["spark-submit", "train.py"], {}),
    "vllm": (["vllm", "serve", "m", "--tensor-parallel-size", "8"], ONE),
    "the launcher in a variable": (["$(LAUNCHER)", "train.py"], {"env": {"LAUNCHER": "torchrun"}}),
    "a script for Slurm and for Trainer": (
        ["bash", "-c", 'if [ -n "$SLURM_JOB_ID" ]; then srun python t.py; else torchrun t.py; fi'],
        {},
    ),
    "Megatron": (["torchrun", "--nproc_per_node", "8", "--nnodes", "4", "pretrain_gpt.py"], {}),
    "as many as there are GPUs": (["torchrun", "--nproc_per_node=gpu", "train.py"], {}),
    "processes on cores": (["torchrun", "--nproc_per_node=2", "train.py"], {"gpus": 0}),
    "a rendezvous of one's own": (
        ["torchrun", "--rdzv_backend=c10d", "--rdzv_endpoint=llm-node-0-0.llm:29500", "t.py"],
        {},
    ),
    "a rendezvous in etcd": (["torchrun", "--rdzv_backend=etcd-v2", "--rdzv_endpoint=etcd.db:2379", "t.py"], {}),
    "one node at home": (["torchrun", "--standalone", "--nproc_per_node=8", "train.py"], ONE),
    "a pattern as an argument": (["torchrun", "train.py", "--pattern", "^a|b$"], {}),
    "JSON as an argument": (["torchrun", "train.py", "--cfg", '{"a": "b c"}'], {}),
    "prose as an argument": (["torchrun", "train.py", "--prompt", "Don\u2019t say \u201cno\u201d \u2013 ever"], {}),
    "interpolations of hydra": (["torchrun", "train.py", "hydra.run.dir=/out/${now:%Y-%m-%d}"], {}),
    "arguments behind a script": (["sh", "-c", 'exec torchrun "$@"', "--", "train.py"], {}),
    "a script that takes its name too": (["sh", "-c", 'torchrun "$0" "$@"', "train.py", "--x"], {}),
    "the trace of a shell": (["bash", "-xc", "torchrun train.py"], {}),
    "two dashes before a script": (["bash", "-c", "--", "torchrun train.py"], {}),
    "env that finds bash": (["/usr/bin/env", "bash", "-c", "torchrun train.py"], {}),
    "busybox": (["busybox", "sh", "-c", "exec /train.sh"], {}),
    "sshd": (["/usr/sbin/sshd", "-D"], {}),
    "JAX": (["python", "train.py"], {"runtime": "jax-distributed"}),
    "XGBoost": (["python", "train.py"], {"runtime": "xgboost-distributed", "gpus": 0}),
    "torchtune": (
        ["tune", "run", f"--rdzv_endpoint={MEET}", "full_finetune_distributed", "--config", "llama3_2/1B_full"],
        {},
    ),
    "torchtune on one node": (["tune", "run", "lora_finetune_single_device", "--config", "llama3_2/1B_lora"], ONE),
    "a script that starts the others": (["python", "gaudi_spawn.py", "--world_size", "8", "run_clm.py"], ONE),
    "a model on all devices of one process": (["python", "t.py", "--device_map", "auto"], ONE),
    "Python alone": (["python", "evaluate.py"], {**ONE, "gpus": 1}),
}
SCRIPTS: dict[str, tuple[str, dict[str, Any]]] = {
    "exec": ("exec torchrun train.py", {}),
    "variables of the pod": ("torchrun --nnodes=$PET_NNODES --nproc_per_node=$PET_NPROC_PER_NODE train.py", {}),
    "a default": ("torchrun --nproc_per_node=${NPROC:-8} --nnodes=${PET_NNODES:-1} train.py", {}),
    "arithmetic": ("N=$((4*2)); torchrun --nproc_per_node=$N train.py", {}),
    "a count of devices": ("torchrun --nproc_per_node=$(nvidia-smi -L | wc -l) train.py", {}),
    "an environment": ("source /opt/venv/bin/activate && exec torchrun train.py", {}),
    "accelerate told of all": (f"accelerate launch --num_machines $PET_NNODES {RANK} --num_processes 32 train.py", {}),
    "accelerate that multiplies": (f"accelerate launch {RANK} --num_processes $((PET_NNODES * 8)) train.py", {}),
    "Ray, by index": (
        'if [ "$JOB_COMPLETION_INDEX" = 0 ]; then ray start --head && python train.py; else ray start --block; fi',
        {},
    ),
    "ranks of the program's own": ("python train.py --rank $JOB_COMPLETION_INDEX --world-size 4", {}),
    "ranks by variables": ("MASTER_ADDR=$PET_MASTER_ADDR RANK=$PET_NODE_RANK WORLD_SIZE=4 python train.py", {}),
    "pipefail": ("set -euo pipefail\ntorchrun train.py 2>&1 | tee log", {}),
    "the status of a pipe": ("torchrun train.py | tee x; exit ${PIPESTATUS[0]}", {}),
    "a process substitution": ("torchrun train.py > >(tee out) 2>&1", {}),
    "a kept status": ("torchrun train.py; rc=$?; aws s3 sync /out s3://b/; exit $rc", {}),
    "a trap": ("trap 'rm -rf /tmp/x' EXIT; torchrun train.py", {}),
    "a second attempt": ("torchrun train.py || torchrun train.py --resume", {}),
    "a failure passed on": ("torchrun train.py || exit 1", {}),
    "preparations that may fail": ("mkdir -p /out || true; torchrun train.py", {}),
    "a monitor in the background": ("tensorboard --logdir /out & torchrun train.py", {}),
    "a wait for the training": ("torchrun train.py &\nPID=$!\ntrap 'kill $PID' TERM\nwait $PID", {}),
    "a quoted here-document": ("cat > /tmp/c.yaml <<'EOF'\nlr: 1\nEOF\ntorchrun train.py --c /tmp/c.yaml", {}),
    "a loop of folds": ("for f in 1 2 3; do torchrun train.py --fold $f; done", {}),
    "a choice": ("if [ -f /ckpt/last ]; then torchrun train.py --resume; else torchrun train.py; fi", {}),
    "rank 0 prepares": ('[ "$PET_NODE_RANK" = 0 ] && python prepare.py; torchrun train.py', {}),
    "steps before and after": ("python download.py && torchrun train.py && python export.py", {}),
    "a function": ('main() { torchrun train.py "$@"; }\nmain --x 1', {}),
    "a case": ("case $PET_NODE_RANK in 0) echo head;; *) echo w;; esac; torchrun train.py", {}),
    "a subshell": ("(cd /src && torchrun train.py)", {}),
    "braces": ("{ torchrun train.py; } 2>&1", {}),
    "a comment with a quote": ("# it's a comment\ntorchrun train.py", {}),
    "a comment with an ampersand": ("torchrun train.py # &", {}),
    "a quote in quotes": ('torchrun train.py --msg "it\'s fine"', {}),
    "a wait for rank 0": ("until getent hosts $PET_MASTER_ADDR; do sleep 1; done; torchrun train.py", {}),
    "a pause before it": ("sleep 10; torchrun train.py", {}),
    "a command in a variable": ('eval "$TRAIN_CMD"', {"env": {"TRAIN_CMD": "torchrun train.py"}}),
    "a program in a variable": ("$LAUNCHER train.py", {"env": {"LAUNCHER": "torchrun"}}),
    "xargs": ("echo train.py | xargs torchrun", {}),
    "a pipe into a tool": ("yes | pip install x; torchrun train.py", {}),
    "one program per device": ("for i in $(seq 0 7); do CUDA_VISIBLE_DEVICES=$i python t.py & done; wait", ONE),
    "a hostfile of its own": (
        "sed 's/slots=.*/slots=8/' /etc/mpi/hostfile > /tmp/h && deepspeed --hostfile /tmp/h t.py",
        MPI,
    ),
    "nodes from a variable of the script": ("export N=4 && torchrun --nnodes=$N train.py", {}),
}
CASES = {
    **WORDS,
    **{f"a script with {name}": (["bash", "-c", text], fields) for name, (text, fields) in SCRIPTS.items()},
}


def diagnostics_of(
    command: list[str],
    nodes: int = 4,
    gpus: int = 8,
    runtime: str = "torch-distributed",
    env: dict[str, str] | None = None,
) -> list[Diagnostic]:
    trainer: dict[str, Any] = {"numNodes": nodes, "command": command}
    if gpus:
        trainer["resourcesPerNode"] = {"limits": {"nvidia.com/gpu": gpus}}
    if env:
        trainer["env"] = [{"name": name, "value": value} for name, value in env.items()]
    document = trainjob(trainer, runtime=runtime)
    try:
        return compile_trainjob(document, RUNTIMES, options=Options(release="2.3")).diagnostics
    except CompileError as error:
        return error.diagnostics


@pytest.mark.parametrize("case", CASES)
def test_a_command_that_runs_is_left_alone(case: str) -> None:
    command, fields = CASES[case]
    assert [str(d) for d in diagnostics_of(command, **fields) if d.severity != "info"] == []


@cases("command", "code")
def test_what_may_be_meant_is_a_warning(command: list[str], code: str) -> None:
    assert [(d.severity, d.code) for d in diagnostics_of(command) if d.severity != "info"] == [("warning", code)]
