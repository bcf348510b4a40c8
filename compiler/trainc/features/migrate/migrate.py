"""`migrate`: what becomes of every document, which depends on all that are migrated together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trainc.api.documents import Document
from trainc.api.findings import CompileError, Diagnostic, Finding, Path, has_errors, sort_diagnostics
from trainc.api.kube import NEWEST_RELEASE, Json
from trainc.api.records import dataclass, replace
from trainc.api.settings import Options
from trainc.features.migrate import kueue
from trainc.features.migrate.newest import around_of, migrate_document
from trainc.features.migrate.v1 import enclosing
from trainc.features.migrate.v1.conversion import Choices, Converted, Into, convert
from trainc.features.migrate.v1.job import changes, kind_of, stuck
from trainc.features.migrate.v1.labels import findings_about
from trainc.features.migrate.v1.variables import Variables
from trainc.kube.names import SUBDOMAIN_LIMIT
from trainc.project.dialects import is_legacy
from trainc.project.dialects.enclosed import Enclosed, enclosed

_CHOICES = {"into": ("runtime", "catalog"), "variables": ("keep", "torchrun", "auto")}


@dataclass(frozen=True, slots=True)
class MovedJob:
    """A v1 job at `path` of a document, and what it becomes; nothing if it has to stay."""

    kind: str
    path: Path = ()
    converted: Converted = Converted((), ())

    @property
    def becomes(self) -> tuple[str, ...]:
        """The kinds of the documents that it becomes."""
        return tuple(made["kind"] for made in self.converted.documents)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What replaces a document (itself if it stays), and what is worth knowing. `jobs` are the v1 jobs in it."""

    documents: tuple[Json, ...]
    findings: tuple[Finding, ...] = ()
    jobs: tuple[MovedJob, ...] = ()


class Plan:
    """What becomes of each of `documents`. Equal runtimes of v1 jobs are written once, under unique names.

    With `rename`, a v1 job whose name is too long gets one that is not.
    """

    def __init__(
        self,
        documents: Iterable[Json] = (),
        release: str = NEWEST_RELEASE,
        into: Into = "runtime",
        variables: Variables = "auto",
        *,
        rename: bool = False,
    ) -> None:
        known = list(documents)
        self._choices, self._rename = Choices(release, into, variables), rename
        self._around = around_of(known)
        self._has_queues = any(map(kueue.is_old, known))
        self._names = {_key(d) for d in known if d.get("kind") == "TrainingRuntime"}
        self._job_names = {_key(document) for document in known}
        self._runtimes: dict[str, str] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._outcomes: dict[str, Outcome] = {}
        for document in known:
            if is_legacy(document):
                self._outcomes[_identity(document)] = self._of_v1(document)
            elif inside := [job for job in enclosed(document) if job.is_legacy]:
                self._outcomes[_identity(document)] = self._of_enclosing(document, inside)

    def of(self, document: Json) -> Outcome:
        """Return what becomes of one of the documents."""
        if (known := self._outcomes.get(_identity(document))) is not None:
            return known
        if kueue.is_old(document):
            queue, findings = kueue.migrate_queue(document)
            return Outcome((queue,), tuple(findings))
        newest = migrate_document(document, self._around)
        return Outcome((newest.data,), (*newest.findings, *findings_about(document)))

    def notes(self) -> list[str]:
        """Return what is true of all jobs and queues, to be said once."""
        moved = [job.converted for outcome in self._outcomes.values() for job in outcome.jobs if job.becomes]
        containers = {result.layout.job.kind.container for result in moved if result.layout is not None} - {""}
        notes = []
        if containers:
            old, first = " or ".join(sorted(containers)), f"`kubectl logs -c {min(containers)}`"
            notes.append(f"the main container is now called node (in v1, {old}): update {first} and dashboards")
        if self._has_queues:
            notes.append("Kueue serves v1beta2 since 0.15: update an older Kueue before you apply its objects")
        if any(result.counts for result in moved):
            notes.append("to resize a job, change its variables, such as WORLD_SIZE, together with numNodes")
        return notes

    def _of_v1(self, document: Json) -> Outcome:
        converted = self._shared(self._converted(document, self._choices))
        job = MovedJob(str(document["kind"]), (), converted)
        return Outcome(converted.documents or (document,), converted.findings, (job,))

    def _of_enclosing(self, document: Json, inside: Sequence[Enclosed]) -> Outcome:
        """What becomes of a document with v1 jobs inside: all of them are migrated, or none."""
        findings: list[Finding] = []
        converted: list[Converted] = []
        for job in inside:
            alone = enclosing.job_in(document, job)
            if alone is None:
                findings.append(enclosing.cannot(document, job))
                continue
            choices = self._choices._replace(into="runtime")
            result = self._converted(alone, choices, is_named=enclosing.is_wrapper(document))
            if enclosing.is_experiment(document):
                result = self._shared(enclosing.named_runtime(document, result))
            converted.append(result)
            findings += (replace(found, path=(*job.path, *found.path)) for found in result.findings)
        if has_errors(findings):
            return Outcome((document,), tuple(findings), tuple(MovedJob(job.kind, job.path) for job in inside))
        documents, found = enclosing.replaced(document, inside, converted)
        findings += (*found, *(finding for made in documents for finding in findings_about(made)))
        jobs = (MovedJob(job.kind, job.path, result) for job, result in zip(inside, converted, strict=True))
        return Outcome(documents, tuple(findings), tuple(jobs))

    def _converted(self, document: Json, choices: Choices, *, is_named: bool = True) -> Converted:
        kind = kind_of(document)
        if kind is None:
            return Converted((), (_unsupported(document),))
        result = convert(kind, document, choices, is_named=is_named)
        if not (result.shorter and self._rename and is_named):
            return result
        (namespace, old), metadata = _key(document), document["metadata"]
        name = self._unused((namespace, result.shorter), self._job_names, len(result.shorter))
        renamed = {**document, "metadata": {**metadata, "name": name}}
        result = convert(kind, renamed, choices)
        message = f"the job {old} is now called {name}: the names of its pods would be too long"
        hint = "update what refers to the job by its name, such as scripts and dashboards"
        return replace(result, findings=(*result.findings, changes(("metadata", "name"), message, hint)))

    def _unused(self, key: tuple[str, str], taken: set[tuple[str, str]], most: int = SUBDOMAIN_LIMIT) -> str:
        """A name that nothing has in this namespace: that of `key`, or with a number at its end."""
        namespace, name = key
        unused = name
        while (namespace, unused) in taken:
            number = self._numbers[key] = self._numbers.get(key, 1) + 1
            unused = f"{name[: most - len(str(number)) - 1].rstrip('-')}-{number}"
        taken.add((namespace, unused))
        return unused

    def _shared(self, converted: Converted) -> Converted:
        """The documents of a job, whose runtime is one that is there already if it says the same."""
        if len(converted.documents) < 2 or converted.documents[1].get("kind") != "TrainingRuntime":
            return converted
        job, runtime, *others = converted.documents
        content = _identity([runtime["metadata"].get("namespace") or "", runtime["spec"]])
        is_new = content not in self._runtimes
        if is_new:
            self._runtimes[content] = self._unused(_key(runtime), self._names)
        name = self._runtimes[content]
        runtime = {**runtime, "metadata": {**runtime["metadata"], "name": name}}
        job = {**job, "spec": {**job["spec"], "runtimeRef": {**job["spec"]["runtimeRef"], "name": name}}}
        return replace(converted, documents=(job, *((runtime,) if is_new else ()), *others))


