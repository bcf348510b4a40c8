"""Every recorded v1 job: refused where v1 refuses it, else compiled; and its text migrated with no comment lost."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from yaml_styles import written

from trainc import CompileError, Options, compile_trainjob, migrate
from trainc.features.migration.v1.migrate import migrate_text
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents

OPTIONS = Options(release="2.3")
# Names that JobSet has no room for, a job without pods, and requests above limits, which no API server accepts in a pod.
# Command lines that failed under v1, too: without a Master, v1 sets neither WORLD_SIZE nor RANK nor MASTER_ADDR, and
# accelerate divides one process among two machines.
REFUSED = {"CannotMigrate": 4, "RequestExceedsLimit": 5, "UnsetVariable": 4, "InvalidLauncherArguments": 1}


@pytest.fixture(scope="module")
def cases(vectors: Path) -> list[dict[str, Any]]:
    lines = gzip.decompress((vectors / "v1.jsonl.gz").read_bytes()).splitlines()
    return [json.loads(line) for line in lines]


def compiled(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    (job,) = (document for document in documents if document["kind"] == "TrainJob")
    runtimes = [document for document in documents if document["kind"] == "TrainingRuntime"]
    return compile_trainjob(job, runtimes, OPTIONS).manifests


def test_what_v1_refuses_is_refused_and_little_else(cases: list[dict[str, Any]]) -> None:
    refused: Counter[str] = Counter()
    for case in cases:
        try:
            documents = migrate([case["input"]], OPTIONS).documents
            assert not case["refused"], case["id"]
            compiled(documents)
        except CompileError as error:
            codes = {diagnostic.code for diagnostic in error.diagnostics if diagnostic.severity == "error"}
            refused.update(() if case["refused"] else codes)
    assert refused == REFUSED


def test_every_pod_of_v1_has_a_pod(cases: list[dict[str, Any]]) -> None:
    for case in cases[::5]:
        if case["refused"]:
            continue
        try:
            manifests = compiled(migrate([case["input"]], OPTIONS).documents)
        except CompileError:
            continue
        (job_set,) = (manifest for manifest in manifests if manifest["kind"] == "JobSet")
        jobs = job_set["spec"]["replicatedJobs"]
        pods = sum(job.get("replicas", 1) * job["template"]["spec"].get("parallelism", 1) for job in jobs)
        assert pods == len(case["pods"]), case["id"]


def numbered(text: str) -> Counter[str]:
    return Counter(re.findall(r"# \d+$", text, re.MULTILINE))


@pytest.mark.parametrize("first", range(3))
def test_a_migrated_text_says_what_the_documents_do_with_every_comment(first: int, cases: list[dict[str, Any]]) -> None:
    changed = 0
    for number, case in list(enumerate(cases))[first::12]:
        text = written(case["input"], Random(number))
        once = migrate_text(text, "job.yaml", Limits()).text
        try:
            wanted = migrate([case["input"]], OPTIONS).documents
        except CompileError:
            assert once == text
            continue
        documents, problems = read_documents(once.encode(), "job.yaml", Limits())
        assert not problems, once
        assert [document.data for document in documents] == wanted, case["id"]
        assert numbered(once) == numbered(text), once
        assert migrate_text(once, "job.yaml", Limits()).text == once, case["id"]
        changed += 1
    assert changed > 20
