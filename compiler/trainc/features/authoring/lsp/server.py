"""The state of a language server: the open files, the workspaces around them, and when diagnostics are published.

It opens no port, writes no file and never uses the network. Diagnostics are published at once for the file in which
somebody types, and for all open files when nobody has typed for a moment.
"""

from __future__ import annotations

import asyncio
import functools
import os
import sys
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import PositionCodec

from trainc import __version__
from trainc.api.command import rule_page, version
from trainc.api.documents import catalog, opening, yaml_reader
from trainc.api.editing import edits
from trainc.api.findings import Diagnostic, Source
from trainc.features.authoring.lsp import completing, fixes, hovering, lenses, names
from trainc.features.authoring.lsp.snapshot import Snapshot

if TYPE_CHECKING:
    from trainc.features.authoring.lsp.workspace import Workspace

# Seconds without typing before slow work starts: checking the cluster and the other open files.
_MOMENT = 0.4
# Nobody writes a longer text by hand; `trainc check` reads what is longer.
_MOST_BYTES = 1_000_000
# The most diagnostics that are published of one file.
_MOST_SHOWN = 200
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}


class Units:
    """The lines of one text, and positions in it as the client counts them: in UTF-16, unless it offers something else."""

    def __init__(self, lines: Sequence[str], codec: PositionCodec) -> None:
        self._lines = lines
        self._codec = codec
        self._offsets: dict[int, Sequence[int]] = {}

    def _units(self, line: int) -> Sequence[int]:
        """The units before each character of a line, and before its end. Counted once: a line may have many fields."""
        if line not in self._offsets:
            text = self._lines[line] if line < len(self._lines) else ""
            counts = (self._codec.client_num_units(character) for character in text)
            self._offsets[line] = range(len(text) + 1) if text.isascii() else list(accumulate(counts, initial=0))
        return self._offsets[line]

    def position(self, position: edits.Position) -> types.Position:
        """A place, for the client."""
        units = self._units(position.line)
        return types.Position(position.line, units[min(position.column, len(units) - 1)])

    def range(self, text_range: edits.Range) -> types.Range:
        """A range, for the client."""
        return types.Range(self.position(text_range.start), self.position(text_range.end))

    def position_of(self, client_position: types.Position) -> edits.Position:
        """A place that the client names; the end of its line, or of the text, where that is shorter."""
        if client_position.line >= len(self._lines):
            return edits.Position(len(self._lines) - 1, len(self._lines[-1]))
        units = self._units(client_position.line)
        return edits.Position(client_position.line, min(bisect_left(units, client_position.character), len(units) - 1))

    def range_of(self, client_range: types.Range) -> edits.Range:
        """A range that the client names."""
        return edits.Range(self.position_of(client_range.start), self.position_of(client_range.end))


# Opens the workspace in a folder; that of one file alone where no folder is known to be one.
Opens: TypeAlias = "Callable[[str, str | None], Workspace]"


