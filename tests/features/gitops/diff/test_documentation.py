"""The pages about diff: every outcome, way and JSON field is in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from comparing import bent, diff_of, manifests, trainer

from trainc.features.gitops.diff.delivery import DELIVERY_METHODS, LABELS, MEANINGS
from trainc.features.gitops.diff.text import diff_json

DOCS = Path(__file__).parents[4] / "docs"
PAGE = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("diff.md", "outcomes.md", "diff-json.md"))
# What is named by the user or by Kubernetes, not by trainc.
VALUES = ("before", "after", "requests", "deliveries", "outcomes")


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in VALUES:
                yield from keys(inner)
            elif key in {"before", "after"} and isinstance(inner, dict) and "nodes" in inner:
                yield from inner
    elif isinstance(value, list):
        for item in value:
            yield from keys(item)


def test_every_outcome_and_way_is_explained_in_the_words_of_the_program() -> None:
    for outcome, label in LABELS.items():
        assert f"| {label} | `{outcome}` | {MEANINGS[outcome]} |" in PAGE
    for way in DELIVERY_METHODS:
        assert f"`{way.id}`" in PAGE


def test_every_field_of_the_document_is_described() -> None:
    moved = [bent(m, lambda x: trainer(x)["env"].reverse()) if m["kind"] == "JobSet" else m for m in manifests("x")]
    diff = diff_of([*manifests(), *manifests("x")], [*manifests(numNodes=4), *moved])
    found = set(keys(json.loads(diff_json(diff))))
    described = set(re.findall(r"`(\w+)(?:\[\])?`", PAGE))
    assert found - described == set()
    assert {"changes", "moves", "refusals", "renamed", "gang"} <= found
