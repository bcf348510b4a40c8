"""Shell variables that no shell will see."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, job, runtime, trainjob
from builders import diagnostics_of as of_code
from trainings import RUNTIMES, findings, training

from trainc import Diagnostic

CODE = "UnexpandedShellVariable"
TORCH: dict[str, Any] = {"torch": {}}
SHELL = ["bash", "-c"]


def diagnostics_of(code: str, document: dict[str, Any], *runtimes: dict[str, Any]) -> list[Diagnostic]:
    return of_code(code, document, *(runtimes or RUNTIMES))


LITERAL: dict[str, tuple[list[str], list[str], str]] = {
    "a bare variable": (["train", "--dir=$OUT"], [], "write $(OUT) and set OUT in env, or run the command through"),
    "a variable in braces": (["train", "${DATA_DIR}/x"], [], "$(DATA_DIR)"),
    "a variable in args": (["train"], ["$HOME/x"], "$(HOME)"),
    "what the runtime injects under another name": (["train", "--address=$MASTER_ADDR:1"], [], "PET_MASTER_ADDR"),
    "a number of nodes": (["train", "--nnodes=${NUM_NODES}"], [], "$(PET_NNODES) for NUM_NODES, or remove the flag"),
    "a variable of Slurm": (["train", "--rank=$SLURM_PROCID"], [], "$(PET_NODE_RANK) for SLURM_PROCID"),
    "a variable of Slurm without counterpart": (["train", "--name=$SLURM_JOB_ID"], [], "nothing sets SLURM_JOB_ID"),
    "a command": (["train", "--threads=$(nproc)"], [], "run the command through bash -c"),
    "a shell that runs a file": (["bash", "run.sh", "$OUT"], [], "$(OUT)"),
    "a shell that runs a file with flags of its own": (["bash", "run.sh", "-c", "$OUT"], [], "$(OUT)"),
    "a shell with a long flag that has a c": (["bash", "--norc", "$OUT"], [], "$(OUT)"),
    "a program called like a shell": (["/opt/bash-tools/run", "-c", "$OUT"], [], "$(OUT)"),
}  # fmt: skip


@pytest.mark.parametrize("case", LITERAL)
def test_a_variable_that_stays_as_it_is_written_is_reported(case: str) -> None:
    command, args, hint = LITERAL[case]
    (found,) = diagnostics_of(CODE, trainjob({"command": command, "args": args}), runtime(policy=TORCH))
    assert (found.severity, found.object) == ("warning", "TrainJob team-a/llm")
    assert hint in found.hint
    field, words = ("args", args) if args else ("command", command)
    assert found.path == f"spec.trainer.{field}[{len(words) - 1}]"


EXPANDED: dict[str, list[str]] = {
    "Kubernetes' own form": ["train", "--rank=$(RANK)"],
    "an escaped dollar": ["train", "--price=\\$PRICE", "$$PRICE"],
    "a shell": ["bash", "-c", "train --rank=$RANK"],
    "a shell with several flags": ["/bin/sh", "-euxc", "train --rank=$RANK"],
    "a shell with flags apart": ["bash", "-o", "pipefail", "-ec", "train --rank=$RANK"],
    "a shell with a flag's value between": ["bash", "-euo", "pipefail", "-c", "train --rank=$RANK"],
    "a shell whose flags are in another order": ["bash", "-ce", "train --rank=$RANK"],
    "a shell with a flag after its -c": ["bash", "-c", "-e", "train --rank=$RANK"],
    "a shell with a long flag": ["bash", "--norc", "-c", "train --rank=$RANK"],
    "a shell with a long flag that has a value": ["bash", "--rcfile", "x", "-c", "train --rank=$RANK"],
    "a shell behind another program": ["tini", "--", "bash", "-c", "train --rank=$RANK"],
    "a reference of a configuration tool": ["train", "lr=${optimizer.lr}", "path=${oc.env:HOME}"],
    "JSON": ["train", '{"$ref": "#/a"}'],
    "money": ["train", "--budget=$5"],
}


@pytest.mark.parametrize("case", EXPANDED)
def test_what_is_not_a_lost_variable_is_left_alone(case: str) -> None:
    assert diagnostics_of(CODE, trainjob({"command": EXPANDED[case]}), runtime(policy=TORCH)) == []


def test_a_variable_of_the_container_is_fixed_by_kubernetes_form_alone() -> None:
    document: dict[str, Any] = runtime(
        job(containers=[container(command=["$RANK"], env=[{"name": "RANK", "value": "1"}])])
    )
    (found,) = diagnostics_of(CODE, trainjob({}), document)
    assert found.hint == "write $(RANK), which Kubernetes expands"
    assert found.object == "ClusterTrainingRuntime rt"
    assert found.path.endswith("containers[0].command[0]")


def test_every_word_is_reported_once_with_all_its_variables() -> None:
    found = diagnostics_of(CODE, trainjob({"command": ["train", "$A-$B-$A", "$C"]}), runtime())
    assert [d.path for d in found] == ["spec.trainer.command[1]", "spec.trainer.command[2]"]
    assert [name in found[0].hint for name in ("$(A)", "$(B)", "$(C)")] == [True, True, False]


JOB = {"numNodes": 4, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}
V1 = "torchrun --nnodes=$WORLD_SIZE --node_rank=$RANK --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT t.py"
UNSET: dict[str, tuple[list[str] | str, str, str]] = {
    "Slurm": (
        "torchrun --nnodes=$SLURM_NNODES --node_rank=$SLURM_PROCID t.py",
        "error",
        "SLURM_NNODES and SLURM_PROCID",
    ),
    "Training Operator v1": (V1, "error", "WORLD_SIZE and RANK and MASTER_ADDR and MASTER_PORT"),
    "SkyPilot": ("torchrun --nnodes=${SKYPILOT_NUM_NODES} t.py", "error", "write $PET_NNODES for SKYPILOT_NUM_NODES"),
    "Open MPI": ("torchrun --node_rank $OMPI_COMM_WORLD_RANK t.py", "error", "OMPI_COMM_WORLD_RANK"),
    "PMI": ("torchrun --node_rank=$PMI_RANK t.py", "error", "PMI_RANK"),
    "names that are used everywhere": ("torchrun --nnodes=$NNODES --node_rank=$NODE_RANK t.py", "error", "NODE_RANK"),
    "an address that Slurm would know": (
        "export ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)\ntorchrun --master_addr=$ADDR t.py",
        "error",
        "SLURM_JOB_NODELIST",
    ),
    "another name for it": ("N=$SLURM_NNODES; torchrun --nnodes=$N t.py", "error", "SLURM_NNODES"),
    "quotes": ('torchrun --node_rank="$SLURM_PROCID" t.py', "error", "SLURM_PROCID"),
    "Kubernetes' form in a shell": ("torchrun --node_rank=$(SLURM_PROCID) t.py", "error", "SLURM_PROCID"),
    "accelerate": ("accelerate launch --machine_rank $SLURM_PROCID t.py", "error", "accelerate launch gets an empty"),
    "an argument of the program": ("torchrun t.py --name $SLURM_JOB_ID", "warning", "remove SLURM_JOB_ID"),
    "a condition": ("if [ -f x ]; then torchrun --nnodes=$SLURM_NNODES t.py; fi", "warning", "SLURM_NNODES"),
    "Kubernetes' form": (
        ["torchrun", "--node_rank=$(SLURM_PROCID)", "t.py"],
        "error",
        "$(PET_NODE_RANK) for SLURM_PROCID",
    ),
    "any name in an option": (["torchrun", "--nnodes", "$(NODES)", "t.py"], "error", "set NODES in env"),
    "any name in an address": (["torchrun", "--rdzv_endpoint=$(ADDR):1", "t.py"], "error", "set ADDR in env"),
    "any name in an argument": (["torchrun", "t.py", "--out=$(OUT)/x"], "warning", "nothing sets OUT in this pod"),
}


@pytest.mark.parametrize("case", UNSET)
def test_a_variable_that_nothing_sets_is_reported(case: str) -> None:
    command, severity, words = UNSET[case]
    found = diagnostics_of("UnsetVariable", training(command))
    assert [d.severity for d in found] == [severity]
    assert words in found[0].message + found[0].hint


def test_a_variable_that_a_launcher_has_to_read_is_an_error_without_a_shell_too() -> None:
    for word in ("--nnodes=$SLURM_NNODES", "--node_rank=${PET_NODE_RANK}", "--nproc_per_node=$(nproc)"):
        assert findings(training(["torchrun", word, "t.py"])) == [("error", CODE)]


SET: dict[str, tuple[list[str] | str, dict[str, Any]]] = {
    "a default": ("torchrun --nnodes=${SLURM_NNODES:-$PET_NNODES} t.py", {}),
    "a variable of the script": ("export MASTER_ADDR=$PET_MASTER_ADDR\ntorchrun --master_addr=$MASTER_ADDR t.py", {}),
    "a variable of the command": ("NNODES=4 bash -c 'torchrun --nnodes=4 t.py'", {}),
    "a variable of a branch": ("if x; then RANK=0; else RANK=1; fi; torchrun t.py --rank $RANK", {}),
    "a variable that is read": ("read RANK < /etc/rank; torchrun t.py --rank $RANK", {}),
    "a variable of a loop": ("for RANK in 0 1; do torchrun t.py --rank $RANK; done", {}),
    "a value that is set by default": (": ${NNODES:=4}; torchrun --nnodes=$NNODES t.py", {}),
    "another file": ("source env.sh; torchrun --nnodes=$NNODES t.py", {}),
    "another file by its dot": (". /etc/env && torchrun --nnodes=$NNODES t.py", {}),
    "a test of it": ('[ -n "$SLURM_PROCID" ] && torchrun --node_rank=$SLURM_PROCID t.py || torchrun t.py', {}),
    "a branch for it": ("if [[ -v X && $RANK ]]; then torchrun --node_rank=$RANK t.py; else torchrun t.py; fi", {}),
    "single quotes": ("torchrun t.py --name '$SLURM_JOB_ID'", {}),
    "a message": ('echo "job $SLURM_JOB_ID on $SLURM_NODELIST"; torchrun t.py', {}),
    "a comment": ("# was --nnodes=$SLURM_NNODES\ntorchrun t.py", {}),
    "a variable of the container": ("torchrun --nnodes=$NNODES t.py", {"env": {"NNODES": "4"}}),
    "a variable of the runtime": ("torchrun --node_rank=$PET_NODE_RANK t.py", {}),
    "a program that a launcher starts": (["torchrun", "--no-python", "bash", "-c", "python t.py --rank $RANK"], {}),
    "a variable of one's own": ("torchrun t.py --out $OUTPUT_DIR", {}),
    "Kubernetes' form of what is set": (["torchrun", "--node_rank=$(PET_NODE_RANK)", "t.py"], {}),
    "an escaped reference": (["torchrun", "t.py", "--x=$$(X)"], {}),
    "what Kubernetes sets for Services": (["torchrun", "t.py", "--host=$(KUBERNETES_SERVICE_HOST)"], {}),
    "MPI, which sets its own": (
        "mpirun python t.py --rank $OMPI_COMM_WORLD_RANK",
        {"runtime": "deepspeed-distributed"},
    ),
}


@pytest.mark.parametrize("case", SET)
def test_a_variable_that_may_be_set_is_left_alone(case: str) -> None:
    command, fields = SET[case]
    assert findings(training(command, **fields)) == []


@pytest.mark.parametrize("command", ["torchrun --nnodes=$NNODES t.py", ["torchrun", "--nnodes=$(NNODES)", "t.py"]])
def test_a_container_that_takes_all_of_a_config_map_may_have_it(command: list[str] | str) -> None:
    words = [*SHELL, command] if isinstance(command, str) else command
    own = container(command=words, envFrom=[{"configMapRef": {"name": "settings"}}])
    assert diagnostics_of("UnsetVariable", trainjob(JOB), runtime(job(containers=[own]), policy=TORCH)) == []


PLACEHOLDERS = ["${trialParameters.lr}", "x-${trialSpec.Name}"]


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_a_value_of_a_sweep_is_an_error_in_a_job_by_itself(text: str) -> None:
    (found,) = diagnostics_of("PlaceholderNotReplaced", training(["torchrun", "t.py", f"--lr={text}"]))
    assert (found.severity, found.path) == ("error", "spec.trainer.command[2]")
    (found,) = diagnostics_of("PlaceholderNotReplaced", training(env={"LR": text}))
    assert (found.severity, found.path) == ("error", "spec.trainer.env[0]")


def test_references_of_other_tools_are_no_values_of_a_sweep() -> None:
    command = ["torchrun", "t.py", "--lr=${optimizer.lr}", "hydra.run.dir=${now:%Y}", "x=${trial.number}"]
    assert findings(training(command)) == []
