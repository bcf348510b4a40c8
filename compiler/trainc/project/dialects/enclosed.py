"""Jobs inside other documents: in an AppWrapper, a Katib Experiment, or as text in a ConfigMap or a script."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.findings import Diagnostic, Finding, Path, Severity
from trainc.kube.documents import Json
from trainc.kube.names import JOB_KINDS
from trainc.project.dialects import LEGACY_KINDS, is_legacy, is_trainer_document
from trainc.reading.document import Document
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

_JOBSET_GROUP = "jobset.x-k8s.io/"
# What belongs to the document itself, or is written by the cluster.
_NOT_SEARCHED = ("apiVersion", "kind", "metadata", "status")
_KIND = pattern(rf"\bkind[\"']?\s*:\s*[\"']?({'|'.join(sorted(LEGACY_KINDS))})\b")
_GROUPS = tuple(sorted({f"{group}/" for groups in LEGACY_KINDS.values() for group in groups}))


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A job of `kind` at `path` of another document, which is a mapping there, or, with `document` None, part of a text."""

    path: Path
    kind: str
    document: Json | None = None

    @property
    def is_legacy(self) -> bool:
        """Return whether only `trainc migrate` reads such a job."""
        return self.document is None or is_legacy(self.document)


def find_enclosed(document: Json) -> Iterator[Enclosed]:
    """Yield the jobs inside a document, in order; in texts, only those of Trainer's predecessors."""
    # The path of each mapping or list around, and what is left of it: a list of all paths outgrows the document.
    levels: list[tuple[Path, Iterator[tuple[Any, Any]]]] = []
    levels.append(((), ((key, value) for key, value in document.items() if key not in _NOT_SEARCHED)))
    while levels:
        path, entries = levels[-1]
        for step, value in entries:
            if isinstance(value, dict) and _is_job(value):
                yield Enclosed((*path, step), value["kind"], value)
            elif isinstance(value, (dict, list)):
                levels.append(((*path, step), iter(value.items() if isinstance(value, dict) else enumerate(value))))
                break
            elif isinstance(value, str) and any(group in value for group in _GROUPS):
                yield from (Enclosed((*path, step), kind) for kind in dict.fromkeys(_KIND.findall(value)))
        else:
            levels.pop()


def _is_job(value: Json) -> bool:
    kind, version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(version, str):
        return False
    if kind == "JobSet":
        return version.startswith(_JOBSET_GROUP)
    return is_legacy(value) or (kind in JOB_KINDS and is_trainer_document(value))


def legacy_job(document: Document, severity: Severity) -> Diagnostic:
    """Report a job that only `migrate` reads: an error if there is no other job and nothing would be compiled."""
    kind = document.data["kind"]
    message = f"{kind} belongs to the Training Operator or MPI Operator; trainc compiles TrainJobs only"
    file = document.file or "-"
    hint = f"`trainc migrate --report {file}` says what becomes of it, and `trainc migrate {file}` converts it"
    return document.diagnose(Finding("LegacyTrainingJob", severity, message, hint, ("kind",)))
