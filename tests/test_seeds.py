"""The documents that the project was asked to serve: every YAML block of them gets what tests/seed_blocks.py says."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from builders import env, one, pods
from commands import run
from golden_files import GoldenFile
from seed_blocks import BLOCKS, REPAIRED, Expected
from syrupy.assertion import SnapshotAssertion

from trainc import Compilation, Options
from trainc.features.migration.v1.migrate import migrate_text
from trainc.functions import compile_documents
from trainc.options import Limits
from trainc.reading.document import Document
from trainc.reading.yaml_reader import read_documents

ROOT = Path(__file__).parents[1]
RUNTIMES = [block for block, row in BLOCKS.items() if row.outcome == "compiled" and not row.beside]
JOBS = [block for block, row in BLOCKS.items() if row.beside]


@pytest.fixture(scope="session")
def blocks() -> Path:
    """The folder of blocks: TRAINC_SEEDS, read from the repository's root."""
    folder = ROOT / os.environ.get("TRAINC_SEEDS", "../shared/seeds") / "blocks"
    if not folder.is_dir():
        pytest.skip(f"no documents at {folder}; set TRAINC_SEEDS to the folder that has them")
    return folder


class SeedExtension(GoldenFile):
    """One YAML file per complete object."""

    folder = GoldenFile.folder / "seeds"


def assert_said(found: list[dict[str, Any]], row: Expected) -> None:
    """Exactly the row's errors and warnings, each at its place and with its words."""
    for severity, wanted in (("error", row.errors), ("warning", row.warnings)):
        given = [d for d in found if d["severity"] == severity]
        placed = [(d["code"], d["source"]["line"], d["source"]["column"]) for d in given]
        assert sorted(placed) == sorted(reported[:3] for reported in wanted)
        for code, line, column, words in wanted:
            texts = [
                f"{d['message']}; {d['hint']}"
                for d, place in zip(given, placed, strict=True)
                if place == (code, line, column)
            ]
            assert words in texts[0]


def report(*paths: Path) -> tuple[int, list[dict[str, Any]]]:
    """The status of `trainc check` and what it says."""
    result = run("check", "--format", "json", "--release", "2.3", *map(str, paths))
    return result.status, json.loads(result.stdout)["diagnostics"]


def is_fragment(found: list[dict[str, Any]]) -> bool:
    return any(d["code"] == "Fragment" for d in found)


def test_every_block_has_a_row_and_every_row_a_block(blocks: Path) -> None:
    assert {path.stem for path in blocks.iterdir()} == set(BLOCKS)
    assert len(BLOCKS) == 47


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_gets_its_outcome(block: str, blocks: Path) -> None:
    row = BLOCKS[block]
    beside = [blocks / f"{row.beside}.yaml"] if row.beside else []
    status, found = report(blocks / f"{block}.yaml", *beside)
    assert status == (1 if row.outcome in ("refused", "nothing") else 0)
    # A block of another kind alone is nothing to check, which is an error of the run and has no place.
    found = [d for d in found if row.outcome != "nothing" or d["code"] != "NoTrainJob"]
    assert_said([d for d in found if not d["source"] or d["source"]["file"].endswith(f"{block}.yaml")], row)
    assert row.outcome != "checked" or is_fragment(found)
    assert row.outcome not in ("compiled", "nothing") or not is_fragment(found)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block not in JOBS])
def test_nothing_is_built_of_a_block_that_is_not_a_trainjob(block: str, blocks: Path, tmp_path: Path) -> None:
    result = run("build", str(blocks / f"{block}.yaml"), "-o", str(tmp_path / "out"))
    assert (result.status, result.stdout, list(tmp_path.iterdir())) == (1, "", [])


def mended(text: str, levels: str | None) -> str:
    """A block with its lines at these levels, or without its ellipsis."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if levels is None:
        return "".join(line for line in text.splitlines(keepends=True) if line.strip() != "...")
    # The text of a block scalar needs no mark of its own: it stands deeper than its `|`.
    return "".join(f"{'  ' * int(level, 16)}{line}\n" for level, line in zip(levels, lines, strict=True))


@pytest.mark.parametrize("block", REPAIRED)
def test_a_repaired_block_gets_what_is_left_to_say(block: str, blocks: Path, tmp_path: Path) -> None:
    levels, row = REPAIRED[block]
    text = mended((blocks / f"{block}.yaml").read_text(encoding="utf-8"), levels)
    (tmp_path / "mended.yaml").write_text(text, encoding="utf-8")
    status, found = report(tmp_path / "mended.yaml")
    assert status == (1 if row.outcome == "refused" else 0)
    assert_said(found, row)


def test_a_repaired_job_compiles_with_a_runtime_of_another_group_and_says_so(blocks: Path, tmp_path: Path) -> None:
    levels, _ = REPAIRED["000-3"]
    for block, indentation in (("000-3", levels), ("000-4", "0001101222")):
        text = mended((blocks / f"{block}.yaml").read_text(encoding="utf-8"), indentation)
        (tmp_path / f"{block}.yaml").write_text(text, encoding="utf-8")
    status, found = report(tmp_path / "000-3.yaml", tmp_path / "000-4.yaml")
    assert status == 0
    assert [d["code"] for d in found if d["severity"] == "warning"] == [
        "TorchNumProcPerNodeRemoved",
        "DeprecatedAPIVersion",
        "RuntimeRefGroupMismatch",
    ]


OF_THE_SAME_TEAM = """\
apiVersion: kubeflow.org/v2alpha1
kind: TrainingRuntime
metadata: {name: pytorch-team-runtime, namespace: team-a}
spec:
  template:
    spec:
      replicatedJobs:
      - name: trainer-node
        template: {spec: {template: {spec: {containers: [{name: trainer, image: "example.com/train:1"}]}}}}
