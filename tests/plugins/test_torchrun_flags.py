"""torchrun's flags beside the variables that it is given: which of them beat what the runtime says."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, container, diagnostics_of as said_of, job, runtime, trainjob
from tables import cases

from trainc import Diagnostic

CODE = "TorchrunArgOverridesPolicy"
CODES = (CODE, "RanksDoNotMeet")
TORCH = runtime(policy={"torch": {}})
SHELL = ["bash", "-c"]


def diagnostics_of(
    command: list[str], args: list[str] | None = None, policy: dict[str, Any] | None = None, **options: Any
) -> list[Diagnostic]:
    """What is said of a job of 4 nodes with 8 processes each."""
    trainer: dict[str, Any] = {"numNodes": 4, "numProcPerNode": 8, "command": command}
    if args is not None:
        trainer["args"] = args
    found = (said_of(code, trainjob(trainer), runtime(policy=policy or {"torch": {}}), **options) for code in CODES)
    return [diagnostic for of_code in found for diagnostic in of_code]


@cases("command", "severity", "words")
def test_a_flag_that_says_another_thing_than_the_job_is_reported(command: Any, severity: Any, words: Any) -> None:
    (found,) = diagnostics_of(command)
    assert found.severity == severity
    assert words in found.message
    assert found.path.startswith("spec.trainer.command[")


HARMLESS = {
    "no flags": ["torchrun", "train.py"],
    "the same numbers": ["torchrun", "--nnodes=4", "--nproc_per_node", "8", "train.py"],
    "a range of nodes that ends with theirs": ["torchrun", "--nnodes=1:4", "train.py"],
    "the variable itself": ["torchrun", "--nnodes=$(PET_NNODES)", "--node_rank=$(PET_NODE_RANK)", "train.py"],
    "the master as endpoint": ["torchrun", "--rdzv-endpoint=$(PET_MASTER_ADDR):$(PET_MASTER_PORT)", "train.py"],
    "flags of the script": ["torchrun", "train.py", "--nnodes=8", "--master-addr", "x"],
    "flags of the module": ["torchrun", "-m", "pkg.train", "--nnodes=8"],
    "flags behind two dashes": ["torchrun", "--", "train.py", "--nnodes=8"],
    "flags of which nothing is injected": [
        "torchrun",
        "--tee=3",
        "--log-dir",
        "/logs",
        "--rdzv-conf=timeout=9",
        "t.py",
    ],
    "another program": ["python", "train.py", "--nnodes=8"],
    "what another program hands on": [
        "axolotl",
        "train",
        "l.yml",
        "--launcher",
        "torchrun",
        "--",
        "--nproc_per_node=8",
        "--nnodes=4",
    ],
    "another launcher": ["accelerate", "launch", "--nnodes=8", "train.py"],
    "the variable in a shell": [*SHELL, "torchrun --nnodes=$PET_NNODES --node-rank ${PET_NODE_RANK} train.py"],
    "a variable that the script sets": [*SHELL, "N=$(nproc); torchrun --nproc_per_node=$N train.py"],
    "flags of the script in a shell": [*SHELL, "torchrun train.py --nnodes=8; ./post --nnodes=8"],
    "another command of the shell": [*SHELL, "torchrun train.py && report --nnodes=8"],
    "a message about torchrun": [*SHELL, "echo torchrun --nnodes=8\ntorchrun train.py"],
    "quotes that are not closed": [*SHELL, "torchrun --nnodes=8 'train.py"],
    "a script in a file": ["bash", "run.sh", "torchrun.txt", "--nnodes=8"],
    "a variable of the image": ["torchrun", "--nnodes=$(NODES_OF_THE_IMAGE)", "train.py"],
    "what a command in a shell will say": [*SHELL, "torchrun --nproc_per_node=`nproc` train.py"],
    "what another way of asking the shell will say": [*SHELL, "torchrun --nproc_per_node=$(nproc) train.py"],
    "a flag whose value is missing, which torchrun refuses itself": ["torchrun", "--nnodes"],
}


@pytest.mark.parametrize("case", HARMLESS)
def test_a_flag_that_beats_nothing_is_not_reported(case: str) -> None:
    assert diagnostics_of(HARMLESS[case]) == []


@pytest.mark.parametrize(
    ("words", "reported"), [(["--nnodes=4", "recipe.py"], []), (["recipe.py"], ["warning"])], ids=["options", "none"]
)
def test_torchtune_reads_the_variable_of_its_option_once_it_has_options(words: list[str], reported: list[str]) -> None:
    endpoint = {"name": "PET_RDZV_ENDPOINT", "value": "$(PET_MASTER_ADDR):$(PET_MASTER_PORT)"}
    own = {"numNodes": 4, "command": ["tune", "run", *words], "env": [endpoint]}
    assert [d.severity for d in said_of("RanksDoNotMeet", trainjob(own), TORCH)] == reported


def test_every_flag_is_reported_at_its_own_word() -> None:
    found = diagnostics_of(["torchrun"], ["--nnodes=8", "--nproc-per-node=1", "train.py"])
    assert sorted(d.path for d in found) == ["spec.trainer.args[0]", "spec.trainer.args[1]"]
    assert "numNodes" in next(d.hint for d in found if d.path == "spec.trainer.args[0]")


def test_a_flag_of_the_runtime_is_reported_there() -> None:
    template = job(containers=[container(command=["torchrun", "--nnodes=2", "train.py"])])
    (found,) = said_of("RanksDoNotMeet", trainjob({"numNodes": 4}), runtime(template, policy={"torch": {}}))
    assert found.object == "ClusterTrainingRuntime rt"
    assert found.path.endswith("containers[0].command[1]")


def test_a_flag_may_repeat_what_was_asked_for_where_the_variable_is_a_number() -> None:
    asks_nothing = trainjob({"numNodes": 1, "command": ["torchrun", "--nproc-per-node=auto", "t.py"]})
    assert [d for d in compiled(asks_nothing, TORCH).diagnostics if d.code == CODE] == []


def test_a_variable_that_somebody_else_sets_is_overridden_too() -> None:
    endpoint = {"name": "PET_RDZV_ENDPOINT", "value": "b:2"}
    own = {"numNodes": 4, "command": ["torchrun", "--rdzv-endpoint=a:1", "t.py"], "env": [endpoint]}
    (found,) = [d for d in compiled(trainjob(own), TORCH).diagnostics if d.code == CODE]
    assert found.message == "--rdzv-endpoint is a, but the rendezvous of this job is b"
    alone = {"command": ["torchrun", "--standalone", "t.py"], "env": [{"name": "PET_LOG_DIR", "value": "/logs"}]}
    assert [d for d in compiled(trainjob(alone), runtime()).diagnostics if d.code == CODE] == []


def test_a_single_node_may_stand_alone() -> None:
    result = compiled(trainjob({"numNodes": 1, "command": ["torchrun", "--standalone", "t.py"]}), TORCH)
    assert [d for d in result.diagnostics if d.code == CODE] == []


def test_an_elastic_job_is_held_to_its_range() -> None:
    elastic = {"torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 8, "maxRestarts": 5}}}
    flags = ["torchrun", "--nnodes=2:8", "--max-restarts=3", "--rdzv_backend=c10d", "train.py"]
    (found,) = diagnostics_of(flags, policy=elastic)
    assert "PET_MAX_RESTARTS" in found.message


@pytest.mark.parametrize("policy", [{"jax": {}}, {"mpi": {}}])
def test_torchrun_waits_for_its_nodes_whatever_the_policy(policy: dict[str, Any]) -> None:
    alone = trainjob({"command": ["torchrun", "--nnodes=8", "t.py"]})
    assert [d.severity for d in said_of("RanksDoNotMeet", alone, runtime(policy=policy))] == ["error"]


def test_the_controllers_output_is_judged_alike() -> None:
    assert len(diagnostics_of(["torchrun", "--nnodes=8", "train.py"], semantics="controller")) == 1
