"""The three forms of a comparison: for a terminal, for a pull request, for machines."""

from __future__ import annotations

import json
import re
from typing import Any

from builders import compiled, container, job, runtime, trainjob
from comparing import bent, diff_markdown, diff_of, manifests, trainer

from trainc.features.gitops.diff.delivery import DELIVERY_METHODS, FLUX_FORCE, NAME_HASH
from trainc.features.gitops.diff.markdown import comment, steps_diagram
from trainc.features.gitops.diff.model import Review
from trainc.features.gitops.diff.text import diff_json, diff_text
from trainc.findings import Diagnostic
from trainc.startup.records import replace

Json = dict[str, Any]


def plain(_: str, text: str) -> str:
    return text


TEXT = """\
before → after
1 of 1 job is refused, 8 GPUs
for Trainer 2.3; (*) marks your delivery mode

team-a/llm  changed: refused as immutable
  nodes 2 → 4   GPUs 8 → 16   CPU 4 → 8   memory 2Gi → 4Gi   gang 2 → 4
  PodGroup llm: in-place
    ~ spec.minMember: 2 → 4
    ~ spec.minResources.cpu: "4" → "8"
    ~ spec.minResources.memory: 2Gi → 4Gi
    ~ spec.minResources["nvidia.com/gpu"]: "8" → "16"
  JobSet llm
    spec.replicatedJobs[node].template.spec
      ~ completions: 2 → 4
      ~ parallelism: 2 → 4
    spec.replicatedJobs[node].template.spec.template.spec.containers[node]
      ~ env[PET_NNODES].value: "2" → "4"
  refused as immutable   kubectl apply; Argo CD, client-side (*); Argo CD, server-side; Flux
  re-created             Argo CD, Force+Replace; Flux, force; name hash
"""


def test_the_text_for_a_terminal() -> None:
    text = diff_text(diff_of(manifests(), manifests(numNodes=4)), plain)
    assert text.startswith(TEXT)
    assert "all jobs  nodes 2 → 4   GPUs 8 → 16" in text
    assert text.endswith("1 job of 1 with changes\n")
    assert all(len(line) < 121 for line in text.splitlines())


def test_one_line_says_that_nothing_differs() -> None:
    same = diff_of(manifests(), manifests())
    assert diff_text(same, plain) == "before → after: no changes in 1 job\n"
    assert diff_markdown(same) == "`before` → `after`: no changes in 1 job.\n"


def test_every_part_of_the_text_has_a_colour_that_the_reader_can_tell() -> None:
    parts = set()

    def paint(part: str, text: str) -> str:
        parts.add(part)
        return f"<{part}>{text}</{part}>"

    text = diff_text(diff_of([*manifests(), *manifests("old")], [*manifests(numNodes=4), *manifests("new")]), paint)
    assert parts == {"title", "added", "removed", "changed", "harmless", "refused", "harmful", "quiet", "note"}
    assert re.sub(r"</?[a-z]+>", "", text).startswith("before → after\n")


def test_the_comment_has_the_table_first_and_the_rest_folded() -> None:
    text = diff_markdown(diff_of(manifests(), manifests(numNodes=4), way=FLUX_FORCE))
    lines = text.splitlines()
    assert lines[0] == "### `before` → `after`"
    assert lines[2] == "**1 of 1 job restarts, 8 GPUs**"
    assert lines[4].startswith("| job | change | outcome | nodes | GPUs |")
    assert lines[6] == (
        "| `team-a/llm` | `completions: 2 → 4` and 6 more | **re-created** | **2 → 4** | **8 → 16** | **4 → 8** | **2Gi → 4Gi** | **2 → 4** |"
    )
    assert len({line.count("|") for line in lines[4:8]}) == 1
    assert text.count("<details>") == text.count("</details>") == 1
    assert text.index("| job |") < text.index("<details>")
    assert "```mermaid\nflowchart LR" in text
    assert '- env[PET_NNODES].value: "2"\n+ env[PET_NNODES].value: "4"' in text


def test_what_would_break_the_comment_is_kept_from_it() -> None:
    after = [
        bent(m, lambda x: trainer(x).update(args=["a|b", "```", "</details>", "\x1b[31m", "x\ny```"]))
        if m["kind"] == "JobSet"
        else m
        for m in manifests()
    ]
    text = diff_markdown(diff_of(manifests(), after))
    assert "\x1b" not in text
    assert "\n````diff\n" in text
    assert text.count("\n````\n") == 1


def test_a_comment_is_never_longer_than_github_takes() -> None:
    before = [m for n in range(60) for m in manifests(f"job-{n}")]
    after = [
        m
        for n in range(60)
        for m in manifests(f"job-{n}", env=[{"name": f"V{n}", "value": "<|`" * 500}], command=["x" * (n + 1)])
    ]
    diff = diff_of(before, after)
    text = diff_markdown(diff, most=30_000)
    assert len(text) <= 30_000
    assert text.count("| `team-a/job-") == 60
    shown = text.count("<details>")
    assert 0 < shown < 60
    assert f"The details of {60 - shown} more changes" in text
    assert "details of" not in diff_markdown(diff, most=10**6)
    errors = tuple(Diagnostic("Code", "error", "x" * 3000) for _ in range(500))
    review = Review((("a", errors), ("b", errors)), *[tuple(f"{n} {'y' * 900}" for n in range(300))] * 4)
    assert len(diff_markdown(replace(diff, review=review, notes=("z" * 1000,) * 1))) <= 60_000
    unread = {f"env-{n}": list(errors) for n in range(100)}
    assert len(comment({f"e{n}": replace(diff, review=review) for n in range(20)}, unread)) <= 60_000