"""


def test_a_repaired_job_compiles_with_a_runtime_of_its_own_group(blocks: Path, tmp_path: Path) -> None:
    (tmp_path / "runtime.yaml").write_text(OF_THE_SAME_TEAM, encoding="utf-8")
    text = mended((blocks / "001-4.yaml").read_text(encoding="utf-8"), None)
    (tmp_path / "job.yaml").write_text(text, encoding="utf-8")
    status, found = report(tmp_path)
    assert status == 0
    assert [d["code"] for d in found if d["severity"] == "warning"] == 2 * ["DeprecatedAPIVersion"]


def compile_with_a_job(block: Path) -> Compilation:
    """A runtime's block with the smallest TrainJob, `demo`, in its namespace or in `default`."""
    (runtime,), problems = read_documents(block.read_bytes(), block.name, Limits())
    assert not problems
    metadata = runtime.data["metadata"]
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "demo", "namespace": metadata.get("namespace", "default")},
        "spec": {"runtimeRef": {"name": metadata["name"], "kind": runtime.data["kind"]}},
    }
    return compile_documents([runtime, Document.of(job)], (), Options(release="2.3", namespace="default"))


@pytest.mark.golden
@pytest.mark.filterwarnings(r"ignore:\s*Can not relate snapshot:UserWarning")
@pytest.mark.parametrize("block", RUNTIMES)
def test_a_complete_runtime_compiles_to_its_golden(block: str, blocks: Path, snapshot: SnapshotAssertion) -> None:
    result = compile_with_a_job(blocks / f"{block}.yaml")
    warned = sorted(d.code for d in result.diagnostics if d.severity == "warning")
    assert warned == sorted(code for code, *_ in BLOCKS[block].warnings)
    assert result.to_yaml() == snapshot.use_extension(SeedExtension)(name=block)


NAMES = {"worker": "node", "pytorch-trainer": "node", "elastic-trainer": "node", "pytorch": "node"}
NAMES |= {"mpi-launcher": "node", "mpi-worker": "node"}


def as_renamed(text: str) -> str:
    """Manifests with the names that migration gives to jobs and containers."""
    for old, new in NAMES.items():
        text = re.sub(rf"(?<=name: ){old}$|(?<=demo-){old}(?=-0-)", new, text, flags=re.MULTILINE)
    return text


@pytest.mark.parametrize("block", RUNTIMES)
def test_a_migrated_runtime_gives_the_same_manifests(block: str, blocks: Path, tmp_path: Path) -> None:
    text = (blocks / f"{block}.yaml").read_text(encoding="utf-8")
    once = migrate_text(text, block, Limits())
    (tmp_path / "migrated.yaml").write_text(once.text, encoding="utf-8")
    after = compile_with_a_job(tmp_path / "migrated.yaml").to_yaml()
    assert after == as_renamed(compile_with_a_job(blocks / f"{block}.yaml").to_yaml())
    assert migrate_text(once.text, block, Limits()).text == once.text
    assert [line for line in text.splitlines() if "#" in line and line.partition("#")[2] not in once.text] == []


def test_an_elastic_runtime_meets_through_c10d(blocks: Path) -> None:
    result = compile_with_a_job(blocks / "003-6.yaml")
    assert env(result, "worker", "elastic-trainer") == {
        "PET_NNODES": "2:8",
        "PET_NPROC_PER_NODE": "gpu",
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": "demo-worker-0-0.demo:29500",
        "PET_RDZV_ID": "demo",
        "PET_MAX_RESTARTS": "5",
    }
    assert pods(result, "worker") == 2
    assert one(result, "JobSet")["spec"]["failurePolicy"]["maxRestarts"] == 5


def test_an_mpi_runtime_has_a_host_for_every_worker(blocks: Path) -> None:
    result = compile_with_a_job(blocks / "003-7.yaml")
    hosts = "".join(f"demo-worker-0-{index}.demo slots=4\n" for index in range(4))
    assert one(result, "ConfigMap")["data"] == {"hostfile": hosts}
    assert (pods(result, "launcher"), pods(result, "worker")) == (1, 4)


def test_a_gang_waits_for_every_worker(blocks: Path) -> None:
    spec = one(compile_with_a_job(blocks / "003-1.yaml"), "PodGroup")["spec"]
    assert (spec["minMember"], spec["scheduleTimeoutSeconds"]) == (4, 300)


@pytest.mark.golden
@pytest.mark.filterwarnings(r"ignore:\s*Can not relate snapshot:UserWarning")
@pytest.mark.parametrize("block", JOBS)
def test_a_complete_job_compiles_to_its_golden(block: str, blocks: Path, snapshot: SnapshotAssertion) -> None:
    paths = [str(blocks / f"{name}.yaml") for name in (block, BLOCKS[block].beside)]
    result = run("build", *paths, "--release", "2.3")
    assert result.status == 0
    assert result.stdout == snapshot.use_extension(SeedExtension)(name=block)
