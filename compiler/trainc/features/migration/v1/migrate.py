"""`migrate`: what becomes of every document, and of the text of each file; it depends on all that are migrated together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trainc.api.documents import Document, catalog, dialects, enclosed, yaml_reader
from trainc.api.findings import CompileError, Diagnostic, Finding, Path, has_errors, sort_diagnostics
from trainc.api.kube import Json, identity_of, names, releases
from trainc.api.records import dataclass, pattern, replace
from trainc.api.settings import Limits, Options
from trainc.features.migration.v1.newest import around_of, is_old_queue, migrate_document, migrate_queue
from trainc.features.migration.v1.v1 import conversion
from trainc.features.migration.v1.v1.conversion import Choices, Converted, Into, convert
from trainc.features.migration.v1.v1.job import DATA, changes, findings_about, kind_of, stuck
from trainc.features.migration.v1.v1.variables import Variables

_INTO, _VARIABLES = ("runtime", "catalog"), ("keep", "torchrun", "auto")


@dataclass(frozen=True, slots=True)
class MovedJob:
    """A v1 job at `path` of a document, and what it becomes; nothing if it has to stay."""

    kind: str
    path: Path = ()
    converted: Converted = Converted((), ())

    @property
    def becomes(self) -> tuple[str, ...]:
        """The kinds of the documents that it becomes."""
        return tuple(document["kind"] for document in self.converted.documents)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What replaces a document (itself if it stays), and what is worth knowing. `jobs` are the v1 jobs in it."""

    documents: tuple[Json, ...]
    findings: tuple[Finding, ...] = ()
    jobs: tuple[MovedJob, ...] = ()


