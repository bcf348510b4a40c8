"""The playground in Chromium, without a network: what is typed, compiled, explained, drawn, compared and shared."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Page, served
from commands import Result, run
from hostile_inputs import SMALL

pytestmark = [pytest.mark.browser, pytest.mark.tools, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
FILE = "train.yaml"
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: llm
  namespace: team-a
spec:
  runtimeRef:
    name: torch-distributed
  trainer:
    numNodes: 4
"""
# CodeMirror's own object for an editor hangs on its element.
EDITOR = "document.querySelector('#input .cm-content').cmTile.view"
OUTPUT = "document.querySelector('#output .cm-content').cmTile.view"
TEXT = f"{OUTPUT}.state.doc.toString()"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The command line works where its file is called as the page's is."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def on_the_command_line(text: str, *words: str) -> Result:
    Path(FILE).write_text(text, encoding="utf-8", newline="")
    return run(*words)


# The address holds the text that was compiled last.
COMPILED = """(async () => {
  const bytes = Uint8Array.from(atob(location.hash.slice(3).replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(inflated).text()).text;
})().catch(() => "")"""


def enter(page: Page, text: str) -> None:
    """Replace what is in the editor as if it were typed, and wait until trainc has answered."""
    page.evaluate(f"{EDITOR}.dispatch({{selection: {{anchor: 0, head: {EDITOR}.state.doc.length}}}}), {EDITOR}.focus()")
    page.type(text)
    assert page.evaluate(f"{EDITOR}.state.doc.toString()") == text
    page.wait_for(f"{COMPILED}.then((compiled) => compiled === {json.dumps(text)})")


def choose(page: Page, tab: str) -> None:
    page.click(f"#tab-{tab}")
    page.wait_for(f"!document.getElementById('{tab}').hidden")


def select(page: Page, menu: str, value: str) -> None:
    page.evaluate(
        f"(() => {{ const menu = document.getElementById('{menu}'); menu.value = {json.dumps(value)};"
        "menu.dispatchEvent(new Event('change')) })()"
    )


def test_it_begins_with_an_example_that_compiles(page: Page) -> None:
    text = page.evaluate(f"{EDITOR}.state.doc.toString()")
    assert page.evaluate(TEXT) == on_the_command_line(text, "build", FILE, "--release", "2.3").stdout


def test_what_is_typed_is_compiled(page: Page) -> None:
    choose(page, "manifests")
    enter(page, JOB)
    page.wait_for(f"{TEXT}.includes('parallelism: 4')")
    at = JOB.index("numNodes: 4") + len("numNodes: 4")
    page.evaluate(f"{EDITOR}.dispatch({{selection: {{anchor: {at}}}}})")
    page.type("0")
    page.wait_for(f"{TEXT}.includes('parallelism: 40')")
    expected = on_the_command_line(JOB.replace("numNodes: 4", "numNodes: 40"), "build", FILE, "--release", "2.3").stdout
    assert page.evaluate(TEXT) == expected


def test_a_mistake_is_shown_at_its_line_and_there_are_no_manifests(page: Page) -> None:
    choose(page, "manifests")
    wrong = JOB.replace("numNodes", "numNode")
    enter(page, wrong)
    page.wait_for("document.querySelector('#problems li.error')")
    shown = page.evaluate("document.querySelector('#problems li').innerText")
    assert "train.yaml:10:5" in shown
    assert "error[UnknownField]" in shown
    assert "help: did you mean numNodes?" in shown
    assert page.evaluate("document.querySelector('#input .cm-lintRange-error').innerText") == "numNode"
    assert page.evaluate("document.querySelector('#output').hidden")
    assert page.evaluate(TEXT) == ""
    report = page.evaluate("document.querySelector('#refused').textContent")
    assert report == on_the_command_line(wrong, "build", FILE, "--release", "2.3").stderr


def test_a_click_on_a_problem_leads_to_its_line_and_its_code_to_its_rule(page: Page) -> None:
    enter(page, JOB.replace("numNodes", "numNode"))
    page.wait_for("document.querySelector('#problems li.error')")
    page.click("#problems .place")
    page.wait_for("document.querySelector('#place').textContent === 'line 10'")
    page.click("#problems .code")
    page.wait_for("document.querySelector('dialog').open")
    shown = page.evaluate("document.querySelector('dialog article').innerText")
    assert page.evaluate("document.querySelector('dialog h2').textContent") == "UnknownField"
    told = re.sub(r"```\w*|^#+ |`|\*\*", "", run("rule", "UnknownField").stdout, flags=re.MULTILINE)
    assert [line for line in told.splitlines() if line.strip() not in shown] == []
    page.click("dialog button")
    page.wait_for("!document.querySelector('dialog').open")


