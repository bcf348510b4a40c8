"""Modules that lie in the folder of the input are input: none is imported, however processes are started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

JOB = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: j{0}, namespace: b}}\nspec: {{runtimeRef: {{name: torch-distributed}}}}\n"
PLANTED = 'import os, sys\nopen(os.path.join(os.environ["PLANTED"], __name__), "w").close()\n'
# Imported by the console script before main() as an installed one does, and the way of starting processes chosen.
SCRIPT = """import sys
if __name__ == "__main__":
    import multiprocessing
    multiprocessing.set_start_method(sys.argv.pop(1))
    from trainc.cli.main import run
    run()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Job files for two processes beside packages and modules that are called as Python's own and ours."""
    repository = tmp_path / "repository"
    repository.mkdir()
    (tmp_path / "met").mkdir()
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    for number in range(220):
        (repository / f"j{number}.yaml").write_text(JOB.format(number), encoding="utf-8")
    for name in sorted({*sys.stdlib_module_names, "yaml", "jinja2", "deepmerge", "jsonschema", "ruamel", "svg"}):
        if name not in ("os", "sys"):
            (repository / f"{name}.py").write_text(PLANTED, encoding="utf-8")
    for name in ("multiprocessing", "concurrent", "importlib"):
        (repository / f"{name}.py").unlink()
        (repository / name).mkdir()
        (repository / name / "__init__.py").write_text(PLANTED, encoding="utf-8")
    return tmp_path


def run_in(folder: Path, *words: str) -> None:
    environment = {**os.environ, "PLANTED": str(folder / "met")}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder / "repository",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert [path.name for path in (folder / "met").iterdir()] == []
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command",
    ["build j1.yaml", "check .", "build .", "explain j1.yaml", "rule UnknownField", "report j1.yaml -o -"],
)
def test_as_a_module(command: str, folder: Path) -> None:
    """Less what Python and the package import before `__main__` runs; `python -P -m trainc` leaves the folder out for that, too."""
    before = "import runpy, sys, trainc; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", before], capture_output=True, text=True, check=True)
    for name in done.stdout.split():
        (folder / "repository" / f"{name}.py").unlink(missing_ok=True)
        shutil.rmtree(folder / "repository" / name, ignore_errors=True)
    run_in(folder, "-m", "trainc", *command.split())
