"""The reasons why a template cannot be rendered."""

from __future__ import annotations

from trainc.diagnostics import Diagnostic, Source


class TemplateFailedError(Exception):
    """The template `text` cannot be rendered; `diagnostic` has the position and the reason."""

    def __init__(self, file: str, text: str, line: int, message: str, hint: str) -> None:
        super().__init__(message)
        shown = text.split("\n")[line - 1 : line]
        # Jinja2 does not report columns, so use the first non-space character of the line.
        column = 1 + sum(len(words) - len(words.lstrip()) for words in shown)
        self.diagnostic = Diagnostic("TemplateError", "error", message, hint, source=Source(file, line, column))


class TooMuchError(Exception):
    """The template exceeded its budget."""
