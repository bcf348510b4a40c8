"""Jobs under the real torchrun, mpirun and JAX, each from the manifest that is emitted for it: the ranks meet and agree."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from commands import Result, run
from shown import ROOT, File, steps

from trainc.features.authoring.run.processes import find_strays

TORCH = os.environ.get("TRAINC_TORCH_PYTHON", sys.executable)
TUNE = os.environ.get("TRAINC_TORCHTUNE_PYTHON", sys.executable)
XGBOOST = os.environ.get("TRAINC_XGBOOST_PYTHON", sys.executable)
JAX = os.environ.get("TRAINC_JAX_PYTHON", sys.executable)
ALL_REDUCE = """
import os, torch, torch.distributed as ranks
ranks.init_process_group("gloo")
rank = str(ranks.get_rank())
mine = torch.tensor([ranks.get_rank() + 1.0])
ranks.all_reduce(mine)
print(f"rank {ranks.get_rank()} of {ranks.get_world_size()}: {mine.item():g}", flush=True)
# With threads of gloo still running, the interpreter may abort on its way out.
ranks.destroy_process_group()
raise SystemExit(5 if os.environ.get("FAILS") == rank else 0)
"""
GATHER = """
import os, jax
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_cpu_collectives_implementation", "gloo")
told = (os.environ[f"JAX_{name}"] for name in ("COORDINATOR_ADDRESS", "NUM_PROCESSES", "PROCESS_ID"))
address, processes, mine = told
jax.distributed.initialize(address, int(processes), int(mine))
import numpy
from jax.experimental.multihost_utils import process_allgather
print(jax.process_index(), "of", jax.process_count(), process_allgather(numpy.array([int(mine)])).ravel().tolist(), flush=True)
"""
SUM = """
import os, numpy
from xgboost import collective, tracker
rank, workers, port = (int(os.environ[f"DMLC_{name}"]) for name in ("TASK_ID", "NUM_WORKER", "TRACKER_PORT"))
host = os.environ["DMLC_TRACKER_URI"]
if rank == 0:
    keeper = tracker.RabitTracker(host_ip=host, n_workers=workers, port=port)
    keeper.start()
with collective.CommunicatorContext(dmlc_tracker_uri=host, dmlc_tracker_port=port, dmlc_task_id=str(rank)):
    total = collective.allreduce(numpy.array([rank + 1]), collective.Op.SUM)
    print(rank, "of", collective.get_world_size(), total.tolist(), flush=True)
