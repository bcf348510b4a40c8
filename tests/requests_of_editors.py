"""Requests to the language server about an open file, answered inside this process, without a client."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.workspace import Workspace

from trainc.api.arguments import Arguments
from trainc.cli.command import add_rows, commands
from trainc.cli.parser import parse_arguments
from trainc.features.authoring.lsp import command as lsp, server as serving


def _params(request: Any, uri: str, line: int) -> Any:
    document, place = types.TextDocumentIdentifier(uri), types.Position(line, 9)
    whole = types.Range(types.Position(0, 0), place)
    if request is types.ReferenceParams:
        return request(types.ReferenceContext(True), document, place)
    if request is types.CodeActionParams:
        return request(document, whole, types.CodeActionContext([]))
    return (
        request(document) if request in (types.CodeLensParams, types.DocumentSymbolParams) else request(document, place)
    )


REQUESTS: Mapping[str, Any] = {
    types.TEXT_DOCUMENT_DID_OPEN: None,
    types.TEXT_DOCUMENT_HOVER: types.HoverParams,
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionParams,
    types.TEXT_DOCUMENT_DEFINITION: types.DefinitionParams,
    types.TEXT_DOCUMENT_REFERENCES: types.ReferenceParams,
    types.TEXT_DOCUMENT_COMPLETION: types.CompletionParams,
    types.TEXT_DOCUMENT_CODE_LENS: types.CodeLensParams,
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: types.DocumentSymbolParams,
}


def answer(method: str, text: str, folder: Path, *, release: str = "2.3") -> Any:
    """Open a file with this text in `folder`, and answer a request about it; opening alone gives its diagnostics."""
    parser = ArgumentParser()
    add_rows(parser, next(command for command in commands() if command.name == "lsp").rows())
    arguments = parse_arguments(parser, ["--release", release] if release else [])
    assert isinstance(arguments, Arguments)
    server = serving.make_server(lambda root, alone: lsp._workspace(arguments, root, alone))
    server.protocol._workspace = Workspace(folder.as_uri())
    published: list[types.PublishDiagnosticsParams] = []
    server.text_document_publish_diagnostics = published.append  # type: ignore[method-assign, assignment]
    uri = (folder / "open.yaml").as_uri()
    server.workspace.put_text_document(types.TextDocumentItem(uri, "yaml", 1, text))
    params = REQUESTS[method]
    if params is None:
        server.analyze(uri, thorough=True)
        return next(each.diagnostics for each in published if each.uri == uri)
    asked = _params(params, uri, min(5, text.count("\n")))
    handlers = {name: handler for name, handler, _ in serving.REQUESTS}
    if method in handlers:
        return serving.reply(handlers[method], server, asked)
    return dict(serving._EVENTS)[method](server, asked)