def test_the_right_example_of_a_rule_opens_in_the_editor(page: Page) -> None:
    enter(page, JOB.replace("numNodes", "numNode"))
    page.wait_for("document.querySelector('#problems li.error')")
    page.click("#problems .code")
    page.wait_for("document.querySelectorAll('dialog .example').length === 2")
    page.click("dialog .example:last-of-type button")
    page.wait_for(f"{EDITOR}.state.doc.toString().includes('numNodes: 2') && !document.querySelector('dialog').open")


def test_a_fix_is_a_button_and_can_be_undone(page: Page) -> None:
    wrong = JOB.replace("numNodes", "numNode")
    enter(page, wrong)
    assert page.wait_for("document.querySelector('#problems .error .fix')?.textContent") == "Change numNode to numNodes"
    page.click("#problems .error .fix")
    page.wait_for(f"{EDITOR}.state.doc.toString() === {json.dumps(JOB)}")
    page.wait_for("!document.querySelector('#problems .error')")
    page.send("Input.dispatchKeyEvent", type="keyDown", key="z", code="KeyZ", modifiers=2, windowsVirtualKeyCode=90)
    page.wait_for(f"{EDITOR}.state.doc.toString() === {json.dumps(wrong)}")


def test_what_needs_no_mending_has_no_buttons(page: Page) -> None:
    enter(page, JOB)
    page.wait_for("document.querySelector('#output .note')")
    assert page.evaluate("document.querySelectorAll('#problems .fix').length") == 0


RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: ours
  labels: {trainer.kubeflow.org/framework: torch}
spec:
  mlPolicy: {numNodes: 3, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata:
              labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}
            spec:
              template:
                spec:
                  containers: [{name: node, image: "registry.example.com/ours:1"}]
