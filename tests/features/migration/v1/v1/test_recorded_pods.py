"""The pods of every recorded v1 job compared with those of the JobSet that it becomes, by the recorded cases' own scorer."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from trainc import CompileError, Options, compile_trainjob, migrate
from trainc.reading.catalog import find

OPTIONS = Options(release="2.3")
# What a runtime of the catalog decides, whatever the job had: how it restarts, ends and is deleted.
_OF_THE_CATALOG = {"restart", "lost-ttl", "lost-backoffLimit", "lost-schedulingPolicy"}


@pytest.fixture(scope="module")
def scorer() -> ModuleType:
    program = Path(__file__).parents[6] / "shared" / "vectors" / "check_migration.py"
    if not program.is_file():
        pytest.skip(f"the program that compares pods is not at {program}")
    spec = importlib.util.spec_from_file_location("check_migration", program)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answer(case: dict[str, Any], **choices: Any) -> dict[str, Any]:
    """What the scorer reads: manifests and diagnostics, or why the job is refused."""
    try:
        moved = migrate([case["input"]], OPTIONS, **choices)
        (job,) = (document for document in moved.documents if document["kind"] == "TrainJob")
        runtimes = [document for document in moved.documents if document["kind"] == "TrainingRuntime"]
        if not runtimes:
            shipped = find(job["spec"]["runtimeRef"]["name"], "2.3")
            runtimes = [shipped.data] if hasattr(shipped, "data") else []
        compiled = compile_trainjob(job, runtimes, OPTIONS)
    except CompileError as error:
        return {"refused": [str(diagnostic) for diagnostic in error.diagnostics if diagnostic.severity == "error"]}
    others = [document for document in moved.documents if document["kind"] == "ConfigMap"]
    reported = [f"{d.code} {d.path}: {d.message} {d.hint}" for d in (*moved.diagnostics, *compiled.diagnostics)]
    return {"manifests": compiled.manifests + others, "diagnostics": reported}


@pytest.mark.parametrize(
    ("choices", "excused"),
    [
        ({}, set()),
        ({"variables": "torchrun"}, set()),
        ({"into": "catalog"}, _OF_THE_CATALOG),
    ],
)
def test_no_pod_is_another_than_in_v1(
    choices: dict[str, Any], excused: set[str], scorer: ModuleType, vectors: Path
) -> None:
    wrong: dict[str, Any] = {}
    for line in gzip.decompress((vectors / "v1.jsonl.gz").read_bytes()).splitlines():
        case = json.loads(line)
        scorer.prepare(case)
        _, findings = scorer.check(case, answer(case, **choices))
        hard = [found for found in findings if found[0] not in scorer.SOFT | excused | {"refused"}]
        if hard:
            wrong[case["id"]] = hard
    assert wrong == {}
