"""Migrate all v1 jobs together: identical runtimes are written once, and names are unique."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from trainc.features.migrate.v1.conversion import Converted, Into, convert
from trainc.features.migrate.v1.kinds import kind_of
from trainc.features.migrate.v1.related_objects import findings_about
from trainc.features.migrate.v1.torchrun import Variables
from trainc.findings import Finding
from trainc.kube.documents import Json
from trainc.project.dialects import is_legacy

_UNCHANGED = Converted((), ())


class Batch:
    """What becomes of each v1 job among `documents`, which are all that a migration sees."""

    def __init__(
        self, documents: Iterable[Json] = (), release: str = "", into: Into = "runtime", variables: Variables = "auto"
    ) -> None:
        known = list(documents)
        self._names = {_key(d) for d in known if d.get("kind") == "TrainingRuntime"}
        self._runtimes: dict[str, dict[str, Any]] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._results: dict[str, Converted] = {}
        for document in known:
            if is_legacy(document):
                self._results[_identity(document)] = self._converted(document, release, into, variables)

    def of(self, document: Json) -> Converted:
        """What replaces a document, if anything, and what there is to know about it."""
        if is_legacy(document):
            return self._results.get(_identity(document), _UNCHANGED)
        return Converted((), tuple(findings_about(document)))

    def _converted(self, document: Json, release: str, into: Into, variables: Variables) -> Converted:
        kind = kind_of(document)
        if kind is None:
            return Converted((), (_unsupported(document),))
        return self._sharing(convert(kind, document, release, into, variables))

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