"""


def drop(page: Page, files: dict[str, str]) -> None:
    """Drop files on the page as a file manager does."""
    page.evaluate(f"""(() => {{
      const transfer = new DataTransfer();
      for (const [name, text] of Object.entries({json.dumps(files)})) transfer.items.add(new File([text], name));
      window.dispatchEvent(new DragEvent("drop", {{ dataTransfer: transfer, bubbles: true, cancelable: true }}));
    }})()""")


def test_runtimes_of_a_company_are_dropped_used_shared_and_removed(
    page: Page, browser: str, site: str, tmp_path: Path
) -> None:
    choose(page, "manifests")
    job = JOB.replace("torch-distributed", "ours").replace("  trainer:\n    numNodes: 4\n", "")
    enter(page, job)
    page.wait_for("document.querySelector('#problems .error .code')?.textContent.includes('RuntimeNotFound')")
    drop(page, {"ours.yaml": RUNTIME, "notes.yaml": "a: 1\n", "../../train.json": "{}", "readme.md": RUNTIME})
    page.wait_for(f"{TEXT}.includes('registry.example.com/ours:1') && {TEXT}.includes('parallelism: 3')")
    assert page.evaluate("document.querySelector('#runtimes').textContent") == "Runtimes (1)"
    Path("runtimes").mkdir()
    Path("runtimes/ours.yaml").write_text(RUNTIME)
    words = ("build", FILE, "--release", "2.3", "--runtimes", "runtimes")
    assert page.evaluate(TEXT) == on_the_command_line(job, *words).stdout
    assert page.evaluate("document.querySelector('#command').textContent") == f"trainc {' '.join(words)}"
    page.click("#share")
    link = page.evaluate("location.href")
    with Page(browser, tmp_path / "profile") as other:
        other.open(link)
        other.wait_for(f"{TEXT}.includes('registry.example.com/ours:1')")
        assert other.evaluate("document.querySelector('#runtimes').textContent") == "Runtimes (1)"
    page.evaluate("document.querySelector('dialog').close()")
    page.click("#runtimes")
    page.wait_for("document.querySelector('.files li code')?.textContent === 'ours.yaml'")
    page.click(".files li button")
    page.wait_for("document.querySelector('#problems .error .code')?.textContent.includes('RuntimeNotFound')")
    page.click("dialog button")


def test_files_without_a_runtime_are_refused_in_words(page: Page) -> None:
    drop(page, {"a.yaml": "a: 1\n", "b.yaml": "kind: ConfigMap\n"})
    page.wait_for("document.querySelector('.toast')?.textContent.includes('no TrainingRuntime')")
    assert page.evaluate("document.querySelector('#runtimes').textContent") == "Runtimes"


def test_the_mouse_over_a_field_tells_what_it_means_and_becomes(page: Page) -> None:
    choose(page, "manifests")
    enter(page, JOB)
    page.wait_for("document.querySelector('#output .note')")
    line = f"{EDITOR}.coordsAtPos({JOB.index('numNodes')})"
    page.move_to(f"(({{left, top, bottom}}) => ({{x: left, y: top, height: bottom - top}}))({line})")
    said = page.wait_for("document.querySelector('.cm-tooltip .hover')?.innerText")
    assert "Number of training nodes (pods)." in said
    assert "spec.replicatedJobs[node].template.spec.parallelism" in said
    assert "plugin Torch at EnforceMLPolicy (from spec.trainer.numNodes, train.yaml:10)" in said
    page.move_to("({x: 5, y: 5})")
    page.wait_for("!document.querySelector('.cm-tooltip .hover')")


def test_the_line_under_the_cursor_is_explained_in_the_words_of_the_command_line(page: Page) -> None:
    enter(page, JOB)
    choose(page, "explain")
    page.evaluate(f"{EDITOR}.dispatch({{selection: {{anchor: {JOB.index('numNodes')}}}}})")
    page.wait_for("document.querySelectorAll('#explain .field').length > 2")
    phrases = page.evaluate(
        "[...document.querySelectorAll('#explain .field > div:nth-child(2)')].map((one) => one.textContent)"
    )
    told = on_the_command_line(JOB, "explain", FILE, "--release", "2.3").stdout
    assert [one for one in phrases if one.partition(" ← ")[2] not in told] == []


def test_each_line_of_the_manifests_says_where_it_comes_from(page: Page) -> None:
    choose(page, "manifests")
    enter(page, JOB)
    page.wait_for("document.querySelector('#output .note')")
    notes = dict(
        page.evaluate(
            "[...document.querySelectorAll('#output .cm-line:has(.note)')].map((line) => line.innerText.split('←'))"
        )
    )
    assert "plugin Torch at EnforceMLPolicy" in notes[next(line for line in notes if "parallelism: 4" in line)]
    page.evaluate(f"{EDITOR}.dispatch({{selection: {{anchor: {JOB.index('numNodes')}}}}})")
    marked = page.wait_for("[...document.querySelectorAll('#output .marked')].map((line) => line.innerText)")
    assert any("parallelism: 4" in line for line in marked)
    assert not any("metadata" in line for line in marked)


def test_a_job_is_drawn(page: Page) -> None:
    enter(page, JOB)
    choose(page, "picture")
    page.wait_for("document.querySelector('#picture img')?.naturalWidth > 100")
    drawn = on_the_command_line(JOB, "graph", FILE, "--release", "2.3", "--format", "svg").stdout
    size = re.search(r'width="(\d+)" height="(\d+)"', drawn)
    assert size is not None
    image = "document.querySelector('#picture img')"
    assert page.evaluate(f"[{image}.naturalWidth, {image}.naturalHeight]") == [int(one) for one in size.groups()]
    assert "llm" in page.evaluate(f"{image}.alt")


def test_two_releases_are_compared(page: Page) -> None:
    enter(page, JOB)
    choose(page, "changes")
    select(page, "from", "2.0")
    page.wait_for("document.querySelector('#diff').textContent.includes('Trainer 2.0')")
    expected = on_the_command_line(JOB, "diff", FILE, "--releases", "2.0..2.3").stdout
    assert page.evaluate("document.querySelector('#diff').textContent").rstrip() == expected.rstrip()


def test_another_release_is_compiled_for(page: Page) -> None:
    choose(page, "manifests")
    enter(page, JOB)
    select(page, "release", "2.1")
    expected = on_the_command_line(JOB, "build", FILE, "--release", "2.1").stdout
    page.wait_for(f"{TEXT} === {json.dumps(expected)}")
    select(page, "release", "2.3")


def test_a_link_brings_text_release_and_view_back(page: Page, browser: str, site: str, tmp_path: Path) -> None:
    text = JOB + "# \U0001f680 naïve <b>"
    enter(page, text)
    select(page, "release", "2.2")
    choose(page, "explain")
    page.wait_for("document.querySelector('#command').textContent.includes('2.2')")
    page.click("#share")
    page.wait_for("document.querySelector('.toast') || document.querySelector('dialog').open")
    page.evaluate("document.querySelector('dialog').close()")
    link = page.evaluate("location.href")
    assert link.startswith(f"{site}#1.")
    select(page, "release", "2.3")
    with Page(browser, tmp_path / "profile") as other:
        other.open(link)
        other.wait_for("document.querySelector('#explain .field')")
        assert other.evaluate(f"{EDITOR}.state.doc.toString()") == text
        assert other.evaluate("document.querySelector('#release').value") == "2.2"
        assert other.evaluate("document.querySelector('#tab-explain').ariaSelected") == "true"
        # The fragment stays with the browser.
        assert link.partition("#")[2][:20] not in "".join(other.requests)


HOSTILE = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: llm
  annotations:
    "<img src=x onerror=hacked()>": "<script>hacked()</script>"
spec:
  runtimeRef:
    name: torch-distributed
  trainer:
    image: example.com/"><svg/onload=hacked()>:1
    "<img src=x onerror=hacked()>": "]]><script>hacked()</script>"
"""


