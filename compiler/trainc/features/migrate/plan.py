"""The plan of a migration: what becomes of every document, which depends on all that are migrated together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from trainc.features.migrate.newest import around_of, migrate_document
from trainc.features.migrate.v1.conversion import Converted, Into, convert
from trainc.features.migrate.v1.job import kind_of
from trainc.features.migrate.v1.labels import findings_about
from trainc.features.migrate.v1.variables import Variables
from trainc.findings import Finding, Path
from trainc.kube.documents import Json
from trainc.kube.releases import NEWEST_RELEASE
from trainc.project.dialects import is_legacy
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class MovedJob:
    """A v1 job at `path` of a document: its kind, the kinds of what it becomes, and which pods become which."""

    kind: str
    path: Path
    becomes: tuple[str, ...]
    pods: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What replaces a document (itself if it stays), and what is worth knowing. `jobs` are the v1 jobs in it."""

    documents: tuple[Json, ...]
    findings: tuple[Finding, ...] = ()
    jobs: tuple[MovedJob, ...] = ()


class Plan:
    """What becomes of each of `documents`. Equal runtimes of v1 jobs are written once, under unique names."""

    def __init__(
        self,
        documents: Iterable[Json] = (),
        release: str = NEWEST_RELEASE,
        into: Into = "runtime",
        variables: Variables = "auto",
    ) -> None:
        known = list(documents)
        self._choices = release, into, variables
        self._around = around_of(known)
        self._names = {_key(d) for d in known if d.get("kind") == "TrainingRuntime"}
        self._runtimes: dict[str, dict[str, Any]] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._outcomes: dict[str, Outcome] = {}
        for document in known:
            if is_legacy(document):
                self._outcomes[_identity(document)] = self._of_v1(document)

    def of(self, document: Json) -> Outcome:
        """Return what becomes of one of the documents."""
        if is_legacy(document):
            return self._outcomes.get(_identity(document)) or Outcome((document,))
        newest = migrate_document(document, self._around)
        return Outcome((newest.data,), (*newest.findings, *findings_about(document)))

    def _of_v1(self, document: Json) -> Outcome:
        kind = kind_of(document)
        if kind is None:
            converted = Converted((), (_unsupported(document),))
        else:
            converted = self._sharing(convert(kind, document, *self._choices))
        becomes = tuple(made["kind"] for made in converted.documents)
        job = MovedJob(str(document["kind"]), (), becomes, converted.pods)
        return Outcome(converted.documents or (document,), converted.findings, (job,))

    def _sharing(self, converted: Converted) -> Converted:
        """The documents of a job, whose runtime is one that is there already if it says the same."""
        if len(converted.documents) < 2 or converted.documents[1].get("kind") != "TrainingRuntime":
            return converted
        job, runtime, *others = converted.documents
        twin = self._runtimes.get(_content(runtime))
        if twin is None:
            runtime = self._runtimes[_content(runtime)] = self._named(runtime)
        name = (twin or runtime)["metadata"]["name"]
        job = {**job, "spec": {**job["spec"], "runtimeRef": {**job["spec"]["runtimeRef"], "name": name}}}
        return Converted((job, *(() if twin else (runtime,)), *others), converted.findings, converted.pods)

    def _named(self, runtime: dict[str, Any]) -> dict[str, Any]:
        metadata, wanted = dict(runtime["metadata"]), _key(runtime)
        while _key({"metadata": metadata}) in self._names:
            number = self._numbers[wanted] = self._numbers.get(wanted, 1) + 1
            metadata["name"] = f"{runtime['metadata']['name']}-{number}"
        self._names.add(_key({"metadata": metadata}))
        return {**runtime, "metadata": metadata}


def _identity(document: Any) -> str:
    return json.dumps(document, sort_keys=True, default=str)


def _key(document: Json) -> tuple[str, str]:
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    return str(metadata.get("namespace") or ""), str(metadata.get("name"))


def _content(runtime: Json) -> str:
    return _identity([runtime["metadata"].get("namespace") or "", runtime["spec"]])


def _unsupported(document: Json) -> Finding:
    """Why this version of the API is not migrated."""
    kind, version = document.get("kind"), document.get("apiVersion")
    if kind == "MPIJob":
        message = f"an MPIJob of {version} starts its workers with kubectl exec; Trainer uses SSH, so the image needs an SSH server"
        hint = "add sshd to the image, convert the job to kubeflow.org/v2beta1, then migrate it"
    else:
        message = f"{kind} of {version} is older than the last API of Training Operator v1"
        hint = "convert it to apiVersion: kubeflow.org/v1, then migrate it"
    return Finding("CannotMigrate", "error", message, hint, ("apiVersion",))
