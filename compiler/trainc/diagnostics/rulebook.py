"""The rulebook: one page for each diagnostic code, shipped as trainc/diagnostics/rules/<Code>.md."""

# os.path imports faster than pathlib.

from __future__ import annotations

import os

# The published location of the pages; forks that publish their own rules change this line.
RULES_URL = "https://trainc.example.com/latest/rules/"

_FOLDER = os.path.join(os.path.dirname(__file__), "rules")
_SUFFIX = ".md"
# Errors of these stages do not prevent compilation, so `rules:` and comments may ignore them.
_IGNORABLE = ("lint", "admission", "policy", "fits")


def codes() -> list[str]:
    """Return all codes that have a page, sorted."""
    return sorted(name.removesuffix(_SUFFIX) for name in os.listdir(_FOLDER) if name.endswith(_SUFFIX))


def page(code: str) -> str | None:
    """Return the page of a code as Markdown, or None if there is no such code."""
    if code not in codes():
        return None
    with open(os.path.join(_FOLDER, code + _SUFFIX), encoding="utf-8") as stream:
        return f"{stream.read()}\n## How to silence it\n\n{_how_to_silence(code)}\n"


def rule_url(code: str) -> str:
    """Return the URL of the published page of a code."""
    return f"{RULES_URL}{code}.html"


def _how_to_silence(code: str) -> str:
    """Return the section on silencing a code, which only depends on its severity and stage."""
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
    """Return the first paragraph of a page, or an empty string if there is no such code."""
    return (page(code) or "").partition("\n\n")[2].partition("\n\n")[0].replace("\n", " ")
