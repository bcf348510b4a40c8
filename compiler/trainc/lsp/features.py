"""The features of the language server, one handler each: from the protocol to a function of this package, and back."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from lsprotocol import types
from pygls.uris import from_fs_path

from trainc.lsp import completing, fixes, hovering, lenses, marking, names, symbols
from trainc.lsp.server import Opens, Server, file_of
from trainc.lsp.snapshot import Snapshot

_WATCHED = "**/*.{yaml,yml,json,j2}"
_KINDS = {
    "document": types.SymbolKind.Object,
    "field": types.SymbolKind.Field,
    "item": types.SymbolKind.Struct,
}
_COMPLETIONS = {
    "field": types.CompletionItemKind.Field,
    "value": types.CompletionItemKind.EnumMember,
    "name": types.CompletionItemKind.Reference,
}


def make_server(workspace_at: Opens) -> Server:
    """A server with every feature; `workspace_at` opens the folder that a file belongs to."""
    server = Server(workspace_at)
    for method, handler, options in _FEATURES:
        server.feature(method, options)(functools.partial(handler, server))
    return server


async def _initialized(server: Server, params: types.InitializedParams) -> None:
    """Ask the client to tell of files that change on the disk, where it can."""
    files = server.client_capabilities.workspace and server.client_capabilities.workspace.did_change_watched_files
    if files and files.dynamic_registration:
        watchers = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(_WATCHED)])
        registration = types.Registration("watch", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, watchers)
        await server.client_register_capability_async(types.RegistrationParams([registration]))


def _opened(server: Server, params: types.DidOpenTextDocumentParams) -> None:
    server.show(params.text_document.uri)
    server.show_all_later()


def _changed(server: Server, params: types.DidChangeTextDocumentParams) -> None:
    server.show_soon(params.text_document.uri)


def _saved(server: Server, params: types.DidSaveTextDocumentParams) -> None:
    server.changed_on_disk()


def _closed(server: Server, params: types.DidCloseTextDocumentParams) -> None:
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))
    server.changed_on_disk()


def _watched(server: Server, params: types.DidChangeWatchedFilesParams) -> None:
    server.changed_on_disk()


def _hover(server: Server, params: types.HoverParams) -> types.Hover | None:
    snapshot = server.look(params.text_document.uri)
    if snapshot is None:
        return None
    units = server.units(snapshot.lines)
    found = hovering.hover(snapshot, units.position_of(params.position))
    if found is None:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, found.text), units.range(found.range))


def _actions(server: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    snapshot = server.look(params.text_document.uri)
    only = params.context.only
    if snapshot is None or (only and not any(types.CodeActionKind.QuickFix.value.startswith(kind) for kind in only)):
        return []
    units, uri = server.units(snapshot.lines), params.text_document.uri
    requested = units.range_of(params.range)
    known = dict(marking.marked(snapshot))
    return [
        types.CodeAction(
            fix.title,
            types.CodeActionKind.QuickFix,
            [server.diagnostic(snapshot, fix.diagnostic, known[fix.diagnostic])],
            fix.preferred,
            edit=types.WorkspaceEdit({uri: [types.TextEdit(units.range(e.range), e.text) for e in fix.edits]}),
        )
        for fix in fixes.fixes(snapshot, requested, functools.partial(server.looked_at, snapshot))
    ]


def _definition(server: Server, params: types.DefinitionParams) -> list[types.Location]:
    return _located(server, params, names.definitions)


def _references(server: Server, params: types.ReferenceParams) -> list[types.Location]:
    def wanted(snapshot: Snapshot, mention: names.Mention) -> list[names.Mention]:
        declared = names.definitions(snapshot, mention) if params.context.include_declaration else []
        return [*declared, *names.references(snapshot, mention)]

    return _located(server, params, wanted)


def _located(
    server: Server,
    params: types.DefinitionParams | types.ReferenceParams,
    wanted: Callable[[Snapshot, names.Mention], list[names.Mention]],
) -> list[types.Location]:
    snapshot = server.look(params.text_document.uri)
    position = server.units(snapshot.lines).position_of(params.position) if snapshot is not None else None
    found = hovering.field_at(snapshot, position) if snapshot is not None and position is not None else None
    if snapshot is None or found is None:
        return []
    files = dict(names.named_files(snapshot, found.document))
    if found.field.path in files:
        path = os.path.join(snapshot.root, files[found.field.path])
        return [_top(path)] if os.path.isfile(path) else []
    mention = names.mentioned(found.document, found.field.path)
    places = [server.place_of(one, snapshot) for one in wanted(snapshot, mention)] if mention is not None else []
    return [place for place in places if place is not None]


def _top(path: str) -> types.Location:
    start = types.Position(0, 0)
    return types.Location(from_fs_path(os.path.normpath(path)) or "", types.Range(start, start))


def _completion(server: Server, params: types.CompletionParams) -> list[types.CompletionItem]:
    snapshot = server.look(params.text_document.uri)
    if snapshot is None:
        return []
    units = server.units(snapshot.lines)
    return [
        types.CompletionItem(
            found.label,
            kind=_COMPLETIONS[found.role],
            detail=found.detail or None,
            documentation=found.about or None,
            sort_text=f"{number:04}",
            filter_text=found.label,
            text_edit=types.TextEdit(units.range(found.range), found.text),
        )
        for number, found in enumerate(completing.completions(snapshot, units.position_of(params.position)))
    ]


def _lenses(server: Server, params: types.CodeLensParams) -> list[types.CodeLens]:
    snapshot = server.look(params.text_document.uri, thorough=True)
    path = file_of(params.text_document.uri)
    if snapshot is None or path is None:
        return []
    before = server.around(path).at_head(path, server.texts()) if snapshot.documents else None
    units = server.units(snapshot.lines)
    found = lenses.lenses(snapshot, before)
    return [types.CodeLens(units.range(lens.range), types.Command(lens.text, "")) for lens in found]


def _symbols(server: Server, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    snapshot = server.look(params.text_document.uri)
    if snapshot is None:
        return []
    units = server.units(snapshot.lines)

    def made(symbol: symbols.Symbol) -> types.DocumentSymbol:
        return types.DocumentSymbol(
            symbol.name,
            _KINDS[symbol.role],
            units.range(symbol.range),
            units.range(symbol.name_range),
            symbol.detail or None,
            children=[made(child) for child in symbol.children],
        )

    return [made(symbol) for symbol in symbols.symbols(snapshot.text)]


_FEATURES: tuple[tuple[str, Callable[..., Any], Any], ...] = (
    (types.INITIALIZED, _initialized, None),
    (types.TEXT_DOCUMENT_DID_OPEN, _opened, None),
    (types.TEXT_DOCUMENT_DID_CHANGE, _changed, None),
    (types.TEXT_DOCUMENT_DID_SAVE, _saved, None),
    (types.TEXT_DOCUMENT_DID_CLOSE, _closed, None),
    (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, _watched, None),
    (types.TEXT_DOCUMENT_HOVER, _hover, None),
    (types.TEXT_DOCUMENT_CODE_ACTION, _actions, types.CodeActionOptions([types.CodeActionKind.QuickFix])),
    (types.TEXT_DOCUMENT_DEFINITION, _definition, None),
    (types.TEXT_DOCUMENT_REFERENCES, _references, None),
    (types.TEXT_DOCUMENT_COMPLETION, _completion, types.CompletionOptions(trigger_characters=[" ", ":", "/"])),
    (types.TEXT_DOCUMENT_CODE_LENS, _lenses, None),
    (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, _symbols, None),
)