class Plan:
    """What becomes of each of `documents`. Equal runtimes of v1 jobs are written once, under unique names.

    With `rename`, a v1 job whose name is too long gets one that is not. `runtime` is the one that `into` names.
    """

    def __init__(  # noqa: PLR0913 - two go by their names
        self,
        documents: Iterable[Json] = (),
        release: str = releases.NEWEST_RELEASE,
        into: Into = "runtime",
        variables: Variables = "auto",
        *,
        rename: bool = False,
        runtime: Json | None = None,
    ) -> None:
        all_documents = list(documents)
        self._choices, self._rename = Choices(release, into, variables, runtime), rename
        self._around = around_of(all_documents)
        self._has_queues = any(map(is_old_queue, all_documents))
        self._names = {identity_of(d) for d in all_documents if d.get("kind") == "TrainingRuntime"}
        self._job_names = {identity_of(document) for document in all_documents}
        self._runtimes: dict[str, str] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._outcomes: dict[str, Outcome] = {}
        for document in all_documents:
            if dialects.is_legacy(document):
                converted = self._share_runtime(self._convert(document, self._choices))
                job = MovedJob(str(document["kind"]), (), converted)
                outcome = Outcome(converted.documents or (document,), converted.findings, (job,))
                self._outcomes[_identity(document)] = outcome
            elif inside := [job for job in enclosed.find_enclosed(document) if job.is_legacy]:
                self._outcomes[_identity(document)] = self._of_enclosing(document, inside)

    def of(self, document: Json) -> Outcome:
        """Return what becomes of one of the documents."""
        if (outcome := self._outcomes.get(_identity(document))) is not None:
            return outcome
        if is_old_queue(document):
            queue, findings = migrate_queue(document)
            return Outcome((queue,), tuple(findings))
        newest = migrate_document(document, self._around)
        return Outcome((newest.data,), (*newest.findings, *findings_about(document)))

    def notes(self) -> list[str]:
        """Return what is true of all jobs and queues, to be said once."""
        converted = [job.converted for outcome in self._outcomes.values() for job in outcome.jobs if job.becomes]
        containers = {result.layout.job.kind.container for result in converted if result.layout is not None} - {""}
        notes = []
        if containers:
            old, first = " or ".join(sorted(containers)), f"`kubectl logs -c {min(containers)}`"
            notes.append(f"the main container is now called node (in v1, {old}): update {first} and dashboards")
        if self._has_queues:
            notes.append("Kueue serves v1beta2 since 0.15: update an older Kueue before you apply its objects")
        if any(result.counts for result in converted):
            notes.append("to resize a job, change its variables, such as WORLD_SIZE, together with numNodes")
        return notes

    def _of_enclosing(self, document: Json, jobs_inside: Sequence[enclosed.Enclosed]) -> Outcome:
        """What becomes of a document with v1 jobs inside: all of them are migrated, or none."""
        findings: list[Finding] = []
        converted: list[Converted] = []
        for job in jobs_inside:
            document_of_job = conversion.job_in(document, job)
            if document_of_job is None:
                findings.append(conversion.cannot(document, job))
                continue
            choices = self._choices._replace(into="runtime", runtime=None)
            result = self._convert(document_of_job, choices, is_named=conversion.is_wrapper(document))
            if conversion.is_experiment(document):
                result = self._share_runtime(conversion.name_runtime(document, result))
            converted.append(result)
            findings += (replace(extra, path=(*job.path, *extra.path)) for extra in result.findings)
        if has_errors(findings):
            return Outcome((document,), tuple(findings), tuple(MovedJob(job.kind, job.path) for job in jobs_inside))
        documents, extra = conversion.replace_enclosing(document, jobs_inside, converted)
        findings += (*extra, *(finding for replacement in documents for finding in findings_about(replacement)))
        jobs = (MovedJob(job.kind, job.path, result) for job, result in zip(jobs_inside, converted, strict=True))
        return Outcome(documents, tuple(findings), tuple(jobs))

    def _convert(self, document: Json, choices: Choices, *, is_named: bool = True) -> Converted:
        kind = kind_of(document)
        if kind is None:
            name, version, others = str(document.get("kind")), str(document.get("apiVersion")), DATA["notSupported"]
            why, hint = others.get(name) or others.get(version.partition("/")[0], others[""])
            return Converted((), (stuck(("apiVersion",), f"{name} of {version} {why}", hint),))
        result = convert(kind, document, choices, is_named=is_named)
        if not (result.shorter and self._rename and is_named):
            return result
        (namespace, old), metadata = identity_of(document), document["metadata"]
        name = self._unused_name((namespace, result.shorter), self._job_names, len(result.shorter))
        renamed = {**document, "metadata": {**metadata, "name": name}}
        result = convert(kind, renamed, choices)
        message = f"the job {old} is now called {name}: the names of its pods would be too long"
        hint = "update what refers to the job by its name, such as scripts and dashboards"
        return replace(result, findings=(*result.findings, changes(("metadata", "name"), message, hint)))

    def _unused_name(self, key: tuple[str, str], used: set[tuple[str, str]], most: int = names.SUBDOMAIN_LIMIT) -> str:
        """A name that nothing has in this namespace: that of `key`, or with a number at its end."""
        namespace, name = key
        unused = name
        while (namespace, unused) in used:
            number = self._numbers[key] = self._numbers.get(key, 1) + 1
            unused = f"{name[: most - len(str(number)) - 1].rstrip('-')}-{number}"
        used.add((namespace, unused))
        return unused

    def _share_runtime(self, converted: Converted) -> Converted:
        """The documents of a job, whose runtime is one that is there already if it says the same."""
        if len(converted.documents) < 2 or converted.documents[1].get("kind") != "TrainingRuntime":
            return converted
        job, runtime, *rest = converted.documents
        content = _identity([runtime["metadata"].get("namespace") or "", runtime["spec"]])
        is_new = content not in self._runtimes
        if is_new:
            self._runtimes[content] = self._unused_name(identity_of(runtime), self._names)
        name = self._runtimes[content]
        runtime = {**runtime, "metadata": {**runtime["metadata"], "name": name}}
        job = {**job, "spec": {**job["spec"], "runtimeRef": {**job["spec"]["runtimeRef"], "name": name}}}
        return replace(converted, documents=(job, *((runtime,) if is_new else ()), *rest))


def _identity(document: Any) -> str:
    return json.dumps(document, sort_keys=True, default=str)


@dataclass(frozen=True, slots=True)
class Migration:
    """Documents in the newest API, in the order of those given, and what is worth knowing about them."""

    documents: list[dict[str, Any]]
    diagnostics: list[Diagnostic]


