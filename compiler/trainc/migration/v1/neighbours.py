"""Neighbours: documents beside the jobs that choose pods by labels of v1, and will find none of them any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.diagnostics import Finding, Path
from trainc.migration.v1.kinds import LABELS

Json = Mapping[str, Any]

_JOBSETS = {
    "job-name": "jobset.sigs.k8s.io/jobset-name",
    "replica-type": "jobset.sigs.k8s.io/replicatedjob-name",
    "job-role": "jobset.sigs.k8s.io/replicatedjob-name",
    "replica-index": "batch.kubernetes.io/job-completion-index",
    "operator-name": "jobset.sigs.k8s.io/jobset-name",
}


def findings_about(document: Json) -> Iterator[Finding]:
    """A warning for each place of a document, other than a job, that names a label of v1."""
    for path, label in _labels(document, ()):
        new = _JOBSETS.get(label.removeprefix(LABELS), _JOBSETS["job-name"])
        message = f"{document.get('kind')} looks for the label {label}, which pods do not have after the migration"
        yield Finding("LegacyLabelSelected", "warning", message, f"look for {new} instead", path)


def _labels(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if str(key).startswith(LABELS):
                yield (*path, str(key)), str(key)
            else:
                yield from _labels(inner, (*path, str(key)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _labels(inner, (*path, index))
    elif isinstance(value, str) and value.startswith(LABELS):
        yield path, value
