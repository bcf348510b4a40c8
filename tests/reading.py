"""Short ways to read text in tests."""

from __future__ import annotations

from typing import Any

from trainc.findings import Diagnostic
from trainc.options import Limits
from trainc.reading.document import Document
from trainc.reading.yaml_reader import read_documents


def read(text: str | bytes, limits: Limits = Limits()) -> tuple[list[Document], list[Diagnostic]]:
    """What a file called `jobs.yaml` holds."""
    return read_documents(text if isinstance(text, bytes) else text.encode(), "jobs.yaml", limits)


def data_of(text: str | bytes) -> list[dict[str, Any]]:
    """The data of every document of a file without errors."""
    documents, diagnostics = read(text)
    assert diagnostics == []
    return [document.data for document in documents]


def errors_of(text: str | bytes, limits: Limits = Limits()) -> list[tuple[str, int, int]]:
    """Code, line and column of each error, in the order of reporting."""
    _, diagnostics = read(text, limits)
    assert all(d.severity == "error" and d.message and d.hint for d in diagnostics)
    return [(d.code, d.source.line, d.source.column) for d in diagnostics if d.source is not None]