def _identity(document: Any) -> str:
    return json.dumps(document, sort_keys=True, default=str)


def _key(document: Json) -> tuple[str, str]:
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    return str(metadata.get("namespace") or ""), str(metadata.get("name"))


_NOT_SUPPORTED = {
    "MPIJob": (
        "starts its workers with kubectl exec; Trainer uses SSH, so the image needs an SSH server",
        "add sshd to the image, convert the job to kubeflow.org/v2beta1, then migrate it",
    ),
    "MXJob": (
        "has no successor: MXNet has retired, and Trainer has no runtime for it",
        "port the program to another framework, or run its pods as a JobSet with the DMLC_ variables that it reads",
    ),
    "xgboostjob.kubeflow.org": (
        "belongs to the operator before Training Operator v1",
        "set apiVersion: kubeflow.org/v1, call the main container xgboost, then migrate it",
    ),
    "batch.paddlepaddle.org": (
        "belongs to PaddleCloud's operator, which has other roles and variables",
        "write it for kubeflow.org/v1 with paddleReplicaSpecs and a container called paddle, then migrate it",
    ),
}


def _unsupported(document: Json) -> Finding:
    """Why this version of the API is not migrated."""
    kind, version = str(document.get("kind")), str(document.get("apiVersion"))
    older = "is older than the last API of Training Operator v1", "set apiVersion: kubeflow.org/v1, then migrate it"
    why, hint = _NOT_SUPPORTED.get(kind) or _NOT_SUPPORTED.get(version.partition("/")[0], older)
    return stuck(("apiVersion",), f"{kind} of {version} {why}", hint)


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
    `into` "catalog", a runtime built into trainc is used if one fits. With `variables` "torchrun", `python x` is
    started by torchrun instead of receiving v1's variables. With `rename`, a v1 job whose name is too long for its new
    pods gets a shorter one. The input is not modified.

    Raises CompileError if there are errors and no document could be migrated.
    """
    for name, given in (("into", into), ("variables", variables)):
        if given not in _CHOICES[name]:
            raise ValueError(f"unknown {name} {given!r}; choose {' or '.join(_CHOICES[name])}")
    plan = Plan(documents, options.release or NEWEST_RELEASE, into, variables, rename=rename)
    made: list[dict[str, Any]] = []
    diagnostics: list[Diagnostic] = []
    changed = False
    for data in documents:
        outcome = plan.of(data)
        diagnostics += map(Document.of(data).place, outcome.findings)
        changed = changed or outcome.documents != (data,)
        made += map(dict, outcome.documents)
    if has_errors(diagnostics) and not changed:
        raise CompileError(diagnostics)
    return Migration(made, sort_diagnostics(diagnostics))
