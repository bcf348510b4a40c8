"""The built site in headless Chromium without a network. `make test-site` builds it and runs this."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from chromium import Page
from tables import cases

from trainc.findings.codes import codes
from website.links import problems

pytestmark = pytest.mark.browser

SITE = Path(os.environ.get("TRAINC_SITE", ""))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base's
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the site is served: with a second version, so that there is something to choose."""
    if not (SITE / "latest" / "index.html").is_file() or not os.environ.get("TRAINC_SITE"):
        pytest.skip("no site is built; run make test-site")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    served = tmp_path_factory.mktemp("served")
    shutil.copytree(SITE, served, dirs_exist_ok=True)
    (served / "asks.html").write_text('<img src="http://other.example/x.png">', encoding="utf-8")
    (served / "versions.json").write_text(json.dumps(["9.9.9", "0.1.0"]), encoding="utf-8")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(served))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def rendered(url: str, profile: Path) -> tuple[str, set[str]]:
    """The page as its scripts have left it, and the hosts that it asked; what Chromium asks for itself does not count."""
    log = profile / "net.json"
    words = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={profile}",
        f"--log-net-log={log}",
        "--virtual-time-budget=10000",
        "--dump-dom",
        url,
    ]
    done = subprocess.run([str(CHROMIUM), *words], capture_output=True, text=True, timeout=120, check=True)
    events = json.loads(log.read_text(encoding="utf-8"))["events"]
    requested = [event["params"] for event in events if "initiator" in (event.get("params") or {})]
    urls = [str(request["url"]) for request in requested if request["initiator"] != "not an origin"]
    return done.stdout, {urlsplit(url).hostname or "" for url in urls}


def test_the_built_site_holds_together() -> None:
    if not os.environ.get("TRAINC_SITE"):
        pytest.skip("no site is built; run make test-site")
    assert problems(SITE / "latest") == []
    assert {path.stem for path in (SITE / "latest" / "rules").glob("*.html")} == {*codes(), "index"}


@pytest.mark.parametrize(
    ("word", "page"), [("RanksDoNotMeet", "rules/RanksDoNotMeet.html"), ("sealed", "docs/gitops.html")]
)
def test_the_search_finds_a_page_without_asking_anybody_else(
    address: str, tmp_path: Path, word: str, page: str
) -> None:
    html, hosts = rendered(f"{address}/latest/search.html?q={word}", tmp_path)
    assert f'href="{page}' in html
    assert hosts == {"127.0.0.1"}


@cases("words", "page")
def test_the_page_that_answers_comes_first(address: str, tmp_path: Path, words: str, page: str) -> None:
    with Page(str(CHROMIUM), tmp_path) as browser:
        browser.open(f"{address}/latest/search.html?q={quote(words)}")
        browser.wait_for("document.querySelector('ul.search li a')")
        first = browser.evaluate("document.querySelector('ul.search li a').getAttribute('href')")
    assert first.partition(".html")[0] == page


def test_a_page_that_asks_another_host_would_be_noticed(address: str, tmp_path: Path) -> None:
    assert rendered(f"{address}/asks.html", tmp_path)[1] == {"127.0.0.1", "other.example"}


def test_a_reader_can_choose_another_version(address: str, tmp_path: Path) -> None:
    html, hosts = rendered(f"{address}/latest/docs/tutorial.html", tmp_path)
    assert '<option value="9.9.9">' in html
    assert hosts == {"127.0.0.1"}


def test_the_first_page_shows_what_trainc_printed(address: str, tmp_path: Path) -> None:
    html, hosts = rendered(f"{address}/latest/index.html", tmp_path)
    assert "error" in html
    assert "RanksDoNotMeet" in html
    assert "4 pods" in html
    assert hosts == {"127.0.0.1"}
