"""Inputs on which a release's controller crashes instead of answering."""

from __future__ import annotations

from trainc.diagnostics import Finding, Path


def controller_panics(why: str, path: Path) -> Finding:
    """The controller dereferences a missing value here and crashes; nothing is created."""
    return Finding(
        "ControllerPanics",
        "error",
        f"this release's controller crashes on it: {why}",
        "set the value, or compile with --semantics gitops",
        path,
    )
