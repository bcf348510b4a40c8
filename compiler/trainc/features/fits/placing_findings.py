"""Locate diagnostics about jobs and snapshots: in the TrainJob that a JobSet was compiled from, or in the snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trainc.api.documents import Document, label_of
from trainc.api.findings import Diagnostic, Path, format_path
from trainc.api.kube import names
from trainc.api.records import pattern, replace
from trainc.features.fits.workload import QUEUE
from trainc.reading.cluster import label_of as named

_STEP = pattern(r'\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.\[\]]+)')
_QUEUE = pattern(r"ClusterQueue [-a-z0-9.]*[a-z0-9]")
# The fields in which a TrainJob states the requests of a part; the first one present is used.
_TRAINER = (("trainer", "numNodes"), ("trainer", "resourcesPerNode"), ("trainer",), ())
_INITIALIZER = (("initializer",), ())


def place_in_input(
    found: Iterable[Diagnostic], homes: Mapping[str, Document], jobsets: Mapping[str, Any], snapshot: Sequence[Document]
) -> list[Diagnostic]:
    """Locate diagnostics about JobSets in the TrainJob or JobSet documents they come from, by the names of their answers.

    The hint ends with the location of the queue that prevents admission.
    """
    queues = _by_name(snapshot)
    placed = []
    for one in found:
        job = one.object.removeprefix("JobSet ")
        home = homes.get(job)
        one = replace(one, hint=one.hint + _line_of_queue(one.message, queues))  # noqa: PLW2901 - the same, completed
        placed.append(one if home is None else _at(one, home, jobsets.get(job)))
    return placed


def _line_of_queue(message: str, queues: Mapping[str, Document]) -> str:
    """The location of the ClusterQueue that a message names; empty if it names none of the snapshot."""
    named_queue = _QUEUE.search(message)
    document = queues.get(named_queue.group()) if named_queue else None
    if document is None:
        return ""
    part = next((key for key in ("stopPolicy", "namespaceSelector") if key in message), "resourceGroups")
    source = document.locate(("spec", part))
    return f" ({label_of(document.data)} is at {source.file}:{source.line})" if source else ""


def _at(one: Diagnostic, home: Document, jobset: Any) -> Diagnostic:
    path = steps(one.path)
    if home.data.get("kind") != "JobSet":
        path = _in_trainjob(path, home, jobset)
    return replace(one, object=label_of(home.data), path=format_path(path), source=home.locate(path))


def _in_trainjob(path: Path, home: Document, jobset: Any) -> Path:
    """The TrainJob field that a path of its JobSet comes from, as far as it can be determined."""
    if path[:1] == ("metadata",):
        key = path[-1]
        written = (home.data.get("metadata") or {}).get(str(path[1])) if len(path) > 1 else None
        return path if isinstance(written, Mapping) and key in written else ("metadata", "name")
    if path[:2] != ("spec", "replicatedJobs") or len(path) < 3 or not isinstance(path[2], int):
        return ("metadata", "labels", QUEUE) if _has(home.data, ("metadata", "labels", QUEUE)) else ("metadata", "name")
    trainer = _TRAINER[1:] if "resources" in path else _TRAINER
    choices = trainer if _step(jobset, path[2]) in (names.TRAINER, "") else _INITIALIZER
    return next(("spec", *each) for each in choices if _has(home.data, ("spec", *each)) or not each)


def _step(jobset: Any, index: int) -> str:
    labels = jobset["spec"]["replicatedJobs"][index].get("template", {}).get("metadata", {}).get("labels") or {}
    return str(labels.get(names.ANCESTOR_LABEL, ""))


def _has(data: Any, path: Path) -> bool:
    for step in path:
        if not isinstance(data, Mapping) or step not in data:
            return False
        data = data[step]
    return True


def place_in_snapshot(found: Iterable[Diagnostic], documents: Sequence[Document]) -> list[Diagnostic]:
    """Locate diagnostics about a snapshot in its files."""
    known = _by_name(documents)
    return [
        replace(one, source=known[one.object].locate(steps(one.path))) if one.object in known else one for one in found
    ]


def _by_name(documents: Sequence[Document]) -> dict[str, Document]:
    return {named(document.data): document for document in documents if isinstance(document.data.get("kind"), str)}


def steps(path: str) -> Path:
    """Split a path in the notation of diagnostics into its steps."""
    return tuple(int(index) if index else key or word for index, key, word in _STEP.findall(path))
