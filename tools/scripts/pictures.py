"""Take the pictures of docs/pictures: the report of examples/demo, and the playground if it is built. Needs Chromium.

PYTHONPATH=tests python tools/scripts/pictures.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from chromium import Page, served

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"


def main() -> None:
    """Write every picture that can be taken here."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("pictures are taken with Chromium; install it")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Page(browser, Path(folder) / "profile", 1200, 760) as page:
        report = Path(folder) / "report.html"
        words = ["trainc", "report", "-o", str(report)]
        subprocess.run([sys.executable, "-m", *words], cwd=ROOT / "examples" / "demo", check=True)
        page.theme("light")
        page.open(report.as_uri())
        page.screenshot(PICTURES / "report.png")
        if (ROOT / "build" / "playground" / "index.html").is_file():
            with served(ROOT / "build" / "playground") as address:
                page.open(address)
                page.wait_for("document.body.innerText.includes('JobSet')")
                page.screenshot(PICTURES / "playground.png")


if __name__ == "__main__":
    main()
