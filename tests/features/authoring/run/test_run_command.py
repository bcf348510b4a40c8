"""`trainc run` on jobs of plain shell: what is printed, how it ends, and that nothing is left running."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Result, run

from trainc.cli import command
from trainc.cli.command import Streams
from trainc.cli.main import main
from trainc.features.authoring.run import command as run_command
from trainc.features.authoring.run.processes import MARK

HELLO = str(Path(__file__).parent / "hello.yaml")
RUNTIME = """\
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy: {torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            backoffLimit: BACKOFF
            template: {spec: {containers: [{name: node, image: "example.com/t:1"}]}}
"""
linux_only = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="what left its group is found in /proc")


def job(tmp_path: Path, script: str, nodes: int = 2, backoff: int = 0) -> str:
    """A file with a job whose every node runs `script` in a shell."""
    (tmp_path / "node.sh").write_text(script, encoding="utf-8")
    path = tmp_path / "job.yaml"
    path.write_text(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: j, namespace: team-a}\nspec:\n"
        f"  runtimeRef: {{name: rt}}\n  trainer: {{numNodes: {nodes}, command: [sh, {tmp_path}/node.sh]}}\n"
        + RUNTIME.replace("BACKOFF", str(backoff)),
        encoding="utf-8",
    )
    return str(path)


def ran(*words: str) -> Result:
    return run("run", *words, "--release", "2.3")


def test_lines_are_prefixed_by_pod() -> None:
    result = ran(HELLO)
    assert result.status == 0
    assert sorted(result.stdout.splitlines()) == [
        "node-0-0 | node 0 of 2 meets at 127.0.0.1",
        "node-0-1 | node 1 of 2 meets at 127.0.0.1",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown_on(err: io.StringIO, path: str) -> str:
    out = io.BytesIO()
    main(("run", path, "--release", "2.3"), Streams(io.BytesIO(), out, err))
    return err.getvalue()


def test_a_terminal_has_a_line_that_says_which_pods_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(command, "_PATIENCE", 0)
    monkeypatch.setattr(run_command, "_SILENT", 0.3)
    path = job(tmp_path, '[ "$JOB_COMPLETION_INDEX" = 1 ] || sleep 1.2')
    shown = shown_on(Terminal(), path)
    assert "\r2 of 2 pods running, 0 done" in shown
    assert re.search(r"\r1 of 2 pods running, 1 done, no output for \d s: node-0-0", shown)
    assert shown.endswith("\n")
    assert "pods running" not in shown_on(io.StringIO(), path)


@pytest.mark.parametrize(("name", "value", "coloured"), [("TERM", "xterm", True), ("NO_COLOR", "1", False)])
def test_only_a_terminal_has_colours_and_none_where_they_are_not_wanted(
    name: str, value: str, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(name, value)
    assert ("\x1b[" in shown_on(Terminal(), HELLO)) == coloured
    assert "\x1b[" not in shown_on(io.StringIO(), HELLO)


def test_pods_have_colours_of_their_own() -> None:
    lines = ran(HELLO, "--color", "always").stdout.splitlines()
    assert len({line.partition("node-")[0] for line in lines}) == 2


def test_a_dry_run_starts_nothing_and_prints_the_same_each_time(tmp_path: Path) -> None:
    path = job(tmp_path, f"touch {tmp_path}/started")
    first, second = (ran(path, "--dry-run", "--pods", "1") for _ in range(2))
    assert first == second
    assert first.stdout == (
        "# step node\n# pod node-0-0, node\nHOSTNAME=j-node-0-0 JOB_COMPLETION_INDEX=0 PET_NNODES=1 PET_NPROC_PER_NODE=1"
        f" PET_NODE_RANK=0 PET_MASTER_ADDR=127.0.0.1 PET_MASTER_PORT=29500 sh {tmp_path}/node.sh\n"
    )
    assert "info[ScaledForRun] spec.trainer.numNodes: --pods 1: this run uses 1 instead of 2" in first.stderr
    assert not (tmp_path / "started").exists()


def test_the_job_ends_with_the_status_of_what_failed_it(tmp_path: Path) -> None:
    result = ran(job(tmp_path, "test $PET_NODE_RANK = 0 && exec sleep 600; exit 7"))
    assert result.status == 7
    assert "trainc run: failed: node-0-1 exited with status 7\n" in result.stderr


def test_the_first_index_may_decide_for_the_whole_job(tmp_path: Path) -> None:
    path = job(tmp_path, '[ "$JOB_COMPLETION_INDEX" = 0 ] || sleep 60')
    text = Path(path).read_text(encoding="utf-8")
    rule = 'successPolicy: {rules: [{succeededIndexes: "0"}]}'
    Path(path).write_text(text.replace("backoffLimit: 0", f"backoffLimit: 0\n            {rule}"), encoding="utf-8")
    result = ran(path, "--timeout", "30")
    assert (result.status, "the success policy of node is met" in result.stderr) == (0, True), result.stderr


def test_a_pod_starts_again_as_often_as_the_limit_says(tmp_path: Path) -> None:
    path = job(tmp_path, f"echo x >> {tmp_path}/log; test $(wc -l < {tmp_path}/log) -ge 3", nodes=1, backoff=2)
    result = ran(path)
    assert (result.status, result.stderr.count(": restarts")) == (0, 2)
    (tmp_path / "log").unlink()
    assert ran(path, "--no-restarts").status == 1


def test_what_does_not_end_is_ended(tmp_path: Path) -> None:
    result = ran(job(tmp_path, "exec sleep 600"), "--timeout", "0.5")
    assert result.status == 124
    assert "not finished after 0.5 s; still running: node-0-0, node-0-1" in result.stderr


def test_volumes_are_kept_where_somebody_names_a_folder(tmp_path: Path) -> None:
    path = job(tmp_path, "echo model > out.txt", nodes=1)
    text = Path(path).read_text(encoding="utf-8")
    spec = "{volumes: [{name: out, emptyDir: {}}], containers: [{workingDir: /out, volumeMounts: [{name: out, mountPath: /out}], "
    Path(path).write_text(text.replace("{containers: [{", spec), encoding="utf-8")
    assert ran(path, "--workdir", str(tmp_path / "w")).status == 0
    assert (tmp_path / "w" / "volumes" / "j-node-0-0" / "out" / "out.txt").read_text() == "model\n"


def test_the_variables_of_another_launcher_do_not_reach_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MASTER_ADDR", "elsewhere")
    monkeypatch.setenv("PET_MAX_RESTARTS", "9")
    monkeypatch.setenv("KEPT", "1")
    result = ran(job(tmp_path, "echo ${MASTER_ADDR-none} ${PET_MAX_RESTARTS-none} $KEPT", nodes=1))
    assert result.stdout == "node-0-0 | none none 1\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pods", "0"], "argument --pods: '0' is not a positive whole number"),
        (["--timeout", "soon"], "argument --timeout: 'soon' is not a number of seconds"),
        (["--map", "data=."], "argument --map: 'data=.' does not have the form PATH=DIR with an absolute PATH"),
    ],
)
def test_wrong_words_are_usage(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(HELLO, *words).status == 2
    assert message in capsys.readouterr().err


def test_a_machine_runs_so_many_pods_and_no_more() -> None:
    result = ran(HELLO, "--pods", "65")
    assert (result.status, result.stdout) == (2, "")
    assert "--pods 2" in result.stderr


def test_an_interpreter_that_is_not_there_is_usage() -> None:
    result = ran(HELLO, "--python", "no/such/python")
    assert (result.status, "no/such/python is not an executable file" in result.stderr) == (2, True)


@linux_only
def test_a_daemon_that_left_its_group_is_ended_too(tmp_path: Path) -> None:
    work = str(tmp_path / "w")
    result = ran(
        job(tmp_path, "setsid sleep 600 < /dev/null > /dev/null 2>&1 &\nsleep 0.2", nodes=1), "--workdir", work
    )
    assert result.status == 0
    assert gone(work)


@linux_only
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_of_it(number: signal.Signals, tmp_path: Path) -> None:
    work = str(tmp_path / "w")
    words = [sys.executable, "-m", "trainc", "run", job(tmp_path, "echo up; exec sleep 600"), "--workdir", work]
    # What a shell starts in the background ignores SIGINT, and so would all that this starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [*words, "--release", "2.3"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    signal.signal(signal.SIGINT, before)
    assert process.stdout is not None
    with process.stdout as lines:
        assert {lines.readline(), lines.readline()} == {"node-0-0 | up\n", "node-0-1 | up\n"}
        assert len(marked(work)) == 2
        process.send_signal(number)
        assert process.wait(timeout=60) == 128 + number
    assert gone(work)


@linux_only
def test_nothing_is_left_even_if_trainc_is_killed(tmp_path: Path) -> None:
    work = str(tmp_path / "w")
    words = [
        sys.executable,
        "-m",
        "trainc",
        "run",
        job(tmp_path, "echo up; exec sleep 600", nodes=1),
        "--workdir",
        work,
    ]
    with subprocess.Popen([*words, "--release", "2.3"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"node-0-0 | up\n"
        process.kill()
    assert gone(work)


# As much of torchrun as this needs: two ranks per pod, started with the interpreter that torchrun takes.
LAUNCHER = """\
#!INTERPRETER
import os, subprocess, sys
python = os.environ.get("PYTHON_EXEC", sys.executable)
ranks = []
for local in range(2):
    rank = 2 * int(os.environ["PET_NODE_RANK"]) + local
    env = {**os.environ, "LOCAL_RANK": str(local), "RANK": str(rank)}
    ranks.append(subprocess.Popen([python, "-u", *sys.argv[1:]], env=env, start_new_session=True))
sys.exit(max(rank.wait() for rank in ranks))
"""


@pytest.fixture
def launched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run a Python program on 2 nodes of 2 ranks."""

    def run_program(program: str, *words: str, backoff: int = 0) -> Result:
        torchrun = tmp_path / "bin" / "torchrun"
        torchrun.parent.mkdir()
        torchrun.write_text(LAUNCHER.replace("INTERPRETER", sys.executable), encoding="utf-8")
        torchrun.chmod(0o700)
        (tmp_path / "train.py").write_text(program, encoding="utf-8")
        monkeypatch.setenv("PATH", f"{torchrun.parent}{os.pathsep}{os.environ['PATH']}")
        path = job(tmp_path, "", backoff=backoff)
        text = Path(path).read_text(encoding="utf-8")
        text = text.replace(f"[sh, {tmp_path}/node.sh]", f"[torchrun, {tmp_path}/train.py], numProcPerNode: 2")
        Path(path).write_text(text, encoding="utf-8")
        return ran(path, *words)

    return run_program


def test_each_line_says_whose_it_is(launched: Callable[..., Result]) -> None:
    result = launched("import os; print('up', os.environ['RANK'])")
    assert sorted(result.stdout.splitlines()) == [f"node-0-{rank // 2} rank {rank} | up {rank}" for rank in range(4)], (
        result.stderr
    )


def test_the_last_line_is_who_failed_first_and_why(launched: Callable[..., Result]) -> None:
    program = (
        "import os, time\n"
        "def load():\n    raise ValueError('bad shard 17')\n"
        "if os.environ['RANK'] == '3':\n    load()\ntime.sleep(600 if os.environ['RANK'] < '2' else 0)\n"
    )
    last = launched(program, "--timeout", "60").stderr.splitlines()[-1]
    assert last == (
        "trainc run: failed: node-0-1 exited with status 1; first node-0-1, rank 3: ValueError: bad shard 17 (train.py:3)"
    )


def test_restarts_are_counted(launched: Callable[..., Result]) -> None:
    result = launched("raise SystemExit(4)", backoff=1)
    assert ": restarts (1 of 1 failures of all pods of node)\n" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("trainc run: failed after 1 pod restart: node-0-")


@linux_only
def test_a_job_that_hangs_says_where_each_rank_is(launched: Callable[..., Result]) -> None:
    program = (
        "import os, time\ndef wait():\n    time.sleep(600)\ndef read():\n    time.sleep(600)\nprint('up')\n"
        "read() if os.environ['RANK'] == '1' else wait()\n"
    )
    result = launched(program, "--timeout", "4")
    found = re.findall(
        r"rank (\d) is here, innermost call last:\n.*<module>\n +\S+train.py:(\d+) in (\w+)\n", result.stderr
    )
    assert found == [("0", "3", "wait"), ("1", "5", "read"), ("2", "3", "wait"), ("3", "3", "wait")], result.stderr
    assert result.stderr.splitlines()[-1].startswith("trainc run: not finished after 4 s")
    assert "Fatal Python error" not in result.stdout


def test_a_progress_bar_is_shown_before_its_line_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(command, "_PATIENCE", 0)
    shown = shown_on(Terminal(), job(tmp_path, "printf '\\r 50%%|##'; sleep 1.5; printf '\\r100%%|####\\n'", nodes=1))
    assert "1 of 1 pods running, 0 done: node-0-0  50%|##" in shown
    assert "no output for" not in shown


@pytest.mark.parametrize(
    ("command", "launcher"),
    [("[torchrun, t.py]", "torchrun"), ('[sh, -c, "exec torchrun t.py"]', "torchrun"), ("[accelerate, launch, t.py]", "accelerate")],
)  # fmt: skip
def test_an_interpreter_without_the_launcher_is_told_before_anything_starts(
    command: str, launcher: str, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho torch torchtune accelerate\n", encoding="utf-8")
    python.chmod(0o700)
    path = job(tmp_path, "")
    Path(path).write_text(
        Path(path).read_text(encoding="utf-8").replace(f"[sh, {tmp_path}/node.sh]", command), encoding="utf-8"
    )
    result = ran(path, "--python", str(python))
    assert (result.status, result.stdout) == (1, "")
    lacking = "torch" if launcher == "torchrun" else launcher
    assert f"{python} has no {lacking}, which {launcher} needs" in result.stderr
    assert "--python .venv/bin/python" in result.stderr


def marked(work: str) -> list[int]:
    """The processes of all runs in a work folder, whose marks end with it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            variables = (process / "environ").read_bytes().split(b"\0")
            if any(each.startswith(f"{MARK}=".encode()) and each.endswith(f":{work}".encode()) for each in variables):
                found.append(int(process.name))
    return found


def gone(work: str) -> bool:
    """Whether no process carries the mark of that run; what was killed may take a moment to go."""
    for _ in range(100):
        if not marked(work):
            return True
        time.sleep(0.05)
    for number in marked(work):
        os.kill(number, signal.SIGKILL)
    return False


def test_the_mark_is_a_variable_of_every_program(tmp_path: Path) -> None:
    result = ran(job(tmp_path, f"echo ${MARK}", nodes=1), "--workdir", str(tmp_path / "w"))
    assert re.fullmatch(rf"node-0-0 \| [0-9a-f]{{16}}:{re.escape(str(tmp_path))}/w\n", result.stdout)


@linux_only
def test_a_second_run_in_the_same_folder_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    """It used to end the processes of the first one, which counts against its backoffLimit."""
    work = str(tmp_path / "w")
    words = [sys.executable, "-m", "trainc", "run", job(tmp_path, "echo up; exec sleep 5", nodes=1), "--workdir", work]
    with subprocess.Popen(
        [*words, "--release", "2.3"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "node-0-0 | up\n"
        second = ran(job(tmp_path, "echo up", nodes=1), "--workdir", work)
        assert second.status == 2
        assert f"--workdir: another run uses {work}; choose another folder" in second.stderr
        assert first.stdout.read() == ""
        assert first.wait(60) == 0
    assert ran(job(tmp_path, "echo up", nodes=1), "--workdir", work).status == 0


@linux_only
@pytest.mark.parametrize("option", ["--master_port={}", "--rdzv-endpoint=127.0.0.1:{}", "--x=localhost:{}"])
def test_a_port_on_which_another_program_listens_is_refused_before_anything_starts(tmp_path: Path, option: str) -> None:
    path = job(tmp_path, "echo up", nodes=1)

    def with_port(number: int) -> str:
        text = Path(path).read_text(encoding="utf-8")
        Path(path).write_text(text.replace("node.sh]", f'node.sh, "{option.format(number)}"]'), encoding="utf-8")
        return path

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        refused = ran(with_port(port))
        assert (refused.status, refused.stdout) == (2, "")
        assert f"another program on this machine listens on port {port}, at which node-0-0" in refused.stderr
        assert run("run", path, "--release", "2.3", "--dry-run").status == 0
    assert ran(path).status == 0
