"""What tools/website/links.py finds wrong with a built site, and what it lets pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from tables import cases

from website.links import problems

PAGE = '<html><body id="top"><a href="other.html#here">x</a><a href="https://kueue.sigs.k8s.io">y</a>{}</body></html>'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "other.html").write_text('<h1 id="here">Here</h1>', encoding="utf-8")
    return tmp_path


@cases("html", "found")
def test_a_link_has_to_lead_somewhere_and_nothing_is_loaded_from_others(
    site: Path, html: str, found: list[str]
) -> None:
    (site / "page.html").write_text(PAGE.format(html), encoding="utf-8")
    assert [line.partition(": ")[2] for line in problems(site)] == found
