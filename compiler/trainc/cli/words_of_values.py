"""Words in the `values` of overlays that YAML reads as booleans although they are meant as text: `no` is Norway's code, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainc.cli.compiling import Run
from trainc.cli.diagnostics import Files
from trainc.findings import Diagnostic, Finding, Fix, Hint, Path
from trainc.kube.documents import value_at
from trainc.reading.document import Document
from trainc.startup.patterns import pattern

_WORD = pattern(r"(?i)(?:[\w.-]+ *: +|- +)?(yes|no|on|off|y|n)(?![\w-])")

_MOST_CHARACTERS = 300


def words_of_values(runs: Sequence[Run]) -> Iterator[Diagnostic]:
    """Yield a warning for each word among texts that YAML takes for a boolean."""
    seen = set[str]()
    for run in runs:
        for document in (each.overlay.document for overlay in run.settings.overlays for each in overlay.in_order):
            if document.file not in seen:
                seen.add(document.file)
                yield from _of(document, run.files)


def _of(document: Document, files: Files) -> Iterator[Diagnostic]:
    for path in _among_texts(document.data.get("values"), ("values",)):
        source = document.locate(path)
        # Many words may share a line.
        start = source.column - 1 if source else 0
        line = (files.line(source) or "")[start : start + _MOST_CHARACTERS] if source else ""
        if word := _WORD.match(line):
            value = str(value_at(document.data, path)).lower()
            message = f"`{word[1]}` without quotes is the boolean {value}, and the others here are texts: templates print {value}"
            hint = Hint(f'write "{word[1]}"', Fix("set", f'"{word[1]}"'))
            yield document.diagnose(Finding("UnquotedWord", "warning", message, hint, path), document.file)


def _among_texts(value: Any, path: Path) -> Iterator[Path]:
    """Yield the booleans of lists with texts, and the fields of mappings in a list where those of others are texts."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _among_texts(item, (*path, key))
    elif isinstance(value, list):
        has_text = any(isinstance(item, str) for item in value)
        mappings = [item for item in value if isinstance(item, dict)]
        texts = {key for item in mappings for key, field in item.items() if isinstance(field, str)}
        for i, item in enumerate(value):
            if isinstance(item, bool) and has_text:
                yield (*path, i)
            for key, field in item.items() if isinstance(item, dict) else ():
                if isinstance(field, bool) and key in texts:
                    yield (*path, i, key)
            yield from _among_texts(item, (*path, i))
