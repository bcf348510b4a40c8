"""Measure the playground's size and its speed in Chromium: `python -m benchmarks.playground` prints a table.

The page from `make playground` is served on loopback, so the times are those of the browser and its Python, without a
network. Each figure is the median of several visits with separate profiles. Processor time is the total of Chromium's
processes minus that of an empty page.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from chromium import Page, served

BUILT = Path("build/playground")
VISITS = 5
EDITS = 20
FIRST = "document.querySelector('#took').textContent"
EDITOR = "document.querySelector('#input .cm-content').cmTile.view"


def main() -> None:
    """Print the figures as Markdown table rows."""
    browser = shutil.which("chromium") or sys.exit("Chromium is not installed")
    _print_sizes()
    with served(BUILT) as address, tempfile.TemporaryDirectory() as folder:
        visits = [_visit(browser, Path(folder) / str(number), address) for number in range(VISITS)]
        blank = median(
            _processor_time(browser, Path(folder) / f"blank{number}", "about:blank") for number in range(VISITS)
        )
        first = median(_processor_time(browser, Path(folder) / f"first{number}", address) for number in range(VISITS))
    for name in visits[0]:
        print(f"| {name} | {median(visit[name] for visit in visits):,.0f} ms |")
    print(f"| processor time of a first visit, to the first manifests | {1000 * (first - blank):,.0f} ms |")


def _print_sizes() -> None:
    files = [path for path in BUILT.rglob("*") if path.is_file() and path.suffix != ".txt"]
    raw = {path.relative_to(BUILT).as_posix(): path.read_bytes() for path in files}
    sizes = {name: (len(content), len(gzip.compress(content, 9))) for name, content in raw.items()}
    for name, (plain, packed) in sorted(sizes.items(), key=lambda row: -row[1][0]):
        print(f"| {name} | {plain / 1e6:.2f} MB | {packed / 1e6:.2f} MB |")
    print(
        f"| all | {sum(s[0] for s in sizes.values()) / 1e6:.2f} MB | {sum(s[1] for s in sizes.values()) / 1e6:.2f} MB |"
    )


def _visit(browser: str, profile: Path, address: str) -> dict[str, float]:
    """Milliseconds of a first visit, of a second one, and of edits."""
    found: dict[str, float] = {}
    for name in ("first visit, to the first manifests", "second visit, to the first manifests"):
        with Page(browser, profile) as page:
            page.open(address)
            page.wait_for(FIRST)
            found[name] = page.evaluate("performance.getEntriesByName('compiled')[0].startTime")
            page.evaluate("navigator.serviceWorker.ready.then(() => true)")
            if name.startswith("second"):
                page.wait_for("document.querySelector('#output .note')")
                found |= _edits(page)
    return found


def _processor_time(browser: str, profile: Path, address: str) -> float:
    """Seconds that a browser's processes use to show the manifests of the first example, or an empty page."""
    with Page(browser, profile) as page:
        page.open(address)
        if address != "about:blank":
            page.wait_for(FIRST)
        parents = {int(path.name): _stat(path) for path in Path("/proc").glob("[0-9]*") if (path / "stat").is_file()}
        family = {page.process}
        while more := {pid for pid, (parent, _) in parents.items() if parent in family} - family:
            family |= more
        return sum(ticks for pid, (_, ticks) in parents.items() if pid in family) / os.sysconf("SC_CLK_TCK")


def _stat(process: Path) -> tuple[int, int]:
    """The parent of a process, and its processor ticks: proc(5), fields 4, 14 and 15."""
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:  # The process has ended.
        return 0, 0
    return int(fields[1]), int(fields[11]) + int(fields[12])


def _edits(page: Page) -> dict[str, float]:
    """The time from an edit to its manifests, including the typing delay, and trainc's share of it."""
    shown, compiled = [], []
    for number in range(EDITS):
        change = f"{{changes: {{from: 0, insert: '# {number}\\n'}}}}"
        script = f"""new Promise((done) => {{
          performance.clearMarks('compiled');
          const before = performance.now();
          {EDITOR}.dispatch({change});
          const look = () => {{
            const mark = performance.getEntriesByName('compiled')[0];
            if (mark) done([mark.startTime - before, parseInt({FIRST})]); else setTimeout(look, 1);
          }};
          look();
        }})"""
        one = page.evaluate(script)
        shown.append(one[0])
        compiled.append(one[1])
    return {"an edit, to its manifests": median(shown), "of that, trainc": median(compiled)}


if __name__ == "__main__":
    main()