class Server(LanguageServer):
    """The open files, the workspaces around them, and what was last seen of each file."""

    def __init__(self, workspace_at: Opens) -> None:
        super().__init__("trainc", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self._workspace_at = workspace_at
        self._workspaces: dict[str, Workspace] = {}
        self._snapshots: dict[str, tuple[object, bool, Snapshot]] = {}
        self._later: asyncio.TimerHandle | None = None
        self._pending: dict[str, asyncio.Handle] = {}

    def texts(self) -> dict[str, str]:
        """The texts of the open files, by real path."""
        documents = self.workspace.text_documents.items()
        return {path: document.source or "" for uri, document in documents if (path := file_of(uri))}

    def around(self, path: str) -> Workspace:
        """The workspace of a file: the nearest folder with a trainc.yaml, else the editor's folder, else it alone."""
        above = opening.folders_upward(os.path.dirname(path))
        configured = next(
            (folder for folder in above if os.path.isfile(os.path.join(folder, opening.CONFIGURATION_FILE))), None
        )
        opened = [file_of(folder.uri) or "" for folder in self.workspace.folders.values()]
        opened += [os.path.realpath(self.workspace.root_path)] if self.workspace.root_path else []
        holding = [folder for folder in opened if folder and path.startswith(folder.rstrip(os.sep) + os.sep)]
        root = configured or max(holding, key=len, default=None)
        key = root or path
        if key not in self._workspaces:
            folder, alone = (root, None) if root is not None else (os.path.dirname(path), path)
            self._workspaces[key] = self._workspace_at(folder, alone)
        return self._workspaces[key]

    def look(self, uri: str, *, thorough: bool = False) -> Snapshot | None:
        """The file as it is now; None for what is no file, or not open, or too large."""
        path, texts = file_of(uri), self.texts()
        if path is None or self.text_of(uri) is None:
            return None
        cached = self._snapshots.get(path)
        state = tuple(sorted((name, hash(text)) for name, text in texts.items()))
        if cached is not None and cached[0] == state and (cached[1] or not thorough):
            return cached[2]
        snapshot = self.around(path).look_at(path, texts, thorough=thorough)
        self._snapshots[path] = state, thorough and snapshot.complete, snapshot
        return snapshot

    def text_of(self, uri: str) -> str | None:
        """The text of a file as it is now; None for what is no file, or not open, or too large."""
        path = file_of(uri)
        text = self.texts().get(path) if path is not None else None
        if path is None or text is None or len(text) > _MOST_BYTES:
            return None
        # Neither a folder nor a file that is not saved yet, or whose folder is gone.
        return text if os.path.isdir(os.path.dirname(path)) and not os.path.isdir(path) else None

    def units(self, lines: Sequence[str]) -> Units:
        """Positions in a text as the client counts them."""
        return Units(lines, self.workspace.position_codec)

    def show(self, uri: str, *, thorough: bool = False) -> None:
        """Publish what there is to say of a file, or that it could not be analyzed."""
        try:
            self.analyze(uri, thorough=thorough)
        except Exception:  # noqa: BLE001 - a defect, after which the last diagnostics must not stay as if nothing had changed
            self.give_up(uri)

    def analyze(self, uri: str, *, thorough: bool = False) -> None:
        """Publish what there is to say of a file. Raises whatever a defect raises."""
        snapshot = self.look(uri, thorough=thorough)
        marks = hovering.marks_of(snapshot) if snapshot is not None else []
        diagnostics: list[types.Diagnostic] = []
        if snapshot is not None:
            units = self.units(snapshot.lines)
            diagnostics = [self.diagnostic(snapshot, units, *mark) for mark in marks[:_MOST_SHOWN]]
        if len(marks) > _MOST_SHOWN:
            more = f"... and {len(marks) - _MOST_SHOWN:,} more; fix these first"
            diagnostics.append(_about_file(more, "Information"))
        self._publish(uri, diagnostics)

    def give_up(self, uri: str) -> None:
        """Say in a file that it could not be analyzed, and log the defect."""
        sys.stderr.write(version.describe_defect())
        message = "trainc could not analyze this file: this is a defect in trainc, please report it"
        self._publish(uri, [_about_file(message, "Error")])

    def _publish(self, uri: str, diagnostics: list[types.Diagnostic]) -> None:
        document = self.workspace.text_documents.get(uri)
        version = document.version if document is not None else None
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))

    def diagnostic(
        self, snapshot: Snapshot, units: Units, diagnostic: Diagnostic, span: edits.Range
    ) -> types.Diagnostic:
        """A diagnostic as the protocol has it."""
        url = rule_page(diagnostic.code, snapshot.docs_url)
        return types.Diagnostic(
            units.range(span),
            hovering.full_message(diagnostic),
            _SEVERITIES[diagnostic.severity],
            diagnostic.code,
            None if url is None else types.CodeDescription(url),
            "trainc",
        )

    def show_soon(self, uri: str) -> None:
        """Publish once the messages that have arrived by now are read: of several key presses only the last counts."""
        loop = asyncio.get_running_loop()
        if (waiting := self._pending.pop(uri, None)) is not None:
            waiting.cancel()
        self._pending[uri] = loop.call_later(0.02, self.show, uri)
        self.show_all_later()

    def show_all_later(self) -> None:
        """Publish every open file when nobody has typed for a moment."""
        if self._later is not None:
            self._later.cancel()
        self._later = asyncio.get_running_loop().call_later(_MOMENT, self.show_all)

    def show_all(self) -> None:
        """Publish every open file."""
        for uri in list(self.workspace.text_documents):
            self.show(uri, thorough=True)
        if not all(snapshot.complete for _, _, snapshot in self._snapshots.values()):
            self.show_all_later()
        capabilities = self.client_capabilities.workspace
        if capabilities and capabilities.code_lens and capabilities.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)

    def changed_on_disk(self) -> None:
        """Look at the disk again."""
        self._snapshots.clear()
        for workspace in self._workspaces.values():
            workspace.changed()
        self.show_all_later()

    def located(self, source: Source, message: str, snapshot: Snapshot) -> types.Location | None:
        """The words that a message means about a place, in whichever file."""
        path = os.path.join(snapshot.root, source.file)
        if source.origin == "catalog":
            path = os.path.join(catalog.catalog_folder(), source.file.removeprefix(catalog.CATALOG_PREFIX))
        text = self.texts().get(os.path.realpath(path))
        try:
            lines = (yaml_reader.decode(opening.read_file(path, _MOST_BYTES)) if text is None else text).splitlines()
        except OSError:
            return None
        text_range = hovering.range_of_words(lines, source, message)
        return types.Location(from_fs_path(path) or "", self.units(lines).range(text_range))


