"""Migrate the documents of a file to the newest API and leave the rest of the file unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainc.features.migrate.newest import Around, around_of, migrate_document
from trainc.features.migrate.v1.batch import Batch
from trainc.findings import Diagnostic, Path
from trainc.kube.documents import Json
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Limits
from trainc.reading.document import items
from trainc.reading.yaml_reader import encode, read_documents, read_value
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

Change = tuple[Path, Json, Json]
# Three dashes in the first column start a new document everywhere, even inside a block scalar.
_SEPARATOR = pattern(r"^---(?:[ \t][^\n]*)?\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MigratedFile:
    """The migrated text of a file; identical to the original if nothing had to change."""

    text: str
    diagnostics: tuple[Diagnostic, ...]


def migrate_text(
    text: str, file: str, limits: Limits, around: Around | None = None, batch: Batch | None = None
) -> MigratedFile:
    """Migrate every TrainJob, runtime and v1 job in `text`, and report what could not be expressed.

    `around` describes all files of a migration, because a file may refer to runtimes and models of others; by default
    it is computed from this file alone. The same goes for `batch` and v1 jobs.
    """
    documents, diagnostics = read_documents(encode(text), file, limits)
    if diagnostics:
        return MigratedFile(text, tuple(diagnostics))
    if around is None:
        around = around_of(document.data for document in documents)
    batch = batch or Batch((document.data for document in documents), NEWEST_RELEASE)
    newest = _Newest(around, batch)
    found: list[Diagnostic] = []
    for document in documents:
        migrated = migrate_document(document.data, around)
        found += map(document.place, (*migrated.findings, *batch.of(document.data).findings))
    lines = text.replace("\r\n", "\n")
    new = "".join(_migrated_parts(lines, limits, newest))
    return MigratedFile(text if new == lines else _with_line_ends_of(text, new), tuple(found))


@dataclass(frozen=True, slots=True)
class _Newest:
    """What the documents of a migration become."""

    around: Around
    batch: Batch


def _with_line_ends_of(text: str, new: str) -> str:
    return new.replace("\n", "\r\n") if "\r\n" in text else new


def _migrated_parts(text: str, limits: Limits, newest: _Newest) -> Iterator[str]:
    """The migrated text, document by document, including separators."""
    start = 0
    for separator in _SEPARATOR.finditer(text):
        yield _migrated_part(text[start : separator.start()], limits, newest)
        yield separator[0]
        start = separator.end()
    yield _migrated_part(text[start:], limits, newest)


def _migrated_part(part: str, limits: Limits, newest: _Newest) -> str:
    if not part.lstrip().startswith("{"):
        return _migrated_yaml(part, limits, newest)
    from trainc.features.migrate.rewriting import leading_objects

    *objects, (_, _, rest) = leading_objects(part)
    migrated = (space + _migrated_object(text, value, newest) for space, value, text in objects)
    return "".join((*migrated, _migrated_yaml(rest, limits, newest)))


def _replacing(data: Any, newest: _Newest) -> list[Json] | None:
    """The documents that replace a v1 job or a List of them; None if nothing is replaced."""
    results = [(value, newest.batch.of(value).documents) for _, value in items(data) if isinstance(value, Mapping)]
    if not any(new for _, new in results):
        return None
    if len(results) == 1 and results[0][0] is data:
        return list(results[0][1])
    every = [made for value, new in results for made in new or (migrate_document(value, newest.around).data,)]
    return [{**data, "apiVersion": "v1", "kind": "List", "items": every}]


def _migrated_object(text: str, now: Json, newest: _Newest) -> str:
    from trainc.features.migrate.rewriting import rewrite_json

    replacing = _replacing(now, newest)
    if replacing is not None:
        return "\n".join(rewrite_json(text, now, made) for made in replacing)
    wanted = now
    for path, _, became in _changes(now, newest):
        wanted = _with(wanted, path, became)
    return text if wanted == now else rewrite_json(text, now, wanted)


def _with(data: Any, path: Path, value: Any) -> Any:
    """`data` with `value` at `path`."""
    if not path:
        return value
    inner = _with(data[path[0]], path[1:], value)
    if isinstance(data, list):
        return [inner if index == path[0] else item for index, item in enumerate(data)]
    return {**data, path[0]: inner}


def _migrated_yaml(part: str, limits: Limits, newest: _Newest) -> str:
    documents, problems = read_documents(encode(part), "", limits)
    if problems or not documents:
        return part
    data = read_value(part)
    replacing = _replacing(data, newest)
    if replacing is not None:
        from trainc.features.migrate.v1.text import replace_text

        return replace_text(part, data, replacing)
    changes = list(_changes(data, newest))
    if not changes:
        return part
    from trainc.features.migrate.rewriting import rewrite

    return rewrite(part, changes)


def _changes(data: Any, newest: _Newest) -> Iterator[Change]:
    """The changes to the objects of one document, each with its path; a List contains several objects."""
    for path, value in items(data):
        wanted = migrate_document(value, newest.around).data if isinstance(value, Mapping) else value
        if wanted != value:
            yield path, value, wanted
