"""Render a `Diff` as a JSON document. docs/diff.md describes the format, to which fields are only ever added."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from trainc.api.field_path import format_field
from trainc.api.quantity import format_resources
from trainc.diagnostics import Finding, format_path
from trainc.diff.delivery import DELIVERY_METHODS
from trainc.diff.headline import headline
from trainc.diff.model import Diff, JobDiff, ObjectDiff, Versions
from trainc.diff.steps import Step, Totals
from trainc.diff.verdicts import Verdict

_API = "trainc/v1alpha1"


def diff_json(diff: Diff) -> str:
    """Return the document, indented, with a trailing newline."""
    return json.dumps(_diff(diff), indent=2, ensure_ascii=False) + "\n"


def _diff(diff: Diff) -> dict[str, Any]:
    return {
        "apiVersion": _API,
        "kind": "Diff",
        "before": diff.before,
        "after": diff.after,
        "release": diff.release,
        "delivery": diff.method.id,
        "deliveries": {method.id: method.label for method in DELIVERY_METHODS},
        "headline": headline(diff),
        "changed": diff.has_changes,
        "unchangedJobs": diff.unchanged,
        "totals": _versions(diff.totals),
        "notes": list(diff.notes),
        "jobs": [_job(job) for job in diff.jobs],
    }


def _job(job: JobDiff) -> dict[str, Any]:
    return {
        "kind": job.kind,
        "namespace": job.namespace,
        "name": job.name,
        "status": job.status,
        "outcomes": dict(job.outcomes),
        "totals": _versions(job.totals),
        "steps": {"before": _steps(job.steps_before), "after": _steps(job.steps_after)},
        "notes": list(job.notes),
        "objects": [_object(diff) for diff in job.objects],
    }


def _object(diff: ObjectDiff) -> dict[str, Any]:
    return {
        "apiVersion": diff.key.api_version,
        "kind": diff.key.kind,
        "namespace": diff.key.namespace,
        "name": diff.key.name,
        "status": diff.status,
        "renamed": list(diff.renamed) if diff.renamed else None,
        "outcomes": {method: verdict.outcome for method, verdict in diff.verdicts.items()},
        "refusals": _refusals(diff.verdicts),
        "changes": [
            {
                "path": format_field(change.path),
                "kind": change.kind,
                "before": change.before,
                "after": change.after,
                "outcomes": diff.outcomes(number),
            }
            for number, change in enumerate(diff.changes)
        ],
        "moves": [
            {"path": format_field(move.path), "before": list(move.before), "after": list(move.after)}
            for move in diff.moves
        ],
    }


def _refusals(verdicts: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    """Each distinct refusal with the methods that meet it; paths use the indexes of the new object."""
    met: dict[Finding, list[str]] = {}
    for method, verdict in verdicts.items():
        for refusal in verdict.refusals:
            met.setdefault(refusal, []).append(method)
    return [
        {"code": refusal.code, "path": format_path(refusal.path), "message": refusal.message, "deliveries": methods}
        for refusal, methods in met.items()
    ]


def _steps(steps: Sequence[Step]) -> list[dict[str, Any]]:
    return [
        {
            "name": step.name,
            "pods": step.pods,
            "requests": format_resources(step.requests),
            "dependsOn": [{"name": name, "status": status} for name, status in step.depends_on],
        }
        for step in steps
    ]


def _versions(versions: Versions) -> dict[str, Any]:
    return {"before": _totals(versions.before), "after": _totals(versions.after)}


def _totals(totals: Totals | None) -> dict[str, Any] | None:
    if totals is None:
        return None
    return {
        "nodes": totals.nodes,
        "gpus": str(totals.gpus),
        "cpu": str(totals.cpu),
        "memory": str(totals.memory),
        "gang": totals.gang,
    }
