"""The API schemas of each Trainer release: checking documents, filling in defaults, and JSON Schemas for editors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trainc.api.releases import Span
from trainc.api.schema.acceptance import acceptor
from trainc.api.schema.scalars import Refused
from trainc.api.schema.shapes import ROOTS
from trainc.diagnostics import Finding, has_errors

if TYPE_CHECKING:
    from trainc.api.schema.editor_schema import json_schema
    from trainc.api.schema.known_fields import known_in

# Where JobSet's CRD and Trainer's do not know the same fields of a pod: jobset_pods.py.
DIFFERING = Span("2.2", "2.2")
_RUNTIMES = ("TrainingRuntime", "ClusterTrainingRuntime")

__all__ = ["check", "json_schema", "known_in"]


def check(
    document: Mapping[str, Any], kind: str, release: str, *, prune: bool = False
) -> tuple[dict[str, Any], list[Finding]]:
    """`document` as the API server stores it and the Go types of `release` marshal it, and every problem with it.

    `kind` is "TrainJob", "TrainingRuntime", "ClusterTrainingRuntime" or "JobSet" (of the JobSet minor that `release`
    is built on). Defaults are filled in, nulls and the zero values that Go omits are gone, quantities are canonical.
    Unknown fields are errors; with `prune` they are dropped, as the API server does, with a warning each. With errors
    the returned document is only the input less nulls and pruned fields. The input is never changed.
    """
    if kind == "JobSet" and release in DIFFERING:
        return _check_older_jobset(document, release, prune)
    return _check(document, kind, release, prune)


def _check_older_jobset(document: Mapping[str, Any], release: str, prune: bool) -> tuple[dict[str, Any], list[Finding]]:
    from trainc.api.schema.jobset_pods import in_trainers_form, with_references

    alike, references, unknown = in_trainers_form(document, prune=prune)
    stored, findings = _check(alike, "JobSet", release, prune)
    return with_references(stored, references), [*unknown, *findings]


def _check(document: Mapping[str, Any], kind: str, release: str, prune: bool) -> tuple[dict[str, Any], list[Finding]]:
    accept = acceptor(release, ROOTS[kind], "applied" if kind in _RUNTIMES else "marshalled")
    try:
        return accept(document), []
    except Refused:
        # Valid input must not pay for the import of jsonschema.
        from trainc.api.schema.explanation import explain

    findings, remaining = explain(document, kind, release, prune=prune)
    return (remaining if has_errors(findings) else accept(remaining)), findings


def __getattr__(name: str) -> Any:
    # Only `trainc schema`, old fields and refused documents need these.
    if name == "json_schema":
        from trainc.api.schema.editor_schema import json_schema

        return json_schema
    if name == "known_in":
        from trainc.api.schema.known_fields import known_in

        return known_in
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
