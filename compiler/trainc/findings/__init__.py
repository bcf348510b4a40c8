"""Findings and diagnostics: what the compiler reports about its input, as data.

Stages return `Finding`s, which know the field path inside an object but nothing about files. The pipeline turns them
into `Diagnostic`s, which name the object and, if known, the source position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from trainc.startup.records import dataclass

# policy.py marks diagnostics as "ignored"; `sort_diagnostics` drops them from reports.
Severity: TypeAlias = Literal["error", "warning", "info", "ignored"]
Path: TypeAlias = tuple[str | int, ...]

# The hint for a value that still contains template syntax.
TEMPLATE_HINT = "this looks like a template: render it first, or rename the file to `.yaml.j2` for an overlay to render"

_RANK: dict[str, int] = {"error": 0, "warning": 1, "info": 2}


def is_identifier(key: str) -> bool:
    """Return whether `key` needs no quotes in a field path: ASCII letters, digits, `_` and `-`, no leading digit."""
    return key.replace("-", "_").isidentifier() and key.isascii()


def format_path(path: Path) -> str:
    """Format `("spec", "env", 2, "name")` as `spec.env[2].name`. Other keys are quoted: `labels["a.b/c"]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else format_key(step, leads=not text)
    return text


def format_key(key: str, *, leads: bool) -> str:
    """Format one key of a field path: `.name`, `name` if it comes first, or `["a.b/c"]` if it is not an identifier."""
    if is_identifier(key):
        return key if leads else f".{key}"
    return '["' + key.replace("\\", "\\\\").replace('"', '\\"') + '"]'


@dataclass(frozen=True, slots=True)
class Source:
    """A position in an input file. `line` and `column` are 1-based.

    `origin` says where `file` lives: on disk, in trainc's catalog, or in a git revision.
    """

    file: str
    line: int
    column: int
    origin: Literal["file", "catalog", "git"] = "file"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem or note, with everything needed to act on it.

    `code` is a CamelCase name that `trainc rule` explains. `object` reads "TrainJob team-a/llm". `path` is the field
    path inside the object ("spec.trainer.env[2].name"), or empty if the diagnostic is about the whole object.
    `environments` lists the environments in trainc.yaml that are affected, and is empty if all of them are.
    """

    code: str
    severity: Severity
    message: str
    hint: str = ""
    object: str = ""
    path: str = ""
    source: Source | None = None
    environments: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = str(self.source) if self.source else self.object
        where = f"{self.path}: " if self.path else ""
        return f"{place}: {self.severity}[{self.code}] {where}{self.message}".removeprefix(": ")


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic without a source position.

    `about` is what `path` refers to: "trainjob" (including its patches), "runtime", or the label of a built object, such
    as "JobSet team-a/llm". `source_path` is a more precise path for the source position, if upstream reports a coarser
    one. If the cluster makes the object, `built_by` is the label of the one that trainc writes, and that `source_path`
    refers to. `stage` is set by the `Report` to which the finding is added.
    """

    code: str
    severity: Severity
    message: str
    hint: str = ""
    path: Path = ()
    about: str = "trainjob"
    source_path: Path | None = None
    built_by: str = ""
    stage: str = ""


class CompileError(Exception):
    """The input was rejected.

    `diagnostics` holds every problem found, sorted; at least one of them is an error. `str()` lists all of them with
    their hints, and a notebook renders them as a list.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: list[Diagnostic] = sort_diagnostics(diagnostics)
        super().__init__("\n".join(f"{d}\n  help: {d.hint}" if d.hint else str(d) for d in self.diagnostics))

    def _repr_html_(self) -> str:
        from trainc.findings.as_html import count_severities, diagnostics_html

        return f"<div><b>refused: {count_severities(self.diagnostics)}</b>{diagnostics_html(self.diagnostics)}</div>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows of an error that nobody caught: the findings, and nothing of trainc's own code."""
        return str(self).splitlines()

    def __reduce__(self) -> tuple[type[CompileError], tuple[list[Diagnostic]]]:
        return type(self), (self.diagnostics,)


def sort_diagnostics(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sort diagnostics for a report.

    Drops duplicates and ignored ones; of a template, only the first finding is kept. Sorts by file and position, then
    object, severity, path and code.
    """
    found = sorted(dict.fromkeys(d for d in diagnostics if d.severity != "ignored"), key=_sort_key)
    first = {d.source.file if d.source else d.object: d for d in reversed(found) if d.code == "UnrenderedTemplate"}
    return [d for d in found if d.code != "UnrenderedTemplate" or d in first.values()] if first else found


def has_errors(findings: Sequence[Finding] | Sequence[Diagnostic]) -> bool:
    """Return whether any of `findings` is an error."""
    return bool(findings) and any(f.severity == "error" for f in findings)


def _sort_key(d: Diagnostic) -> tuple[str, int, int, str, int, str, str, str]:
    source = d.source or Source("", 0, 0)
    return (source.file, source.line, source.column, d.object, _RANK[d.severity], d.path, d.code, d.message)
