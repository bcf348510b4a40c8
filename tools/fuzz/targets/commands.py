"""Every command that reads documents: none ends with a defect, whatever is in its input and in what stands around it.

The first byte chooses what the documents are: jobs, a sweep, a cluster, policies, an overlay, runtimes, settings. Each is
given to all commands that read it, next to good documents of the other kinds.
"""

from __future__ import annotations

import atexit
import io
import os
import shutil
from contextlib import chdir, suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from trainc.cli.command import Streams, commands
from trainc.cli.main import main

# Imported now, because what is imported with the first input is not instrumented.
for _command in commands():
    with suppress(ImportError):
        _command.load()
JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: a}}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {image: example.com/a:1, numNodes: 2, command: [torchrun, train.py]}
"""
OVERLAY = "apiVersion: trainc/v1alpha1\nkind: Overlay\n"
CLUSTER = Path(__file__).parents[1].joinpath("cluster.yaml").read_text(encoding="utf-8")
SETTINGS = (
    'release: "2.3"\nsources: [jobs]\nruntimes: [runtimes]\ncluster: cluster\npolicies: [policies]\noutput: out\n'
)
# The file that the documents replace, and the commands that read it.
ROLES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "jobs/other.yaml",
        (
            "check",
            "check --format sarif",
            "build -o -",
            "fits --format json",
            "fits --now --stale",
            "explain jobs/other.yaml",
            "graph jobs/other.yaml --format json",
            "graph jobs/other.yaml --format svg",
            "report -o -",
            "diff jobs/llm.yaml jobs/other.yaml --format json",
            "diff jobs/other.yaml jobs/llm.yaml --format markdown",
            "run jobs/other.yaml --dry-run",
            "migrate --diff jobs/other.yaml",
            "doctor --from cluster/all.yaml",
            "cmp",
        ),
    ),
    ("jobs/other.yaml", ("check", "build -o -", "report -o -", "explain jobs/other.yaml#s#0", "diff jobs jobs")),
    ("cluster/all.yaml", ("check", "fits --format json", "fits --now --stale", "doctor --from cluster/all.yaml", "why --dump cluster --log pod.log")),
    ("policies/all.yaml", ("check", "build -o -")),
    ("overlay/overlay.yaml", ("check --overlay overlay", "build --overlay overlay -o -", "explain jobs/llm.yaml --overlay overlay")),
    (
        "runtimes/all.yaml",
        ("check", "build -o -", "explain jobs/llm.yaml", "runtimes list", "new a --runtime torch-distributed -o - -- python a.py"),
    ),
    ("trainc.yaml", ("check", "fits", "diff jobs jobs")),
    ("items.yaml", ("krm",)),
    (
        "live.yaml",
        (
            "import live.yaml",
            "diff --live live.yaml",
            "diff jobs --live live.yaml --format json",
            "diff jobs --live live.yaml --format markdown --show-values",
            "report --live live.yaml -o -",
            "fits --cluster live.yaml",
            "fits --now --stale --cluster live.yaml --format json",
            "fits --now --stale --plus live.yaml",
            "why --dump live.yaml",
            "why --dump live.yaml --log pod.log --format json",
        ),
    ),
)  # fmt: skip


def check(data: bytes) -> None:
    """Raise AssertionError if a command ends with a defect."""
    for command, (status, reported) in run(data).items():
        assert status in (0, 1, 2), f"{command}: {reported}"


def run(data: bytes) -> dict[str, tuple[int, str]]:
    """The status of each command on these documents, and what it reports."""
    file, commands = ROLES[(data[0] if data else 0) % len(ROLES)]
    # libFuzzer looks for its folders after the first input, from where it was started.
    with chdir(_folder()):
        whole = Path(file).read_bytes() if os.path.exists(file) else None
        Path(file).write_bytes(data[1:])
        try:
            return {command: _run(command, data[1:] if command == "krm" else b"") for command in commands}
        finally:
            if whole is None:
                os.remove(file)
            else:
                Path(file).write_bytes(whole)
            shutil.rmtree("out", ignore_errors=True)


def _run(command: str, stdin: bytes) -> tuple[int, str]:
    reported = io.StringIO()
    try:
        return main(command.split(), Streams(io.BytesIO(stdin), io.BytesIO(), reported)), reported.getvalue()
    except SystemExit as ended:
        return int(str(ended.code)), reported.getvalue()


@cache
def _folder() -> str:
    root = mkdtemp(prefix="trainc-fuzz-")
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    files = {
        "jobs/llm.yaml": JOB,
        "cluster/all.yaml": CLUSTER,
        "overlay/overlay.yaml": OVERLAY,
        "runtimes/all.yaml": "",
        "policies/all.yaml": "",
        "trainc.yaml": SETTINGS,
        "pod.log": "torch.OutOfMemoryError: CUDA out of memory.\n",
    }
    for name, text in files.items():
        path = Path(root, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
