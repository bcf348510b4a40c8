"""The report page: everything is in it, nothing is fetched, and it works in a browser."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import zlib
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from commands import run
from markupsafe import escape
from repositories import queue

from trainc.features.gitops.report.command import MOST_IN_FULL

CASES = Path(__file__).parents[3] / "cases"
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
        self.fetched: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "input", "br", "img", "link", "source"):
            self.open.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name == "href" and value:
                self.addresses.append(value)
            if (name in ("src", "srcset") or (tag, name) == ("link", "href")) and value:
                self.fetched.append(value)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_its_links_lead_somewhere(html: str) -> None:
    outline = Outline(html)
    assert outline.open == []
    assert len(set(outline.ids)) == len(outline.ids)
    inner = {address[1:] for address in outline.addresses if address.startswith("#")}
    assert inner <= set(outline.ids)


def test_nothing_is_fetched(html: str) -> None:
    assert [one for one in Outline(html).fetched if not one.startswith("data:image/svg+xml;base64,")] == []
    assert "@import" not in html
    assert "url(" not in html


def test_every_field_and_its_origin_are_text(html: str) -> None:
    explained = json.loads(run("explain", JOBS[0], "--release", "2.3", "--format", "json").stdout)
    paths = {field["path"] for found in explained["objects"] for field in found["fields"]}
    assert len(paths) > 10
    shown = re.findall(r'<code class="path">([^<]+)</code>', html)
    assert {escape(path) for path in paths} <= set(shown)
    assert len(re.findall(r'</code> <span class="origin">(?:<a|[^<])', html)) == len(shown)


def test_input_cannot_become_markup(tmp_path: Path) -> None:
    text = Path(JOBS[0]).read_text(encoding="utf-8").replace("pretrain.py", "<img src=x onerror=alert(1)>", 1)
    source = tmp_path / "job.yaml"
    source.write_text(text, encoding="utf-8")
    html = run("report", str(source), "--release", "2.3", "-o", "-").stdout
    assert "<img src=x" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html


def test_the_same_input_gives_the_same_page() -> None:
    first, second = (run("report", *JOBS, "--release", "2.3", "-o", "-").stdout for _ in range(2))
    assert first == second


def links_of(html: str) -> list[str]:
    return [address for address in Outline(html).addresses if not address.startswith("#")]


def test_source_lines_are_links_to_the_files_as_seen_from_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "javascript:x #1.yaml").write_bytes(Path(JOBS[0]).read_bytes())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site").mkdir()
    run("report", "jobs", "--release", "2.3", "-o", "site/index.html")
    found = set(links_of((tmp_path / "site" / "index.html").read_text(encoding="utf-8")))
    assert "../jobs/javascript%3Ax%20%231.yaml#L2" in found
    assert all(link.startswith("../jobs/") for link in found)
    below = run("report", "jobs", "--release", "2.3", "-o", "-", "--source-url", "https://git.example.com/x/").stdout
    assert "https://git.example.com/x/jobs/javascript%3Ax%20%231.yaml#L2" in links_of(below)


def test_a_source_url_is_an_address_of_the_web() -> None:
    refused = run("report", *JOBS, "-o", "-", "--source-url", "javascript:alert(1)")
    assert (refused.status, refused.stdout) == (2, "")


def test_wrong_input_writes_no_page(tmp_path: Path) -> None:
    source = tmp_path / "job.yaml"
    source.write_text("kind: TrainJob\napiVersion: trainer.kubeflow.org/v1alpha1\n", encoding="utf-8")
    result = run("report", str(source), "-o", str(tmp_path / "report.html"))
    assert result.status == 1
    assert not (tmp_path / "report.html").exists()


NONE = "\N{EN DASH}"
TWO = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: gemma, namespace: research, labels: {kueue.x-k8s.io/queue-name: tpus}}
spec:
  runtimeRef: {name: jax-distributed}
  trainer:
    numNodes: 4
    command: [python, t.py]
    resourcesPerNode:
      limits: {google.com/tpu: 4, cpu: 96, memory: 400Gi, rdma/hca: 1}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: bert, namespace: nlp}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, command: [torchrun, t.py], resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}
"""


@pytest.fixture
def two(tmp_path: Path) -> str:
    source = tmp_path / "two.yaml"
    source.write_text(TWO, encoding="utf-8")
    return run("report", str(source), "--release", "2.3", "-o", "-").stdout


