"""What an editor is told is what `trainc check` says, where it underlines it, of the text that is not saved yet."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from commands import run
from editor import JOB, RUNTIME, Editor, editing

from trainc.features.authoring.lsp.workspace import Workspace
from trainc.reading.edits import Edit, EditedText

RULES = sorted((Path(__file__).parents[4] / "compiler/trainc").rglob("rules/*.md"))
_BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)

Opens = Callable[[Path], Workspace]


def checked(folder: Path, file: str) -> list[dict[str, Any]]:
    """What `trainc check` says of a file, run in its folder."""
    with chdir(folder):
        found = json.loads(run("check", "--format", "json").stdout)["diagnostics"]
    return [{**d, "source": None} for d in found if d["source"] and d["source"]["file"] == file]


def seen(workspace: Workspace, file: str, text: str) -> list[dict[str, Any]]:
    path = os.path.join(workspace.root, file)
    found = workspace.look_at(path, {path: text}).diagnostics
    shape = ("code", "severity", "message", "hint", "object", "path")
    said = [{**{key: getattr(d, key) for key in shape}, "url": None, "source": None} for d in found]
    edited = EditedText(text)
    fixes = [[{"title": e.title, "edits": [_edit(e)]} for e in edited.edits(d)] for d in found]
    return [one | ({"fixes": more} if more else {}) for one, more in zip(said, fixes, strict=True)]


def _edit(edit: Edit) -> dict[str, Any]:
    (line, column), (end_line, end_column) = edit.range
    place = {"line": line + 1, "column": column + 1, "endLine": end_line + 1, "endColumn": end_column + 1}
    return {**place, "text": edit.text}


@pytest.mark.slow
@pytest.mark.parametrize("page", RULES, ids=[page.stem for page in RULES])
def test_every_rule_shows_in_an_editor_as_in_a_terminal(page: Path, workspace_at: Opens, tmp_path: Path) -> None:
    (tmp_path / "trainc.yaml").write_text('release: "2.3"\n')
    for text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        (tmp_path / "job.yaml").write_text(text, encoding="utf-8")
        assert seen(workspace_at(tmp_path), "job.yaml", text) == checked(tmp_path, "job.yaml")


def test_the_text_counts_that_is_not_saved_yet(workspace_at: Opens, repository: Path) -> None:
    workspace = workspace_at(repository)
    wrong = JOB.replace("numNodes", "numNode")
    assert [d["code"] for d in seen(workspace, "jobs/llm.yaml", wrong)] == ["UnknownField"]
    assert seen(workspace, "jobs/llm.yaml", JOB) == []


def test_a_runtime_that_is_being_edited_is_the_one_its_jobs_get(workspace_at: Opens, repository: Path) -> None:
    workspace = workspace_at(repository)
    runtime, patched = (str(repository / name) for name in ("runtimes/pretrain.yaml", "jobs/patched.yaml"))
    texts = {
        patched: Path(patched).read_text(),
        runtime: RUNTIME.replace("- name: node\n        t", "- name: nodes\n        t"),
    }
    workspace.look_at(runtime, texts)
    workspace.changed()
    assert "UnknownPatchTarget" in [d.code for d in workspace.look_at(patched, texts).diagnostics]


def test_the_settings_are_those_of_trainc_yaml_as_it_is_being_edited(workspace_at: Opens, repository: Path) -> None:
    workspace = workspace_at(repository)
    assert [d["code"] for d in seen(workspace, "trainc.yaml", 'relase: "2.3"\n')] == ["InvalidConfiguration"]
    assert seen(workspace, "trainc.yaml", 'release: "2.3"\n') == []


def test_every_environment_counts(workspace_at: Opens, repository: Path) -> None:
    settings = 'release: "2.3"\nruntimes: [runtimes]\nenvironments:\n  small: {output: a, sources: [jobs]}\n'
    (repository / "trainc.yaml").write_text(settings + "  large: {overlay: overlays/large, output: b}\n")
    job = JOB.replace("command: [torchrun", "command: [torchrun, --nnodes=4")
    (repository / "jobs/llm.yaml").write_text(job)
    found = seen(workspace_at(repository), "jobs/llm.yaml", job)
    assert found
    assert found == [{k: v for k, v in d.items() if k != "environments"} for d in checked(repository, "jobs/llm.yaml")]


def test_a_file_that_no_source_has_is_checked_as_if_it_were_named(workspace_at: Opens, repository: Path) -> None:
    assert [
        d["code"] for d in seen(workspace_at(repository), "drafts/new.yaml", JOB.replace("numNodes", "numNode"))
    ] == ["UnknownField"]


@pytest.mark.parametrize("file", ["chart/values.yaml", ".github/workflows/ci.yaml", "excluded/job.yaml"])
def test_files_that_check_leaves_out_are_left_alone(file: str, workspace_at: Opens, repository: Path) -> None:
    (repository / "trainc.yaml").write_text('release: "2.3"\nexclude: [excluded/]\n')
    text = JOB.replace("numNodes", "numNode") if "excluded" in file else "a: [b\n"
    assert seen(workspace_at(repository), file, text) == []


def test_the_transcript_of_a_mistake(editor: Editor) -> None:
    assert editor.open("jobs/llm.yaml") == []
    (found,) = editor.change("jobs/llm.yaml", JOB.replace("numNodes", "numNode"))
    assert found == {
        "range": {"start": {"line": 10, "character": 4}, "end": {"line": 10, "character": 11}},
        "message": "spec.trainer.numNode: Trainer 2.3 has no field numNode here\nhelp: did you mean numNodes?",
        "severity": 1,
        "code": "UnknownField",
        "source": "trainc",
    }
    assert editor.change("jobs/llm.yaml", JOB) == []


def test_other_open_files_are_told_of_a_change_when_nobody_types(repository: Path) -> None:
    with editing(repository) as session:
        assert session.open("jobs/patched.yaml") == []
        session.open("runtimes/pretrain.yaml")
        session.change("runtimes/pretrain.yaml", RUNTIME.replace("- name: node\n        t", "- name: nodes\n        t"))
        while not (found := session.diagnostics("jobs/patched.yaml")):
            session.receive()
    assert "UnknownPatchTarget" in [d["code"] for d in found]


@pytest.mark.slow
def _without(diagnostics: list[dict[str, Any]], code: str) -> list[dict[str, Any]]:
    return [each for each in diagnostics if each["code"] != code]


def test_every_file_of_a_large_workspace_is_told_what_check_says(workspace_at: Opens, tmp_path: Path) -> None:
    """Among them jobs of one name, runtimes of one name, and jobs that share a Service."""
    (tmp_path / "trainc.yaml").write_text('release: "2.3"\n')
    for case in sorted((Path(__file__).parents[3] / "cases").glob("*.yaml")):
        shutil.copy(case, tmp_path)
    (page,) = (page for page in RULES if page.stem == "SharedOutput")
    text = (
        _BLOCK.findall(page.read_text(encoding="utf-8"))[0]
        .replace("name: rt", "name: sharing")
        .replace("name: llm", "name: first")
    )
    first, _, second = text.partition("---\n")
    (tmp_path / "first.yaml").write_text(first)
    (tmp_path / "second.yaml").write_text(second)
    workspace, files = workspace_at(tmp_path), sorted(tmp_path.glob("*.yaml"))
    texts = {str(file): file.read_text(encoding="utf-8") for file in files}
    while not workspace.look_at(str(files[0]), {str(files[0]): texts[str(files[0])]}).complete:
        pass
    found = {file.name: seen(workspace, file.name, texts[str(file)]) for file in files}
    expected = {file.name: checked(tmp_path, file.name) for file in files}
    # Said about the first job: here, that may be one which check refuses because its name is used twice.
    assert {name: _without(each, "RestartsByDefault") for name, each in found.items()} == {
        name: _without(each, "RestartsByDefault") for name, each in expected.items()
    }
    assert "SharedOutput" in [d["code"] for d in found["second.yaml"]]


def test_a_file_outside_of_every_folder_is_checked_alone(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "job.yaml").write_text(JOB.replace("pretrain", "torch-distributed"))
    (repository / "trainc.yaml").unlink()
    shutil.rmtree(repository / ".git")
    with editing(repository / "jobs") as session:
        session.root = tmp_path / "elsewhere"
        assert [d["code"] for d in session.open("job.yaml", JOB)] == ["RuntimeNotFound"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8"])
def test_positions_are_counted_as_the_client_counts(encoding: str, repository: Path) -> None:
    # Without a word from the client, it is UTF-16.
    general = {} if encoding == "utf-16" else {"general": {"positionEncodings": [encoding]}}
    text = JOB[: JOB.index("  trainer:")] + '  trainer: {image: "漢字漢😀😀😀", numNode: 4}\n'
    with editing(repository, capabilities=general) as session:
        found = session.open("jobs/llm.yaml", text)
    (wrong,) = [d for d in found if d["code"] == "UnknownField"]
    before = text.split("\n")[9].partition("numNode")[0]
    units = (
        len(before.encode(encoding + "-le" * (encoding != "utf-8"))) // {"utf-16": 2, "utf-32": 4, "utf-8": 1}[encoding]
    )
    assert wrong["range"] == {"start": {"line": 9, "character": units}, "end": {"line": 9, "character": units + 7}}


def test_a_sweep_and_its_base_are_judged_by_the_trials(workspace_at: Opens, tmp_path: Path) -> None:
    base = JOB.replace("numNodes: 4", "numNodes: ${trialParameters.nodes}").replace(
        "name: pretrain", "name: torch-distributed"
    )
    sweep = "apiVersion: trainc/v1alpha1\nkind: Sweep\nbase: llm.yaml\nparameters: {nodes: [1, 2]}\n"
    for name, text in (("trainc.yaml", 'release: "2.3"\n'), ("llm.yaml", base), ("sweep.yaml", sweep)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    workspace = workspace_at(tmp_path)
    assert [seen(workspace, file, text) for file, text in (("llm.yaml", base), ("sweep.yaml", sweep))] == [[], []]
    many = sweep.replace("[1, 2]", "[1, many]")
    assert [d["code"] for d in seen(workspace, "sweep.yaml", many)] == ["WrongType"]
    typo = base.replace("Parameters.nodes", "Parameters.node")
    assert [d["code"] for d in seen(workspace, "llm.yaml", typo)] == ["UnknownParameter"]
