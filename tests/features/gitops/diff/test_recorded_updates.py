"""Recorded updates of JobSets: what the API server refused has a class that says so, and nothing else has."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from trainc.admission.updates import JobSetRules
from trainc.features.gitops.diff.changes import compare_manifests, normalize, strip_server_fields
from trainc.features.gitops.diff.delivery import Outcome, verdict_on

pytestmark = pytest.mark.slow

REFUSED: tuple[Outcome, ...] = ("needs-suspend", "immutable", "invalid")


@pytest.mark.conformance
@pytest.mark.parametrize("way", ["kubectl", "argocd", "argocd-server-side", "flux"])
def test_refused_updates_are_classed_as_refused_and_no_others(vectors: Path, way: str) -> None:
    seen: Counter[bool] = Counter()
    with gzip.open(vectors / "updates.jsonl.gz", "rt", encoding="utf-8") as recorded:
        for line in recorded:
            case = json.loads(line)
            old, new = strip_server_fields(case["old"]), strip_server_fields(case["new"])
            changes, _ = compare_manifests(normalize(old), normalize(new))
            verdict = verdict_on(old, new, changes, JobSetRules(case["release"]))[way]
            assert (verdict.outcome in REFUSED) == case["refused"], case["id"]
            assert any(outcome in REFUSED for outcome in verdict.per_change) == case["refused"], case["id"]
            seen[case["refused"]] += 1
    assert min(seen[True], seen[False]) > 50, "the recordings hold both kinds"