def cells(html: str, row: str) -> list[str]:
    """The texts of a row of a table, found by its first cell."""
    rows = re.findall(r"<tr[^>]*>(<th scope=\"row\">.*?)</tr>", html)
    texts = [[re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", one)] for one in rows]
    return next(found for found in texts if found[0] == row)


def test_every_kind_of_device_and_the_queue_are_in_the_table_of_jobs(two: str) -> None:
    assert cells(two, "gemma") == [
        *(
            "gemma",
            "research",
            "jax-distributed",
            "tpus",
            "4",
            NONE,
            "16",
            "4",
            "384",
            "1.562Ti",
            "jax:25.10-py3",
            "1 warning, 1 info",
        )
    ]
    assert cells(two, "bert")[:-2] == ["bert", "nlp", "torch-distributed", NONE, "2", "16", *[NONE] * 4]


def test_there_are_totals_by_namespace_queue_and_runtime(two: str) -> None:
    assert re.findall(r"<caption>By (\w+)</caption>", two) == ["namespace", "queue", "runtime"]
    assert cells(two, "tpus") == ["tpus", "1", "4", NONE, "16", "4", "384", "1.562Ti"]
    assert cells(two, "none")[:4] == ["none", "1", "2", "16"]


def test_sections_are_closed_where_there_are_several_jobs(two: str) -> None:
    assert '<details class="job"' in two
    assert not re.search(r"<details[^>]* open", two)


def test_the_yaml_to_copy_is_what_build_prints(two: str, tmp_path: Path) -> None:
    shown = [
        unescape(text) for text in re.findall(r'<pre tabindex="0" id="job-\d+-yaml-\d+">(.*?)</pre>', two, re.DOTALL)
    ]
    built = run("build", str(tmp_path / "two.yaml"), "--release", "2.3").stdout
    assert "---\n".join(shown) == built


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
    # Timers run at once, and the page is printed after the last of them.
    flags += ["--virtual-time-budget=2000"]
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


SORTED = """
<script>
const names = () => [...document.querySelectorAll("table.jobs tbody th")].map((cell) => cell.textContent).join(" ");
const click = (label) => [...document.querySelectorAll("button.sort")].find((b) => b.textContent === label).click();
const log = [];
click("GPUs"); log.push(names());
click("GPUs"); log.push(names());
click("Job"); log.push(names());
const filters = document.getElementById("filters").elements;
filters.queue.value = "=tpus";
document.getElementById("filters").dispatchEvent(new Event("input"));
log.push(document.getElementById("shown").textContent, [...document.querySelectorAll("details.job:not([hidden])")].length);
location.hash = document.querySelector("details.job:not([hidden])").id;
addEventListener("hashchange", () => log.push(document.querySelector("details.job:not([hidden])").open));
setTimeout(() => { document.title = log.join("|"); }, 100);
</script></body>
"""


def test_a_browser_sorts_filters_and_opens_what_a_link_leads_to(two: str, tmp_path: Path) -> None:
    dom = rendered(two.replace("</body>", SORTED), tmp_path)
    title = re.search(r"<title>(.*?)</title>", dom)
    assert title is not None
    assert title[1].split("|") == ["bert gemma", "gemma bert", "bert gemma", "1 of 2 jobs", "1", "true"]
    assert 'aria-sort="ascending"' in dom


QUEUES = f"""\
{queue(32, cluster_queue="big")}---
{{apiVersion: v1, kind: Namespace, metadata: {{name: nlp}}}}
"""
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: team}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [jobset.x-k8s.io], apiVersions: [v1alpha2], operations: [CREATE], resources: [jobsets]}]
  validations: [{expression: "object.metadata.name != 'job-1'", message: not this one}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: team}
spec: {policyName: team, validationActions: [Deny]}
"""
NLP = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME, namespace: nlp, labels: {kueue.x-k8s.io/queue-name: main, team: ab}}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, command: [torchrun, t.py], resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}
"""
LIVE = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: job-0, namespace: nlp}
status: {conditions: [{type: Completed, status: "True"}]}
"""


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three jobs of a team with a queue of four nodes, a policy that denies one, and a dump with one that is done."""
    monkeypatch.chdir(tmp_path)
    for folder in ("jobs", "cluster", "policies"):
        Path(folder).mkdir()
    Path("trainc.yaml").write_text('release: "2.3"\nsources: [jobs]\ncluster: cluster\npolicies: [policies]\n')
    for number in range(3):
        Path(f"jobs/{number}.yaml").write_text(NLP.replace("NAME", f"job-{number}"))
    Path("cluster/dump.yaml").write_text(QUEUES)
    Path("policies/team.yaml").write_text(POLICY)
    Path("live.yaml").write_text(LIVE)
    return tmp_path


