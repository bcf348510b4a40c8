"""The report in Chromium: axe finds nothing, everything can be reached by keys, and narrow screens show it whole."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Page
from commands import run
from repositories import git, queue

pytestmark = pytest.mark.browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
REPOSITORY = Path(__file__).parents[4]
AXE = Path(
    os.environ.get("TRAINC_AXE", REPOSITORY / "tools" / "playground" / "node_modules" / "axe-core" / "axe.min.js")
)
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job-NUMBER, namespace: TEAM, labels: {kueue.x-k8s.io/queue-name: main, team: TEAM}}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: NODES, command: [torchrun, t.py], resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}
"""
QUEUES = f"""\
{queue(64, cluster_queue="big")}---
{{apiVersion: v1, kind: Namespace, metadata: {{name: nlp}}}}
---
{{apiVersion: v1, kind: Namespace, metadata: {{name: ads}}}}
---
{{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {{name: main, namespace: ads}}, spec: {{clusterQueue: big}}}}
"""
# By the number of jobs, the number of environments.
PAGES = {60: 1, 180: 3, 2000: 1}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """A page for each number of rows, the smallest in full."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed; `apt-get install chromium` brings it")
    found = {}
    for rows, environments in PAGES.items():
        folder = tmp_path_factory.mktemp(f"rows-{rows}")
        for name in ("jobs", "cluster"):
            (folder / name).mkdir()
        for number in range(rows // environments):
            text = JOB.replace("NUMBER", str(number)).replace("TEAM", ("nlp", "ads")[number % 2])
            (folder / f"jobs/{number}.yaml").write_text(text.replace("NODES", str(number % 12 + 1)), encoding="utf-8")
        (folder / "cluster" / "queues.yaml").write_text(QUEUES, encoding="utf-8")
        names = "".join(f"  env-{n}: {{output: rendered/{n}}}\n" for n in range(environments))
        settings = f'release: "2.3"\nsources: [jobs]\ncluster: cluster\nenvironments:\n{names}'
        (folder / "trainc.yaml").write_text(settings, encoding="utf-8")
        page = folder / "report.html"
        before = Path.cwd()
        os.chdir(folder)
        try:
            full = ["--full"] if rows == 60 else []
            result = run("report", "-o", str(page), "--revision", "abc123", "--date", "2026-11-22", *full)
        finally:
            os.chdir(before)
        assert result.status == 0, result.stderr
        found[rows] = page
    return found


@pytest.fixture
def browser(tmp_path: Path, pages: dict[int, Path]) -> Iterator[Page]:
    assert CHROMIUM is not None
    with Page(CHROMIUM, tmp_path / "profile") as page:
        yield page
        assert page.messages == []


# The rows of a page are alike: of a long one, axe looks at the head, the first rows and the first jobs.
SAMPLE = """
for (const row of [...document.querySelectorAll("table.jobs tbody tr")].slice(40)) row.remove();
for (const job of [...document.querySelectorAll("details.job")].slice(40)) job.remove();
"""
RULES = """
document.querySelectorAll("details.job")[3].open = true;
document.querySelectorAll("details.job details").forEach((one, number) => { one.open = number < 3; });
axe.run(document, {resultTypes: ["violations"]}).then((found) => JSON.stringify(
  found.violations.map((one) => [one.id, one.help, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))])))
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("rows", PAGES)
def test_axe_finds_nothing(rows: int, width: int, theme: str, browser: Page, pages: dict[int, Path]) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not there; `npm --prefix tools/playground ci` brings it")
    browser.resize(width, 900, phone=width < 1000)
    browser.theme(theme)
    browser.open(pages[rows].as_uri())
    assert browser.evaluate("document.querySelectorAll('table.jobs tbody tr').length") == rows
    if rows > 200:
        browser.evaluate(SAMPLE)
    browser.evaluate(AXE.read_text(encoding="utf-8") + "; true")
    assert json.loads(browser.evaluate(RULES)) == []


def focused(browser: Page) -> str:
    return str(
        browser.evaluate("document.activeElement.name || document.activeElement.id || document.activeElement.tagName")
    )


def outlined(browser: Page) -> bool:
    script = "(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle !== 'none' && s.outlineWidth !== '0px' })()"
    return bool(browser.evaluate(script))


def visible_rows(browser: Page) -> int:
    return int(browser.evaluate("document.querySelectorAll('table.jobs tbody tr:not([hidden])').length"))


def test_keys_lead_to_every_filter_and_back(browser: Page, pages: dict[int, Path]) -> None:
    browser.open(pages[60].as_uri())
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.textContent") == "Skip to the jobs"
    met: list[str] = []
    while len(met) < 60 and "shown" not in met[-1:]:
        browser.press("Tab")
        met.append(focused(browser))
        assert outlined(browser), met
        if met[-1] == "findings":
            break
    assert met[-6:] == ["text", "namespace", "team", "runtime", "queue", "findings"] or met[-7:] == [
        "text", "namespace", "team", "runtime", "queue", "cluster", "findings",
    ], met  # fmt: skip
    browser.press("Tab", shift=True)
    assert focused(browser) != "findings"


