"""Input that no editor should send, and texts that nobody has finished: the session goes on, and nothing is written."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from editor import JOB, RUNTIME, Editor, editing
from hostile_inputs import SMALL

pytestmark = pytest.mark.slow

METHODS = ("hover", "definition", "completion", "codeLens", "documentSymbol", "codeAction", "references")


def ask_everything(editor: Editor, uri: str, line: int, character: int) -> None:
    place = {"line": line, "character": character}
    both = {"start": {"line": 0, "character": 0}, "end": {"line": line, "character": character}}
    contexts = {"references": {"includeDeclaration": True}, "codeAction": {"diagnostics": []}}
    for method in METHODS:
        params = {"textDocument": {"uri": uri}, "position": place, "range": both}
        context = {"context": contexts[method]} if method in contexts else {}
        editor.request(f"textDocument/{method}", {**params, **context})


def test_every_beginning_of_a_text_is_answered(editor: Editor) -> None:
    """As somebody types it, in a file that holds a runtime and a job."""
    text = RUNTIME.replace("pretrain", "typed") + "---\n" + JOB.replace("llm", "typed")
    editor.open("jobs/typed.yaml", "")
    for end in range(1, len(text), 29):
        editor.change("jobs/typed.yaml", text[:end])
        line, character = text[:end].count("\n"), len(text[:end].rpartition("\n")[2])
        ask_everything(editor, editor.uri("jobs/typed.yaml"), line, character)
    assert editor.change("jobs/typed.yaml", text) == []


@pytest.mark.parametrize("number", range(0, len(SMALL), 8))
def test_hostile_documents_are_diagnosed(number: int, editor: Editor) -> None:
    for name, (data, _) in list(SMALL.items())[number : number + 8]:
        text = data if isinstance(data, str) else data.decode(errors="replace")
        editor.open("jobs/hostile.yaml", text)
        for line, character in ((0, 0), (2, 3), (10**9, 10**9)):
            ask_everything(editor, editor.uri("jobs/hostile.yaml"), line, character)
        assert editor.process.poll() is None, name


def test_a_huge_file_is_left_alone(editor: Editor) -> None:
    assert editor.open("jobs/huge.yaml", JOB + "# " + "x" * 1_100_000) == []
    ask_everything(editor, editor.uri("jobs/huge.yaml"), 3, 3)


@pytest.mark.parametrize(
    "uri",
    [
        "untitled:Untitled-1",
        "git:/jobs/llm.yaml?HEAD",
        "http://example.com/a.yaml",
        "file:///no/such/folder/a.yaml",
        "file://%00",
        "file:///tmp/\ud800/a.yaml",
        "file:///",
        "x",
        "",
    ],
)
def test_what_is_not_a_file_is_answered_with_nothing(uri: str, editor: Editor) -> None:
    item = {"uri": uri, "languageId": "yaml", "version": 1, "text": JOB}
    editor.notify("textDocument/didOpen", {"textDocument": item})
    ask_everything(editor, uri, 3, 3)
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert editor.open("jobs/llm.yaml") == []


def test_half_a_character_is_an_error_at_its_place(editor: Editor) -> None:
    diagnostics = editor.open("jobs/llm.yaml", f"{JOB}# \ud800\n")
    assert [(d["code"], d["range"]["start"]["line"]) for d in diagnostics] == [("InvalidEncoding", JOB.count("\n"))]
    ask_everything(editor, editor.uri("jobs/llm.yaml"), 3, 3)


def test_a_file_that_was_never_opened_is_answered_with_nothing(editor: Editor) -> None:
    ask_everything(editor, editor.uri("jobs/patched.yaml") + ".other", 0, 0)


def test_files_may_vanish(tmp_path: Path, repository: Path) -> None:
    with editing(repository) as session:
        session.open("jobs/llm.yaml")
        (repository / "runtimes/pretrain.yaml").unlink()
        session.notify(
            "workspace/didChangeWatchedFiles", {"changes": [{"uri": session.uri("runtimes/pretrain.yaml"), "type": 3}]}
        )
        assert [d["code"] for d in session.change("jobs/llm.yaml", JOB + "\n")] == ["RuntimeNotFound"]
        (repository / "jobs/llm.yaml").unlink()
        ask_everything(session, session.uri("jobs/llm.yaml"), 3, 3)
        shutil.rmtree(repository / "jobs")
        (repository / "trainc.yaml").unlink()
        session.notify("textDocument/didSave", {"textDocument": {"uri": session.uri("jobs/llm.yaml")}})
        ask_everything(session, session.uri("jobs/llm.yaml"), 3, 3)


def test_a_cancelled_request_is_answered_once(editor: Editor) -> None:
    editor.open("jobs/llm.yaml")
    number = editor.ask("textDocument/hover", editor.at("jobs/llm.yaml", 10, 5))
    editor.notify("$/cancelRequest", {"id": number})
    assert editor.answer(number)
    assert editor.request("textDocument/hover", editor.at("jobs/llm.yaml", 10, 5))


def test_unknown_methods_and_nonsense_are_survived(editor: Editor) -> None:
    assert editor.answer(editor.ask("textDocument/noSuchThing", {}))["error"]
    editor.ask("textDocument/hover", {"nonsense": 1})
    editor.notify("$/noSuchNotification", {})
    assert editor.open("jobs/llm.yaml") == []
    assert editor.complaints == ["Error in server: Invalid Params"]
    editor.complaints.clear()


def test_of_several_key_presses_the_last_one_counts(editor: Editor) -> None:
    editor.open("jobs/llm.yaml")
    for number in range(30):
        text = JOB.replace("numNodes", "numNode") if number % 2 == 0 else JOB
        identified = {"uri": editor.uri("jobs/llm.yaml"), "version": 100 + number}
        editor.notify("textDocument/didChange", {"textDocument": identified, "contentChanges": [{"text": text}]})
    editor._versions["jobs/llm.yaml"] = 129
    assert editor.diagnostics("jobs/llm.yaml") == []


def test_nothing_is_written_and_nobody_is_called(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No file comes or changes, and no socket is opened: the process has none but what it was started with."""

    def state() -> dict[str, tuple[int, bytes]]:
        files = (path for path in repository.rglob("*") if path.is_file() and not path.is_symlink())
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    before = state()
    with editing(repository) as session:
        for name in ("jobs/llm.yaml", "runtimes/pretrain.yaml", "overlays/large/overlay.yaml", "trainc.yaml"):
            session.open(name)
            ask_everything(session, session.uri(name), 3, 9)
        session.change("jobs/llm.yaml", JOB.replace("4", "5"))
        opened = Path(f"/proc/{session.process.pid}/fd")
        kinds = [os.readlink(one) for one in opened.iterdir()] if opened.is_dir() else []
    assert state() == before
    # asyncio wakes itself with a pair of sockets that lead nowhere else.
    assert len([kind for kind in kinds if kind.startswith("socket:")]) <= 2
