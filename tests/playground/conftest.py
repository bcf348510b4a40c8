"""The playground as `make playground` has built it, in Chromium; what is missing is said by name."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Page, served

BUILT = Path(__file__).parents[2] / "build" / "playground"


@pytest.fixture(scope="session")
def browser() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("Chromium is not installed; `apt-get install chromium` brings it")
    return found


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of the built playground."""
    if not (BUILT / "index.html").is_file():
        pytest.skip("the playground is not built; `make playground` does it, with Node.js")
    with served(BUILT) as address:
        yield address


@pytest.fixture(scope="module")
def page(browser: str, site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The playground, loaded. What it asks for is kept, and nothing may go wrong on it."""
    with Page(browser, tmp_path_factory.mktemp("profile")) as page:
        page.open(site)
        page.wait_for("document.querySelector('#took').textContent && document.querySelector('#explain .field')")
        yield page
        assert [request for request in page.requests if not request.startswith((site, "data:", f"blob:{site}"))] == []
        assert page.messages == []
