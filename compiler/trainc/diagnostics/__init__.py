"""Findings and diagnostics: what the compiler reports about its input, as data.

A stage returns `Finding`s: they know the field path inside the object they are about, and nothing of files.
The pipeline turns them into `Diagnostic`s, which name the object and, where one is known, the source position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from trainc.startup.records import dataclass

# What is ignored (policy.py) is kept as such until a report puts it in order.
Severity: TypeAlias = Literal["error", "warning", "info", "ignored"]
Path: TypeAlias = tuple[str | int, ...]

# The help for a value that no template engine has filled in yet.
TEMPLATE_HINT = "this looks like a template: render it first, or rename the file to `.yaml.j2` for an overlay to render"

_RANK: dict[str, int] = {"error": 0, "warning": 1, "info": 2}


def is_identifier(key: str) -> bool:
    """Whether `key` needs no quotes in a field path: letters, digits, `_` and `-`, not starting with a digit."""
    return key.replace("-", "_").isidentifier() and key.isascii()


def format_path(path: Path) -> str:
    """`("spec", "env", 2, "name")` as `spec.env[2].name`; a key that is no identifier as `labels["a.b/c"]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else format_key(step, leads=not text)
    return text


def format_key(key: str, *, leads: bool) -> str:
    """One key of a field path: `.name`, `name` where it leads, `["a.b/c"]` where it is no identifier."""
    if is_identifier(key):
        return key if leads else f".{key}"
    return '["' + key.replace("\\", "\\\\").replace('"', '\\"') + '"]'


@dataclass(frozen=True, slots=True)
class Source:
    """A position in an input file; `line` and `column` count from 1.

    `origin` says what `file` is a name of: a file of the input, of trainc's catalog, or of a git revision.
    """

    file: str
    line: int
    column: int
    origin: Literal["file", "catalog", "git"] = "file"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem or note, complete enough to act on without opening trainc's source.

    `code` is a CamelCase reason that `trainc rule` explains; `object` reads "TrainJob team-a/llm"; `path` is the
    field path inside that object ("spec.trainer.env[2].name"), empty when the object as a whole is meant.
    `environments` are those of trainc.yaml that it is about, where it is not about all of them.
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
    """A diagnostic before it is placed: `path` lies inside the object that the stage was looking at.

    `about` says which object that is, for stages that see two: the TrainJob (its patches included) or its runtime.
    `source_path` is where to point in the file when upstream's field path is coarser than what is known.
    """

    code: str
    severity: Severity
    message: str
    hint: str = ""
    path: Path = ()
    about: Literal["trainjob", "runtime"] = "trainjob"
    source_path: Path | None = None


class CompileError(Exception):
    """The input was refused. `diagnostics` holds every problem found, sorted; at least one is an error.

    As text it has every problem with its hint; a notebook shows them as a list.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: list[Diagnostic] = sort_diagnostics(diagnostics)
        super().__init__("\n".join(f"{d}\n  help: {d.hint}" if d.hint else str(d) for d in self.diagnostics))

    def _repr_html_(self) -> str:
        from trainc.diagnostics.as_html import count_severities, diagnostics_html

        return f"<div><b>refused: {count_severities(self.diagnostics)}</b>{diagnostics_html(self.diagnostics)}</div>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def __reduce__(self) -> tuple[type[CompileError], tuple[list[Diagnostic]]]:
        return type(self), (self.diagnostics,)


def sort_diagnostics(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics without repetitions and what is ignored, by file and position, then object, severity, path and code."""
    return sorted(dict.fromkeys(d for d in diagnostics if d.severity != "ignored"), key=_sort_key)


def has_errors(findings: Sequence[Finding] | Sequence[Diagnostic]) -> bool:
    """Whether any of `findings` is an error."""
    return bool(findings) and any(f.severity == "error" for f in findings)


def _sort_key(d: Diagnostic) -> tuple[str, int, int, str, int, str, str, str]:
    source = d.source or Source("", 0, 0)
    return (source.file, source.line, source.column, d.object, _RANK[d.severity], d.path, d.code, d.message)