@pytest.mark.parametrize("text", [HOSTILE, HOSTILE.rpartition('    "<img')[0]], ids=["refused", "compiled"])
@pytest.mark.parametrize("tab", ["manifests", "picture", "explain", "changes"])
def test_a_hostile_link_is_text(page: Page, site: str, text: str, tab: str) -> None:
    state = {"text": text, "release": "<img src=x onerror=hacked()>", "from": ["2.0"], "tab": tab, "extra": 1}
    state["runtimes"] = {"../../x.yaml": RUNTIME, "y.yaml": 1, "__proto__": {}, "<img src=x onerror=hacked()>.yaml": ""}
    page.evaluate("globalThis.hacked = () => document.body.setAttribute('data-hacked', '')")
    page.evaluate(f"location.hash = {json.dumps(fragment(page, state))}")
    page.wait_for(f"{EDITOR}.state.doc.toString() === {json.dumps(text)}")
    choose(page, tab)
    assert page.evaluate("document.querySelector('#release').value") == "2.3"
    page.evaluate("new Promise((done) => setTimeout(done, 300))")
    assert page.evaluate("document.querySelectorAll('script').length") == 1
    assert page.evaluate("[...document.images].every((image) => image.src.startsWith('blob:'))")
    assert not page.evaluate("document.body.hasAttribute('data-hacked')")


def fragment(page: Page, state: object) -> str:
    """The fragment that stands for a state, made as the page makes it."""
    return str(
        page.evaluate(
            f"new Response(new Blob([{json.dumps(json.dumps(state))}]).stream().pipeThrough("
            "new CompressionStream('deflate-raw'))).arrayBuffer().then((bytes) => '1.' + btoa(String.fromCharCode("
            "...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''))"
        )
    )


@pytest.mark.parametrize(
    "state",
    [
        "'1.!!!'",
        "'1.AAAA'",
        "'2.'",
        "'%00'",
        "fragmentOf('[]')",
        "fragmentOf('{\"text\": 5}')",
        "fragmentOf('0'.repeat(5e7))",
    ],
)
def test_a_damaged_link_changes_nothing(page: Page, state: str) -> None:
    enter(page, JOB)
    page.evaluate(
        "globalThis.fragmentOf = async (text) => '1.' + btoa(String.fromCharCode(...new Uint8Array(await new Response("
        "new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'))).arrayBuffer())))"
    )
    page.evaluate("document.querySelector('.toast')?.remove()")
    page.evaluate(f"Promise.resolve({state}).then((text) => {{ location.hash = text }})")
    assert "damaged" in page.wait_for("document.querySelector('.toast')?.innerText")
    assert page.evaluate(f"{EDITOR}.state.doc.toString()") == JOB


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("tab", ["manifests", "picture", "explain", "changes"])
def test_a_phone_shows_it_without_scrolling_sideways(page: Page, theme: str, tab: str) -> None:
    page.theme(theme)
    page.resize(390, 844, phone=True)
    enter(page, JOB.replace("numNodes", "numNode") if tab == "manifests" else JOB)
    choose(page, tab)
    page.evaluate("new Promise((done) => setTimeout(done, 200))")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    small = "[...document.querySelectorAll('header button, header select, [role=tab]')].filter((one) => one.offsetHeight < 40)"
    assert page.evaluate(f"{small}.length") == 0
    page.resize(1440, 900)
    page.theme("light")


def test_the_theme_is_that_of_the_system(page: Page) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    page.theme("dark")
    assert page.evaluate(background) == "rgb(13, 17, 23)"
    page.theme("light")
    assert page.evaluate(background) == "rgb(255, 255, 255)"


