"""`python -m benchmarks.commands TRAINC [record]`: count the instructions of each command, and compare with instructions.json.

Callgrind counts them (Debian's package is valgrind). Two counts of the same code differ by a thousandth, on a machine with
other work too, so that a regression is seen which times would not show. Commands that go over jobs are counted per job:
the difference between two inputs, divided by that of their jobs. `record` replaces instructions.json. Counts under
another Python than the recorded one are compared with nothing.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shutil import copytree, which
from tempfile import TemporaryDirectory

from benchmarks.fits import cluster
from benchmarks.jobs import RELEASE, folders, trainjob, warned, write_jobs
from benchmarks.pythons import described

RECORDED = Path(__file__).with_name("instructions.json")
FEW, MORE = 50, 150
# A count that grew by more is marked.
_MOST = 1.02
_COUNTED = re.compile(r"Collected : (\d+)")
START = {
    "version": ["version"],
    "--help": ["--help"],
    "build --help": ["build", "--help"],
    "rule": ["rule", "UnknownField"],
    "completion": ["completion", "bash"],
    "a wrong option of build": ["build", "--no-such-option"],
    "a wrong option of diff": ["diff", "--no-such-option"],
}
_MPI = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: mpi-{0}, namespace: team-{1}}}
spec:
  runtimeRef: {{name: deepspeed-distributed}}
  trainer:
    numNodes: {2}
    command: [mpirun, python, train.py, --seed={0}]
    resourcesPerNode: {{requests: {{cpu: 96}}, limits: {{nvidia.com/gpu: 8}}}}
"""
_INITIALIZED = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: tune-{0}, namespace: team-{1}}}
spec:
  runtimeRef: {{name: torchtune-llama3.2-1b}}
  initializer:
    dataset: {{storageUri: "hf://tatsu-lab/alpaca-{0}"}}
    model: {{storageUri: "hf://meta-llama/Llama-3.2-1B-Instruct", secretRef: {{name: hf-token}}}}
  trainer: {{numNodes: 1, resourcesPerNode: {{limits: {{nvidia.com/gpu: 1}}}}}}
"""
_V1 = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: train-{0}, namespace: team-{1}}}
spec:
  pytorchReplicaSpecs:
    Master: &replica
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: pytorch
            image: registry.example.com/train:1.{2}
            command: [torchrun, train.py, --seed={0}]
            resources: {{limits: {{nvidia.com/gpu: 8}}}}
    Worker:
      <<: *replica
      replicas: {2}
"""


def write_inputs(root: Path, count: int, trainc: str) -> None:
    """Fill a folder with the inputs of all commands, for so many jobs."""
    write_jobs(root, count)
    clean, _ = folders(root, count)
    clean.rename(root / "clean")
    texts: dict[str, tuple[Callable[[int], str], int]] = {
        "warned": (warned, 1),
        "changed": (lambda number: trainjob(number).replace("learning-rate=3e", "learning-rate=4e"), 1),
        "mixed": (lambda number: _MPI.format(number, number % 7, 2 + number % 30), 3),
    }
    for name, (text_of, step) in texts.items():
        copytree(root / "clean", root / name)
        for number in range(0, count, step):
            (root / name / f"job-{number:05}.yaml").write_text(text_of(number))
    for number in range(1, count, 3):
        (root / "mixed" / f"job-{number:05}.yaml").write_text(_INITIALIZED.format(number, number % 7))
    (root / "v1").mkdir()
    for number in range(count):
        (root / "v1" / f"{number:05}.yaml").write_text(_V1.format(number, number % 7, 1 + number % 8))
    for source, output in (("clean", "old"), ("clean", "same"), ("changed", "new")):
        words = ["build", str(root / source), "-o", str(root / output), "--release", RELEASE, "--quiet"]
        subprocess.run([trainc, *words], check=True)
    queues = [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": f"research-{queue}", "namespace": f"team-{team}"},
            "spec": {"clusterQueue": f"q{queue}"},
        }
        for queue in range(5)
        for team in range(7)
    ]
    namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{n}"}} for n in range(7)]
    (root / "cluster").mkdir()
    items = [*cluster(5, 100), *queues, *namespaces]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    (root / "cluster" / "all.json").write_text(
        text.replace('"1Ti"', '"2Ti"')
    )  # Nodes that hold the pods of these jobs.


