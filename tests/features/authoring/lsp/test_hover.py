"""What stands under the cursor: what it means, and what becomes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from editor import JOB, OVERLAY, PATCHED, RUNTIME, Editor, editing


def shown(editor: Editor, name: str, text: str, word: str, offset: int = 0) -> str:
    """What a hover over the first `word` of a text says."""
    line, character = place(text, word)
    found: Any = editor.request("textDocument/hover", editor.at(name, line, character + offset))
    return str(found["contents"]["value"]) if found else ""


def place(text: str, word: str) -> tuple[int, int]:
    before = text[: text.index(word)]
    return before.count("\n"), len(before.rpartition("\n")[2])


def test_the_transcript_of_a_hover(editor: Editor) -> None:
    editor.open("jobs/llm.yaml")
    found = editor.request("textDocument/hover", editor.at("jobs/llm.yaml", 10, 6))
    assert found == {
        "contents": {
            "kind": "markdown",
            "value": "`spec.trainer.numNodes` (whole number)\n\nNumber of training nodes (pods).\n\nBecomes:\n\n"
            "- `spec.replicatedJobs[node].template.spec.completions` = `4`, by plugin Torch at EnforceMLPolicy "
            "(from `spec.trainer.numNodes`, `jobs/llm.yaml:11`)\n"
            "- `spec.replicatedJobs[node].template.spec.parallelism` = `4`, by plugin Torch at EnforceMLPolicy "
            "(from `spec.trainer.numNodes`, `jobs/llm.yaml:11`)\n"
            '- `spec.replicatedJobs[node]...containers[node].env[PET_NNODES].value` = `"4"`, by plugin Torch at '
            "EnforceMLPolicy (from `spec.trainer.numNodes`, `jobs/llm.yaml:11`)",
        },
        "range": {"start": {"line": 10, "character": 4}, "end": {"line": 10, "character": 12}},
    }


def test_a_runtime_tells_what_becomes_of_it_in_a_job_that_uses_it(editor: Editor) -> None:
    editor.open("runtimes/pretrain.yaml")
    told = shown(editor, "runtimes/pretrain.yaml", RUNTIME, "image")
    assert "Becomes in TrainJob `team-a/llm`" in told
    assert "containers[node].image` = `registry.example.com/pretrain:1`" in told
    told = shown(editor, "runtimes/pretrain.yaml", RUNTIME, "numNodes")
    assert "`4`: overridden by plugin Torch" in told


def test_variables_and_runtimes_are_explained(editor: Editor) -> None:
    env = "env: [{name: NCCL_DEBUG, value: INFO}, {name: EPOCHS, value: x}]\n    numNodes: 4"
    text = JOB.replace("numNodes: 4", env)
    editor.open("jobs/explained.yaml", text)
    for word in ("NCCL_DEBUG", "INFO"):
        told = shown(editor, "jobs/explained.yaml", text, word)
        assert told.startswith("`NCCL_DEBUG`: read by NCCL: how much NCCL logs")
        assert "`WARN`, `INFO`" in told
    assert "read by" not in shown(editor, "jobs/explained.yaml", text, "EPOCHS")
    told = shown(editor, "jobs/explained.yaml", text, "pretrain")
    assert "`runtimes/pretrain.yaml`; `torch`; numNodes 2; job `node` with `registry.example.com/pretrain:1`" in told
    catalog = text.replace("pretrain", "torch-distributed")
    editor.change("jobs/explained.yaml", catalog)
    assert "job `node` with `pytorch/" in shown(editor, "jobs/explained.yaml", catalog, "torch-distributed")


def test_a_patch_tells_what_becomes_of_it(editor: Editor) -> None:
    editor.open("jobs/patched.yaml")
    told = shown(editor, "jobs/patched.yaml", PATCHED, "/scratch")
    assert "containers[node].volumeMounts[/scratch].mountPath` = `/scratch`" in told


def test_a_field_without_an_effect_says_so_and_a_runtime_that_nobody_uses_is_tried(editor: Editor) -> None:
    alone = RUNTIME.replace("name: pretrain\n", "name: alone\n").replace("spec:\n  mlPolicy", "spec:\n  mlPolicy", 1)
    (editor.root / "runtimes/alone.yaml").write_text(alone)
    editor.notify(
        "workspace/didChangeWatchedFiles", {"changes": [{"uri": editor.uri("runtimes/alone.yaml"), "type": 1}]}
    )
    editor.open("runtimes/alone.yaml")
    assert "Becomes in TrainJob" in shown(editor, "runtimes/alone.yaml", alone, "image")


@pytest.mark.parametrize("word", ["jobs]", "sources"])
def test_settings_and_overlays_have_meanings_too(word: str, editor: Editor) -> None:
    text = 'release: "2.3"\nsources: [jobs]\nruntimes: [runtimes]\n'
    editor.open("trainc.yaml")
    assert shown(editor, "trainc.yaml", text, word)
    assert "Files, folders or globs with TrainJobs" in shown(editor, "trainc.yaml", text, "sources")
    editor.open("overlays/large/overlay.yaml")
    assert "Folders with more runtimes" in shown(editor, "overlays/large/overlay.yaml", OVERLAY, "runtimes:")


def test_environments_that_differ_are_told_apart(repository: Path) -> None:
    settings = 'release: "2.3"\nruntimes: [runtimes]\nenvironments:\n  small: {output: a, sources: [jobs]}\n'
    (repository / "trainc.yaml").write_text(settings + "  large: {overlay: overlays/large, output: b}\n")
    with editing(repository) as session:
        session.open("jobs/llm.yaml")
        told = shown(session, "jobs/llm.yaml", JOB, "numNodes")
    assert "**small**" in told
    assert "= `4`" in told
    assert told.index("**small**") < told.index("= `4`")


def test_nothing_is_shown_where_there_is_nothing(editor: Editor) -> None:
    editor.open("jobs/llm.yaml")
    assert editor.request("textDocument/hover", editor.at("jobs/llm.yaml", 500, 3)) is None
