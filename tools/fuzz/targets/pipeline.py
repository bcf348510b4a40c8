"""The whole pipeline: any bytes compile or are refused with diagnostics, and what compiles is sound.

The first byte, a digit in seeds and findings, chooses the release and the semantics; the rest is a file.
"""

from __future__ import annotations

from typing import Any

from trainc import CompileError, Options, admit
from trainc.compilation import Compilation
from trainc.functions import compile_documents
from trainc.kube.releases import RELEASES
from trainc.options import Limits, Semantics
from trainc.reading.catalog import find
from trainc.reading.document import Document
from trainc.reading.yaml_reader import read_documents

LIMITS = Limits(document_bytes=100_000, documents=20, depth=60, alias_expansions=500)
_SEMANTICS: tuple[Semantics, ...] = ("gitops", "controller")
OPTIONS = tuple(Options(release=r, semantics=s) for s in _SEMANTICS for r in reversed(RELEASES))


def check(data: bytes) -> None:
    """Raise AssertionError for unsound output, and any other exception for input that breaks the compiler."""
    options = OPTIONS[data[0] % len(OPTIONS)] if data else OPTIONS[0]
    documents, problems = read_documents(data[1:], "input.yaml", LIMITS)
    if problems:
        return
    try:
        result = compile_documents(documents, (), options, find)
    except CompileError as refused:
        assert any(diagnostic.severity == "error" for diagnostic in refused.diagnostics)
        assert all(d.code and d.message and str(d) for d in refused.diagnostics)
        return
    _check_output(result, options)
    turned = [Document(_turned(document.data), document.file, document.locate) for document in documents]
    assert compile_documents(turned, (), options, find).to_yaml() == result.to_yaml(), "the order of keys matters"


def _check_output(result: Compilation, options: Options) -> None:
    assert all(diagnostic.severity != "error" for diagnostic in result.diagnostics)
    again, problems = read_documents(result.to_yaml().encode(), "output.yaml", Limits())
    assert not problems
    assert [document.data for document in again] == result.manifests
    for manifest in result.manifests:
        if manifest["kind"] == "JobSet" and options.semantics == "gitops":
            assert admit(manifest, options).manifests == [manifest], "admission would change the output"


def _turned(value: Any) -> Any:
    """The same data with the keys of every mapping in reverse order."""
    if isinstance(value, dict):
        return {key: _turned(value[key]) for key in reversed(value)}
    return [_turned(item) for item in value] if isinstance(value, list) else value
