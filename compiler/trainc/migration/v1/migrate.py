"""`migrate`: documents of Training Operator v1, and of older dialects and releases of Trainer, in the newest API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trainc.api.releases import NEWEST_RELEASE
from trainc.diagnostics import CompileError, Diagnostic, Finding, format_path, has_errors, in_order
from trainc.migration.v1.conversion import Converted, convert
from trainc.migration.v1.kinds import is_legacy, kind_of
from trainc.migration.v1.neighbours import findings_about
from trainc.migration.v1.shipped import with_shipped_runtime
from trainc.migration.v1.torchrun import Variables
from trainc.options import Options
from trainc.startup.records import dataclass

Json = Mapping[str, Any]
Into: TypeAlias = Literal["runtime", "catalog"]


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
) -> Migration:
    """Documents as Trainer's newest API has them; what needs no change, or cannot be changed, as it is.

    A v1 job becomes a TrainJob and a TrainingRuntime of its name; jobs of equal pod templates share one. `into`
    "catalog" refers to a runtime that trainc ships, where one fits. `variables` "torchrun" starts `python x` by
    torchrun instead of giving it v1's variables. The input is never changed.

    Raises CompileError where nothing can be kept: there are errors, and no document could be migrated.
    """
    _check_choices(into, variables)
    made: list[dict[str, Any]] = []
    diagnostics: list[Diagnostic] = []
    migrated = 0
    for index, result in enumerate(migrated_documents(documents, options, into, variables)):
        object_name = _label(documents[index])
        diagnostics += [placed(finding, object_name) for finding in result.findings]
        migrated += bool(result.documents)
        made += result.documents or (dict(documents[index]),)
    if has_errors(diagnostics) and not migrated:
        raise CompileError(diagnostics)
    return Migration(made, in_order(diagnostics))


def _check_choices(into: str, variables: str) -> None:
    for name, given, allowed in (
        ("into", into, ("runtime", "catalog")),
        ("variables", variables, ("keep", "torchrun", "auto")),
    ):
        if given not in allowed:
            raise ValueError(f"unknown {name} {given!r}; choose {' or '.join(allowed)}")


def migrated_documents(
    documents: Sequence[Json], options: Options, into: Into, variables: Variables
) -> Iterator[Converted]:
    """One result for each document, in order; without documents of its own where it stays as it is."""
    runtimes = Runtimes(documents)
    for document in documents:
        kind = kind_of(document)
        if kind is not None:
            converted = convert(kind, document, options.release or NEWEST_RELEASE, variables)
            if into == "catalog":
                converted = with_shipped_runtime(converted, options.release or NEWEST_RELEASE)
            yield runtimes.sharing(converted)
        elif is_legacy(document):
            yield Converted((), (unsupported(document),))
        else:
            yield _others(document, documents)


def _others(document: Json, documents: Sequence[Json]) -> Converted:
    """A document of another dialect or release of Trainer, or one that has to do with v1 jobs only by what it selects."""
    from trainc.migration.newest import around_of, in_newest_api

    migrated = in_newest_api(document, around_of(documents))
    changed = (dict(migrated.data),) if migrated.data != document else ()
    return Converted(changed, (*migrated.findings, *findings_about(document)))


def unsupported(document: Json) -> Finding:
    """Why a version of the API is not migrated."""
    if document.get("kind") == "MPIJob":
        message = f"MPIJob of {document.get('apiVersion')} reached its workers by kubectl exec; today mpirun needs sshd in the image"
        hint = "build the image with an SSH server, write the job for kubeflow.org/v2beta1, then migrate it"
    else:
        message = f"{document.get('kind')} of {document.get('apiVersion')} is older than the API that Training Operator v1 ended with"
        hint = "write apiVersion: kubeflow.org/v1 and the fields of that version, then migrate it"
    return Finding("CannotMigrate", "error", message, hint, ("apiVersion",))


def placed(finding: Finding, object_name: str) -> Diagnostic:
    """A finding about a document that has no file."""
    path = format_path(finding.path)
    return Diagnostic(finding.code, finding.severity, finding.message, finding.hint, object_name, path)


def _label(document: Json) -> str:
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    name = "/".join(str(part) for part in (metadata.get("namespace"), metadata.get("name")) if part)
    return f"{document.get('kind')} {name}".strip()


class Runtimes:
    """The runtimes that a migration has made so far: equal ones are written once, and no two have one name."""

    def __init__(self, documents: Sequence[Json]) -> None:
        self._names = {_key(d) for d in documents if d.get("kind") == "TrainingRuntime"}
        self._made: list[dict[str, Any]] = []

    def sharing(self, converted: Converted) -> Converted:
        """The documents of a job, whose runtime is one that is there already if it says the same."""
        if len(converted.documents) < 2 or converted.documents[1].get("kind") != "TrainingRuntime":
            return converted
        job, runtime, *others = converted.documents
        twin = next((made for made in self._made if _content(made) == _content(runtime)), None)
        if twin is None:
            runtime = self._named(runtime)
            self._made.append(runtime)
        name = (twin or runtime)["metadata"]["name"]
        job = {**job, "spec": {**job["spec"], "runtimeRef": {**job["spec"]["runtimeRef"], "name": name}}}
        kept = [job, *([] if twin else [runtime]), *others]
        return Converted(tuple(kept), converted.findings)

    def _named(self, runtime: dict[str, Any]) -> dict[str, Any]:
        metadata, number = dict(runtime["metadata"]), 1
        while _key({"metadata": metadata}) in self._names:
            number += 1
            metadata["name"] = f"{runtime['metadata']['name']}-{number}"
        self._names.add(_key({"metadata": metadata}))
        return {**runtime, "metadata": metadata}


def _key(document: Json) -> tuple[str, str]:
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    return str(metadata.get("namespace") or ""), str(metadata.get("name"))


def _content(runtime: Json) -> tuple[str, Any]:
    return str(runtime["metadata"].get("namespace") or ""), runtime["spec"]
