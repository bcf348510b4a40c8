"""The shapes in which v1 jobs are written in public: each migrated to what golden/v1 holds, built, and migrated again."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_files import ROOT, GoldenFile
from syrupy.assertion import SnapshotAssertion

from trainc import Options
from trainc.features.migration.v1.migrate import migrate_text
from trainc.findings import has_errors
from trainc.functions import compile_documents
from trainc.options import Limits
from trainc.reading.catalog import find
from trainc.reading.yaml_reader import read_documents

SHAPES = {path.stem: path for path in sorted((Path(__file__).parent / "shapes").glob("*.yaml"))}


class MigratedFile(GoldenFile):
    """What a shape becomes."""

    folder = ROOT / "golden" / "v1"


def migrated(shape: str) -> str:
    result = migrate_text(SHAPES[shape].read_text(encoding="utf-8"), f"{shape}.yaml", Limits())
    assert not has_errors(result.diagnostics)
    return result.text


def test_there_are_thirty_shapes() -> None:
    assert len(SHAPES) >= 30


@pytest.mark.golden
@pytest.mark.filterwarnings(r"ignore:\s*Can not relate snapshot:UserWarning")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_becomes_its_golden(shape: str, snapshot: SnapshotAssertion) -> None:
    assert migrated(shape) == snapshot.use_extension(MigratedFile)(name=shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_migrated_shape_builds_and_is_not_migrated_again(shape: str) -> None:
    text = migrated(shape)
    documents, problems = read_documents(text.encode(), f"{shape}.yaml", Limits())
    assert not problems
    assert compile_documents(documents, (), Options(release="2.3"), find).jobs
    assert migrate_text(text, f"{shape}.yaml", Limits()).text == text
