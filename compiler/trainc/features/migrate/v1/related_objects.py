"""Find other documents that select jobs or pods by v1 names, which match nothing after the migration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.features.migrate.v1.kinds import KINDS, LABELS
from trainc.findings import Finding, Path
from trainc.kube.documents import Json
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

_JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
_REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
_NEW = {
    "job-name": _JOBSET_NAME,
    "operator-name": _JOBSET_NAME,
    "replica-type": _REPLICATED_JOB,
    "job-role": _REPLICATED_JOB,
    "replica-index": "batch.kubernetes.io/job-completion-index",
}
_INTEGRATION = "jobset.x-k8s.io/jobset"


@dataclass(frozen=True, slots=True)
class _Trace:
    """A v1 name to search for, and its replacement."""

    what: str
    new: str


_LABEL = pattern(rf"{LABELS.replace('.', '[.]')}(?P<name>[a-z-]+)")
# In Prometheus, labels look like __meta_kubernetes_pod_label_training_kubeflow_org_job_name.
_METRIC_LABEL = pattern(r"label_training_kubeflow_org_(?P<name>[a-z_]+)")
_FRAMEWORK = pattern(rf"\bkubeflow[.]org/(?:{'|'.join(sorted(k.name.lower() for k in KINDS.values()))})\b")


def findings_about(document: Json) -> Iterator[Finding]:
    """A warning for each place of a document, other than a job, that names a label or a kind of v1.

    Its own labels are no such place: they select nothing.
    """
    for path, trace in _traces({field: value for field, value in document.items() if field != "metadata"}, ()):
        message = f"this {document.get('kind')} selects {trace.what}, which migrated jobs do not have"
        yield Finding("LegacyLabelSelected", "warning", message, f"select {trace.new} instead", path)


def _traces(value: Any, path: Path) -> Iterator[tuple[Path, _Trace]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            inside = (*path, str(key))
            yield from ((inside, trace) for trace in _named(str(key)))
            yield from _traces(inner, inside)
    elif isinstance(value, list):
        is_ready = _INTEGRATION in value
        for index, inner in enumerate(value):
            if not (is_ready and isinstance(inner, str)):
                yield from _traces(inner, (*path, index))
    elif isinstance(value, str):
        yield from ((path, trace) for trace in _named(value))


def _named(text: str) -> Iterator[_Trace]:
    """The v1 names in a text, without duplicates, since a ConfigMap may contain a whole file."""
    if "kubeflow" not in text:
        return
    labels = (match["name"] for match in _LABEL.finditer(text))
    metrics = (match["name"].replace("_", "-") for match in _METRIC_LABEL.finditer(text))
    for name in dict.fromkeys((*labels, *metrics)):
        yield _Trace(f"the label {LABELS}{name}", _NEW.get(name, _JOBSET_NAME))
    if _INTEGRATION not in text:
        for framework in dict.fromkeys(match[0] for match in _FRAMEWORK.finditer(text)):
            yield _Trace(framework, f"{_INTEGRATION}, in Kueue's integrations too,")
