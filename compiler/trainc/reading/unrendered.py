"""Recognizes files that another program renders first: Helm charts, files for envsubst, Jinja templates.

A template gives one finding with the command that renders it, whatever else is wrong with its text or its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trainc.findings import Diagnostic, Finding, Path, Source
from trainc.kube.documents import value_at, walk
from trainc.startup.patterns import pattern

CODE = "UnrenderedTemplate"
_PLACEHOLDER = pattern(r"\{\{.*?(?:\}\}|$)|\{%.*?(?:%\}|$)|\$\{[A-Za-z_]\w*[^}]*\}|\$[A-Za-z_]\w*")
# Katib and GitHub Actions fill in these themselves, wherever they are.
_NOT_OURS = ("${trialParameters.", "${trialSpec.", "${{")
# What breaks YAML: brackets of a template language, or a variable on a line of its own.
_BREAKING = pattern(r"(?<!\{)\{\{(?!\{)|\{%|\{#|^\s*\$\{?[A-Za-z_]\w*\}?\s*$|(?<=[:,{\[])\s*\$\{[A-Za-z_]\w*\}")
_HELM = pattern(
    r"\{\{-?\s*(?:[.$(/]|if\b|else\b|range\b|with\b|end\b|define\b|include\b|template\b|block\b|toYaml\b|tpl\b)"
)
# Here `$NAME` is a variable of the shell, or of the container.
_SCRIPTS = ("command", "args", "env")
_LONGEST = 80


def as_template(text: str, file: str, problems: Sequence[Diagnostic]) -> Diagnostic | None:
    """Return the one problem of a text that is a template, or None if `problems` have other causes."""
    lines = text.split("\n")
    # Parsers fail where the syntax breaks, or on the line after it.
    reported = {problem.source.line - 1 for problem in problems if problem.source is not None}
    for number in sorted({near for line in reported for near in (line - 1, line) if 0 <= near < len(lines)}):
        if (match := _BREAKING.search(lines[number])) is not None:
            message, hint = _explain(lines[number].strip(), text, file)
            column = match.end() - len(match[0].lstrip()) + 1
            return Diagnostic(CODE, "error", message, hint, source=Source(file, number + 1, column))
    return None


def template_finding(data: Any, path: Path, file: str) -> Finding | None:
    """Return the finding about a document's first placeholder, if there is one in the value at `path`."""
    value = value_at(data, path)
    if not _has_placeholder(path, value):
        return None
    path, value = next(entry for entry in walk(data) if _has_placeholder(*entry))
    message, hint = _explain(value, value, file)
    return Finding(CODE, "error", message, hint, path)


def _has_placeholder(path: Path, value: Any) -> bool:
    """Return whether a value has a placeholder that is not part of a script, a text within a document, or a variable."""
    return (
        isinstance(value, str)
        and "\n" not in value
        and not any(step in _SCRIPTS for step in path[:-1])
        and not any(prefix in value for prefix in _NOT_OURS)
        and _PLACEHOLDER.search(value) is not None
    )


def _explain(placeholder: str, text: str, file: str) -> tuple[str, str]:
    """Return what the language of a template is, and how to render it."""
    excerpt = placeholder if len(placeholder) <= _LONGEST else f"{placeholder[:_LONGEST]}..."
    name = file if file not in ("", "-") else "job.yaml"
    if _HELM.search(text):
        chart, templates, _ = f"/{name}".rpartition("/templates/")
        folder = (chart[1:] or ".") if templates else "CHART"
        hint = f"render the chart, and pass the result: `helm template {folder} > rendered.yaml`"
        return f"{excerpt!r} is part of a Helm template", hint
    if "{{" in text or "{%" in text or "{#" in text:
        hint = f"rename the file to {name}.j2, so that an overlay renders it"
        return f"{excerpt!r} is part of a Jinja template", hint
    hint = f"fill in its variables, and pass the result: `envsubst < {name} > rendered.yaml`"
    return f"{excerpt!r} has a variable that envsubst, or a script, has yet to fill in", hint
