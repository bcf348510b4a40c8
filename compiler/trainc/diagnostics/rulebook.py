"""The rulebook: one page for each diagnostic code, shipped as trainc/diagnostics/rules/<Code>.md."""

# os.path, not pathlib: it starts faster.

from __future__ import annotations

import os

# Where the pages are published, one per code; a fork that publishes its own changes this line.
RULES_URL = "https://trainc.example.com/latest/rules/"

_FOLDER = os.path.join(os.path.dirname(__file__), "rules")
_SUFFIX = ".md"
# Stages whose errors do not keep a job from being compiled: `rules:` and comments can ignore them.
_IGNORABLE = ("lint", "admission", "policy", "fits")


def codes() -> list[str]:
    """Every code that has a page, sorted."""
    return sorted(name.removesuffix(_SUFFIX) for name in os.listdir(_FOLDER) if name.endswith(_SUFFIX))


def page(code: str) -> str | None:
    """The page of a code, as Markdown; None if there is no such code."""
    if code not in codes():
        return None
    with open(os.path.join(_FOLDER, code + _SUFFIX), encoding="utf-8") as stream:
        return f"{stream.read()}\n## How to silence it\n\n{_how_to_silence(code)}\n"


def rule_url(code: str) -> str:
    """Where the page of a code is published."""
    return f"{RULES_URL}{code}.html"


def _how_to_silence(code: str) -> str:
    """The same for all codes of one kind, so no page says it itself."""
    from trainc.diagnostics.codes import CODES

    known = CODES[code]
    if known.severity == "error" and known.stage not in _IGNORABLE:
        return "This error cannot be silenced: nothing can be compiled until it is fixed."
    comment = f"# trainc: ignore[{code}] why this is fine here"
    rule = f"rules: {{{code}: {{level: ignore, reason: why this is fine}}}}"
    needed = "An error can only be ignored with a reason. " if known.severity == "error" else ""
    return (
        f"{needed}For one line, add a comment at its end or on the line above:\n\n    {comment}\n\n"
        f"For the whole repository, add a rule to trainc.yaml (`level: error`, `warning` or `info` changes the severity):"
        f"\n\n    {rule}"
    )


def summary_of(code: str) -> str:
    """The sentence under a page's title; empty if there is no such code."""
    return (page(code) or "").partition("\n\n")[2].partition("\n\n")[0].replace("\n", " ")
