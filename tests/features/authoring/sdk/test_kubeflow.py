"""Scripts with the Kubeflow SDK, NeMo-Run or the Kubernetes client alone, as they are: what they send is compiled and kept."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import trainc
from trainc import Options, compile_paths

ROOT = Path(__file__).parents[4]
HERE = Path(__file__).parent
# Interpreters that have the SDK: those that somebody names, else this one if it does.
NAMED = [path for path in os.environ.get("TRAINC_KUBEFLOW_PYTHON", "").split(os.pathsep) if path]
INSTALLED_HERE = importlib.util.find_spec("kubeflow") is not None
PYTHONS = NAMED or [sys.executable]
TEN = 10

pytestmark = [
    pytest.mark.slow,
    pytest.mark.run,
    pytest.mark.skipif(
        not (NAMED or INSTALLED_HERE),
        reason="kubeflow is not installed; `pip install kubeflow`, or name interpreters in TRAINC_KUBEFLOW_PYTHON",
    ),
]
each_version = pytest.mark.parametrize("python", PYTHONS)


def run(python: str, *words: str | Path, folder: Path = HERE) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(Path(trainc.__file__).parents[1])}
    return subprocess.run(
        [python, *words], cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=300
    )


def release_of(python: str) -> str:
    """Version 0.3 knows the API of Trainer 2.1, later ones the newest."""
    requested = run(python, "-c", "from importlib.metadata import version; print(version('kubeflow'))")
    return "2.1" if requested.stdout.startswith("0.3.") else "2.3"


@each_version
def test_the_offline_client_and_the_preflight(python: str) -> None:
    done = run(python, HERE / "behaviour.py", release_of(python))
    assert done.stdout.endswith("fine\n"), done.stderr


@each_version
def test_the_ten_lines_of_the_page_give_a_file_for_a_pull_request(python: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "kubeflow-sdk.md").read_text(encoding="utf-8")
    lines = page.partition("```python\n")[2].partition("```")[0]
    assert sum(bool(line.strip()) for line in lines.splitlines()) <= TEN
    if release_of(python) != "2.3":
        lines = lines.replace('"team-a")', '"team-a", options=__import__("trainc").Options(release="2.1"))')
    (tmp_path / "notebook.py").write_text(lines, encoding="utf-8")
    done = run(python, "notebook.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    compiled = compile_paths([tmp_path / "jobs" / "llm.yaml"], options=Options(release=release_of(python)))
    assert compiled.manifests[-1]["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 4
    # The client that the other block checks before it submits asks for a cluster when it is made.
    client = (
        "import kubeflow.trainer, trainc.kubeflow\nkubeflow.trainer.TrainerClient = trainc.kubeflow.offline_client\n"
    )
    checked = page.rpartition("```python\n")[2].partition("```")[0]
    done = run(python, "-c", client + checked + "print(client.list_jobs())", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


@each_version
def test_a_script_that_knows_nothing_of_trainc_is_written_as_yaml(python: str, tmp_path: Path) -> None:
    release, script = release_of(python), HERE / "example.py"
    words = ("-m", "trainc", "sdk", script, "--release", release, "--namespace", "team-a")
    done = run(python, *words, "-o", tmp_path / "jobs", "--", "--nodes", "4")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "submitted llm and " in done.stderr
    files = sorted((tmp_path / "jobs").iterdir())
    assert [file.name[:6] for file in files] == ["exampl", "llm.ya"]
    lines = script.read_text(encoding="utf-8").splitlines()
    number = next(index for index, line in enumerate(lines, 1) if 'Name("llm")' in line)
    text = files[1].read_text(encoding="utf-8")
    assert text.startswith(f"# Written by trainc from example.py:{number}. Change that instead.\n")
    assert "numNodes: 4" in text
    compiled = compile_paths([tmp_path / "jobs"], options=Options(release=release))
    assert [job.namespace for job in compiled.jobs] == ["team-a", "team-a"]
    again = run(python, *words, "--", "--nodes", "4")
    assert again.stdout == "---\n".join(file.read_text(encoding="utf-8") for file in reversed(files))


@each_version
def test_what_is_refused_is_not_written(python: str, tmp_path: Path) -> None:
    words = ("-m", "trainc", "sdk", HERE / "example.py", "--release", release_of(python), "-o", tmp_path / "jobs")
    done = run(python, *words, "--", "--memory", "8G1")
    assert (done.returncode, done.stdout, (tmp_path / "jobs").exists()) == (1, "", False)
    assert "error[InvalidQuantity]" in done.stderr


@each_version
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0\n", "wrong.py:1: ZeroDivisionError"),
        ("print('hello')\n", "wrong.py submits no TrainJob"),
    ],
)
def test_a_script_that_fails_or_submits_nothing_is_reported_to(
    python: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "wrong.py").write_text(text, encoding="utf-8")
    done = run(python, "-m", "trainc", "sdk", "wrong.py", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@each_version
def test_any_client_of_the_kubernetes_api_is_heard(python: str, tmp_path: Path) -> None:
    done = run(python, "-m", "trainc", "sdk", HERE / "plain.py", "--release", "2.3", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    files = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    assert sorted(files) == ["by-hand.yaml", "dynamic.yaml", "jobset.yaml"]
    assert "kind: JobSet\n" in files["jobset.yaml"]
    assert "namespace: team-b\n" in files["dynamic.yaml"]
    lines = (HERE / "plain.py").read_text(encoding="utf-8").splitlines()
    number = next(index for index, line in enumerate(lines, 1) if ".create(body" in line)
    assert files["dynamic.yaml"].startswith(f"# Written by trainc from plain.py:{number}. Change that instead.\n")
    assert "also creates other objects, which are not written: 1 configmaps" in done.stderr
    assert "seen ['dynamic']" in done.stderr


NEMO = os.environ.get("TRAINC_NEMO_PYTHON", "")


@pytest.mark.skipif(not NEMO, reason="nemo-run is not installed; name an interpreter in TRAINC_NEMO_PYTHON")
def test_what_nemo_run_launches_keeps_its_volumes_and_tolerations_in_every_release(tmp_path: Path) -> None:
    script = (ROOT / "docs" / "nemo-run.md").read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    (tmp_path / "pretrain.py").write_text(script, encoding="utf-8")
    done = run(NEMO, "-m", "trainc", "sdk", "pretrain.py", "--release", "2.3", "-o", "jobs", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "jobs").iterdir()
    assert "podTemplateOverrides" in file.read_text(encoding="utf-8")
    for release in ("2.1", "2.2", "2.3", "2.4"):
        (jobset,) = compile_paths([file], options=Options(release=release)).manifests
        pods = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        assert [volume["name"] for volume in pods["volumes"]] == ["data"]
        assert pods["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists"}]
        assert pods["imagePullSecrets"] == [{"name": "ngc"}]
    before = compile_paths([file], options=Options(release="2.3")).to_yaml()
    migrated = run(NEMO, "-m", "trainc", "migrate", file, folder=tmp_path)
    assert "runtimePatches" in file.read_text(encoding="utf-8"), migrated.stderr
    assert compile_paths([file], options=Options(release="2.3")).to_yaml() == before
