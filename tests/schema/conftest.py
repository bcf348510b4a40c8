"""What the schema tests share: recorded cases, and a way to say what is expected of a refused document."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Case = dict[str, Any]


@pytest.fixture(scope="session")
def recorded(vectors: Path) -> Callable[[str], list[Case]]:
    """The cases of one file of recorded behaviour, by its name."""

    def read(name: str) -> list[Case]:
        with gzip.open(vectors / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    return read
