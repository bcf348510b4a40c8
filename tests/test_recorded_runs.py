"""The recorded cases about the run: what hangs, crashes or wastes is said at its line, and what looks alike is clean."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from trainc import CompileError, Diagnostic, Options, compile_paths

VECTORS = Path(os.environ.get("TRAINC_VECTORS", Path(__file__).parents[2] / "shared" / "vectors"))
RUNS = [VECTORS / name for name in ("runs.jsonl.gz", "runs2.jsonl.gz") if (VECTORS / name).is_file()]
_RANK = {"info": 0, "warning": 1, "error": 2}
pytestmark = [pytest.mark.conformance, pytest.mark.skipif(not RUNS, reason=f"there are no runs in {VECTORS}")]


def cases() -> list[dict[str, Any]]:
    found = []
    for path in RUNS:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            found += [json.loads(line) for line in lines]
    return found


def diagnostics(case: dict[str, Any], folder: Path) -> list[Diagnostic]:
    for name, text in case["files"].items():
        (folder / name).write_text(text, encoding="utf-8")
    try:
        return compile_paths([str(folder / "job.yaml")], options=Options(release="2.3")).diagnostics
    except CompileError as error:
        return error.diagnostics


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case['id']} {case['class']}")
def test_a_run_gets_what_it_deserves(case: dict[str, Any], tmp_path: Path) -> None:
    found = diagnostics(case, tmp_path)
    if case["verdict"] == "clean":
        assert [d for d in found if d.severity != "info"] == []
        return
    lines = [d.source.line for d in found if d.source and _RANK[d.severity] >= _RANK[case["verdict"]]]
    assert set(lines) & set(case["lines"])
