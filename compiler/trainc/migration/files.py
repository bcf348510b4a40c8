"""Files: every document of a file in the newest API, the rest of the file as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainc.api.documents import Json
from trainc.diagnostics import Diagnostic, Path
from trainc.migration.newest import Around, around_of, in_newest_api
from trainc.options import Limits
from trainc.reading.encoding import encode
from trainc.reading.lists import items
from trainc.reading.yaml_reader import read_documents, read_value
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

Change = tuple[Path, Json, Json]
# At the first column these three dashes end a document wherever they stand, block scalars included.
_SEPARATOR = pattern(r"^---(?:[ \t][^\n]*)?\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MigratedFile:
    """A file's text in the newest API; the same text where nothing had to change."""

    text: str
    diagnostics: tuple[Diagnostic, ...]


def migrate_text(text: str, file: str, limits: Limits, around: Around | None = None) -> MigratedFile:
    """Every TrainJob and runtime of `text` in the newest API, with what could not be expressed.

    `around` is what all files say together, since this one may name runtimes and models of others; without it, what
    this file says.
    """
    documents, diagnostics = read_documents(encode(text), file, limits)
    if diagnostics:
        return MigratedFile(text, tuple(diagnostics))
    if around is None:
        around = around_of(document.data for document in documents)
    said: list[Diagnostic] = []
    for document in documents:
        migrated = in_newest_api(document.data, around)
        said += map(document.place, migrated.findings)
    lines = text.replace("\r\n", "\n")
    new = "".join(_migrated_parts(lines, limits, around))
    return MigratedFile(text if new == lines else _with_line_ends_of(text, new), tuple(said))


def _with_line_ends_of(text: str, new: str) -> str:
    return new.replace("\n", "\r\n") if "\r\n" in text else new


def _migrated_parts(text: str, limits: Limits, around: Around) -> Iterator[str]:
    """The text document by document, separators included."""
    start = 0
    for separator in _SEPARATOR.finditer(text):
        yield _migrated_part(text[start : separator.start()], limits, around)
        yield separator[0]
        start = separator.end()
    yield _migrated_part(text[start:], limits, around)


def _migrated_part(part: str, limits: Limits, around: Around) -> str:
    if not part.lstrip().startswith("{"):
        return _migrated_yaml(part, limits, around)
    from trainc.migration.rewriting import leading_objects

    *objects, (_, _, rest) = leading_objects(part)
    migrated = (space + _migrated_object(text, value, around) for space, value, text in objects)
    return "".join((*migrated, _migrated_yaml(rest, limits, around)))


def _migrated_object(text: str, now: Json, around: Around) -> str:
    from trainc.migration.rewriting import rewrite_json

    wanted = now
    for path, _, newest in _changes(now, around):
        wanted = _with(wanted, path, newest)
    return text if wanted == now else rewrite_json(text, now, wanted)


def _with(data: Any, path: Path, value: Any) -> Any:
    """`data` with `value` at `path`."""
    if not path:
        return value
    inner = _with(data[path[0]], path[1:], value)
    if isinstance(data, list):
        return [inner if index == path[0] else item for index, item in enumerate(data)]
    return {**data, path[0]: inner}


def _migrated_yaml(part: str, limits: Limits, around: Around) -> str:
    documents, problems = read_documents(encode(part), "", limits)
    if problems or not documents:
        return part
    changes = list(_changes(read_value(part), around))
    if not changes:
        return part
    from trainc.migration.rewriting import rewrite

    return rewrite(part, changes)


def _changes(data: Any, around: Around) -> Iterator[Change]:
    """Every object of one document that has to change, with its place: a List holds several."""
    for path, value in items(data):
        wanted = in_newest_api(value, around).data if isinstance(value, Mapping) else value
        if wanted != value:
            yield path, value, wanted