def _about_file(message: str, severity: str) -> types.Diagnostic:
    start = types.Position(0, 0)
    return types.Diagnostic(types.Range(start, start), message, types.DiagnosticSeverity[severity], source="trainc")


def file_of(uri: str) -> str | None:
    """The real path of a file; None for what is none, such as a text that was never saved."""
    if not uri.startswith("file:"):
        return None
    try:
        path = to_fs_path(uri)
        return os.path.realpath(path) if path and "\0" not in path else None
    except ValueError:  # No URI, or characters that no path can have.
        return None


# The features of the language server, one handler each: from the protocol to a function of this package, and back.


_WATCHED = "**/*.{yaml,yml,json,j2}"
_KINDS = {"document": types.SymbolKind.Object, "field": types.SymbolKind.Field, "item": types.SymbolKind.Struct}
_COMPLETIONS = {
    "field": types.CompletionItemKind.Field,
    "value": types.CompletionItemKind.EnumMember,
    "name": types.CompletionItemKind.Reference,
}


def make_server(workspace_at: Opens) -> Server:
    """A server with every feature; `workspace_at` opens the folder that a file belongs to."""
    server = Server(workspace_at)
    server.feature(types.INITIALIZED)(functools.partial(_initialized, server))
    for method, handler in _EVENTS:
        server.feature(method)(functools.partial(_answer, handler, server))
    for method, answer, options in REQUESTS:
        server.feature(method, options)(functools.partial(_answer, functools.partial(reply, answer), server))
    return server


def reply(handler: _Answers, server: Server, params: Any) -> Any:
    """Answer about the file as it is now; with nothing where there is none."""
    # Only the lines above jobs wait for the cluster.
    snapshot = server.look(params.text_document.uri, thorough=handler is _lenses)
    return [] if snapshot is None else handler(server, params, snapshot, server.units(snapshot.lines))


def _answer(handler: Callable[[Server, Any], Any], server: Server, params: Any) -> Any:
    """Answer with nothing where a handler fails; the client gets no traceback."""
    try:
        return handler(server, params)
    except Exception:  # noqa: BLE001 - a defect
        document = getattr(params, "text_document", None)
        if document is not None:
            server.give_up(document.uri)
        return None


async def _initialized(server: Server, params: types.InitializedParams) -> None:
    """Have the client report changes of files on the disk, if it supports that."""
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


def _saved(server: Server, params: types.DidSaveTextDocumentParams | types.DidChangeWatchedFilesParams) -> None:
    server.changed_on_disk()


def _closed(server: Server, params: types.DidCloseTextDocumentParams) -> None:
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))
    server.changed_on_disk()


def _hover(server: Server, params: types.HoverParams, snapshot: Snapshot, units: Units) -> types.Hover | None:
    hover = hovering.hover(snapshot, units.position_of(params.position))
    if hover is None:
        return None
    text_range, text = hover
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), units.range(text_range))


def _actions(
    server: Server, params: types.CodeActionParams, snapshot: Snapshot, units: Units
) -> list[types.CodeAction]:
    only, uri = params.context.only, params.text_document.uri
    if only and not any(types.CodeActionKind.QuickFix.value.startswith(kind) for kind in only):
        return []
    return [
        types.CodeAction(
            offer.edit.title,
            types.CodeActionKind.QuickFix,
            [server.diagnostic(snapshot, units, offer.diagnostic, offer.range)],
            offer.preferred,
            edit=types.WorkspaceEdit({uri: [types.TextEdit(units.range(offer.edit.range), offer.edit.text)]}),
        )
        for offer in fixes.offers(snapshot, units.range_of(params.range))
    ]