def test_jobs_that_change_in_the_same_way_are_one_group() -> None:
    names = [f"job-{n}" for n in range(18)]
    before = [m for name in names for m in manifests(name)]
    after = [m for name in names for m in manifests(name, numNodes=4)]
    own = manifests("own", numNodes=3)
    diff = diff_of([*before, *manifests("own")], [*after, *own], way=NAME_HASH, everything=False)
    assert [len(group.members) for group in diff.groups] == [18, 1]
    text = diff_text(diff, plain)
    assert "18 jobs  changed: re-created\n  team-a/job-0, team-a/job-1," in text
    assert text.count("completions: 2 → 4") == 1
    assert "team-a/own  changed: re-created" in text
    page = diff_markdown(diff)
    assert "| 18 jobs | `completions: 2 → 4` and 6 more | **re-created** | **36 → 72** |" in page
    assert page.count("- completions: 2") == 2
    groups = json.loads(diff_json(diff))["groups"]
    assert [len(group["jobs"]) for group in groups] == [18, 1]
    assert groups[0]["totals"]["after"]["gpus"] == "288"


def test_what_changes_in_all_environments_is_there_once() -> None:
    diffs = {
        name: diff_of(manifests(), manifests(numNodes=nodes)) for name, nodes in (("dev", 4), ("prod", 4), ("x", 3))
    }
    text = comment(diffs, {})
    assert text.startswith(
        "### `before` → `after`\n\n**3 of 3 jobs are refused, 24 GPUs**\n\n- dev: 1 of 1 job is refused"
    )
    assert re.findall(r"^\| (`team-a.*?) \|", text, re.MULTILINE) == ["`team-a/llm` in dev, prod", "`team-a/llm` in x"]
    same = diff_of(manifests(), manifests())
    assert comment({"dev": same, "prod": same}, {}) == "`before` → `after`: no changes in 2 jobs of 2 environments.\n"


def test_steps_that_changed_are_drawn() -> None:
    def with_steps(*steps: Json) -> list[Json]:
        return compiled(trainjob(), runtime(*steps, job(dependsOn=[_awaits(steps[-1]["name"])]))).manifests

    def _awaits(name: str) -> Json:
        return {"name": name, "status": "Complete"}

    old, new = job("old", None, [container("c")]), job("new", None, [container("c")])
    (found,) = diff_of(with_steps(old), with_steps(new)).jobs
    assert "\n".join(steps_diagram(found)).splitlines()[2:-1] == [
        "flowchart LR",
        '  s0["<b>old</b><br/>1 pod"]',
        '  s1["<b>node</b><br/>1 pod"]',
        '  s2["<b>new</b><br/>1 pod"]',
        "  s2 -->|Complete| s1",
        "  s0 -.->|Complete| s1",
        "  classDef added stroke:#2da44e,stroke-width:3px",
        "  class s2 added",
        "  classDef removed stroke:#cf222e,stroke-width:3px,stroke-dasharray:5 5",
        "  class s0 removed",
        "  classDef changed stroke:#bf8700,stroke-width:3px",
        "  class s1 changed",
    ]
    unchanged = diff_markdown(diff_of(manifests(), manifests(env=[])))
    assert "mermaid" not in unchanged


def test_the_document_for_machines_says_everything() -> None:
    diff = diff_of([*manifests(), *manifests("same")], [*manifests(numNodes=4), *manifests("same")], way=NAME_HASH)
    document = json.loads(diff_json(diff))
    assert (document["kind"], document["delivery"], document["changed"]) == ("Diff", "name-hash", True)
    assert (document["unchangedJobs"], list(document["deliveries"])) == (1, [way.id for way in DELIVERY_METHODS])
    assert document["totals"]["after"] == {"nodes": 6, "gpus": "24", "cpu": "12", "memory": "6Gi", "gang": 6}
    (found,) = document["jobs"]
    assert found["outcomes"]["name-hash"] == "re-created"
    assert found["steps"]["after"][1] == {
        "name": "node",
        "pods": 4,
        "requests": {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "4"},
        "dependsOn": [{"name": "prepare", "status": "Complete"}],
    }
    jobset = found["objects"][-1]
    assert jobset["changes"][0] == {
        "path": "spec.replicatedJobs[node].template.spec.completions",
        "kind": "changed",
        "before": 2,
        "after": 4,
        "outcomes": dict(jobset["outcomes"]),
    }
    assert jobset["refusals"][0]["code"] == "FieldImmutable"
    assert "kubectl" in jobset["refusals"][0]["deliveries"]