def over_jobs(root: Path) -> dict[str, list[str]]:
    """The commands that go over all jobs, by what they do; their input is what `write_inputs` wrote."""

    def words(command: str, *paths: str) -> list[str]:
        return [command, *(str(root / path) for path in paths), "--release", RELEASE]

    return {
        "build": words("build", "clean"),
        "build, a warning in each job": words("build", "warned"),
        "build, with MPI and initializers": words("build", "mixed"),
        "check": words("check", "clean"),
        "diff of output that is the same": words("diff", "old", "same"),
        "diff of output that has changed": words("diff", "old", "new"),
        "diff of sources that are the same": words("diff", "clean", "clean"),
        "report": [*words("report", "clean"), "-o", os.devnull],
        "fits": [*words("fits", "clean"), "--cluster", str(root / "cluster")],
        "migrate": ["migrate", str(root / "v1"), "--diff"],
    }


def counted(command: Sequence[str]) -> int:
    """The instructions of a command. It is run once before, which writes the bytecode of its modules."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PYTHONHASHSEED"] = "0"
    subprocess.run(command, capture_output=True, env=environment, check=False)
    callgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}"]
    done = subprocess.run([*callgrind, *command], capture_output=True, text=True, env=environment, check=False)
    found = _COUNTED.search(done.stderr)
    if found is None:
        raise SystemExit(f"{' '.join(command)} was not counted:\n{done.stderr}")
    return int(found[1])


def measured(trainc: str) -> Iterator[tuple[str, float]]:
    """What was counted, in millions of instructions of a process and thousands per job."""
    python = str(Path(trainc).with_name("python"))
    yield "start of Python, M", counted([python, "-c", "pass"]) / 1e6
    for name, words in START.items():
        yield f"{name}, M", counted([trainc, *words]) / 1e6
    with TemporaryDirectory() as folder:
        roots = {count: Path(folder, str(count)) for count in (1, FEW, MORE)}
        for count, root in roots.items():
            write_inputs(root, count, trainc)
        for name in ("build", "build, a warning in each job"):
            yield f"{name}, one job, M", counted([trainc, *over_jobs(roots[1])[name]]) / 1e6
        job = [str(roots[1] / "clean" / "job-00000.yaml"), "--runtimes", str(roots[1] / "clean")]
        yield "explain, one job, M", counted([trainc, "explain", *job, "--release", RELEASE]) / 1e6
        for name in over_jobs(roots[1]):
            few, more = (counted([trainc, *over_jobs(roots[count])[name]]) for count in (FEW, MORE))
            yield f"{name}, k per job", (more - few) / (MORE - FEW) / 1e3


def main() -> None:
    """Print a line for each command."""
    if which("valgrind") is None:
        print("instructions are not counted: valgrind is not installed", file=sys.stderr)
        return
    trainc, *rest = sys.argv[1:]
    python = described(str(Path(trainc).with_name("python")))
    record = json.loads(RECORDED.read_text())
    recorded: dict[str, float] = record["counts"] if record["python"] == python else {}
    print(
        f"counted under {python}, compared with counts under {record['python']}"
        if recorded
        else f"{python}: no counts to compare with"
    )
    found: dict[str, float] = {}
    for name, count in measured(trainc):
        found[name] = round(count, 1)
        before = recorded.get(name)
        ratio = "" if before is None else f"{count / before:6.3f}{'  MORE' if count > before * _MOST else ''}"
        print(f"{name:48} {count:9,.1f} {'' if before is None else f'{before:,.1f}':>9} {ratio}", flush=True)
        if rest == ["record"]:  # Each at once, as counting takes minutes.
            counts = {**recorded, **found}
            RECORDED.write_text(json.dumps({"python": python, "counts": counts}, indent=2) + "\n")


if __name__ == "__main__":
    main()