def _located(
    server: Server, params: types.DefinitionParams | types.ReferenceParams, snapshot: Snapshot, units: Units
) -> list[types.Location]:
    """The definitions of a name, or the references to it, perhaps with its definitions."""
    target = hovering.field_at(snapshot, units.position_of(params.position))
    if target is None:
        return []
    files = dict(names.named_files(snapshot, target.document))
    if target.field.path in files:
        path = os.path.join(snapshot.root, files[target.field.path])
        top, name = types.Position(0, 0), from_fs_path(os.path.normpath(path)) or ""
        return [types.Location(name, types.Range(top, top))] if os.path.isfile(path) else []
    mention = names.mentioned(target.document, target.field.path)
    if mention is None:
        return []
    references = isinstance(params, types.ReferenceParams)
    defines = not isinstance(params, types.ReferenceParams) or params.context.include_declaration
    mentions = names.definitions(snapshot, mention) if defines else []
    mentions += names.references(snapshot, mention) if references else []
    sources = ((mention.document.locate(mention.path), f"'{mention.name}'") for mention in mentions)
    locations = (server.located(source, text, snapshot) for source, text in sources if source is not None)
    return [location for location in locations if location is not None]


def _completion(
    server: Server, params: types.CompletionParams, snapshot: Snapshot, units: Units
) -> list[types.CompletionItem]:
    return [
        types.CompletionItem(
            completion.label,
            kind=_COMPLETIONS[completion.role],
            detail=completion.detail or None,
            documentation=completion.about or None,
            sort_text=f"{number:04}",
            filter_text=completion.label,
            text_edit=types.TextEdit(units.range(completion.range), completion.text),
        )
        for number, completion in enumerate(completing.completions(snapshot, units.position_of(params.position)))
    ]


def _lenses(server: Server, params: types.CodeLensParams, snapshot: Snapshot, units: Units) -> list[types.CodeLens]:
    path = file_of(params.text_document.uri) or ""
    before = server.around(path).at_head(path, server.texts()) if snapshot.documents else None
    code_lenses = lenses.lenses(snapshot, before)
    return [types.CodeLens(units.range(text_range), types.Command(text, "")) for text_range, text in code_lenses]


def _symbols(server: Server, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    text = server.text_of(params.text_document.uri)
    if text is None:
        return []
    units = server.units(edits.lines_of(text))

    def convert(symbol: names.OutlineSymbol) -> types.DocumentSymbol:
        return types.DocumentSymbol(
            symbol.name,
            _KINDS[symbol.role],
            units.range(symbol.range),
            units.range(symbol.name_range),
            symbol.detail or None,
            children=[convert(child) for child in symbol.children],
        )

    return [convert(symbol) for symbol in names.symbols(text)]


_EVENTS: tuple[tuple[str, Callable[[Server, Any], Any]], ...] = (
    (types.TEXT_DOCUMENT_DID_OPEN, _opened),
    (types.TEXT_DOCUMENT_DID_CHANGE, _changed),
    (types.TEXT_DOCUMENT_DID_SAVE, _saved),
    (types.TEXT_DOCUMENT_DID_CLOSE, _closed),
    (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, _saved),
    (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, _symbols),  # The outline needs the text alone.
)
_Answers: TypeAlias = Callable[[Server, Any, Snapshot, Units], Any]
REQUESTS: tuple[tuple[str, _Answers, Any], ...] = (
    (types.TEXT_DOCUMENT_HOVER, _hover, None),
    (types.TEXT_DOCUMENT_CODE_ACTION, _actions, types.CodeActionOptions([types.CodeActionKind.QuickFix])),
    (types.TEXT_DOCUMENT_DEFINITION, _located, None),
    (types.TEXT_DOCUMENT_REFERENCES, _located, None),
    (types.TEXT_DOCUMENT_COMPLETION, _completion, types.CompletionOptions(trigger_characters=[" ", ":", "/"])),
    (types.TEXT_DOCUMENT_CODE_LENS, _lenses, None),
)
