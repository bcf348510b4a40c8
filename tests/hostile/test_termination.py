"""A command that CI ends after its time limit leaves no temporary folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from repositories import SETTINGS, build, commit, git, job, read, runtime, write

import trainc

# Ends itself in the middle of a copy, when some of its files are there.
ENDED = """
import os, signal, sys
from trainc.cli import revisions
written = revisions.write_revision
def ended(*words):
    found = written(*words)
    assert os.listdir(os.environ["TMPDIR"])
    os.kill(os.getpid(), signal.SIGTERM)
    return found
revisions.write_revision = ended
from trainc.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty folder for temporary files of the commands, beside a repository of a kept job."""
    repository, folder = tmp_path / "repository", tmp_path / "temporary"
    repository.mkdir()
    folder.mkdir()
    monkeypatch.chdir(repository)
    monkeypatch.setenv("TMPDIR", str(folder))
    git("init", "-q")
    write("trainc.yaml", SETTINGS)
    runtime()
    job("nlp", "llm")
    build()
    commit("all of it")
    write("rendered/nlp/other.yaml", "kind: ConfigMap\n")
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM there")
@pytest.mark.parametrize("words", ["diff git:HEAD", "build --check", "explain git:HEAD:jobs/nlp/llm.yaml"])
def test_a_copy_of_a_revision_is_gone(words: str, temporary: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDED, *words.split()], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="it looks at processes in /proc")
def test_the_work_folder_of_a_run_is_gone(temporary: Path) -> None:
    write("one.yaml", read("jobs/nlp/llm.yaml").replace("[torchrun, train.py]", "[sh, -c, 'echo up; exec sleep 600']"))
    words = [sys.executable, "-m", "trainc", "run", "one.yaml", "--runtimes", "runtimes", "--pods", "1"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    with process.stdout as lines:
        assert "up" in lines.readline()
        assert list(temporary.iterdir()) != []
        process.terminate()
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert list(temporary.iterdir()) == []


def test_temporary_folders_are_made_in_one_place() -> None:
    package = Path(trainc.__file__).parent
    makers = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"\b(TemporaryDirectory|mkdtemp|mkstemp|NamedTemporaryFile)\b", path.read_text())
    }
    assert makers == {os.path.join("cli", "command.py")}
