"""Why a template yields no text."""

from __future__ import annotations

from trainc.diagnostics import Diagnostic, Source


class TemplateFailedError(Exception):
    """The template cannot be rendered; `diagnostic` says where and why."""

    def __init__(self, file: str, line: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic("TemplateError", "error", message, hint, source=Source(file, line, 1))


class TooMuchError(Exception):
    """The template asks for more steps or more text than it is given."""
