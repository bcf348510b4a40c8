"""Every block of Python in README and the docs runs, with what its page takes for granted."""

from __future__ import annotations

import copy
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from shown import PAGES, ROOT, File, steps

from trainc import catalog, compile_paths, compile_trainjob

_BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
BLOCKS = {
    path.relative_to(ROOT).as_posix(): [dedent(found[2]) for found in _BLOCK.finditer(path.read_text(encoding="utf-8"))]
    for path in PAGES
    if "```python\n" in path.read_text(encoding="utf-8")
}
# Blocks that need another library or process around them, and the test that runs them.
ELSEWHERE = {
    "docs/ci.md": "tests/release/test_release_kit.py",
    "docs/kubeflow-sdk.md": "tests/features/authoring/sdk/test_kubeflow.py",
    "docs/nemo-run.md": "tests/features/authoring/sdk/test_kubeflow.py",
    "docs/plugins.md": "tests/test_plugins_of_others.py",
}
DEMO = ROOT / "examples" / "demo"
JOB: dict[str, Any] = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "llm", "namespace": "team-a"},
    "spec": {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {"numNodes": 2, "command": ["torchrun", "train.py"]},
    },
}


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def a_notebook() -> dict[str, Any]:
    return {"trainjob": JOB, "job": JOB, "runtimes": catalog("2.3"), "other": compile_trainjob(JOB, catalog("2.3"))}


def a_queue() -> dict[str, Any]:
    manifests = compile_paths([DEMO / "jobs"], runtimes=[DEMO / "runtimes"]).manifests
    jobsets = [manifest for manifest in manifests if manifest["kind"] == "JobSet"]
    cluster = documents(DEMO / "cluster" / "kueue.yaml")
    return {"jobsets": jobsets, "cluster": cluster, "objects": [*jobsets, *cluster]}


GRANTED: dict[str, Callable[[], dict[str, Any]]] = {
    "docs/fits.md": a_queue,
    "docs/kubeflow-sdk.md": a_notebook,
    "docs/many.md": dict,
    "docs/python.md": a_notebook,
    "docs/sweeps.md": lambda: {"base": JOB},
    "docs/why.md": a_queue,
}


def test_every_page_with_python_is_run_by_a_test() -> None:
    assert set(BLOCKS) == {*GRANTED, *ELSEWHERE, "docs/policies.md", "docs/testing.md"}
    for page, test in ELSEWHERE.items():
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", GRANTED)
def test_the_blocks_of_a_page_run_one_after_the_other(page: str, tmp_path: Path) -> None:
    names = {"__name__": "page", "Client": _Cluster, **GRANTED[page]()}
    for block in BLOCKS[page]:
        if "kubeflow.trainer" in block:
            continue
        code = block.replace("1_000_000", "20").replace("1_000", "20").replace("/mnt/bucket", str(tmp_path))
        code = code.replace("ProcessPoolExecutor", "ThreadPoolExecutor").replace("from distributed import Client\n", "")
        exec(compile(code, page, "exec"), names)
    for value in names.get("texts", ()), [names["compilation"].to_yaml()] if "compilation" in names else ():
        assert all("kind: JobSet" in text for text in value)
    if "store_all" in names:
        assert names["failed"] == []
        assert (
            len(names["store_all"](ThreadPoolExecutor(2))) == len(list(tmp_path.iterdir())) == len(names["texts"]) == 20
        )


class _Cluster(ThreadPoolExecutor):
    """In place of a client of dask.distributed; `tests/pipeline/test_sweep.py` has the real one."""

    def __init__(self, _address: str) -> None:
        super().__init__(2)

    def get_executor(self) -> ThreadPoolExecutor:
        return self


@pytest.mark.parametrize("page", ["docs/policies.md", "docs/testing.md"])
def test_what_a_page_writes_for_pytest_passes(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if page == "docs/testing.md":
        shutil.copytree(DEMO, tmp_path, dirs_exist_ok=True)
    else:
        found = [step for step in steps((ROOT / page).read_text(encoding="utf-8")) if isinstance(step, File)]
        files = {file.name: file.text for file in reversed(found)}  # As the page has them first.
        job = {**copy.deepcopy(JOB), "metadata": {**JOB["metadata"], "namespace": "vision"}}
        (tmp_path / "policies").mkdir()
        (tmp_path / "jobs").mkdir()
        (tmp_path / "policies" / "team.yaml").write_text(files["policies/team.yaml"], encoding="utf-8")
        (tmp_path / "jobs" / "without-team.yaml").write_text(yaml.safe_dump(job), encoding="utf-8")
        job["metadata"]["labels"] = {"team": "vision"}
        job["spec"]["trainer"]["image"] = "registry.example.com/train:v1"
        (tmp_path / "jobs" / "llm.yaml").write_text(yaml.safe_dump(job), encoding="utf-8")
    (tmp_path / "test_page.py").write_text("\n\n".join(BLOCKS[page]), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--snapshot-update", "test_page.py"]
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
