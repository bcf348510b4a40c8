"""Pages for people who train models: each recipe is a file that checks clean, builds, and plans as processes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from commands import run
from shown import ROOT, File, steps

from trainc import Options, compile_paths
from trainc.reading.catalog import names

RECIPES = {
    step.name: step.text
    for page in ("recipes.md", "slurm.md")
    for step in steps((ROOT / "docs" / page).read_text(encoding="utf-8"))
    if isinstance(step, File)
}
# What needs a newer release than the oldest that has runtimePatches.
RELEASES = ("2.2", "2.3")


def written(name: str, folder: Path) -> str:
    path = folder / Path(name).name
    path.write_text(RECIPES[name], encoding="utf-8")
    return str(path)


def runtimes(name: str) -> set[str]:
    """The built-in runtimes of a recipe."""
    documents = list(yaml.safe_load_all(RECIPES[name]))
    own = {d["metadata"]["name"] for d in documents if d["kind"] == "TrainingRuntime"}
    return {d["spec"]["runtimeRef"]["name"] for d in documents if d["kind"] == "TrainJob"} - own


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_compiles_without_a_warning(name: str, release: str, tmp_path: Path) -> None:
    if runtimes(name) <= set(names(release)):
        compiled = compile_paths([written(name, tmp_path)], options=Options(release=release))
        assert [f"{d.severity} {d.code}" for d in compiled.diagnostics if d.severity != "info"] == []
        assert {d["kind"] for d in compiled.manifests} >= {"JobSet"}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_can_be_run_where_its_programs_are(name: str, tmp_path: Path) -> None:
    result = run("run", written(name, tmp_path), "--release", "2.3", "--dry-run", "--pods", "2", "--format", "text")
    codes = {line.partition("error[")[2].partition("]")[0] for line in result.stderr.splitlines() if "error[" in line}
    assert codes <= {"ProgramNotHere"}, result.stderr


@pytest.mark.parametrize(
    "topic",
    ["claim", "hugging-face", "checkpoints", "shared-memory", "tokens", "private-image", "fsdp", "deepspeed", "accelerate", "torchtune", "jax", "elastic", "spot", "slurm"],
)  # fmt: skip
def test_there_is_a_recipe_for_each_everyday_task(topic: str) -> None:
    assert any(topic in name for name in RECIPES)
