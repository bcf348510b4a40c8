"""Why a template cannot be rendered. Jinja2, which takes long to import, is not needed to know that."""

from __future__ import annotations

from trainc.findings import Diagnostic, Source


class TemplateFailedError(Exception):
    """The template `text` cannot be rendered; `diagnostic` has the position and the reason."""

    def __init__(self, file: str, text: str, line: int, message: str, hint: str) -> None:
        super().__init__(message)
        # Jinja2 does not report columns, so use the first non-space character of the line.
        failing_line = text.split("\n")[line - 1 : line]
        column = 1 + sum(len(words) - len(words.lstrip()) for words in failing_line)
        self.diagnostic = Diagnostic("TemplateError", "error", message, hint, source=Source(file, line, column))
