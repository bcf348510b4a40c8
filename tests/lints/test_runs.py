"""What starts in the pods: commands that never meet, never start, never fail or never end, table by table."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, container, job, runtime, trainjob
from tables import cases

from trainc import CompileError, Diagnostic

GPUS = {"limits": {"nvidia.com/gpu": 8}}
POLICIES: dict[str, dict[str, Any]] = {name: {name: {}} for name in ("torch", "jax", "xgboost")}


def diagnostics_of(
    command: list[str] | None, *, nodes: int = 4, policy: str = "torch", **trainer: Any
) -> list[Diagnostic]:
    """All warnings and errors about a job of so many nodes with 8 GPUs each."""
    requested: dict[str, Any] = {"numNodes": nodes, "resourcesPerNode": GPUS, **trainer}
    if command is not None:
        requested["command"] = command
    documents = trainjob(requested), runtime(policy=POLICIES[policy])
    try:
        found = compiled(*documents).diagnostics
    except CompileError as error:
        found = error.diagnostics
    return [diagnostic for diagnostic in found if diagnostic.severity != "info"]


def shell(script: str) -> list[str]:
    return ["bash", "-c", script]


RIGHT: dict[str, dict[str, Any]] = {
    "torchrun alone": {"command": ["torchrun", "train.py"]},
    "as many processes as devices": {"command": ["torchrun", "--nproc_per_node=8", "train.py"]},
    "a rendezvous at home on one node": {"command": ["torchrun", "--standalone", "train.py"], "nodes": 1},
    "a script that is not known": {"command": ["/opt/entrypoint.sh", "train"]},
    "a script in a file": {"command": ["bash", "train.sh", "--lr", "1"]},
    "a program that reads the rank itself": {"command": shell("python train.py --rank $PET_NODE_RANK")},
    "a framework that needs no launcher": {"command": ["python", "train.py"], "policy": "jax"},
    "accelerate, which reads torchrun's variables": {"command": ["accelerate", "launch", "train.py"]},
    "deepspeed on one node": {"command": ["deepspeed", "--num_gpus=8", "train.py"], "nodes": 1},
    "a script with pipefail": {"command": shell("set -euo pipefail\ntorchrun train.py | tee log")},
    "pipefail in the shell's own flags": {"command": ["bash", "-eo", "pipefail", "-c", "torchrun train.py | tee log"]},
    "an ending that keeps the status": {"command": shell("torchrun train.py; rc=$?; sync; exit $rc")},
    "an alternative that fails": {"command": shell("torchrun train.py || { echo bad; exit 1; }")},
    "a wait for the process": {"command": shell("torchrun train.py & wait $!")},
    "a monitor in the background": {"command": shell("nvidia-smi dmon > log & torchrun train.py")},
    "a condition that looks at it": {"command": shell("if ! torchrun train.py; then exit 1; fi")},
    "a quoted here-document": {"command": shell("cat > t.py << 'EOF'\nprint('$HOME')\nEOF\ntorchrun t.py")},
    "configuration from variables": {"command": shell("cat > c.yaml << EOF\nout: $OUTPUT_DIR\nEOF\ntorchrun t.py")},
    "arguments for the shell": {"command": ["bash", "-c", 'exec torchrun "$@"', "--", "train.py"]},
    "a command of the script's own": {"command": ["bash", "-c", 'exec "$0" "$@"', "torchrun", "train.py"]},
    "a name for the script": {"command": ["bash", "-c", "set -e; torchrun train.py", "train"]},
    "a loop that is waited for": {"command": shell("for i in 0 1; do python t.py & done; wait"), "nodes": 1},
    "a loop beside another program": {
        "command": shell("for i in 0 1; do python t.py & done; torchrun u.py"),
        "nodes": 1,
    },
    "a wrapper before it": {"command": ["timeout", "12h", "torchrun", "train.py"]},
    "all devices by name": {"env": [{"name": "CUDA_VISIBLE_DEVICES", "value": "0,1,2,3,4,5,6,7"}]},
    "an interface left out": {"env": [{"name": "NCCL_SOCKET_IFNAME", "value": "^lo"}]},
    "names that hold no secret": {
        "env": [{"name": "MAX_TOKENS", "value": "4096"}, {"name": "PAD_TOKEN", "value": "<pad>"}]
    },
    "a device of a vendor's own": {"resourcesPerNode": {"limits": {"acme.com/gpu": 8}}},
    "a network device": {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 4}}},
    "an image by port and digest": {"image": "registry.acme.io:443/ml/train:v1@sha256:" + "a" * 64},
}
# What cannot be right; of all else somebody may have a use.
CERTAIN = {"RanksDoNotMeet", "InvalidLauncherArguments", "CommandCannotStart", "InvalidImage", "LoopbackInterface"}


@pytest.mark.parametrize("case", RIGHT)
def test_of_what_runs_nothing_is_reported(case: str) -> None:
    assert diagnostics_of(**{"command": ["torchrun", "train.py"], **RIGHT[case]}) == []


@cases("code", "fields")
def test_what_does_not_run_is_named(code: str, fields: dict[str, Any]) -> None:
    found = diagnostics_of(**{"command": ["torchrun", "train.py"], **fields})
    assert [(d.code, d.severity) for d in found] == [(code, "error" if code in CERTAIN else "warning")]


def test_a_finding_about_a_patch_points_into_the_patch() -> None:
    pod = {"volumes": [{"name": "data", "emptyDir": {}}]}
    patched = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    patch = {"manager": "example.com/me", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [patched]}}}}
    found = compiled(trainjob({"command": ["torchrun", "t.py"]}, runtimePatches=[patch]), runtime(policy={"torch": {}}))
    (unused,) = [d for d in found.diagnostics if d.code == "VolumeNotMounted"]
    assert (unused.object, unused.severity) == ("TrainJob team-a/llm", "warning")
    assert unused.path.startswith("spec.runtimePatches[0]")


def test_one_process_of_a_single_node_is_an_info() -> None:
    one = trainjob({"command": ["python", "t.py"], "resourcesPerNode": GPUS})
    found = compiled(one, runtime(policy={"torch": {}})).diagnostics
    assert [d.severity for d in found if d.code == "NoLauncher"] == ["info"]


@pytest.mark.parametrize("call", ["lightning.Trainer(devices=8)", "torch.multiprocessing.spawn(f, nprocs=8)"])
def test_a_script_that_starts_the_processes_of_a_single_node_needs_no_launcher(call: str) -> None:
    command = ["bash", "-c", f"cat > t.py <<'E'\nimport torch, lightning\n{call}\nE\npython t.py"]
    one = trainjob({"command": command, "resourcesPerNode": GPUS})
    assert [d for d in compiled(one, runtime(policy={"torch": {}})).diagnostics if d.code == "NoLauncher"] == []


def test_mpirun_is_held_to_the_slots_of_all_hosts() -> None:
    launcher = job("launcher", containers=[container(command=["mpirun", "-np", "16", "python", "t.py"])])
    node = job("node", step=None, containers=[container(command=["/usr/sbin/sshd", "-De"])])
    mpi = runtime(launcher, node, policy={"mpi": {"runLauncherAsNode": True}})
    found = compiled(trainjob({"numNodes": 4, "resourcesPerNode": GPUS}), mpi).diagnostics
    assert (
        "16 processes for 32 of nvidia.com/gpu on 4 nodes" in next(d for d in found if d.code == "IdleDevices").message
    )


@pytest.mark.parametrize(
    ("program", "severity"), [("huge_ctr --train c.json", "info"), ("python pretrain_gpt.py", "warning")]
)
def test_one_process_of_each_node_may_use_all_of_its_devices(program: str, severity: str) -> None:
    launcher = job("launcher", containers=[container(command=["mpirun", "-np", "4", *program.split()])])
    node = job("node", step=None, containers=[container(command=["/usr/sbin/sshd", "-De"])])
    mpi = runtime(launcher, node, policy={"mpi": {"runLauncherAsNode": True}})
    found = compiled(trainjob({"numNodes": 4, "resourcesPerNode": GPUS}), mpi).diagnostics
    assert [d.severity for d in found if d.code == "IdleDevices"] == [severity]


def test_a_launcher_that_is_not_there_is_no_host() -> None:
    node = job("node", containers=[container(command=["mpirun", "-np", "8", "python", "t.py"])])
    mpi = runtime(node, policy={"mpi": {"runLauncherAsNode": True}})
    found = compiled(trainjob({"numNodes": 1, "resourcesPerNode": GPUS}), mpi).diagnostics
    assert {d.code for d in found} & {"IdleDevices", "FieldIgnored"} == {"FieldIgnored"}
