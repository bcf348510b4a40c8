"""Lenses above a job: what it runs, what becomes of what runs, and whether it fits; and the outline."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from commands import run
from editor import JOB, PATCHED, RUNTIME, SIZE, Editor, editing

CASES = Path(__file__).parents[3] / "cases" / "fits"


def lenses(editor: Editor, name: str) -> list[str]:
    found = editor.request("textDocument/codeLens", {"textDocument": {"uri": editor.uri(name)}})
    return [lens["command"]["title"] for lens in found]


def test_the_transcript_of_the_lenses(editor: Editor) -> None:
    editor.open("jobs/llm.yaml")
    asked = {"textDocument": {"uri": editor.uri("jobs/llm.yaml")}}
    top = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    runs = "4 pods x 8 GPUs, torchrun, 8 processes per pod, 32 ranks, rendezvous at llm-node-0-0.llm:29500"
    assert editor.request("textDocument/codeLens", asked) == [
        {"range": top, "command": {"title": runs, "command": ""}},
        {"range": top, "command": {"title": "unchanged against HEAD", "command": ""}},
    ]


def test_what_is_typed_is_compared_with_head(repository: Path) -> None:
    settings = (repository / "trainc.yaml").read_text()
    (repository / "trainc.yaml").write_text(settings + "syncOptions: [Force=true, Replace=true]\n")
    with editing(repository) as session:
        session.open("jobs/llm.yaml")
        session.change("jobs/llm.yaml", JOB.replace("numNodes: 4", "numNodes: 2"))
        assert lenses(session, "jobs/llm.yaml")[1] == "restarts under Argo CD against HEAD"
        assert lenses(session, "jobs/llm.yaml")[0].startswith("2 pods x 8 GPUs")


def test_a_runtime_that_differs_from_head_changes_its_jobs(repository: Path) -> None:
    with editing(repository) as session:
        session.open("jobs/llm.yaml")
        session.open("runtimes/pretrain.yaml", RUNTIME.replace("pretrain:1", "pretrain:2"))
        assert lenses(session, "jobs/llm.yaml")[1] == "is refused under Argo CD against HEAD"
        assert lenses(session, "runtimes/pretrain.yaml") == ["2 TrainJobs use it"]


def test_a_job_that_is_kept_as_built_is_the_one_in_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = (repository / "trainc.yaml").read_text()
    (repository / "trainc.yaml").write_text(settings + "output: rendered\nrebuild: changed-jobs\n")
    monkeypatch.chdir(repository)
    assert run("build").status == 0
    with editing(repository) as session:
        session.open("jobs/llm.yaml")
        session.open("runtimes/pretrain.yaml", RUNTIME.replace("pretrain:1", "pretrain:2"))
        assert lenses(session, "jobs/llm.yaml")[1] == "unchanged against HEAD"
        session.change("jobs/llm.yaml", JOB.replace("numNodes: 4", "numNodes: 2"))
        assert lenses(session, "jobs/llm.yaml")[1] == "is refused under Argo CD against HEAD"


def test_what_an_overlay_brings_is_compared_with_head_too(repository: Path) -> None:
    settings = 'release: "2.3"\nenvironments:\n  large: {overlay: overlays/large, output: b}\n'
    (repository / "trainc.yaml").write_text(settings)
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qam", "b"],
        cwd=repository,
        check=True,
    )
    with editing(repository) as session:
        session.open("jobs/llm.yaml")
        assert lenses(session, "jobs/llm.yaml")[0].startswith("16 pods x 8 GPUs")
        assert lenses(session, "jobs/llm.yaml")[1] == "unchanged against HEAD"
        session.change("jobs/llm.yaml", JOB.replace("train.py", "other.py"))
        assert lenses(session, "jobs/llm.yaml")[1] == "is refused under Argo CD against HEAD"
        session.change("jobs/llm.yaml", JOB)
        session.open("overlays/large/size.yaml", SIZE.replace("16", "17"))
        assert lenses(session, "jobs/llm.yaml")[0].startswith("17 pods x 8 GPUs")
        assert lenses(session, "jobs/llm.yaml")[1] == "is refused under Argo CD against HEAD"


def test_a_job_that_head_does_not_have_is_new(repository: Path) -> None:
    with editing(repository) as session:
        session.open("jobs/new.yaml", PATCHED.replace("patched", "new"))
        assert lenses(session, "jobs/new.yaml")[1] == "is new under Argo CD against HEAD"


def test_outside_of_git_there_is_nothing_to_compare_with(repository: Path) -> None:
    shutil.rmtree(repository / ".git")
    with editing(repository) as session:
        session.open("jobs/llm.yaml")
        assert len(lenses(session, "jobs/llm.yaml")) == 1


def test_nothing_of_the_repository_is_run_to_compare(repository: Path) -> None:
    """A filter that git would run on each file, were it asked whether the file has changed."""
    met = repository / "met"
    (repository / ".gitattributes").write_text("*.yaml filter=trap diff=trap\n")
    for key, value in {"filter.trap.clean": f"touch {met}; cat", "core.fsmonitor": f"touch {met}"}.items():
        subprocess.run(["git", "config", key, value], cwd=repository, check=True)
    with editing(repository) as session:
        session.open("jobs/llm.yaml", JOB.replace("numNodes: 4", "numNodes: 2"))
        assert lenses(session, "jobs/llm.yaml")[1:]
    assert not met.exists()


@pytest.mark.parametrize("more", ["", "nameHash: true\n"], ids=["plain names", "names with a hash"])
def test_the_cluster_is_asked_where_trainc_yaml_names_one(tmp_path: Path, more: str) -> None:
    shutil.copy(CASES / "jobs.yaml", tmp_path / "jobs.yaml")
    (tmp_path / "cluster").mkdir()
    shutil.copy(CASES / "cluster.yaml", tmp_path / "cluster" / "cluster.yaml")
    (tmp_path / "trainc.yaml").write_text(f'release: "2.3"\ncluster: cluster\nsources: [jobs.yaml]\n{more}')
    with editing(tmp_path.resolve()) as session:
        session.open("jobs.yaml")
        told = lenses(session, "jobs.yaml")
        # That takes longer, so that it is published when nobody types.
        while not (codes := {d["code"] for d in session.diagnostics("jobs.yaml")} - {"RestartsByDefault"}):
            session.receive()
    assert [line for line in told if line.startswith("fits queue")]
    assert [line for line in told if line.startswith("never in queue")]
    assert codes == {"NeverFits"}


def test_the_transcript_of_the_outline(editor: Editor) -> None:
    editor.open("runtimes/pretrain.yaml")
    asked = {"textDocument": {"uri": editor.uri("runtimes/pretrain.yaml")}}
    (found,) = editor.request("textDocument/documentSymbol", asked)
    assert (found["name"], found["detail"]) == ("pretrain", "ClusterTrainingRuntime")
    names, node = [], found
    while node["children"]:
        node = [child for child in node["children"] if child["name"] != "backoffLimit"][-1]
        names.append(node["name"])
    assert names == [
        "spec",
        "template",
        "spec",
        "replicatedJobs",
        "node",
        "template",
        "spec",
        "template",
        "spec",
        "volumes",
        "data",
        "emptyDir",
    ]
    assert node["range"]["start"] == {"line": 23, "character": 18}