def test_it_works_when_its_server_is_gone(browser: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "build" / "playground", tmp_path / "site")
    with Page(browser, tmp_path / "profile") as page:
        with served(tmp_path / "site") as address:
            page.open(address)
            page.wait_for("document.querySelector('#explain .field')")
            page.evaluate("navigator.serviceWorker.ready.then(() => true)")
            assert [address in name for name in page.evaluate("caches.keys()")] == [True]
        page.open(address)
        page.wait_for("document.querySelector('#explain .field')")
        enter(page, JOB)
        page.wait_for(f"{TEXT}.includes('parallelism: 4')")


def put(page: Page, text: str) -> None:
    """Put a long text into the editor, and wait for what the page says of it."""
    page.evaluate("document.querySelector('#count').textContent = '?'")
    page.evaluate(
        f"{EDITOR}.dispatch({{changes: {{from: 0, to: {EDITOR}.state.doc.length, insert: {json.dumps(text)}}}}})"
    )
    page.wait_for("document.querySelector('#count').textContent !== '?'")


TEXTS = {name: (text, code) for name, (text, code) in SMALL.items() if isinstance(text, str)}


@pytest.fixture(scope="module")
def shaken(browser: str, site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page of which nobody expects that nothing goes wrong in it."""
    with Page(browser, tmp_path_factory.mktemp("shaken")) as page:
        page.open(site)
        page.wait_for("document.querySelector('#output .note')")
        yield page


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_text_is_refused_and_the_next_one_is_compiled(shaken: Page, name: str) -> None:
    page, (text, code) = shaken, TEXTS[name]
    put(page, text)
    refused = page.evaluate("document.querySelector('#refused').textContent")
    codes = page.evaluate("[...document.querySelectorAll('#problems .code')].map((one) => one.innerText)")
    assert refused
    assert refused.startswith("trainc gave no answer: ") or any(code in one for one in [refused, *codes])
    assert page.evaluate(TEXT) == ""
    put(page, JOB)
    page.wait_for(f"{TEXT}.includes('parallelism: 4')")


class Asked:
    """trainc in the page's worker, asked without the page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.evaluate(
            "globalThis.asked = new Map(); globalThis.direct = new Worker(document.body.dataset.worker, {type: 'module'});"
            "direct.onmessage = ({data}) => asked.get(data.id)?.(data)"
        )

    def __call__(self, text: str, *words: str) -> dict[str, Any]:
        question = json.dumps({"call": "run", "text": text, "words": words})
        given = self.page.evaluate(
            f"new Promise((done) => {{ const id = asked.size; asked.set(id, done); direct.postMessage({{id, question: {question}}}) }})"
        )
        assert "answer" in given, given
        answer: dict[str, Any] = given["answer"]
        return answer


@pytest.fixture(scope="module")
def asked(page: Page) -> Iterator[Asked]:
    yield Asked(page)
    page.evaluate("direct.terminate()")


def same(asked: Asked, text: str, *words: str) -> None:
    here, there = on_the_command_line(text, *words), asked(text, *words)
    assert (there["status"], there["out"], there["err"]) == (here.status, here.stdout, here.stderr), (text, words)


CASES = sorted((ROOT / "tests" / "cases").glob("*.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_golden_case_gives_the_same_bytes(asked: Asked, case: Path) -> None:
    text = case.read_text(encoding="utf-8")
    words = text.partition("\n")[0].removeprefix("# trainc:").split()
    built = asked(text, "build", FILE, *words)["out"]
    assert built == (ROOT / "golden" / case.name).read_text(encoding="utf-8")
    for command in (["check", FILE, "--format", "json"], ["explain", FILE, "--format", "json"], ["graph", FILE]):
        same(asked, text, *command, *words)
    same(asked, text, "diff", FILE, "--releases", "2.0..2.3")


@pytest.mark.parametrize(
    "case", sorted((ROOT / "tests" / "cases" / "errors").glob("*.yaml")), ids=lambda case: case.stem
)
def test_a_refused_case_gives_the_same_report(asked: Asked, case: Path) -> None:
    text = case.read_text(encoding="utf-8")
    words = text.partition("\n")[0].removeprefix("# trainc:").split()
    same(asked, text, "build", FILE, *words)
    same(asked, text, "check", FILE, "--format", "json", *words)


def test_the_example_of_each_rule_gives_the_same_report(asked: Asked) -> None:
    blocks = [
        block.partition("```")[0]
        for page in sorted((ROOT / "compiler" / "trainc").rglob("rules/*.md"))
        for block in page.read_text(encoding="utf-8").split("```yaml\n")[1:]
    ]
    assert len(blocks) > 200
    for block in blocks:
        same(asked, block, "check", FILE, "--release", "2.3", "--format", "json")