def migrate(
    documents: Sequence[dict[str, Any]],
    options: Options = Options(),
    *,
    into: Into = "runtime",
    variables: Variables = "auto",
    rename: bool = False,
) -> Migration:
    """Convert documents to Trainer's newest API; those that need no change, or cannot be converted, stay the same.

    A v1 job becomes a TrainJob and a TrainingRuntime of the same name; jobs with equal pod templates share one. With
    `into` "catalog", a runtime built into trainc is used if one fits, and with another name the runtime of that name among
    the documents or in the catalog, where it gives the same pods. With `variables` "torchrun", `python x` is
    started by torchrun instead of receiving v1's variables. With `rename`, a v1 job whose name is too long for its new
    pods gets a shorter one. The input is not modified.

    Raises CompileError if there are errors and no document could be migrated.
    """
    release = options.release or releases.NEWEST_RELEASE
    runtime = None if into in _INTO else runtime_named(into, documents, release)
    if into not in _INTO and runtime is None:
        raise ValueError(
            f"unknown into {into!r}; choose {', '.join(_INTO)} or the name of a runtime among the documents"
        )
    if variables not in _VARIABLES:
        raise ValueError(f"unknown variables {variables!r}; choose {' or '.join(_VARIABLES)}")
    plan = Plan(documents, release, into, variables, rename=rename, runtime=runtime)
    results: list[dict[str, Any]] = []
    diagnostics: list[Diagnostic] = []
    changed = False
    for data in documents:
        outcome = plan.of(data)
        diagnostics += map(Document.of(data).diagnose, outcome.findings)
        changed = changed or outcome.documents != (data,)
        results += map(dict, outcome.documents)
    if has_errors(diagnostics) and not changed:
        raise CompileError(diagnostics)
    return Migration(results, sort_diagnostics(diagnostics))


def runtime_named(name: str, documents: Iterable[Json], release: str) -> Json | None:
    """Return the runtime of a name among documents, or in the catalog; None if there is none."""
    for document in documents:
        if document.get("kind") in names.RUNTIME_KINDS and identity_of(document)[1] == name:
            return document
    shipped = catalog.find(name, release)
    return shipped.data if isinstance(shipped, Document) else None


# Migrate the documents of a file and leave the rest of its text unchanged.

# Three dashes in the first column start a new document everywhere, even inside a block scalar.
_SEPARATOR = pattern(r"^(---(?:[ \t][^\n]*)?\n)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MigratedFile:
    """The migrated text of a file; identical to the original if nothing had to change."""

    text: str
    diagnostics: tuple[Diagnostic, ...]


def migrate_text(text: str, file: str, limits: Limits) -> MigratedFile:
    """Migrate every document of a file that refers to no others, and report what could not be expressed."""
    documents, problems = yaml_reader.read_documents(yaml_reader.encode(text), file, limits)
    if problems:
        return MigratedFile(text, tuple(problems))
    return migrate_documents(text, documents, limits, Plan(document.data for document in documents))


def migrate_documents(text: str, documents: Sequence[Document], limits: Limits, plan: Plan) -> MigratedFile:
    """Migrate a text whose documents have been read without problems."""
    outcomes = [(document, plan.of(document.data)) for document in documents]
    diagnostics = tuple(document.diagnose(finding) for document, outcome in outcomes for finding in outcome.findings)
    if all(outcome.documents == (document.data,) for document, outcome in outcomes):
        return MigratedFile(text, diagnostics)
    lines = text.replace("\r\n", "\n")
    # Separators stand between the parts, at odd positions.
    parts = _SEPARATOR.split(lines)
    new = "".join(part if i % 2 else "".join(_rewrite_part(part, limits, plan)) for i, part in enumerate(parts))
    return MigratedFile(text if new == lines else new.replace("\n", "\r\n") if "\r\n" in text else new, diagnostics)


def _rewrite_part(part: str, limits: Limits, plan: Plan) -> Iterator[str]:
    """Yield the migrated text of a part: any JSON objects, and then one YAML document."""
    from trainc.features.migration.v1.rewriting import leading_objects, rewrite, rewrite_json

    *objects, (_, _, yaml_text) = leading_objects(part)
    for space, data, text in objects:
        new = _replacements(data, plan)
        yield space + (text if new == [data] else rewrite_json(text, data, new))
    try:
        data = yaml_reader.read_value(yaml_text, limits)
    except CompileError:
        yield yaml_text
        return
    new = _replacements(data, plan)
    yield yaml_text if new == [data] else rewrite(yaml_text, data, new)


def _replacements(data: Any, plan: Plan) -> list[Json]:
    """Return the documents in place of one. A List with an item that becomes several is a List of them all."""
    replacements = [
        (path, value, plan.of(value).documents) for path, value in Document.each_in(data) if isinstance(value, dict)
    ]
    if all(len(documents) == 1 for _, _, documents in replacements):
        for path, value, (document,) in replacements:
            data = data if document == value else _with(data, path, document)
        return [data]
    flattened = [document for _, _, documents in replacements for document in documents]
    return flattened if replacements[0][0] == () else [{**data, "apiVersion": "v1", "kind": "List", "items": flattened}]


def _with(data: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    step, *deeper = path
    inner = _with(data[step], tuple(deeper), value)
    if isinstance(data, list):
        return [inner if index == step else item for index, item in enumerate(data)]
    return {**data, step: inner}
