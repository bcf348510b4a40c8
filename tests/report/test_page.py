"""The report page: everything is in it, nothing is fetched, and it works in a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from commands import run
from markupsafe import escape

CASES = Path(__file__).parents[1] / "cases"
JOBS = [str(CASES / f"{name}.yaml") for name in ("torch-llm-pretrain", "torchtune-llama3.2-1b")]


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("page") / "report.html"
    result = run("report", *JOBS, "--release", "2.3", "-o", str(target))
    assert result.status == 0, result.stderr
    return target.read_text(encoding="utf-8")


class Outline(HTMLParser):
    """The tags that must be balanced, the ids, and the addresses that a page refers to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "input", "br", "img", "link"):
            self.open.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in ("src", "href") and value:
                self.addresses.append(value)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_its_links_lead_somewhere(html: str) -> None:
    outline = Outline(html)
    assert outline.open == []
    assert len(set(outline.ids)) == len(outline.ids)
    inner = {address[1:] for address in outline.addresses if address.startswith("#")}
    assert inner <= set(outline.ids)


def test_nothing_is_fetched(html: str) -> None:
    outside = [a for a in Outline(html).addresses if not a.startswith(("#", "data:image/svg+xml;base64,"))]
    assert outside == []
    assert "@import" not in html
    assert "url(" not in html


def test_every_field_and_its_origin_are_text(html: str) -> None:
    explained = json.loads(run("explain", JOBS[0], "--release", "2.3", "--format", "json").stdout)
    paths = {field["path"] for found in explained["objects"] for field in found["fields"]}
    assert len(paths) > 10
    shown = re.findall(r'<code class="path">([^<]+)</code>', html)
    assert {escape(path) for path in paths} <= set(shown)
    assert len(re.findall(r'<span class="origin">[^<]+', html)) == len(shown)


def test_input_cannot_become_markup(tmp_path: Path) -> None:
    text = Path(JOBS[0]).read_text(encoding="utf-8").replace("pretrain.py", "<img src=x onerror=alert(1)>", 1)
    source = tmp_path / "job.yaml"
    source.write_text(text, encoding="utf-8")
    html = run("report", str(source), "--release", "2.3", "-o", "-").stdout
    assert "<img src=x" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html


def test_the_same_input_gives_the_same_page(html: str) -> None:
    assert run("report", *JOBS, "--release", "2.3", "-o", "-").stdout == html


def test_wrong_input_writes_no_page(tmp_path: Path) -> None:
    source = tmp_path / "job.yaml"
    source.write_text("kind: TrainJob\napiVersion: trainer.kubeflow.org/v1alpha1\n", encoding="utf-8")
    result = run("report", str(source), "-o", str(tmp_path / "report.html"))
    assert result.status == 1
    assert not (tmp_path / "report.html").exists()


def test_what_there_is_to_say_of_a_runtime_is_on_the_page() -> None:
    html = run("report", str(CASES / "torch-elastic.yaml"), "--release", "2.3", "-o", "-").stdout
    assert "2 warnings" in html
    assert "DeprecatedField" in html
    assert "torch-elastic.yaml:19" in html


def rendered(html: str, tmp_path: Path) -> str:
    """The page after a browser has run it."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("Chromium is not installed; `apt-get install chromium` brings it")
    page = tmp_path / "page.html"
    page.write_text(html, encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command = [browser, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_a_browser_searches_as_one_types(html: str, tmp_path: Path) -> None:
    typing = (
        "<script>const w = document.getElementById('words'); w.value = 'PET_NNODES plugin';"
        "w.dispatchEvent(new Event('input'));</script></body>"
    )
    dom = rendered(html.replace("</body>", typing), tmp_path)
    left = [field for field in re.findall(r'<li class="field [^>]*>', dom) if "hidden" not in field]
    total = len(re.findall(r'<li class="field ', dom))
    assert 0 < len(left) < total
    assert f"{len(left)} of {total} fields" in dom


def test_without_typing_a_browser_shows_every_field(html: str, tmp_path: Path) -> None:
    dom = rendered(html, tmp_path)
    assert not re.findall(r'<li class="field [^>]*hidden', dom)
    assert '<form id="search" role="search">' in dom
