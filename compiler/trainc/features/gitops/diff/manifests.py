"""Turn inputs into manifests to compare: TrainJobs are compiled, previous output is validated."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.api.documents import Document, check, dialects
from trainc.api.explained import place
from trainc.api.findings import CompileError, Diagnostic, Finding, has_errors, policy, sort_diagnostics
from trainc.api.jobs import CompiledJob, Inputs, Session, ValidDocument, failures
from trainc.api.kube import identity_of, mapping, names, releases
from trainc.api.output import Keeping, name_hash, ownership
from trainc.api.records import dataclass, field, replace
from trainc.api.settings import Options
from trainc.features.gitops.diff.model import Names

# The kinds that trainc emits. A folder of output may contain other objects, which are not judged.
_COMPARED_KINDS = (
    "ConfigMap", "ExternalSecret", "Job", "JobSet", "PodGroup", "Role", "RoleBinding", "SSHKey", "SealedSecret", "Secret",
    "ServiceAccount", "Workload",
)  # fmt: skip


JobKey: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ManifestSet:
    """Manifests with their warnings. `compiled` says whether they were compiled from sources.

    `names` are those of the TrainJobs, by namespace and name of a JobSet that has another name. `keeping` knows the jobs
    that are kept as built, and the session that compiled them. `session` is the one that compiled, `rendered` are the
    documents of JobSets that were not compiled, by namespace and name. `homes` has the namespace and name of each
    manifest's TrainJob, and the file with that, as far as known. `inputs` is what was compiled.
    """

    manifests: list[dict[str, Any]]
    diagnostics: list[Diagnostic]
    compiled: bool
    names: Names = field(default_factory=dict)
    keeping: tuple[Session, Keeping] | None = None
    session: Session | None = None
    rendered: Mapping[tuple[str, str], Document] = field(default_factory=dict)
    failures: failures.Failures = field(default_factory=failures.Failures)
    homes: Sequence[tuple[tuple[str, str], str]] = ()
    inputs: Inputs | None = None

    @property
    def errors(self) -> list[Diagnostic]:
        """Why some jobs are left out."""
        return [d for d in self.diagnostics if d.severity == "error"]

    @property
    def trainjobs(self) -> Mapping[JobKey, ValidDocument]:
        """The TrainJobs that were compiled."""
        return {} if self.session is None else {job.key: job for job in self.session.jobs}

    @property
    def by_job(self) -> Mapping[JobKey, list[dict[str, Any]]]:
        """The manifests of each job."""
        by_key: dict[JobKey, list[dict[str, Any]]] = {}
        for manifest, (key, _) in zip(self.manifests, self.homes, strict=True):
            by_key.setdefault(key, []).append(manifest)
        return by_key

    def without_failures_of(self, other: ManifestSet) -> ManifestSet:
        """Leave out the jobs with errors on the other side: nobody knows what becomes of them."""
        failures = other.failures
        if not failures:
            return self
        files = set(map(os.path.normpath, failures.files))
        other_keys = {key for key, _ in other.homes}
        missing = {key for key, file in self.homes if file in files and key not in other_keys} | failures.jobs
        remaining = [(m, home) for m, home in zip(self.manifests, self.homes, strict=True) if home[0] not in missing]
        return replace(self, manifests=[m for m, _ in remaining], homes=[home for _, home in remaining])


def read_manifests(  # noqa: PLR0913, PLR0917 - what is compiled, how, and what is known of it
    inputs: Inputs,
    options: Options,
    rules: policy.Rules = policy.keep_severities,
    keeping: Keeping | None = None,
    folder: str = "",
    other: ManifestSet | None = None,
) -> ManifestSet:
    """The manifests that `inputs` lead to, empty if they contain no job. `folder` is that of trainc.yaml.

    Jobs with errors are left out. Raises CompileError if none is left, or if anything else is wrong. What `other`, a set
    with the same options, has in common with this one, because its text is the same, is not checked or compiled again.
    """
    if not holds_jobs(inputs):
        valid = [] if other is None or other.compiled else other.manifests
        result = _read_rendered(inputs, options.release or releases.NEWEST_RELEASE, folder, set(map(id, valid)))
        if has_errors(result.diagnostics):
            raise CompileError(result.diagnostics)
        return replace(result, diagnostics=sort_diagnostics(result.diagnostics))
    session = Session(options, inputs.catalog, place, rules, keeping=keeping, step=inputs.step, jobsets=inputs.jobsets)
    session = session.with_input(inputs.documents, inputs.runtime_sources)
    session = session.after(None if other is None else other.session)
    outcomes = list(inputs.outcomes(session))
    setup_diagnostics = [*rules(inputs.diagnostics, True), *outcomes[0][1]]
    jobs = [job for job, diagnostics_of_job in outcomes if job is not None and not has_errors(diagnostics_of_job)]
    about_jobs = [result for _, diagnostics_of_job in outcomes[1:] for result in diagnostics_of_job]
    problems = [] if keeping is None else keeping.problems
    if inputs.tally is not None:
        about_jobs = list(inputs.tally.without_repetitions(about_jobs))
        for job in jobs:
            inputs.tally.add(job)
        about_jobs += rules(inputs.tally.diagnostics(), True)
    about_jobs += [] if keeping is None else rules(keeping.all_refused, False)
    diagnostics = [*setup_diagnostics, *about_jobs]
    failed = failures.Failures()
    if has_errors([*diagnostics, *problems]):
        failed = failures.failures_of(
            session, inputs, setup_diagnostics, {(job.namespace, job.name) for job in jobs}, problems
        )
        jobs = [job for job in jobs if not failed.concerns(job)]
        if failed.fatal or not jobs:
            raise CompileError([*diagnostics, *problems])
    manifests = [manifest for job in jobs for manifest in job.manifests]
    homes = [((job.namespace, job.name), os.path.normpath(job.file)) for job in jobs for _ in job.manifests]
    of_session = None if keeping is None else (session, keeping)
    diagnostics = sort_diagnostics(diagnostics)
    names = names_of(jobs)
    return ManifestSet(manifests, diagnostics, True, names, of_session, session, {}, failed, homes, inputs)


def names_of(jobs: Iterable[CompiledJob]) -> Names:
    """Return the TrainJobs' names by namespace and name of the JobSets that have other names."""
    return {
        (job.namespace, name): job.name
        for job in jobs
        for manifest in job.manifests
        if manifest["kind"] == "JobSet" and (name := manifest["metadata"]["name"]) != job.name
    }


