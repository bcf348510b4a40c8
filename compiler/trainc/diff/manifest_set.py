"""Turn inputs into manifests to compare: TrainJobs are compiled, previous output is validated."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from trainc.api.names import JOBSET_API, RUNTIME_KINDS
from trainc.api.releases import NEWEST_RELEASE
from trainc.api.schema import check
from trainc.diagnostics import CompileError, Diagnostic, format_path, has_errors, sort_diagnostics
from trainc.diagnostics.policy import Rules, keep_severities
from trainc.dialects import claimed_by, is_trainer_document
from trainc.explain import place
from trainc.options import Options
from trainc.pipeline.inputs import Inputs
from trainc.pipeline.session import Session
from trainc.reading.document import Document, label_of
from trainc.startup.records import dataclass, replace

# The kinds that trainc emits. A folder of output may contain other objects, which are not judged.
_COMPARED_KINDS = (
    "ConfigMap",
    "ExternalSecret",
    "Job",
    "JobSet",
    "PodGroup",
    "Role",
    "RoleBinding",
    "SSHKey",
    "SealedSecret",
    "Secret",
    "ServiceAccount",
    "Workload",
)


@dataclass(frozen=True, slots=True)
class ManifestSet:
    """Manifests with their warnings. `compiled` says whether they were compiled from sources."""

    manifests: list[dict[str, Any]]
    diagnostics: list[Diagnostic]
    compiled: bool


def manifest_set(inputs: Inputs, options: Options, rules: Rules = keep_severities) -> ManifestSet:
    """The manifests that `inputs` lead to, empty if they contain no job. Raises CompileError if anything is wrong."""
    if holds_jobs(inputs):
        session = Session.of(inputs.documents, inputs.runtime_sources, options, inputs.catalog, place, rules)
        compiled = session.compile_all(inputs.diagnostics)
        found = ManifestSet(compiled.manifests, compiled.diagnostics, compiled=True)
    else:
        found = _read_rendered(inputs, options.release or NEWEST_RELEASE)
    if has_errors(found.diagnostics):
        raise CompileError(found.diagnostics)
    return replace(found, diagnostics=sort_diagnostics(found.diagnostics))


def holds_jobs(inputs: Inputs) -> bool:
    """Whether `inputs` contain anything to compile."""
    return any(map(_is_trainjob, inputs.documents))


def with_runtime(inputs: Inputs, name: str, replacement: Document) -> Inputs:
    """`inputs` with the runtime `name`, wherever it is defined, replaced by `replacement` under that name."""
    metadata = replacement.data.get("metadata")
    named = {**replacement.data, "metadata": {**(metadata if isinstance(metadata, dict) else {}), "name": name}}
    kept = [document for document in inputs.documents if not _is_runtime(document, name)]
    sources = [
        [document for document in source if not _is_runtime(document, name)] for source in inputs.runtime_sources
    ]
    return replace(inputs, documents=[*kept, replace(replacement, data=named)], runtime_sources=sources)


def is_runtime(document: Document) -> bool:
    """Whether a document is a runtime, of Trainer's own API or of a dialect."""
    dialect = claimed_by(document.data)
    kind = document.data.get("kind")
    return kind in RUNTIME_KINDS or (dialect is not None and dialect.kinds[str(kind)] in RUNTIME_KINDS)


def _is_runtime(document: Document, name: str) -> bool:
    metadata = document.data.get("metadata")
    return is_runtime(document) and isinstance(metadata, dict) and metadata.get("name") == name


def _is_trainjob(document: Document) -> bool:
    return is_trainer_document(document.data) and not is_runtime(document)


def _read_rendered(inputs: Inputs, release: str) -> ManifestSet:
    manifests: list[dict[str, Any]] = []
    diagnostics = list(inputs.diagnostics)
    for document in inputs.documents:
        data = document.data
        if data.get("kind") not in _COMPARED_KINDS or not _has_name(data):
            continue
        manifests.append(data)
        diagnostics += _problems(document, release) if data["kind"] == "JobSet" else _wrong_metadata(document)
    return ManifestSet(manifests, diagnostics, compiled=False)


def _problems(document: Document, release: str) -> Sequence[Diagnostic]:
    """Why a JobSet cannot be compared: an unsupported version, or a field of the wrong type."""
    if document.data.get("apiVersion") != JOBSET_API:
        message = f"this JobSet has apiVersion {document.data.get('apiVersion')}, not {JOBSET_API}"
        hint = f"compare JobSets of {JOBSET_API}"
        source = document.locate(("apiVersion",))
        return [
            Diagnostic(
                "NotAJobSet",
                "error",
                message,
                hint=hint,
                object=label_of(document.data),
                path="apiVersion",
                source=source,
            )
        ]
    _, findings = check(document.data, "JobSet", release, prune=True)
    return [document.place(f) for f in findings if f.severity == "error"]


def _wrong_metadata(document: Document) -> Iterator[Diagnostic]:
    """Malformed labels or annotations, which would break other tools."""
    for field in ("labels", "annotations"):
        value = document.data["metadata"].get(field)
        if value is not None and not isinstance(value, dict):
            where = ("metadata", field)
            message, hint = f"{field} must be a mapping, not {json.dumps(value)[:60]}", "write `key: value` pairs"
            label = label_of(document.data)
            yield Diagnostic(
                "WrongType",
                "error",
                message,
                hint=hint,
                object=label,
                path=format_path(where),
                source=document.locate(where),
            )


def _has_name(data: dict[str, Any]) -> bool:
    metadata = data.get("metadata")
    return (
        isinstance(metadata, dict) and isinstance(metadata.get("name"), str) and isinstance(data.get("apiVersion"), str)
    )
