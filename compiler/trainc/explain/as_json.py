"""An explanation as JSON, for other programs.

    {"apiVersion": "trainc/v1alpha1", "kind": "Explanation",
     "job": "TrainJob team-a/llm", "runtime": "ClusterTrainingRuntime torch-distributed",
     "release": "2.3", "semantics": "gitops",
     "objects": [{"apiVersion", "kind", "namespace", "name",
                  "fields": [{"path", "value", "origins": [ORIGIN, ...]}]}]}

Origins are listed most recent first. An origin has `kind` (runtime, overlay, patch, trainjob, plugin, default,
admission, deviation or delivery), `by`, `value` and, if applicable, `at` (a plugin's extension point), `rule`,
`deviation` and `inputs`: [{"object", "path", "value", "source": {"file", "line", "column"}}].
"""

from __future__ import annotations

from typing import Any

from trainc.api.field_path import format_field
from trainc.explain.model import ExplainedField, Explanation, Input, Origin


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """Return the explanation as JSON-serializable data in the shape shown above."""
    return {
        "apiVersion": "trainc/v1alpha1",
        "kind": "Explanation",
        "job": explanation.job,
        "runtime": explanation.runtime,
        "release": explanation.release,
        "semantics": explanation.semantics,
        "objects": [
            {
                "apiVersion": found.name.api_version,
                "kind": found.name.kind,
                "namespace": found.name.namespace,
                "name": found.name.name,
                "fields": [_field(field) for field in found.fields],
            }
            for found in explanation.objects
        ],
    }


def _field(field: ExplainedField) -> dict[str, Any]:
    return {
        "path": format_field(field.path),
        "value": field.value,
        "origins": [_origin(origin) for origin in field.origins],
    }


def _origin(origin: Origin) -> dict[str, Any]:
    details = {"at": origin.at, "rule": origin.rule, "deviation": origin.deviation}
    return {
        "kind": origin.kind,
        "by": origin.by,
        "value": origin.value,
        **{key: value for key, value in details.items() if value},
        **({"inputs": [_input(given) for given in origin.inputs]} if origin.inputs else {}),
    }


def _input(given: Input) -> dict[str, Any]:
    document = {"object": given.object, "path": format_field(given.path), "value": given.value}
    source = given.source
    if source is None:
        return document
    return {**document, "source": {"file": source.file, "line": source.line, "column": source.column}}
