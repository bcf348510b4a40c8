"""`trainc.testing` as a platform team uses it: its example project run by pytest, in a copy that may be spoilt."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parent / "example"
JOB = EXAMPLE / "jobs" / "llm.yaml"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "example"


def run_pytest(folder: Path, *words: str, path: Path | None = None) -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def snapshots(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("__snapshots__/**/*.yaml"))}


def test_the_example_passes_and_its_snapshots_are_what_it_would_write(example: Path) -> None:
    status, output = run_pytest(example, "-W", "error")
    assert status == 0, output
    assert "3 snapshots passed" in output
    before = snapshots(example)
    shutil.rmtree(example / "__snapshots__")
    assert run_pytest(example, "--snapshot-update")[0] == 0
    assert snapshots(example) == before


def test_the_example_runs_from_any_folder(example: Path, tmp_path: Path) -> None:
    status, output = run_pytest(tmp_path, "-c", str(example / "pytest.ini"), str(example))
    assert status == 0, output


def test_a_runtime_that_changes_fails_with_a_small_difference(example: Path) -> None:
    runtime = example / "runtimes" / "torch-team.yaml"
    runtime.write_text(runtime.read_text().replace("example.com/pool: h100", "example.com/pool: b200"))
    status, output = run_pytest(example)
    assert status == 1
    assert "3 snapshots failed" in output
    shown = [line for line in output.splitlines() if "example.com/pool" in line]
    assert shown
    assert sum("---" in line and "PodGroup" in line for line in output.splitlines()) == 0
    assert len([line for line in output.splitlines() if line.startswith("E   ")]) < 80


def test_a_snapshot_holds_readable_yaml_in_the_order_of_output(example: Path) -> None:
    text = snapshots(example)["test_a_job_from_a_file.yaml"]
    assert text.startswith("apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata:\n  name: llm\n")
    assert "\n---\napiVersion: jobset.x-k8s.io/v1alpha2\n" in text


def test_an_error_is_reported_in_words_with_a_fix(example: Path) -> None:
    job = example / "jobs" / "llm.yaml"
    job.write_text(job.read_text().replace("numNodes", "numNode"))
    status, output = run_pytest(example, "-k", "from_a_file")
    assert status == 1
    assert "error[UnknownField] spec.trainer.numNode" in output
    assert "help: " in output
    assert "compiling.py" not in output, "the report shows no frame of trainc"


def test_inputs_may_be_text_documents_and_paths_together(example: Path) -> None:
    (example / "test_more.py").write_text(
        "import pathlib, pytest\n"
        "JOB = {'apiVersion': 'trainer.kubeflow.org/v1alpha1', 'kind': 'TrainJob', 'metadata': {'name': 'd'},"
        " 'spec': {'runtimeRef': {'name': 'torch-team'}}}\n"
        "def names(manifests): return [m['metadata']['name'] for m in manifests if m['kind'] == 'JobSet']\n"
        "def test_all(compile_manifests):\n"
        "    text = pathlib.Path('runtimes/torch-team.yaml').read_text()\n"
        "    again = pathlib.Path('jobs/llm.yaml').read_text().replace('name: llm', 'name: t')\n"
        "    assert names(compile_manifests(['jobs/llm.yaml', JOB, again], runtimes=text, release='2.3')) == ['d', 'llm', 't']\n"
        "def test_path(compile_manifests):\n"
        "    assert names(compile_manifests(pathlib.Path('jobs'), runtimes=['runtimes'], name_hash=True, release='2.3')) != ['llm']\n"
        "def test_warnings(compile_jobs):\n"
        "    found = compile_jobs('jobs', runtimes='runtimes')\n"
        "    assert 'ReleaseNotPinned' in [d.code for d in found.diagnostics]\n"
        "    assert names(found.manifests) == ['llm']\n"
        "def test_unknown_option(compile_manifests):\n"
        "    with pytest.raises(TypeError, match='relase'):\n"
        "        compile_manifests('jobs', relase='2.3')\n"
        "def test_overlay(compile_manifests):\n"
        "    found = compile_manifests('jobs', runtimes='runtimes', overlays=['overlays/dev'], release='2.3')\n"
        "    assert found[-1]['metadata']['namespace'] == 'dev'\n"
    )
    (example / "overlays" / "dev").mkdir(parents=True)
    (example / "overlays" / "dev" / "overlay.yaml").write_text(
        "apiVersion: trainc/v1alpha1\nkind: Overlay\nnamespace: dev\n"
    )
    status, output = run_pytest(example, "test_more.py")
    assert status == 0, output


def test_filters_of_syrupy_take_fields_out(example: Path) -> None:
    (example / "test_filters.py").write_text(
        "from syrupy.filters import props\n"
        "from syrupy.matchers import path_value\n"
        "def test_without(compile_manifests, manifest_snapshot):\n"
        "    found = compile_manifests('jobs', runtimes='runtimes', release='2.3')\n"
        "    assert found == manifest_snapshot(exclude=props('spec'))\n"
        "    assert found == manifest_snapshot(include=props('kind', 'metadata', 'name'))\n"
    )
    status, output = run_pytest(example, "test_filters.py", "--snapshot-update")
    assert status == 0, output
    found = snapshots(example)
    excluded, included = found["test_without.yaml"], found["test_without.1.yaml"]
    assert "annotations" in excluded
    assert "spec" not in excluded + included
    assert "annotations" not in included


def test_what_is_not_a_manifest_is_told_so(example: Path) -> None:
    (example / "test_wrong.py").write_text("def test_it(manifest_snapshot):\n    assert 'text' == manifest_snapshot\n")
    status, output = run_pytest(example, "test_wrong.py")
    assert status == 1
    assert "expected a manifest or a list of manifests, got str" in output


def test_without_syrupy_everything_else_works_and_snapshots_say_what_is_missing(example: Path, tmp_path: Path) -> None:
    stub = tmp_path / "stub" / "syrupy"
    stub.mkdir(parents=True)
    (stub / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'syrupy'\", name='syrupy')\n")
    source = (example / "test_runtimes.py").read_text()
    lines = [line for line in source.splitlines() if not line.startswith("from syrupy")]
    (example / "test_runtimes.py").write_text("\n".join(lines))
    status, output = run_pytest(example, "-p", "no:syrupy", path=stub.parent)
    assert status == 1
    assert "2 passed" in output
    assert "manifest snapshots need syrupy, which is not installed: pip install 'syrupy>=5.0'" in output


def test_importing_trainc_imports_neither_pytest_nor_syrupy() -> None:
    program = (
        "import sys, trainc, trainc.testing, trainc.pipeline.inputs; print(*{'pytest', 'syrupy'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
