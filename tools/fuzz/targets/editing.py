"""The language server: any text in an open file is analyzed, and every request about it is answered."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from lsprotocol import types
from pygls.workspace import Workspace

from fuzz.targets.commands import _folder
from trainc.cli.command import Arguments, add_rows, commands
from trainc.cli.parser import parse_arguments
from trainc.features.authoring.lsp import command as lsp, server as serving

PATH = "jobs/other.yaml"


def check(data: bytes) -> None:
    """Raise whatever a handler raises."""
    server, uri = _server()
    text = data[1:].decode(errors="replace")
    server.workspace.put_text_document(types.TextDocumentItem(uri, "yaml", 1, text))
    server.analyze(uri, thorough=True)
    lines = text.split("\n")
    line = data[0] % len(lines) if data else 0
    place = types.Position(line, len(lines[line]) // 2)
    identified = types.TextDocumentIdentifier(uri)
    whole = types.Range(types.Position(0, 0), place)
    asked: dict[str, Any] = {
        types.TEXT_DOCUMENT_HOVER: types.HoverParams(identified, place),
        types.TEXT_DOCUMENT_DEFINITION: types.DefinitionParams(identified, place),
        types.TEXT_DOCUMENT_COMPLETION: types.CompletionParams(identified, place),
        types.TEXT_DOCUMENT_REFERENCES: types.ReferenceParams(types.ReferenceContext(True), identified, place),
        types.TEXT_DOCUMENT_CODE_LENS: types.CodeLensParams(identified),
        types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: types.DocumentSymbolParams(identified),
        types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionParams(identified, whole, types.CodeActionContext([])),
    }
    for method, handler, _ in serving.REQUESTS:
        serving.reply(handler, server, asked[method])


@cache
def _server() -> tuple[serving.Server, str]:
    from argparse import ArgumentParser

    root = os.path.realpath(_folder())
    parser = ArgumentParser()
    add_rows(parser, next(command for command in commands() if command.name == "lsp").rows())
    arguments = parse_arguments(parser, [])
    assert isinstance(arguments, Arguments)
    server = serving.make_server(lambda folder, alone: lsp._workspace(arguments, folder, alone))  # noqa: SLF001
    server.protocol._workspace = Workspace(f"file://{root}")  # noqa: SLF001 - without a client
    server.text_document_publish_diagnostics = lambda params: None  # type: ignore[method-assign]  # noqa: ARG005 - its signature
    return server, f"file://{root}/{PATH}"
