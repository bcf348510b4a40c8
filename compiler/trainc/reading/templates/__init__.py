"""Templates: renders `*.yaml.j2` files with limits on time and memory, and maps positions back to the template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trainc.findings import Diagnostic, Path, Source
from trainc.options import Limits
from trainc.reading.document import Document
from trainc.reading.templates.rendering import TemplateFailedError
from trainc.reading.yaml_reader import decode, encode, read_documents
from trainc.startup.records import replace

__all__ = ["read_template", "render"]


def render(text: str, file: str, values: Mapping[str, Any], limits: Limits) -> str:
    """Render a template. Raises TemplateFailedError with the position of the problem."""
    # Jinja2 is slow to import, and most inputs are not templates.
    from trainc.reading.templates.rendering import rendered

    return rendered(text, file, values, limits)


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
    lines = _Lines(text, output, file, values, limits)
    documents, diagnostics = read_documents(encode(output), file, limits, already=already)
    placed = [replace(d, source=lines.place(d.source)) for d in diagnostics]
    return [replace(document, locate=lines.locator(document.locate)) for document in documents], placed


class _Lines:
    """Maps output lines to template lines, on demand."""

    def __init__(self, text: str, output: str, file: str, values: Mapping[str, Any], limits: Limits) -> None:
        self._of = (text, output, file, values, limits)
        self._lines: list[int] | None = None

    def locator(self, locate: Callable[[Path], Source | None]) -> Callable[[Path], Source | None]:
        """Return a document's `locate` function with positions in the template."""
        return lambda path: self.place(locate(path))

    def place(self, source: Source | None) -> Source | None:
        """Convert a position in the output to a position in the template."""
        if source is None:
            return None
        if self._lines is None:
            from trainc.reading.templates.rendering import template_lines

            self._lines = template_lines(*self._of)
        line = self._lines[min(source.line, len(self._lines)) - 1]
        return replace(source, line=line)
