"""Templates: renders `*.yaml.j2` files with limits on time and memory, and maps positions back to the template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from trainc.findings import Diagnostic, Path, Source
from trainc.options import Limits
from trainc.reading.document import Document
from trainc.reading.yaml_reader import decode, encode, read_documents
from trainc.startup.patterns import pattern
from trainc.startup.records import replace

_LINE = pattern(r" on line (\d+)$")
__all__ = ["TemplateFailedError", "read_template", "render"]


class TemplateFailedError(Exception):
    """The template `text` cannot be rendered; `diagnostic` has the position and the reason."""

    def __init__(self, file: str, text: str, line: int, message: str, hint: str) -> None:
        super().__init__(message)
        # Jinja2 does not report columns, so use the first non-space character of the line.
        failing_line = text.split("\n")[line - 1 : line]
        column = 1 + sum(len(words) - len(words.lstrip()) for words in failing_line)
        self.diagnostic = Diagnostic("TemplateError", "error", message, hint, source=Source(file, line, column))


def render(text: str, file: str, values: Mapping[str, Any], limits: Limits) -> str:
    """Render a template. Raises TemplateFailedError with the position of the problem."""
    from trainc.reading.templates import rendering  # Jinja2 takes long to import, and most inputs are not templates.

    return rendering.render(text, file, values, limits)


def read_template(
    data: bytes, file: str, values: Mapping[str, Any], limits: Limits, *, already: int = 0
) -> tuple[list[Document], list[Diagnostic]]:
    """Render a template and read its documents, like `yaml_reader.read_documents`.

    Positions refer to the template; output of an expression is on the line of the expression.
    """
    text = decode(data)
    try:
        output = render(text, file, values, limits)
    except TemplateFailedError as failed:
        return [], [failed.diagnostic]
    from trainc.reading.templates.rendering import template_lines

    lines = cache(lambda: template_lines(text, output, values, limits))  # Most templates have no diagnostics.

    def in_template(source: Source | None) -> Source | None:
        return source and replace(source, line=lines()[min(source.line, len(lines())) - 1])

    def locator(locate: Callable[[Path], Source | None]) -> Callable[[Path], Source | None]:
        return lambda path: in_template(locate(path))

    def shown(diagnostic: Diagnostic) -> Diagnostic:
        source, first = in_template(diagnostic.source), _LINE.search(diagnostic.message)
        line = f" on line {lines()[min(int(first[1]), len(lines())) - 1]}" if first else ""
        line = " from the round before" if source and line == f" on line {source.line}" else line
        return replace(diagnostic, message=_LINE.sub(line, diagnostic.message), source=source)

    documents, diagnostics = read_documents(encode(output), file, limits, already=already)
    return [replace(d, locate=locator(d.locate)) for d in documents], [*map(shown, diagnostics)]