"""
MPI_RUNTIME = """\
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy: {mpi: {numProcPerNode: 8}}
  template:
    spec:
      network: {publishNotReadyAddresses: true}
      successPolicy: {operator: All, targetReplicatedJobs: [launcher]}
      replicatedJobs:
      - name: node
        template:
          spec: {template: {spec: {containers: [{name: node, image: "example.com/m:1", command: [/usr/sbin/sshd, -De]}]}}}
      - name: launcher
        dependsOn: [{name: node, status: Ready}]
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: "example.com/m:1"}]}}}
"""


def installed(module: str, variable: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        variable not in os.environ and importlib.util.find_spec(module) is None,
        reason=f"{module} is not installed; install it, or name an interpreter that has it in {variable}",
    )


with_torch = installed("torch", "TRAINC_TORCH_PYTHON")
with_accelerate = installed("accelerate", "TRAINC_TORCH_PYTHON")
with_torchtune = installed("torchtune", "TRAINC_TORCHTUNE_PYTHON")
with_jax = installed("jax", "TRAINC_JAX_PYTHON")
with_xgboost = installed("xgboost", "TRAINC_XGBOOST_PYTHON")
with_mpirun = pytest.mark.skipif(
    shutil.which("mpirun") is None, reason="mpirun is not installed; `apt-get install openmpi-bin` brings it"
)
pytestmark = [pytest.mark.slow, pytest.mark.run]

# torchrun 1 under Python 3.11 cannot read its own default of these two; this says the same.
SAME = '{name: PET_REDIRECTS, value: "9:3"}, {name: PET_TEE, value: "9:3"}, '


@cache
def defaults() -> str:
    """What this torch has to be told of its own defaults."""
    requested = subprocess.run(
        [TORCH, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=True
    )
    return SAME if requested.stdout.startswith("1.") else ""


def started(tmp_path: Path, runtime: str, trainer: str, script: str, *words: str, more: str = "") -> Result:
    """`trainc run` of that trainer; nothing of it runs afterwards."""
    (tmp_path / "train.py").write_text(script, encoding="utf-8")
    (tmp_path / "job.yaml").write_text(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: j, namespace: team-a}\n"
        f"spec:\n  runtimeRef: {{name: {runtime}}}\n  trainer: {trainer}\n{more}",
        encoding="utf-8",
    )
    work = str(tmp_path / "w")
    place = f"/workspace={tmp_path}"
    path = str(tmp_path / "job.yaml")
    result = run("run", path, "--release", "2.3", "--no-restarts", "--workdir", work, "--map", place, *words)
    if os.path.isdir("/proc/self"):
        assert list(find_strays(work)) == []
    return result


def torch_trainer(command: str, env: str = "") -> str:
    gpus = "resourcesPerNode: {limits: {nvidia.com/gpu: 8}}"
    return f"{{numNodes: 16, command: [{command}], env: [{defaults()}{env}], {gpus}}}"


@with_torch
def test_two_nodes_of_two_processes_sum_over_all_ranks(tmp_path: Path) -> None:
    trainer = torch_trainer("torchrun, /workspace/train.py")
    words = ("--pods", "2", "--procs", "2", "--python", TORCH)
    result = started(tmp_path, "torch-distributed", trainer, ALL_REDUCE, *words)
    found = re.findall(r"rank (\d) of (\d): (\d+)", result.stdout)
    assert (result.status, sorted(found)) == (0, [(str(rank), "4", "10") for rank in range(4)]), result.stdout


@with_torch
def test_a_rank_that_fails_ends_the_job_with_the_status_of_its_launcher(tmp_path: Path) -> None:
    trainer = torch_trainer("torchrun, /workspace/train.py", '{name: FAILS, value: "1"}')
    result = started(
        tmp_path, "torch-distributed", trainer, ALL_REDUCE, "--pods", "2", "--procs", "1", "--python", TORCH
    )
    assert result.status == 1
    assert re.search(r"failed: node-0-\d exited with status 1", result.stderr)


@with_torch
def test_a_rank_that_hangs_is_shown_where_it_is(tmp_path: Path) -> None:
    trainer = torch_trainer("torchrun, /workspace/train.py")
    words = ("--pods", "2", "--procs", "1", "--python", TORCH, "--timeout", "30")
    program = ALL_REDUCE.replace(
        "ranks.all_reduce(mine)", "rank == '1' and __import__('time').sleep(600)\nranks.all_reduce(mine)"
    )
    result = started(tmp_path, "torch-distributed", trainer, program, *words)
    assert result.status == 124
    stacks = re.findall(r"rank (\d) is here, innermost call last:\n((?: {4}\S.*\n)+)", result.stderr)
    assert [rank for rank, _ in stacks] == ["0", "1"]
    assert "in all_reduce" in stacks[0][1]
    assert "in all_reduce" not in stacks[1][1]


@with_accelerate
def test_accelerate_meets_on_the_addresses_of_the_pods(tmp_path: Path) -> None:
    trainer = torch_trainer("accelerate, launch, --multi_gpu, --num_processes, '2', /workspace/train.py")
    words = ("--pods", "2", "--procs", "2", "--python", TORCH)
    result = started(tmp_path, "torch-distributed", trainer, ALL_REDUCE, *words)
    found = re.findall(r"rank (\d) of (\d): (\d+)", result.stdout)
    assert (result.status, sorted(found)) == (0, [(str(rank), "4", "10") for rank in range(4)]), result.stdout


@with_torch
def test_a_wrong_number_of_nodes_hangs_here_as_it_would_there(tmp_path: Path) -> None:
    """In a command `trainc run` refuses it at once, as `check` does; in a script of the image only running shows it."""
    words = ("--pods", "2", "--procs", "1", "--python", TORCH, "--timeout", "15")
    hidden = torch_trainer("sh, /workspace/launch.sh")
    (tmp_path / "launch.sh").write_text(f"exec torchrun --nnodes=3 {tmp_path}/train.py\n", encoding="utf-8")
    hung = started(tmp_path, "torch-distributed", hidden, ALL_REDUCE, *words)
    assert (hung.status, "still running: node-0-0, node-0-1" in hung.stderr) == (124, True), hung.stderr
    spelled = torch_trainer("torchrun, --nnodes=3, /workspace/train.py")
    refused = started(tmp_path, "torch-distributed", spelled, ALL_REDUCE, *words)
    assert (refused.status, "error[RanksDoNotMeet]" in refused.stderr) == (1, True)
    assert "error[RanksDoNotMeet]" in run("check", str(tmp_path / "job.yaml"), "--release", "2.3").stderr


RECIPES = {
    Path(step.name).stem: step.text
    for page in ("recipes.md", "slurm.md")
    for step in steps((ROOT / "docs" / page).read_text(encoding="utf-8"))
    if isinstance(step, File) and "command: [tune" not in step.text
}
OF_JAX = "jax"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=with_jax if name == OF_JAX else with_torch) for name in RECIPES if name != "accelerate"]
)  # fmt: skip
def test_the_ranks_of_a_documented_recipe_meet(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_TOKEN", "x")
    for script in ("train.py", "train_fsdp.py"):
        (tmp_path / script).write_text(GATHER if name == OF_JAX else ALL_REDUCE, encoding="utf-8")
    (tmp_path / "job.yaml").write_text(RECIPES[name], encoding="utf-8")
    words = ("--release", "2.3", "--no-restarts", "--workdir", "w", "--map", f"/app={tmp_path}", "--pods", "2")
    procs = () if name == OF_JAX else ("--procs", "1")
    result = run("run", "job.yaml", *words, *procs, "--python", JAX if name == OF_JAX else TORCH)
    met = re.findall(r"1 of 2 \[0, 1\]" if name == OF_JAX else r"rank 1 of 2: 3", result.stdout)
    assert (result.status, len(met)) == (0, 1), result.stdout + result.stderr


MEET = "--rdzv_endpoint=$(PET_MASTER_ADDR):$(PET_MASTER_PORT)"


@with_torchtune
def test_a_recipe_of_ones_own_meets_under_torchtune(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "settings.yaml").write_text("seed: 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)  # torchtune reads a recipe as a module, from the current folder.
    trainer = torch_trainer(f'tune, run, "{MEET}", train.py, --config, settings.yaml')
    result = started(
        tmp_path, "torch-distributed", trainer, ALL_REDUCE, "--pods", "2", "--procs", "2", "--python", TUNE
    )
    found = re.findall(r"rank (\d) of (\d): (\d+)", result.stdout)
    assert (result.status, sorted(found)) == (0, [(str(rank), "4", "10") for rank in range(4)]), result.stdout


@with_torchtune
def test_torchtune_without_an_endpoint_hangs_here_and_is_caught_by_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings.yaml").write_text("seed: 1\n", encoding="utf-8")
    (tmp_path / "launch.sh").write_text(
        "exec tune run --max_restarts=0 train.py --config settings.yaml\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    words = ("--pods", "2", "--procs", "1", "--python", TUNE, "--timeout", "45")
    hung = started(tmp_path, "torch-distributed", torch_trainer("sh, launch.sh"), ALL_REDUCE, *words)
    assert (hung.status, "Running with torchrun" in hung.stdout) == (124, True), hung.stdout
    spelled = torch_trainer("tune, run, --max_restarts=0, train.py, --config, settings.yaml")
    refused = started(tmp_path, "torch-distributed", spelled, ALL_REDUCE, *words)
    assert (refused.status, "error[RanksDoNotMeet]" in refused.stderr) == (1, True)
    assert "error[RanksDoNotMeet]" in run("check", str(tmp_path / "job.yaml"), "--release", "2.3").stderr


@with_torch
def test_the_ranks_of_a_recipe_meet_where_torchtune_is_missing(tmp_path: Path) -> None:
    asked = "import importlib.util as u, sys; sys.exit(u.find_spec('torchtune') is None)"
    if subprocess.run([TORCH, "-c", asked], check=False).returncode == 0:
        pytest.skip("torchtune is installed beside torch, and runs itself")
    trainer = torch_trainer(f'tune, run, "{MEET}", full_finetune_distributed, --config, llama3_2/1B_full')
    result = started(tmp_path, "torch-distributed", trainer, "", "--pods", "2", "--procs", "2", "--python", TORCH)
    assert "warning[RecipeReplaced]" in result.stderr
    met = re.findall(r"rank (\d) meets 4 of 4 ranks, in place of full_finetune_distributed", result.stdout)
    assert (result.status, sorted(met)) == (0, ["0", "1", "2", "3"]), result.stdout


@with_mpirun
def test_mpirun_starts_a_daemon_on_every_node_and_its_ranks_there(tmp_path: Path) -> None:
    script = "echo $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_SIZE $PPID ${TOKEN-unset}"
    env = '[{name: TOKEN, value: "1"}]'
    trainer = f"{{numNodes: 4, command: [mpirun, sh, /workspace/train.py], env: {env}}}"
    result = started(tmp_path, "rt", trainer, script, "--pods", "2", "--procs", "2", more=MPI_RUNTIME)
    ranks = sorted(re.findall(r"(\d+) (\d+) (\d+) (\d+) (\w+)", result.stdout))
    assert result.status == 0, result.stderr
    assert [rank[:3] for rank in ranks] == [(str(number), "4", "2") for number in range(4)]
    assert len({daemon for *_, daemon, _ in ranks}) == 2
    # What sshd starts does not have the variables of the launcher's container.
    assert {token for *_, token in ranks} == {"unset"}


@with_mpirun
def test_a_rank_under_mpirun_that_fails_ends_the_job(tmp_path: Path) -> None:
    trainer = "{numNodes: 2, command: [mpirun, sh, /workspace/train.py]}"
    result = started(tmp_path, "rt", trainer, "exit 3", "--procs", "1", more=MPI_RUNTIME)
    assert result.status == 3


@with_jax
def test_two_processes_of_jax_gather_each_others_numbers(tmp_path: Path) -> None:
    trainer = "{numNodes: 8, command: [python, /workspace/train.py]}"
    result = started(tmp_path, "jax-distributed", trainer, GATHER, "--pods", "2", "--python", JAX)
    assert result.status == 0, result.stdout
    assert sorted(re.findall(r"(\d of 2 \[.*\])", result.stdout)) == ["0 of 2 [0, 1]", "1 of 2 [0, 1]"]


@with_xgboost
def test_two_workers_of_xgboost_meet_at_their_tracker(tmp_path: Path) -> None:
    trainer = "{numNodes: 8, command: [python, /workspace/train.py]}"
    result = started(tmp_path, "xgboost-distributed", trainer, SUM, "--pods", "2", "--python", XGBOOST)
    assert result.status == 0, result.stdout
    assert sorted(re.findall(r"(\d of 2 \[.*\])", result.stdout)) == ["0 of 2 [3]", "1 of 2 [3]"]
