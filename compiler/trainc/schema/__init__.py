"""The API schemas of each Trainer release: validation, defaults, and JSON Schemas for editors."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.findings import Finding, has_errors
from trainc.kube.releases import Span
from trainc.schema.acceptance import acceptor
from trainc.schema.shapes import ROOTS, Refused
from trainc.startup.typing import Any

# Releases in which JobSet's and Trainer's CRDs have different pod fields; see kubernetes.py.
DIFFERING = Span("2.2", "2.2")
_RUNTIMES = ("TrainingRuntime", "ClusterTrainingRuntime")

__all__ = ["check"]


def check(
    document: Mapping[str, Any], kind: str, release: str, *, prune: bool = False
) -> tuple[dict[str, Any], list[Finding]]:
    """Validate `document`; return it as the API server stores it and Go marshals it, and all problems.

    `kind` is "TrainJob", "TrainingRuntime", "ClusterTrainingRuntime" or "JobSet" (of the JobSet minor that `release`
    uses). The result has defaults filled in, nulls and zero values that Go omits removed, and quantities in canonical
    form. If there are errors, it is only the input without nulls and pruned fields. The input is never modified.

    Unknown fields are errors. With `prune` they are dropped with a warning, like the API server does.
    """
    if kind != "JobSet" or release not in DIFFERING:
        return _check(document, kind, release, prune)
    from trainc.schema.kubernetes import in_trainers_form, with_references

    alike, references, unknown = in_trainers_form(document, prune=prune)
    stored, findings = _check(alike, "JobSet", release, prune)
    return with_references(stored, references), [*unknown, *findings]


def _check(document: Mapping[str, Any], kind: str, release: str, prune: bool) -> tuple[dict[str, Any], list[Finding]]:
    accept = acceptor(release, ROOTS[kind], "applied" if kind in _RUNTIMES else "marshalled")
    try:
        return accept(document), []
    except Refused:
        # Importing jsonschema is slow, and only needed for invalid input.
        from trainc.schema.explanation import explain

    findings, remaining = explain(document, kind, release, prune=prune)
    return (remaining if has_errors(findings) else accept(remaining)), findings
