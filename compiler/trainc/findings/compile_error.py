"""The exception with which trainc refuses its input."""

from __future__ import annotations

from collections.abc import Iterable

from trainc.findings import Diagnostic, sort_diagnostics


class CompileError(Exception):
    """The input was rejected.

    `diagnostics` holds every problem found, sorted; at least one of them is an error. `str()` lists all of them with
    their hints, and a notebook renders them as a list.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: list[Diagnostic] = sort_diagnostics(diagnostics)
        super().__init__("\n".join(f"{d}\n  help: {d.hint}" if d.hint else str(d) for d in self.diagnostics))

    def _repr_html_(self) -> str:
        # `html` is only needed in a notebook.
        from trainc.findings.as_html import count_severities, diagnostics_html

        return f"<div><b>refused: {count_severities(self.diagnostics)}</b>{diagnostics_html(self.diagnostics)}</div>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows of an error that nobody caught: the findings, and nothing of trainc's own code."""
        return str(self).splitlines()

    def __reduce__(self) -> tuple[type[CompileError], tuple[list[Diagnostic]]]:
        return type(self), (self.diagnostics,)
