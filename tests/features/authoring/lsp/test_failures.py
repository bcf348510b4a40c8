"""A request that fails says so in the file, in the place of what was said before."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from editor import JOB
from lsprotocol import types
from pygls.workspace import Workspace

from trainc.api.arguments import Arguments
from trainc.cli.command import add_rows, commands
from trainc.cli.parser import parse_arguments
from trainc.features.authoring.lsp import command, fixes, hovering, server

PLACE = types.Position(10, 6)


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return (tmp_path / "job.yaml").as_uri()


@pytest.fixture
def published(tmp_path: Path, uri: str) -> tuple[server.Server, list[types.PublishDiagnosticsParams]]:
    parser = ArgumentParser()
    add_rows(parser, next(one for one in commands() if one.name == "lsp").rows())
    arguments = parse_arguments(parser, ["--release", "2.3"])
    assert isinstance(arguments, Arguments)
    made = server.make_server(lambda root, alone: command._workspace(arguments, root, alone))
    made.protocol._workspace = Workspace(tmp_path.as_uri())
    said: list[types.PublishDiagnosticsParams] = []
    made.text_document_publish_diagnostics = said.append  # type: ignore[assignment,method-assign]
    made.workspace.put_text_document(types.TextDocumentItem(uri, "yaml", 1, JOB))
    return made, said


def broken(*_: Any, **__: Any) -> Any:
    raise KeyError("a defect")


@pytest.mark.parametrize(
    ("module", "name", "handler", "params"),
    [
        (hovering, "hover", partial(server.reply, server._hover), types.HoverParams),
        (fixes, "offers", partial(server.reply, server._actions), types.CodeActionParams),
        (hovering, "marks_of", server._opened, None),
    ],
)
def test_what_fails_is_said_in_the_file(
    module: Any,
    name: str,
    handler: Any,
    params: Any,
    uri: str,
    published: tuple[server.Server, list[types.PublishDiagnosticsParams]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made, said = published
    monkeypatch.setattr(made, "show_all_later", lambda: None)
    document = types.TextDocumentIdentifier(uri)
    if params is types.CodeActionParams:
        request: Any = params(document, types.Range(PLACE, PLACE), types.CodeActionContext([]))
    elif params is None:
        request = types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "yaml", 1, JOB))
    else:
        request = params(document, PLACE)
    server._answer(handler, made, request)
    before = len(said)
    monkeypatch.setattr(module, name, broken)
    assert server._answer(handler, made, request) is None
    (found,) = said[before:][-1].diagnostics
    assert found.message.startswith("trainc could not analyze this file")
    assert (found.severity, found.range.start.line) == (types.DiagnosticSeverity.Error, 0)
    assert "a bug in trainc" in capsys.readouterr().err
    monkeypatch.undo()
