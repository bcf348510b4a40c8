"""Any feature can be deleted: with its folder gone, the compiler and the other commands are as before."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import trainc
from trainc.features import Feature, features
from trainc.startup.shipped import read_sections

PACKAGE = Path(trainc.__file__).parent
JOB = Path(__file__).parent / "cases" / "torch-llm-pretrain.yaml"
COMMANDS = ("build", "check", "explain")


def linked(target: Path, hidden: set[str]) -> Path:
    """A copy of the package without the folders of some features; the other files are links."""
    package = target / "trainc"
    (package / "features").mkdir(parents=True)
    for source in PACKAGE.iterdir():
        if source.name != "features":
            (package / source.name).symlink_to(source)
    # The table looks for the folders below its own.
    for name in ("__init__.py", "features.txt"):
        shutil.copy(PACKAGE / "features" / name, package / "features")
    for source in (PACKAGE / "features").glob("*/*"):
        quarter = package / "features" / source.parent.name
        quarter.mkdir(exist_ok=True)
        if source.name not in hidden:
            (quarter / source.name).symlink_to(source)
    catalog = PACKAGE.parents[1] / "runtimes"
    if catalog.is_dir():
        (target.parent / "runtimes").symlink_to(catalog)
    return target


def trainc_in(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-P", "-m", "trainc", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def whole() -> dict[str, str]:
    """What the commands print with all features."""
    found = {}
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "trainc", command, str(JOB), "--release", "2.3"],
            capture_output=True,
            text=True,
            check=True,
        )
        found[command] = done.stdout + done.stderr
    return found


def works_without(path: Path, whole: dict[str, str]) -> None:
    for command in COMMANDS:
        done = trainc_in(path, command, str(JOB), "--release", "2.3")
        assert (done.returncode, done.stdout + done.stderr) == (0, whole[command])


@pytest.mark.parametrize("feature", features(), ids=lambda feature: feature.name)
def test_without_its_folder_the_rest_works(feature: Feature, tmp_path: Path, whole: dict[str, str]) -> None:
    path = linked(tmp_path / "compiler", {feature.name})
    works_without(path, whole)
    overview = trainc_in(path, "--help").stdout
    names = [line.split()[0] for line in overview.splitlines() if line.startswith("  ")]
    assert "build" in names
    assert feature.command not in names
    if feature.command:
        gone = trainc_in(path, feature.command, "--help")
        assert (gone.returncode, "unknown command" in gone.stderr) == (2, True)
    for name in feature.public:
        asked = [sys.executable, "-P", "-c", f"import trainc; trainc.{name}"]
        environment = {**os.environ, "PYTHONPATH": str(path)}
        done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False)
        assert f"has no attribute '{name}'" in done.stderr


def test_the_compiler_works_without_any_feature(tmp_path: Path, whole: dict[str, str]) -> None:
    works_without(linked(tmp_path / "compiler", {feature.name for feature in features()}), whole)


def test_every_folder_of_features_has_its_entry() -> None:
    home = PACKAGE / "features"
    folders = {path.parent.relative_to(home).as_posix() for path in home.glob("*/*/__init__.py")}
    assert folders == {*read_sections(str(home / "__init__.py"), "features.txt")}
    assert len({feature.name for feature in features()}) == len(folders)


def test_without_sweeps_a_sweep_is_an_error_and_not_left_out(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text(f"apiVersion: trainc/v1alpha1\nkind: Sweep\nbase: {JOB}\nparameters: {{lr: [1, 2]}}\n")
    path = linked(tmp_path / "compiler", {"sweeps"})
    for command in ("build", "check", "diff"):
        paths = [str(JOB)] if command == "diff" else []
        done = trainc_in(path, command, *paths, str(sweep))
        assert done.returncode == 1, command
        assert "error[InvalidSweep] kind: this installation of trainc cannot expand sweeps" in done.stderr


# What a feature shows of another's, and what is left of it without that.


def test_without_graph_a_diff_and_a_report_have_everything_but_the_picture(tmp_path: Path) -> None:
    path = linked(tmp_path / "compiler", {"graph"})
    changed = tmp_path / "changed.yaml"
    changed.write_text(JOB.read_text().replace("numNodes: 16", "numNodes: 32"))
    words = ["diff", str(JOB), str(changed), "--release", "2.3", "--format", "markdown"]
    whole_diff, diff = trainc_in(PACKAGE.parent, *words), trainc_in(path, *words)
    before, picture, after = re.split(r"(\n```mermaid\n.*?\n```\n)", whole_diff.stdout, flags=re.DOTALL)
    assert "flowchart LR" in picture
    assert (diff.returncode, diff.stdout) == (whole_diff.returncode, before + after)
    words = ["report", str(JOB), "--release", "2.3", "--output", "-"]
    whole_report, report = trainc_in(PACKAGE.parent, *words), trainc_in(path, *words)
    without = re.sub(
        r'<figure><picture>.*?</figure>\n|<pre class="tree".*?</pre>\n', "", whole_report.stdout, flags=re.DOTALL
    )
    assert "Steps</caption>" in without
    assert (report.returncode, report.stdout) == (0, without)
    assert without != whole_report.stdout


def test_without_argocd_and_krm_a_repository_is_created_without_their_files(tmp_path: Path) -> None:
    path = linked(tmp_path / "compiler", {"argocd", "krm"})
    for gitops in ("argocd", "flux"):
        words = ["init", "--gitops", gitops, "--print", str(tmp_path / "training")]
        whole_init, init = trainc_in(PACKAGE.parent, *words), trainc_in(path, *words)
        assert (init.returncode, init.stderr) == (0, "")
        left_out = {"argocd/health/argocd-cm.yaml"} if gitops == "argocd" else set()
        assert _printed(whole_init.stdout) - _printed(init.stdout) == left_out
        assert ("healthCheckExprs" in whole_init.stdout) is (gitops == "flux")
        assert "healthCheckExprs" not in init.stdout
    refused = trainc_in(path, "init", "--kustomize", "--print", str(tmp_path / "training"))
    assert (refused.returncode, "does not run inside kustomize" in refused.stderr) == (2, True)


def _printed(text: str) -> set[str]:
    return set(re.findall(r"^==> (.+) <==$", text, flags=re.MULTILINE))
