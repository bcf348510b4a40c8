"""Whether the pods of a job find each other, as torchrun, accelerate and deepspeed read their options and variables."""

from __future__ import annotations

from typing import Any

import pytest
from tables import cases
from trainings import findings, reported, training

C10D = ["torchrun", "--rdzv_backend=c10d"]
MEET = "--rdzv_endpoint=$(PET_MASTER_ADDR):$(PET_MASTER_PORT)"
PET = "--rdzv_endpoint=$PET_MASTER_ADDR:$PET_MASTER_PORT"
MACHINES = ["accelerate", "launch", "--num_machines=4", "--num_processes=32"]
POD = {"fieldRef": {"fieldPath": "metadata.name"}}

APART: dict[str, tuple[list[str] | str, dict[str, Any], str]] = {
    "c10d without an endpoint": ([*C10D, "t.py"], {}, "add --rdzv_endpoint=$(PET_MASTER_ADDR):$(PET_MASTER_PORT)"),
    "the same in a script": (
        "pip install .\ntorchrun --rdzv-backend c10d t.py",
        {},
        "$PET_MASTER_ADDR:$PET_MASTER_PORT",
    ),
    "c10d with an empty endpoint": ([*C10D, "--rdzv_endpoint=", "t.py"], {}, "no --rdzv_endpoint"),
    "c10d with a master's address, which it ignores": ([*C10D, "--master_addr=$(PET_MASTER_ADDR)", "t.py"], {}, "c10d"),
    "c10d in a variable": (["torchrun", "t.py"], {"env": {"PET_RDZV_BACKEND": "c10d"}}, "set PET_RDZV_ENDPOINT"),
    "c10d in a variable of the script": ("B=c10d; torchrun --rdzv_backend=$B t.py", {}, "no --rdzv_endpoint"),
    "c10d behind a module": (["python", "-m", "torch.distributed.run", "--rdzv_backend=c10d", "t.py"], {}, "c10d"),
    "c10d at home": ([*C10D, "--rdzv_endpoint=localhost:29400", "t.py"], {}, "at its own address"),
    "c10d at home, and where to meet": ([*C10D, "--rdzv_endpoint=localhost:29400", "t.py"], {}, f"write {MEET}"),
    "c10d at each pod's name": ("torchrun --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29400 t.py", {}, "its own"),
    "an endpoint at home without c10d": (
        ["torchrun", "--rdzv_endpoint=127.0.0.1:29400", "t.py"],
        {},
        "its own address",
    ),
    "a master at each pod's address": (
        ["torchrun", "--master_addr=$(POD_IP)", "t.py"],
        {"env": {"POD_IP": {"fieldRef": {"fieldPath": "status.podIP"}}}},
        "its own address",
    ),
    "a static endpoint without a port": (["torchrun", "--rdzv_endpoint=$(PET_MASTER_ADDR)", "t.py"], {}, "has no port"),
    "a random key": (f"torchrun --rdzv_backend=c10d {PET} --rdzv_id=$RANDOM t.py", {}, "different in each pod"),
    "a random key of the script": (
        f"ID=$RANDOM; torchrun --rdzv_backend=c10d {PET} --rdzv_id=$ID t.py",
        {},
        "each pod",
    ),
    "a key of each pod's name": (f"torchrun --rdzv_backend=c10d {PET} --rdzv_id=$HOSTNAME t.py", {}, "each pod"),
    "the same by a command": (f"torchrun --rdzv_backend=c10d {PET} --rdzv_id=$(hostname -s) t.py", {}, "each pod"),
    "a key of the second": (f"torchrun --rdzv_backend=c10d {PET} --rdzv_id=$(date +%s) t.py", {}, "the same second"),
    "a key of the index": (
        f"torchrun --rdzv_backend=c10d {PET} --rdzv_id=j-$JOB_COMPLETION_INDEX t.py",
        {},
        "each pod",
    ),
    "a key of the process": ("torchrun --rdzv_id=$$ t.py", {}, "each pod"),
    "a key of the rank": (["torchrun", "--rdzv_id=$(PET_NODE_RANK)", "t.py"], {}, "write the same in all pods"),
    "a key of each pod's name without a shell": (
        ["torchrun", "--rdzv_id=$(POD)", "t.py"],
        {"env": {"POD": POD}},
        "each pod",
    ),
    "a local address at home": ([*C10D, MEET, "--local_addr=127.0.0.1", "t.py"], {}, "an address that is their own"),
    "one rank for all": (["torchrun", "--node_rank=0", "t.py"], {}, "the same rank"),
    "more nodes than there are": ([*C10D, MEET, "--nnodes=5:8", "t.py"], {}, "waits for 5:8 nodes"),
    "fewer nodes than there are": ([*C10D, MEET, "--nnodes=1:2", "t.py"], {}, "admits 1:2 nodes"),
    "a range that the static rendezvous waits to the end of": (
        ["torchrun", "--nnodes=2:8", "t.py"],
        {},
        "add --rdzv_backend=c10d --rdzv_endpoint=$(PET_MASTER_ADDR)",
    ),
    "accelerate at home": (
        [*MACHINES, "--machine_rank=$(PET_NODE_RANK)", "--main_process_ip=localhost", "t.py"],
        {},
        "write --main_process_ip=$(PET_MASTER_ADDR)",
    ),
    "accelerate with one rank for all": (
        [*MACHINES, "--machine_rank=0", "--main_process_ip=$(PET_MASTER_ADDR)", "t.py"],
        {},
        "write --machine_rank=$(PET_NODE_RANK)",
    ),
}


@pytest.mark.parametrize("case", APART)
def test_pods_that_never_find_each_other_are_an_error(case: str) -> None:
    command, fields, words = APART[case]
    (found,) = [d for d in reported(training(command, **fields)) if d.severity == "error"]
    assert found.code == "RanksDoNotMeet"
    assert words in found.message + found.hint


@cases("command", "fields")
def test_pods_that_find_each_other_get_nothing(command: list[str] | str, fields: dict[str, Any]) -> None:
    assert [f for f in findings(training(command, **fields)) if f[1] != "UnexpandedShellVariable"] == []


@pytest.mark.parametrize("case", ["c10d without an endpoint", "a key of the rank"])
def test_one_node_has_nobody_to_find(case: str) -> None:
    command, fields, _ = APART[case]
    assert findings(training(command, nodes=1, **fields)) == []
