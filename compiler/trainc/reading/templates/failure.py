"""Why a template yields no text."""

from __future__ import annotations

from trainc.diagnostics import Diagnostic, Source


class TemplateFailedError(Exception):
    """The template `text` cannot be rendered; `diagnostic` says where and why."""

    def __init__(self, file: str, text: str, line: int, message: str, hint: str) -> None:
        super().__init__(message)
        shown = text.split("\n")[line - 1 : line]
        # Jinja2 knows no column: the line's first character that is not a space.
        column = 1 + sum(len(words) - len(words.lstrip()) for words in shown)
        self.diagnostic = Diagnostic("TemplateError", "error", message, hint, source=Source(file, line, column))


class TooMuchError(Exception):
    """The template asks for more steps or more text than it is given."""
