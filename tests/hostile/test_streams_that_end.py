"""Readers that go away, disks that are full, and seeds of hashes: of none of them does a command die or say otherwise."""

from __future__ import annotations

import ast
import fcntl
import io
import os
import select
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO, cast

import pytest
from commands import run
from hostile_inputs import CLUSTER, FLAGS, HEAD
from package import GROUP, nodes

from trainc.cli.command import Streams, commands
from trainc.cli.main import main, whole_output

CASES = Path(__file__).parents[1] / "cases"
# A line that prints for each command, run in a folder with a job, a cluster, an older job, and a dump.
PRINTS = {
    "build": "build job.yaml",
    "check": "check --format json job.yaml",
    "cmp": "cmp --print plugin.yaml",
    "completion": "completion bash",
    "diff": "diff job.yaml other.yaml",
    "doctor": "doctor job.yaml --from versions.yaml --format json",
    "explain": "explain job.yaml",
    "fits": "fits job.yaml --cluster cluster.yaml",
    "why": "why --dump cluster.yaml",
    "graph": "graph job.yaml",
    "help": "help limits",
    "import": "import live.yaml",
    "init": "init new --print",
    "krm": "krm --print kustomizeconfig.yaml",
    "migrate": "migrate --diff old.yaml",
    "new": "new llm --runtime torch-distributed -o - -- torchrun train.py",
    "report": "report job.yaml -o -",
    "rule": "rule --all",
    "run": "run job.yaml --dry-run",
    "runtimes": "runtimes list",
    "schema": "schema",
    "version": "version",
}
# Containers usually set PYTHONUNBUFFERED. It must make no difference.
BUFFERED = [*((command, "1") for command in PRINTS), ("build", "")]
# These print nothing by themselves, or need the SDK.
SILENT = {"lsp", "sdk"}
VERSIONS = """apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: b}
spec: {template: {spec: {containers: [{name: a, image: "registry.k8s.io/jobset/jobset:v0.12.0"}]}}}
"""
WRITES = {
    "build": "build job.yaml -o out",
    "import": "import live.yaml -o imported",
    "init": "init new",
    "migrate": "migrate old.yaml",
    "new": "new llm --runtime torch-distributed -o new.yaml -- torchrun train.py",
    "report": "report job.yaml -o report.html",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trainc.yaml").write_text("release: '2.3'\n", encoding="utf-8")
    Path("job.yaml").write_text(f"{HEAD}  trainer: {{command: [torchrun, x.py]}}\n", encoding="utf-8")
    Path("live.yaml").write_text(HEAD, encoding="utf-8")
    Path("other.yaml").write_text(f"{HEAD}  suspend: true\n", encoding="utf-8")
    Path("old.yaml").write_text(
        HEAD.replace("trainer.kubeflow.org/v1alpha1", "kubeflow.org/v2alpha1"), encoding="utf-8"
    )
    Path("versions.yaml").write_text(VERSIONS, encoding="utf-8")
    Path("cluster.yaml").write_text(CLUSTER, encoding="utf-8")


def trainc(words: str, output: str, **environment: str) -> tuple[list[str], str]:
    """The exit codes of `trainc ... | output`, and what stderr says."""
    command = f'"$0" -m trainc {words} 2>stderr | {output}; echo "${{PIPESTATUS[0]}}" >status'
    environ = {**os.environ, **environment}
    subprocess.run(["bash", "-c", command, sys.executable], check=False, stdin=subprocess.DEVNULL, env=environ)
    return Path("status").read_text().split(), Path("stderr").read_text()


def test_every_command_is_here() -> None:
    assert {command.name for command in commands()} == {*PRINTS, *SILENT}


@pytest.mark.parametrize(("command", "unbuffered"), BUFFERED)
def test_a_reader_that_goes_away_and_a_full_disk_are_no_defects(command: str, unbuffered: str) -> None:
    # The cluster of `doctor` shows no version.
    status, stderr = trainc(PRINTS[command], "true", PYTHONUNBUFFERED=unbuffered)
    assert status in (["0"], ["141"], ["1"] if command == "doctor" else ["0"]), stderr
    assert "Traceback" not in stderr
    status, stderr = trainc(f"{PRINTS[command]} > /dev/full", "cat", PYTHONUNBUFFERED=unbuffered)
    assert status == ["1"], stderr
    assert "No space left on device" in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize(("command", "unbuffered"), BUFFERED)
def test_a_pipe_that_does_not_block_gets_the_whole_output(command: str, unbuffered: str) -> None:
    words = [sys.executable, "-m", "trainc", *PRINTS[command].split()]
    environ = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    whole = subprocess.run(words, check=False, capture_output=True, env=environ)
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writing, False)
    filler = os.write(writing, b"x" * 4096)
    with open("stderr", "wb") as err:
        process = subprocess.Popen(words, stdout=writing, stderr=err, env=environ)
    os.close(writing)
    while not ({"S", "Z"} & set(state_of(process.pid))):  # Before it waits for the reader, it is starting.
        os.sched_yield()
    with os.fdopen(reading, "rb") as stream:
        assert stream.read()[filler:] == whole.stdout
    assert process.wait() == whole.returncode, Path("stderr").read_text(encoding="utf-8")


