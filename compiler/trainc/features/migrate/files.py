"""Migrate the documents of a file and leave the rest of its text unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api.documents import Document, encode, read_documents, read_value
from trainc.api.findings import CompileError, Diagnostic, Path
from trainc.api.kube import Json
from trainc.api.records import dataclass, pattern
from trainc.api.settings import Limits
from trainc.features.migrate.migrate import Plan
from trainc.reading.document import items

# Three dashes in the first column start a new document everywhere, even inside a block scalar.
_SEPARATOR = pattern(r"^(---(?:[ \t][^\n]*)?\n)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MigratedFile:
    """The migrated text of a file; identical to the original if nothing had to change."""

    text: str
    diagnostics: tuple[Diagnostic, ...]


def migrate_text(text: str, file: str, limits: Limits, plan: Plan | None = None) -> MigratedFile:
    """Migrate every document of `text`, and report what could not be expressed.

    `plan` is that of all files of a migration, because a file may refer to runtimes and models of others; by default
    it is made from this file alone.
    """
    documents, problems = read_documents(encode(text), file, limits)
    if problems:
        return MigratedFile(text, tuple(problems))
    return migrate_documents(text, documents, limits, plan or Plan(document.data for document in documents))


def migrate_documents(text: str, documents: Sequence[Document], limits: Limits, plan: Plan) -> MigratedFile:
    """Migrate a text whose documents have been read without problems."""
    outcomes = [(document, plan.of(document.data)) for document in documents]
    found = tuple(document.place(finding) for document, outcome in outcomes for finding in outcome.findings)
    if all(outcome.documents == (document.data,) for document, outcome in outcomes):
        return MigratedFile(text, found)
    lines = text.replace("\r\n", "\n")
    # Separators stand between the parts, at odd positions.
    parts = _SEPARATOR.split(lines)
    new = "".join(part if number % 2 else "".join(_rewritten(part, limits, plan)) for number, part in enumerate(parts))
    return MigratedFile(text if new == lines else new.replace("\n", "\r\n") if "\r\n" in text else new, found)


def _rewritten(part: str, limits: Limits, plan: Plan) -> Iterator[str]:
    """Yield the migrated text of a part: any JSON objects, and then one YAML document."""
    from trainc.features.migrate.rewriting import leading_objects, rewrite, rewrite_json

    *objects, (_, _, rest) = leading_objects(part)
    for space, data, text in objects:
        new = _replacing(data, plan)
        yield space + (text if new == [data] else rewrite_json(text, data, new))
    try:
        data = read_value(rest, limits)
    except CompileError:
        yield rest
        return
    new = _replacing(data, plan)
    yield rest if new == [data] else rewrite(rest, data, new)


def _replacing(data: Any, plan: Plan) -> list[Json]:
    """Return the documents in place of one. A List with an item that becomes several is a List of them all."""
    found = [(path, value, plan.of(value).documents) for path, value in items(data) if isinstance(value, dict)]
    if all(len(documents) == 1 for _, _, documents in found):
        for path, value, (document,) in found:
            data = data if document == value else _with(data, path, document)
        return [data]
    made = [document for _, _, documents in found for document in documents]
    return made if found[0][0] == () else [{**data, "apiVersion": "v1", "kind": "List", "items": made}]


def _with(data: Any, path: Path, value: Any) -> Any:
    """Return `data` with `value` at `path`."""
    if not path:
        return value
    step, *rest = path
    inner = _with(data[step], tuple(rest), value)
    if isinstance(data, list):
        return [inner if index == step else item for index, item in enumerate(data)]
    return {**data, step: inner}
