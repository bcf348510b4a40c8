"""The pictures of README and the docs show words that the product says now; `make pictures` takes them again."""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.png"))


@cache
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "scripts" / "pictures.py"))


@cache
def current(name: str) -> str:
    return str(script()["current"](name))


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)
def test_every_word_in_a_picture_is_what_the_product_says(picture: Path) -> None:
    name, _, theme = picture.stem.partition("-")
    shown = script()["words_in"](picture)
    assert theme in script()["THEMES"]
    assert len(shown) > 20
    assert [words for words in shown if words not in current(name)] == [], "run make pictures"


def test_every_picture_is_shown_somewhere() -> None:
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/report.md"))
    assert [picture.name for picture in PICTURES if f"pictures/{picture.name}" not in text] == []
