"""Intake: read documents become checked, defaulted TrainJobs and an index of runtimes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from trainc.diagnostics import Diagnostic, Finding, format_path, has_errors
from trainc.frontend.document import Document
from trainc.frontend.resolve import RUNTIME_KINDS, Key, runtime_key, wanted_key
from trainc.frontend.schema import check
from trainc.frontend.schema.runtime_rules import runtime_rules
from trainc.ir import names
from trainc.near_names import near_names
from trainc.options import Options

Json = Mapping[str, Any]
# name, release -> the catalog's runtime document, or why the catalog has none
Catalog: TypeAlias = Callable[[str, str], Document | str]
KINDS = ("TrainJob", *RUNTIME_KINDS)


@dataclass(frozen=True, slots=True)
class Checked:
    """A document that passed its schema: `data` is defaulted, `document` the one that was read."""

    document: Document
    data: Json

    @property
    def label(self) -> str:
        """What diagnostics call it: "TrainJob team-a/llm"."""
        return label_of(self.data)

    def place(self, finding: Finding) -> Diagnostic:
        """A finding about this document, with its name and its position in the source."""
        return place(finding, self.document, self.label)

    def place_built(self, label: str, finding: Finding) -> Diagnostic:
        """A finding about an object built from this document: its path lies in that object, its position here."""
        return replace(self.place(replace(finding, source_path=("metadata", "name"))), object=label)


@dataclass(frozen=True, slots=True)
class Intake:
    """Everything that was read: jobs by (namespace, name), runtimes by key, and the documents of other kinds.

    `catalog_misses` says, for a runtime that the catalog was asked for and has not got, what it has instead.
    """

    jobs: tuple[Checked, ...]
    runtimes: Mapping[Key, Checked]
    diagnostics: tuple[Diagnostic, ...]
    others: tuple[Document, ...] = ()
    catalog_misses: Mapping[Key, str] = field(default_factory=dict)


def label_of(data: Json) -> str:
    """`kind namespace/name` as far as the document says."""
    metadata = data.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    name = "/".join(str(known[part]) for part in ("namespace", "name") if known.get(part))
    return f"{data.get('kind', 'document')} {name}".rstrip()


def place(finding: Finding, document: Document, label: str) -> Diagnostic:
    """A finding as a diagnostic of one document."""
    return Diagnostic(
        finding.code,
        finding.severity,
        finding.message,
        finding.hint,
        label,
        format_path(finding.path),
        document.locate(finding.source_path or finding.path),
    )


def take_in(
    documents: Sequence[Document], sources: Sequence[Sequence[Document]], release: str, options: Options
) -> Intake:
    """Check every TrainJob and runtime of the input, and every runtime of the further sources, in that order."""
    diagnostics: list[Diagnostic] = []
    others: list[Document] = []
    jobs: dict[tuple[str, str], Checked] = {}
    runtimes: dict[Key, Checked] = {}
    for depth, source in enumerate((documents, *sources)):
        known_before = dict(runtimes)
        for document in source:
            if not _is_ours(document.data):
                others.append(document)
                continue
            checked = _checked(document, release, options, diagnostics)
            if checked is None:
                continue
            if checked.data["kind"] == "TrainJob":
                if depth == 0:
                    _add_job(jobs, checked, diagnostics)
                continue
            _add_runtime(runtimes, known_before, checked, diagnostics)
    ordered = tuple(jobs[key] for key in sorted(jobs))
    return Intake(ordered, runtimes, tuple(diagnostics), tuple(others))


def with_catalog(intake: Intake, catalog: Catalog, release: str, options: Options) -> Intake:
    """With the runtimes that the jobs ask for and only the catalog has; each is read and checked once."""
    wanted = dict.fromkeys(wanted_key(job.data) for job in intake.jobs)
    found: list[Document] = []
    misses: dict[Key, str] = {}
    for key in wanted:
        kind, _, name = key
        if kind != "ClusterTrainingRuntime" or key in intake.runtimes:
            continue
        answer = catalog(name, release)
        if isinstance(answer, Document):
            found.append(answer)
        else:
            misses[key] = answer
    shipped = take_in(found, (), release, options)
    return replace(intake, runtimes={**shipped.runtimes, **intake.runtimes}, catalog_misses=misses)


def _is_ours(data: Json) -> bool:
    group = str(data.get("apiVersion", "")).partition("/")[0]
    return group == names.TRAINER_GROUP or (data.get("kind") in KINDS and group.endswith("kubeflow.org"))


def _checked(document: Document, release: str, options: Options, diagnostics: list[Diagnostic]) -> Checked | None:
    data = document.data
    findings = list(_wrong_type(data))
    if not findings:
        data = _with_namespace(data, options.namespace)
        data, found = check(data, data["kind"], release)
        findings.extend(found)
        if not has_errors(found) and data["kind"] != "TrainJob":
            findings.extend(runtime_rules(data, release))
    diagnostics.extend(place(finding, document, label_of(document.data)) for finding in findings)
    return None if has_errors(findings) else Checked(document, data)


def _wrong_type(data: Json) -> Iterator[Finding]:
    """A document of ours whose apiVersion or kind names nothing that exists."""
    version, kind = data.get("apiVersion"), data.get("kind")
    if version != names.TRAINER_API:
        message = f"apiVersion {version!r} has never existed" if version else "apiVersion is missing"
        yield Finding("UnknownAPIVersion", "error", message, f"write apiVersion: {names.TRAINER_API}", ("apiVersion",))
    if kind not in KINDS:
        near = near_names(str(kind), KINDS, 1, 0.4)
        message = f"kind {kind!r} does not exist in {names.TRAINER_GROUP}" if kind else "kind is missing"
        yield Finding("UnknownKind", "error", message, f"write kind: {near[0] if near else 'TrainJob'}", ("kind",))


def _with_namespace(data: Json, namespace: str | None) -> Json:
    """The document in `namespace` where it names none and is of a kind that lives in one."""
    metadata = data.get("metadata")
    if not namespace or data["kind"] == "ClusterTrainingRuntime" or not isinstance(metadata, Mapping):
        return data
    return data if metadata.get("namespace") else {**data, "metadata": {**metadata, "namespace": namespace}}


def _add_job(jobs: dict[tuple[str, str], Checked], job: Checked, diagnostics: list[Diagnostic]) -> None:
    metadata = job.data["metadata"]
    key = (metadata.get("namespace", ""), metadata.get("name", ""))
    if key in jobs:
        diagnostics.append(_twice(job, jobs[key], "DuplicateTrainJob"))
    else:
        jobs[key] = job


def _add_runtime(
    runtimes: dict[Key, Checked], earlier: Mapping[Key, Checked], runtime: Checked, diagnostics: list[Diagnostic]
) -> None:
    key = runtime_key(runtime.data)
    if key in earlier:
        where = earlier[key].document.file
        message = f"an earlier source has a runtime of this name and wins: {where}"
        finding = Finding("ShadowedRuntime", "info", message, "rename or remove one of them", ("metadata", "name"))
        diagnostics.append(runtime.place(finding))
    elif key in runtimes:
        diagnostics.append(_twice(runtime, runtimes[key], "DuplicateRuntime"))
    else:
        runtimes[key] = runtime


def _twice(second: Checked, first: Checked, code: str) -> Diagnostic:
    source = first.document.locate(("metadata", "name"))
    message = (
        f"{second.label} is defined twice; the first is at {source or first.document.file or 'an earlier document'}"
    )
    return second.place(Finding(code, "error", message, "rename or remove one of them", ("metadata", "name")))