def text_of(html: str) -> str:
    """What a reader sees, on one line."""
    body = re.sub(r"<(style|script).*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_the_page_shows_quotas_teams_policies_states_and_what_it_is_about(company: Path) -> None:
    words = ["--live", "live.yaml", "--revision", "abc123", "--date", "2026-11-22", "-o", "-"]
    result = run("report", *words)
    assert result.status == 0, result.stderr
    text = text_of(result.stdout)
    assert "abc123 · 2026-11-22 · Trainer 2.3" in text
    # What has finished asks nothing of the queue.
    assert "big 32 of 32 GPUs 100 % 2 jobs" in text
    assert "big 48 of 32 GPUs 150 % 3 jobs" in text_of(run("report", "-o", "-").stdout)
    assert "ab 48 h100 48" in text
    assert "1 succeeded 2 not in the cluster" in text
    assert "1 denied by policies" in text
    assert [cells(result.stdout, f"job-{n}")[-4:-1] for n in range(3)] == [
        ["succeeded", "fits", "allowed"],
        ["not in the cluster", "fits", "denied"],
        ["not in the cluster", "fits", "allowed"],
    ]
    assert "PolicyDenied error 1" in text
    assert Outline(result.stdout).open == []
    assert run("report", *words).stdout == result.stdout


HELD = """\
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: held, namespace: nlp, uid: hx, creationTimestamp: "2026-09-01T09:00:00Z"}
spec: {queueName: main, podSets: [{name: node, count: 5, template: {spec: {containers: [{name: a, image: a}]}}}]}
status:
  admission:
    clusterQueue: big
    podSetAssignments:
      - {name: node, count: 5, flavors: {nvidia.com/gpu: h100}, resourceUsage: {nvidia.com/gpu: 40}}
  conditions:
    - {type: QuotaReserved, status: "True", reason: QuotaReserved, lastTransitionTime: "2026-09-01T10:00:00Z"}
    - {type: Admitted, status: "True", reason: Admitted, lastTransitionTime: "2026-09-01T10:00:00Z"}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: next, namespace: nlp, uid: nx, creationTimestamp: "2026-09-01T11:00:00Z"}
spec: {queueName: main, podSets: [{name: node, count: 1, template: {spec: {containers: [{name: a, image: a}]}}}]}
status:
  conditions:
    - {type: QuotaReserved, status: "False", reason: Pending, message: no room, lastTransitionTime: "2026-09-01T11:00:00Z"}
---
takenAt: "2026-09-01T12:00:00Z"
"""


@pytest.mark.usefixtures("company")
def test_the_page_shows_the_queues_as_they_are_now() -> None:
    Path("cluster/dump.yaml").write_text(QUEUES + HELD)
    text = text_of(run("report", "-o", "-").stdout)
    assert "As of 2026-09-01T12:00:00Z" in text
    assert "40 of 32 nvidia.com/gpu, 8 borrowed nlp/main 40" in text
    assert "nlp/next in big: no room" in text


def test_a_queue_within_its_quota_is_no_alarm(company: Path) -> None:
    for number in (1, 2):
        Path(f"jobs/{number}.yaml").unlink()
    html = run("report", "-o", "-").stdout
    assert "16 of 32 GPUs 50 %" in text_of(html)
    assert 'class="over' not in html
    assert "0 denied by policies" in text_of(html)


def test_the_page_shows_what_changed_since_a_revision(company: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *identity, *words], check=True, capture_output=True)
    Path("jobs/0.yaml").write_text(NLP.replace("NAME", "job-0").replace("numNodes: 2", "numNodes: 4"))
    html = run("report", "--since", "git:HEAD", "-o", "-").stdout
    text = text_of(html)
    assert "Changes since git:HEAD 1 of 3 jobs is refused, 16 GPUs" in text
    assert "refused as immutable 16 → 32 nlp/job-0" in text
    assert "completions: 2 → 4 and 2 more jobs/0.yaml:6" in text
    assert "1 job is denied as before" in text
    assert cells(html, "job-0")[10] == "refused as immutable"
    assert cells(html, "job-1")[10] == NONE
    assert run("report", "--since", "HEAD", "-o", "-").status == 2
    assert run("report", "--since", "git:nowhere", "-o", "-").status == 1


MANY = 5 * MOST_IN_FULL + 1


@pytest.fixture
def many(tmp_path: Path) -> str:
    """A page about more jobs than are shown in full."""
    text = "---\n".join(NLP.replace("NAME", f"job-{number}") for number in range(MANY))
    (tmp_path / "many.yaml").write_text(text, encoding="utf-8")
    return run("report", str(tmp_path / "many.yaml"), "--release", "2.3", "-o", "-").stdout


def test_many_jobs_take_little_room_and_their_yaml_is_what_build_prints(many: str, tmp_path: Path) -> None:
    # 2,000 jobs have room in 1.5 MB.
    assert len(many) < 30_000 + 700 * MANY
    packed = re.search(r'<script type="text/plain" id="packed">(.*?)</script>', many)
    assert packed is not None
    texts = zlib.decompress(base64.b64decode(packed[1])).decode().split("\0")
    built = run("build", str(tmp_path / "many.yaml"), "--release", "2.3").stdout
    assert "---\n".join(texts) == built
    assert Outline(many).open == []


def test_full_shows_who_set_each_field_of_many_jobs_too(many: str, tmp_path: Path) -> None:
    full = run("report", str(tmp_path / "many.yaml"), "--release", "2.3", "--full", "-o", "-").stdout
    origin = "completions 2 plugin Torch at EnforceMLPolicy"
    assert (text_of(many).count(origin), text_of(full).count(origin)) == (0, MANY)


def test_a_browser_unpacks_the_yaml_of_a_job_that_is_opened(many: str, tmp_path: Path) -> None:
    opening = """<script>
document.querySelectorAll("details.job")[7].open = true;
setTimeout(() => { document.title = document.querySelectorAll("details.job")[7].querySelector("pre").textContent.slice(0, 400); }, 1000);
</script></body>"""
    dom = rendered(many.replace("</body>", opening), tmp_path)
    title = re.search(r"<title>(.*?)</title>", dom, re.DOTALL)
    assert title is not None
    assert "name: job-14\n" in title[1]
