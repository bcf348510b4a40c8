"""The pages about overlays and delivery: every field, mode and code that they should name is named."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from trainc.options import Delivery, SecretsMode
from trainc.overlays.overlay import FIELDS

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_an_overlay_is_documented(field: str) -> None:
    assert f"`{field}`" in (DOCS / "overlays.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("choice", [*get_args(Delivery), *get_args(SecretsMode)])
def test_every_way_of_delivery_and_every_secrets_mode_is_documented(choice: str) -> None:
    assert f"| `{choice}`" in (DOCS / "gitops.md").read_text(encoding="utf-8")


def test_the_codes_that_a_page_names_have_a_rule() -> None:
    rules = {path.stem for path in (DOCS.parent / "compiler" / "trainc" / "diagnostics" / "rules").glob("*.md")}
    lines = (DOCS / "gitops.md").read_text(encoding="utf-8").partition("## What trainc warns of")[2].splitlines()
    named = {line.split("`")[1] for line in lines if line.startswith("| `")}
    assert named
    assert named <= rules