def test_messages_on_a_pipe_that_does_not_block_are_whole() -> None:
    Path("wrong.yaml").write_text(HEAD + "".join(f"  a{i}: 1\n" for i in range(90)), encoding="utf-8")
    words = [sys.executable, "-m", "trainc", "check", "wrong.yaml"]
    whole = subprocess.run(words, check=False, capture_output=True)
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writing, False)
    process = subprocess.Popen(words, stderr=writing)
    os.close(writing)
    while not ({"S", "Z"} & set(state_of(process.pid))):
        os.sched_yield()
    with os.fdopen(reading, "rb") as stream:
        assert stream.read() == whole.stderr
    assert (process.wait(), len(whole.stderr) > 2 * 4096) == (1, True)


def state_of(process: int) -> str:
    """The state of a process, once it has been asleep for a while: `S`; `Z` if it has ended."""
    states = set()
    for _ in range(5):
        states.add(Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0])
        select.select([], [], [], 0.02)
    return "".join(states) if len(states) == 1 else ""


def test_input_that_comes_late_on_a_pipe_that_does_not_block_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    words = [sys.executable, "-m", "trainc", "build", "-", *FLAGS]
    process = subprocess.Popen(words, stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(reading)
    with os.fdopen(writing, "wb", 0) as stream:
        for document in (HEAD, HEAD.replace("name: llm", "name: late")):
            stream.write(f"{document}---\n".encode())
            while not ({"S", "Z"} & set(state_of(process.pid))):  # Until it waits for more, or has read too little.
                os.sched_yield()
    out, err = process.communicate()
    assert (process.returncode, out.count(b"kind: JobSet")) == (0, 2), err


@pytest.mark.parametrize(("command", "unbuffered"), BUFFERED)
def test_a_disk_that_takes_part_of_stdout_ends_with_an_error(command: str, unbuffered: str) -> None:
    environ = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    words = [sys.executable, "-c", FULL, *PRINTS[command].split()]
    with open("part", "wb") as part:
        done = subprocess.run(words, stdout=part, stderr=subprocess.PIPE, text=True, check=False, env=environ)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert "File too large" in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_messages_that_cannot_be_written_are_no_success(unbuffered: str) -> None:
    Path("wrong.yaml").write_text(f"{HEAD}  trainer: {{numNode: 2}}\n", encoding="utf-8")
    environ = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    for words in ("check wrong.yaml", "explain job.yaml nothing", "build job.yaml -o out"):
        command = [sys.executable, "-m", "trainc", *words.split()]
        with open("/dev/full", "wb") as full:
            assert subprocess.run(command, stderr=full, check=False, env=environ).returncode == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_gone_is_no_success(unbuffered: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "trainc", "build", "job.yaml"]
    done = subprocess.run(words, stdout=writing, check=False, env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
    os.close(writing)
    assert done.returncode == 141


class Refusing(io.RawIOBase):
    """A stream that takes nothing: without an error, or with one."""

    def __init__(self, error: OSError | None = None) -> None:
        self.error, self.takes = error, False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.error and not self.takes:
            raise self.error
        return len(data) * self.takes


def test_a_stream_that_takes_nothing_is_an_error() -> None:
    out = whole_output(cast("TextIO", SimpleNamespace(buffer=Refusing())))
    out.write(b"x")
    with pytest.raises(OSError, match="Input/output"):
        out.flush()
    full = Refusing(OSError(28, "No space left on device"))
    err = io.TextIOWrapper(io.BufferedWriter(full))
    words = ["build", "job.yaml", "-o", "out"]
    assert main(words, Streams(io.BytesIO(), io.BytesIO(), err)) == 1, "what stays in the buffer is flushed"
    full.takes = True  # Until it is collected.


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
from trainc.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("command", WRITES)
def test_a_disk_that_takes_part_of_a_file_is_no_defect_and_damages_nothing(command: str) -> None:
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    words = [sys.executable, "-c", FULL, *WRITES[command].split()]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert "File too large" in done.stderr
    assert {name: Path(name).read_bytes() for name in before} == before
    assert {path.name for path in Path().rglob("*") if path.is_file()} == set(before), "no half of a new file stays"


def test_no_space_in_an_output_folder_leaves_it_as_it_was() -> None:
    assert run("build", "job.yaml", "-o", "out", *FLAGS).status == 0
    before = {path: path.read_bytes() for path in Path("out").rglob("*.yaml")}
    words = [sys.executable, "-c", FULL, "build", "other.yaml", "-o", "out", *FLAGS]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert {path: path.read_bytes() for path in Path("out").rglob("*.yaml")} == before


PRINTED = """
import io, shlex, sys
from pathlib import Path
from trainc.cli.command import Streams
from trainc.cli.main import main
for case in sorted(Path(sys.argv[1]).glob("*.yaml")):
    flags = shlex.split(case.read_text().partition("\\n")[0].removeprefix("# trainc:"))
    for command in ("build", "check --format json", "explain", "graph --format dot", "report -o -"):
        first, *others = command.split()
        out, err = io.BytesIO(), io.StringIO()
        status = main([first, str(case), *others, *flags], Streams(io.BytesIO(), out, err))
        print(case.stem, command, status, out.getvalue(), err.getvalue())
"""


def test_the_seed_of_hashes_changes_nothing_of_any_case() -> None:
    outputs = set()
    for seed in ("0", "1"):
        environ = {**os.environ, "PYTHONHASHSEED": seed}
        words = [sys.executable, "-c", PRINTED, str(CASES)]
        done = subprocess.run(words, env=environ, capture_output=True, check=True)
        assert len(done.stdout.splitlines()) >= 5 * len(list(CASES.glob("*.yaml")))
        outputs.add(done.stdout)
    assert len(outputs) == 1


@GROUP
def test_one_place_writes() -> None:
    found = {f"{module}: {ast.unparse(node)}" for module, node in nodes(ast.Call) if _writes(node)}
    assert {line.partition(":")[0] for line in found} == {
        "reading/opening.py",
        "reading/git.py",  # Into a temporary folder.
        "features/authoring/lsp/command.py",  # A copy of the stream for pygls.
        "features/authoring/run/command.py",  # The lock of a working folder, in which nothing is written.
    }, found


def _writes(call: ast.Call) -> bool:
    """Whether a call opens a file for writing, or writes to the process's own streams."""
    name = ast.unparse(call.func)
    modes = [
        word.value for word in (*call.args, *(word.value for word in call.keywords)) if isinstance(word, ast.Constant)
    ]
    return (
        (name in ("open", "os.fdopen") and any(set(str(mode)) <= set("wxabt+r") - {"r"} for mode in modes))
        or name in ("os.write", "print", "sys.stdout.write", "sys.stdout.buffer.write")
        or name.endswith((".write_text", ".write_bytes"))
    )