def test_filters_are_set_and_cleared_by_keys(browser: Page, pages: dict[int, Path]) -> None:
    browser.open(pages[60].as_uri())
    browser.evaluate("document.querySelector('#filters [name=text]').focus()")
    browser.type("job-1")
    assert visible_rows(browser) == 11
    browser.press("Tab")
    assert focused(browser) == "namespace"
    browser.press("ArrowDown")
    assert browser.evaluate("document.querySelector('#filters [name=namespace]').value") == "=ads"
    assert visible_rows(browser) == 6
    assert browser.evaluate("document.getElementById('shown').textContent") == "6 of 60 jobs"
    browser.evaluate("document.getElementById('clear').focus()")
    browser.press("Enter")
    assert visible_rows(browser) == 60


def test_a_job_is_opened_by_enter_and_its_yaml_too(browser: Page, pages: dict[int, Path]) -> None:
    for rows in (60, 2000):
        browser.open(pages[rows].as_uri())
        browser.evaluate("document.querySelector('table.jobs tbody th a').focus()")
        browser.press("Enter")
        browser.wait_for("document.querySelector('details.job[open]')")
        assert browser.evaluate("location.hash") == "#job-1"
        browser.evaluate("document.querySelector('details.job[open] > summary').focus()")
        browser.press("Enter")
        assert not browser.evaluate("Boolean(document.querySelector('details.job[open]'))")
        browser.press("Enter")
        browser.wait_for("document.querySelector('details.job[open]')")
        if rows == 2000:
            browser.wait_for("document.querySelector('details.job[open] pre').textContent.includes('kind: JobSet')")


def test_columns_are_sorted_by_keys(browser: Page, pages: dict[int, Path]) -> None:
    browser.open(pages[60].as_uri())
    browser.evaluate("[...document.querySelectorAll('button.sort')].find((one) => one.textContent === 'GPUs').focus()")
    browser.press("Enter")
    first = "document.querySelector('table.jobs tbody tr').textContent"
    assert "96" in browser.evaluate(first)
    browser.press(" ")
    assert browser.evaluate("document.querySelector('[aria-sort]').getAttribute('aria-sort')") == "ascending"


def test_slash_goes_to_the_search_and_escape_clears_it(browser: Page, pages: dict[int, Path]) -> None:
    browser.open(pages[60].as_uri())
    browser.press("/")
    assert focused(browser) == "words"
    browser.type("PET_NNODES")
    assert "fields" in browser.evaluate("document.getElementById('found').textContent")
    assert browser.evaluate("document.querySelectorAll('.field:not([hidden])').length") == 2 * 60
    browser.press("Escape")
    assert browser.evaluate("document.getElementById('words').value") == ""
    assert browser.evaluate("document.querySelectorAll('.field[hidden]').length") == 0


@pytest.mark.parametrize("rows", PAGES)
def test_a_narrow_screen_scrolls_down_and_not_aside(rows: int, browser: Page, pages: dict[int, Path]) -> None:
    browser.resize(390, 800, phone=True)
    browser.open(pages[rows].as_uri())
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("width", [500, 1400, 1920])
def test_what_becomes_of_jobs_is_inside_the_window(
    width: int, browser: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "trainc.yaml").write_text('release: "2.3"\nsources: [jobs]\n')
    for number in range(12):
        text = JOB.replace("NUMBER", str(number)).replace("TEAM", "nlp").replace("NODES", "2")
        (tmp_path / f"jobs/{number}.yaml").write_text(text, encoding="utf-8")
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "before")
    for number in range(12):
        file = tmp_path / f"jobs/{number}.yaml"
        words = ", ".join(f"--a-long-option-{n}={'x' * 40}" for n in range(20))
        file.write_text(
            file.read_text().replace("torchrun, t.py", f"torchrun, t.py, {words}") if number < 6 else "",
            encoding="utf-8",
        )
    (tmp_path / "jobs/new.yaml").write_text(JOB.replace("NUMBER", "99").replace("TEAM", "nlp").replace("NODES", "2"))
    assert run("report", "--since", "git:HEAD", "-o", "report.html").status == 0
    browser.resize(width, 900)
    browser.open((tmp_path / "report.html").as_uri())
    cells = "[...document.querySelectorAll('table.changes tr > *:nth-child(-n+3)')].map((one) => one.getBoundingClientRect())"
    assert browser.evaluate("document.querySelectorAll('table.changes tbody tr').length") >= 2
    assert browser.evaluate(f"{cells}.every((box) => box.left >= 0 && box.right <= window.innerWidth && box.width > 0)")
    assert browser.evaluate("document.querySelectorAll('table.changes img').length") >= 1


def test_nothing_is_asked_of_others(browser: Page, pages: dict[int, Path]) -> None:
    browser.open(pages[60].as_uri())
    assert [one for one in browser.requests if not one.startswith(("data:", "file:"))] == []