def holds_jobs(inputs: Inputs) -> bool:
    """Return whether `inputs` contain anything to compile."""
    return bool(inputs.jobsets) or any(
        dialects.is_trainer_document(document.data) and not is_runtime(document) for document in inputs.documents
    )


def with_runtime(inputs: Inputs, name: str, replacement: Document) -> Inputs:
    """`inputs` with the runtime `name`, wherever it is defined, replaced by `replacement` under that name."""
    renamed = {**replacement.data, "metadata": {**mapping(replacement.data.get("metadata")), "name": name}}
    others = [document for document in inputs.documents if not _is_runtime(document, name)]
    sources = [[runtime for runtime in source if not _is_runtime(runtime, name)] for source in inputs.runtime_sources]
    return replace(inputs, documents=[*others, replace(replacement, data=renamed)], runtime_sources=sources)


def is_runtime(document: Document) -> bool:
    """Return whether a document is a runtime, of Trainer's own API or of a dialect."""
    dialect = dialects.claimed_by(document.data)
    kind = document.data.get("kind")
    return kind in names.RUNTIME_KINDS or (dialect is not None and dialect.kinds[str(kind)] in names.RUNTIME_KINDS)


def runtime_names(inputs: Inputs) -> list[str]:
    """Return the names of the runtimes of the input and of those that its jobs refer to, sorted."""
    defined = {identity_of(document.data)[1] for document in inputs.all_documents if is_runtime(document)}
    references = (mapping(mapping(document.data.get("spec")).get("runtimeRef")) for document in inputs.documents)
    return sorted(defined | {str(reference["name"]) for reference in references if "name" in reference})


def _is_runtime(document: Document, name: str) -> bool:
    return is_runtime(document) and mapping(document.data.get("metadata")).get("name") == name


def _read_rendered(inputs: Inputs, release: str, folder: str, valid: Container[int]) -> ManifestSet:
    """Read previous output. `valid` are the ids of what needs no check."""
    manifests: list[dict[str, Any]] = []
    homes: list[tuple[tuple[str, str], str]] = []
    diagnostics = list(inputs.diagnostics)
    names: dict[tuple[str, str], str] = {}
    rendered: dict[tuple[str, str], Document] = {}
    sources: dict[str, str] = {}
    for document in inputs.documents:
        data = document.data
        if data.get("kind") not in _COMPARED_KINDS or not _has_name(data):
            continue
        manifests.append(data)
        if document.file not in sources:
            # The first line of a rendered file names its source.
            source = ownership.source_in(document.file) if os.path.isfile(document.file) else None
            sources[document.file] = os.path.normpath(os.path.join(folder, source)) if source else ""
        namespace = str(data["metadata"].get("namespace", ""))
        homes.append(((namespace, name_hash.job_in(document.file)), sources[document.file]))
        if data["kind"] == "JobSet":
            name = data["metadata"]["name"]
            key = namespace, name
            names[key], rendered[key] = name_hash.name_in_file(name, document.file), document
        if id(data) not in valid:
            diagnostics += _problems(document, release) if data["kind"] == "JobSet" else _metadata_problems(document)
    hashed = {key: name for key, name in names.items() if key[1] != name}
    return ManifestSet(manifests, diagnostics, False, hashed, rendered=rendered, homes=homes)


def _problems(document: Document, release: str) -> Sequence[Diagnostic]:
    """Why a JobSet cannot be compared: an unsupported version, or a field of the wrong type."""
    if document.data.get("apiVersion") != names.JOBSET_API:
        message = f"this JobSet has apiVersion {document.data.get('apiVersion')}, not {names.JOBSET_API}"
        hint = f"compare JobSets of {names.JOBSET_API}"
        return [document.diagnose(Finding("NotAJobSet", "error", message, hint, ("apiVersion",)))]
    _, findings = check(document.data, "JobSet", release, prune=True)
    return [document.diagnose(f) for f in findings if f.severity == "error"]


def _metadata_problems(document: Document) -> Iterator[Diagnostic]:
    """Malformed labels or annotations, which would break other tools."""
    for key in ("labels", "annotations"):
        value = document.data["metadata"].get(key)
        if value is not None and not isinstance(value, dict):
            message, hint = f"{key} must be a mapping, not {json.dumps(value)[:60]}", "write `key: value` pairs"
            yield document.diagnose(Finding("WrongType", "error", message, hint, ("metadata", key)))


def _has_name(data: dict[str, Any]) -> bool:
    return isinstance(mapping(data.get("metadata")).get("name"), str) and isinstance(data.get("apiVersion"), str)
