"""Every command and every request of the language server takes steps in proportion to its input.

A new generator joins GROWING, a new command COMMANDS: steps are counted at n, 2n and 4n, and not timed.
"""

from __future__ import annotations

import io
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hostile_inputs import CLUSTER, GROWING, HEAD
from lsprotocol import types
from pygls.workspace import Workspace
from steps import assert_linear, steps

from trainc.api.arguments import Arguments, parse_arguments
from trainc.cli.command import COMMANDS as KNOWN
from trainc.cli.command import Streams
from trainc.cli.main import main
from trainc.features.lsp import arguments as lsp_arguments
from trainc.features.lsp import command as lsp
from trainc.features.lsp import server as serving

pytestmark = pytest.mark.slow
SIZES = (60, 120, 240)
# Above the number of jobs from which the report leaves out details.
SIZES_OF_REPORT = (120, 240, 480)
# The commands that take a file of any number of jobs, and how.
COMMANDS: Mapping[str, str] = {
    "build": "build FILE",
    "check": "check FILE",
    "diff": "diff good.yaml FILE",
    "doctor": "doctor FILE --from cluster.yaml",
    "explain": "explain FILE",
    "fits": "fits FILE --cluster cluster.yaml",
    "graph": "graph FILE",
    "krm": "krm",
    "migrate": "migrate --diff FILE",
    "report": "report FILE -o -",
    "run": "run FILE --dry-run",
}
# These read no document that anybody may have written, or wait for one that reads them.
OTHERS = {"rule", "runtimes", "schema", "help", "version", "completion", "lsp", "init", "new", "import", "sdk", "cmp"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text(HEAD, encoding="utf-8")
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")


def test_every_command_is_counted_or_reads_no_documents() -> None:
    assert {command.name for command in KNOWN} - OTHERS == set(COMMANDS)


def counted(work: Callable[[int], Any], sizes: Sequence[int] = SIZES) -> list[int]:
    """The steps at each size. What is remembered of one input for the next is remembered before the first is counted."""
    work(sizes[-1])
    return [steps(lambda n=n: work(n)) for n in sizes]  # type: ignore[misc]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("shape", GROWING)
def test_a_command_takes_steps_in_proportion(shape: str, command: str) -> None:
    def work(count: int) -> None:
        text = GROWING[shape](count)
        Path(f"{count}.yaml").write_text(text, encoding="utf-8")
        words = [
            *COMMANDS[command].replace("FILE", f"{count}.yaml").split(),
            *(() if command in ("krm", "migrate") else ("--release", "2.3")),
        ]
        status = main(words, Streams(io.BytesIO(text.encode()), io.BytesIO(), io.StringIO()))
        assert status in (0, 1, 2)

    assert_linear(counted(work, SIZES_OF_REPORT if (shape, command) == ("jobs", "report") else SIZES))


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


REQUESTS: Mapping[str, tuple[Any, Any]] = {
    types.TEXT_DOCUMENT_DID_OPEN: (None, None),
    types.TEXT_DOCUMENT_HOVER: (serving._hover, types.HoverParams),
    types.TEXT_DOCUMENT_CODE_ACTION: (serving._actions, types.CodeActionParams),
    types.TEXT_DOCUMENT_DEFINITION: (serving._definition, types.DefinitionParams),
    types.TEXT_DOCUMENT_REFERENCES: (serving._references, types.ReferenceParams),
    types.TEXT_DOCUMENT_COMPLETION: (serving._completion, types.CompletionParams),
    types.TEXT_DOCUMENT_CODE_LENS: (serving._lenses, types.CodeLensParams),
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (serving._symbols, types.DocumentSymbolParams),
}


def test_every_request_is_counted() -> None:
    asked = {
        method
        for method, handler, _ in serving._FEATURES
        if handler.__code__.co_argcount and "Params" in str(handler.__annotations__)
    }
    told = {method for method in asked if "did" in method.lower() or method == types.INITIALIZED}
    assert asked - told == set(REQUESTS) - {types.TEXT_DOCUMENT_DID_OPEN}


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("shape", GROWING)
def test_a_request_takes_steps_in_proportion(shape: str, request_: str, tmp_path: Path) -> None:
    parser = ArgumentParser()
    lsp_arguments.add_arguments(parser)
    arguments = parse_arguments(parser, ["--release", "2.3"])
    assert isinstance(arguments, Arguments)
    handler, params = REQUESTS[request_]

    def work(count: int) -> None:
        server = serving.make_server(lambda root, alone: lsp._workspace(arguments, root, alone))
        server.protocol._workspace = Workspace(tmp_path.as_uri())
        server.text_document_publish_diagnostics = lambda params: None  # type: ignore[method-assign]  # noqa: ARG005 - its signature
        uri = (tmp_path / "open.yaml").as_uri()
        text = GROWING[shape](count)
        server.workspace.put_text_document(types.TextDocumentItem(uri, "yaml", 1, text))
        if handler is None:
            server._show(uri, thorough=True)
        else:
            handler(server, _params(params, uri, min(5, text.count("\n"))))

    assert_linear(counted(work))
