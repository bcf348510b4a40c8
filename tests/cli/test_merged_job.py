"""docs/merged-job.md and drift.md: the steps of a job's life that the page does not run itself, nor tests/cli/test_sixty_jobs.py."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from commands import run
from repositories import (
    SETTINGS,
    branch,
    build,
    checked,
    commit,
    edit,
    git,
    job,
    merge,
    read,
    runtime,
    starting_with,
    write,
)

ROOT = Path(__file__).parents[2]
LLM, SOURCE, RUNTIME = "rendered/nlp/llm.yaml", "jobs/nlp/llm.yaml", "runtimes/torch-h100.yaml"


@starting_with
def repository() -> None:
    """Two jobs, merged."""
    git("init", "-q", "-b", "main")
    write("trainc.yaml", SETTINGS)
    runtime()
    job("nlp", "llm")
    job("nlp", "bert")
    build()
    commit("jobs")


def headline() -> str:
    return str(json.loads(run("diff", "--format", "json").stdout)["headline"])


@pytest.mark.parametrize(
    ("old", "new", "restarts"),
    [
        ("namespace: nlp}", "namespace: nlp, labels: {team: nlp}}", False),
        ("namespace: nlp}", "namespace: nlp, annotations: {note: done}}", False),
        ("apiVersion", "# A comment.\napiVersion", False),
        ("  trainer: {", "  trainer: {env: [{name: RUN, value: '2'}], ", True),
        ("numNodes: 2", "numNodes: 4", True),
    ],
)
def test_a_job_restarts_if_it_gets_another_hash(old: str, new: str, restarts: bool) -> None:
    edit(SOURCE, old, new)
    build()
    assert headline().startswith("1 of 2 jobs restarts") is restarts
    assert checked("HEAD").status == 0


def test_a_copy_under_a_new_name_runs_again_beside_the_first() -> None:
    write("jobs/nlp/llm-2.yaml", read(SOURCE).replace("name: llm", "name: llm-2"))
    build()
    assert headline() == "1 of 3 jobs is new, 16 GPUs"


def test_a_job_that_is_retired_ends_and_no_other_one_changes() -> None:
    edit(RUNTIME, "WARN", "INFO")
    Path(SOURCE).unlink()
    assert "1 file removed; 1 job kept as built" in build().stderr
    assert headline() == "1 of 2 jobs ends, 16 GPUs"


def test_a_ttl_in_a_runtime_is_warned_about() -> None:
    edit(
        RUNTIME,
        "  template:\n    spec:\n      replicatedJobs",
        "  template:\n    spec:\n      ttlSecondsAfterFinished: 60\n      replicatedJobs",
    )
    job("nlp", "new")
    assert "warning[TTLRerun]" in run("check").stderr


def test_a_conflict_in_a_rendered_file_is_solved_by_a_build() -> None:
    branch("more-nodes")
    edit(SOURCE, "numNodes: 2", "numNodes: 4")
    build()
    commit("more nodes")
    git("checkout", "-q", "main")
    branch("other-script")
    edit(SOURCE, "command: [torchrun, train.py]", "command: [torchrun, other.py]")
    build()
    commit("another script")
    merge("more-nodes")
    git("checkout", "-q", "other-script")
    with pytest.raises(Exception, match="returned non-zero"):
        git("merge", "main")
    # Both edits of the TrainJob are wanted; the rendered file is taken from either side.
    git("checkout", "-q", "--ours", SOURCE, LLM)
    edit(SOURCE, "numNodes: 2", "numNodes: 4")
    build("--rebuild", "nlp/llm")
    commit("merged")
    assert checked().status == 0
    assert re.findall(r"(?:parallelism: |- )(4|other\.py)\b", read(LLM)) == ["4", "other.py"]


def test_drift_looks_as_the_page_shows_it() -> None:
    """A person changed a label of one job, and the other one has finished."""
    page = (ROOT / "docs" / "drift.md").read_text(encoding="utf-8")
    shown = page.partition("rendered ↔ live.yaml\n")[2].partition("```")[0]
    write("jobs/nlp/llm.yaml", read(SOURCE).replace("namespace: nlp}", "namespace: nlp, labels: {team: nlp}}"))
    build()
    manifests = json.loads(run("build", "jobs", "--format", "json").stdout)["items"]
    for each in manifests:
        each["status"] = {
            "conditions": [{"type": "Completed", "status": "True"}] if "bert" in each["metadata"]["name"] else []
        }
        if "llm" in each["metadata"]["name"]:
            each["metadata"]["labels"]["team"] = "ads"
            fields: dict[str, object] = {"f:metadata": {"f:labels": {"f:team": {}}}}
            each["metadata"]["managedFields"] = [
                {"manager": "kubectl-label", "operation": "Update", "fieldsV1": fields}
            ]
    write("live.yaml", json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
    result = run("diff", "--live", "live.yaml")
    printed = re.sub(r"llm-\w{6}", "llm-jf47qm", result.stdout).replace("jobs/nlp/", "jobs/")
    assert printed == "rendered ↔ live.yaml\n" + shown
    assert run("diff", "--live", "live.yaml", "--exit-code").status == 1


def test_the_workflow_for_drift_runs_what_exists() -> None:
    page = (ROOT / "docs" / "drift.md").read_text(encoding="utf-8")
    (workflow,) = [text for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "schedule:" in text]
    (job,) = yaml.safe_load(workflow)["jobs"].values()
    command = job["steps"][-1]["run"].split()
    assert command == ["trainc", "diff", "--live", "live.yaml", "--exit-code"]
    build()
    items = json.loads(run("build", "jobs", "--format", "json").stdout)
    write("live.yaml", json.dumps(items))
    assert run(*command[1:]).status == 0
    items["items"].pop()
    write("live.yaml", json.dumps(items))
    assert run(*command[1:]).status == 1
