"""The index of an input: its valid, defaulted TrainJobs and runtimes, by key."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from trainc.findings import Diagnostic, Finding, write
from trainc.findings.text import correct_spelling, did_you_mean, near_names
from trainc.ir.release import Release
from trainc.kube import names
from trainc.kube.documents import Json, identity_of, mapping, walk
from trainc.kube.names import JOB_KINDS, RUNTIME_KINDS
from trainc.options import Options
from trainc.pipeline.valid_document import ValidDocument, check_document, valid_part
from trainc.project.dialects import DialectContext, dialect_context, is_trainer_document
from trainc.reading.catalog import Catalog, NotFound
from trainc.reading.document import Document, Surroundings
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, field, replace
from trainc.startup.typing import Any, TypeAlias

# Resolution: from a TrainJob's runtimeRef to the runtime's document.
#
# Source: kubeflow/trainer pkg/runtime/core (clustertrainingruntime.go, trainingruntime.go) and pkg/webhooks.


Key: TypeAlias = tuple[str, str, str]


def runtime_key(document: Json) -> Key:
    """Return (kind, namespace, name). A ClusterTrainingRuntime has no namespace, even if its document sets one."""
    metadata, kind = document["metadata"], document["kind"]
    namespace = "" if kind == "ClusterTrainingRuntime" else metadata.get("namespace", "")
    return kind, namespace, metadata["name"]


def referenced_key(job: Json) -> Key:
    """Return the key of the runtime to which a TrainJob refers; a TrainingRuntime is in the TrainJob's namespace."""
    reference = job["spec"]["runtimeRef"]
    kind = reference["kind"]
    namespace = "" if kind == "ClusterTrainingRuntime" else job["metadata"].get("namespace", "")
    return kind, namespace, reference["name"]


def check_reference(job: Json, namespace: str | None) -> Json | None:
    """Return an otherwise invalid TrainJob of Trainer's API reduced to its runtimeRef, or None if it has none."""
    spec = job.get("spec")
    reference = spec.get("runtimeRef") if isinstance(spec, Mapping) else None
    if (job.get("apiVersion"), job.get("kind")) != (names.TRAINER_API, "TrainJob") or not isinstance(
        reference, Mapping
    ):
        return None
    full_reference = {"apiGroup": names.TRAINER_GROUP, "kind": "ClusterTrainingRuntime", **reference}
    if not all(isinstance(full_reference.get(field), str) for field in ("name", "kind", "apiGroup")):
        return None
    return {"metadata": {"namespace": identity_of(job, namespace)[0]}, "spec": {"runtimeRef": full_reference}}


# Characters that go-yaml's reader refuses, except those that are escaped in the JSON that it reads here.
_NOT_IN_YAML = pattern("[\x7f-\x84\x86-\x9f\ufffe\uffff]")


def unstorable_text(runtime: Json) -> Iterator[Finding]:
    """Yield a finding for text that the runtime's snapshot cannot contain: the controller fails and creates nothing.

    Source: kubeflow/trainer pkg/runtime/core/snapshot.go; the reader of sigs.k8s.io/yaml.
    """
    hint = "remove the character, or compile with --semantics gitops"
    for path, value in walk(runtime):
        for text in (*path[-1:], value):
            if isinstance(text, str) and (match := _NOT_IN_YAML.search(text)):
                character = f"U+{ord(match[0]):04X}"
                message = f"the controller cannot store a snapshot of this runtime: it has the character {character}"
                yield Finding("RuntimeNotStored", "error", message, hint, path, "runtime")


def unsupported_reference(job: Json) -> Iterator[Finding]:
    """Yield an error for a runtimeRef with a group or kind that does not exist."""
    reference = job["spec"]["runtimeRef"]
    if reference["apiGroup"] != names.TRAINER_GROUP:
        message = f"API group {reference['apiGroup']!r} has no runtimes"
        hint = write(names.TRAINER_GROUP, ", or remove it", field="apiGroup", verb="set")
        yield Finding("UnsupportedRuntimeRef", "error", message, hint, ("spec", "runtimeRef", "apiGroup"))
    if reference["kind"] not in RUNTIME_KINDS:
        yield _unknown_kind(reference["kind"])


def _unknown_kind(kind: str) -> Finding:
    near = near_names(kind, RUNTIME_KINDS, 1)
    message, hint = f"{kind!r} is not a kind of runtime", f"write kind: {' or kind: '.join(RUNTIME_KINDS)}"
    if kind and kind == kind.lower():
        # Kinds begin with a capital letter; names have none.
        message = f"{kind!r} is not a kind of runtime; it looks like the name of one"
        hint = f"write kind: ClusterTrainingRuntime (or TrainingRuntime) and name: {kind}"
    elif near:
        hint = write(near[0], field="kind")
    return Finding("UnsupportedRuntimeRef", "error", message, hint, ("spec", "runtimeRef", "kind"))


def group_mismatch(job: Json, runtime: Json) -> Iterator[Finding]:
    """Yield a finding if the runtimeRef's API group differs from that of the runtime. Both documents are as written."""
    requested = job["spec"]["runtimeRef"].get("apiGroup")
    group = str(runtime["apiVersion"]).partition("/")[0]
    if requested and requested != group:
        message = f"apiGroup is {requested}, but the runtime of that kind and name is in {group}; it is used anyway"
        hint = "use the same API group in both documents, or remove apiGroup"
        yield Finding("RuntimeRefGroupMismatch", "warning", message, hint, ("spec", "runtimeRef", "apiGroup"))


def missing_runtime(job: Json, index: InputIndex) -> Finding:
    """Return the error for a reference to a runtime that was not found, with the nearest existing one in its hint."""
    kind, namespace, name = key = referenced_key(job)
    catalog_miss = index.catalog_misses.get(key)
    where = " without a namespace" if kind == "TrainingRuntime" else ""
    message = f"there is no {kind} {name!r}{f' in namespace {namespace!r}' if namespace else where}"
    if catalog_miss and catalog_miss.instead:
        message += f"; {catalog_miss.instead}"
    hint = _missing_hint(index, kind, namespace, name, catalog_miss)
    return Finding("RuntimeNotFound", "error", message, hint, ("spec", "runtimeRef", "name"))


def _missing_hint(index: InputIndex, kind: str, namespace: str, name: str, catalog_miss: NotFound | None) -> str:
    by_name, by_place = index.runtimes.names
    for other_kind, other_namespace, _ in by_name.get(name, ()):
        if other_kind != kind:
            return f"there is a {other_kind} with that name: add kind: {other_kind} to runtimeRef"
        if other_namespace != namespace:
            other_place = f"namespace {other_namespace!r}" if other_namespace else "no namespace"
            return f"the TrainingRuntime of that name is in {other_place}: use a ClusterTrainingRuntime, or put both in one namespace"
    import shlex

    near = did_you_mean(name, by_place.get((kind, namespace), ()), 0.5) or (catalog_miss.hint if catalog_miss else "")
    option = f" --namespace {shlex.quote(namespace)}" if namespace else ""
    export = f"kubectl get {kind.lower()} {shlex.quote(name)}{option} -o yaml > runtime.yaml"
    add = f"pass its file with --runtimes; `{export}` exports it from a cluster"
    return near + (" Otherwise, " if near.endswith("?") else ", or ") + add if near else add


def deprecation(runtime: Json) -> Iterator[Finding]:
    """Yield a finding if a ClusterTrainingRuntime is labeled as deprecated."""
    metadata = runtime["metadata"]
    if (
        runtime["kind"] == "ClusterTrainingRuntime"
        and metadata.get("labels", {}).get(names.SUPPORT_LABEL) == "deprecated"
    ):
        message = f"ClusterTrainingRuntime {metadata['name']!r} is deprecated and will be removed in a later release"
        hint = "use a runtime that is not deprecated; `trainc runtimes list` shows them"
        yield Finding("DeprecatedRuntime", "warning", message, hint, ("spec", "runtimeRef", "name"))


def find_runtime(
    job: Mapping[str, Any], index: InputIndex, release: Release
) -> tuple[ValidDocument | None, list[Finding]]:
    """Return the runtime that a TrainJob refers to, or None, and findings about the reference."""
    findings = list(unsupported_reference(job))
    if findings:
        return None, findings
    key = referenced_key(job)
    runtime = index.runtimes.get(key) or index.shipped.get(key)
    if runtime is not None:
        return runtime, list(deprecation(runtime.data)) if release.warns_deprecated_runtime else []
    return None, [] if key in index.refused else [missing_runtime(job, index)]


def meant_runtime(job: Json, index: InputIndex) -> str:
    """Return the name of the runtime that a reference misspells, or an empty string."""
    kind, namespace, name = key = referenced_key(job)
    miss = index.catalog_misses.get(key)
    names_here = index.runtimes.names[1].get((kind, namespace), ())
    return correct_spelling(name, names_here) or (miss.meant if miss is not None else "")


class Runtimes(dict[Key, ValidDocument]):
    """The runtimes of an input."""

    @cached_property
    def names(self) -> tuple[Mapping[str, list[Key]], Mapping[tuple[str, str], list[str]]]:
        """The keys of each name, and the names of each kind and namespace, in order."""
        by_name: dict[str, list[Key]] = {}
        by_place: dict[tuple[str, str], list[str]] = {}
        for kind, namespace, name in sorted(self):
            by_name.setdefault(name, []).append((kind, namespace, name))
            by_place.setdefault((kind, namespace), []).append(name)
        return by_name, by_place


@dataclass(frozen=True, slots=True)
class InputIndex:
    """All documents of an input: jobs sorted by (namespace, name), runtimes by key, and those of other kinds `around` them.

    - `shipped` are the catalog's runtimes that jobs refer to and that are not in the input.
    - `catalog_misses` has, for each runtime that is not in the catalog either, what the catalog has instead.
    - `refused` are the keys of invalid runtimes, so that they are not also reported as missing.
    - `refused_jobs` are the TrainJobs among the refused documents.
    - `references` are the runtimeRefs of TrainJobs that were refused, so that a missing runtime is still reported.
    - `parts` are what is valid of such TrainJobs, each with the names on the paths of what was refused.
    """

    jobs: tuple[ValidDocument, ...] = ()
    runtimes: Runtimes = field(default_factory=Runtimes)
    diagnostics: tuple[Diagnostic, ...] = ()
    around: Surroundings = field(default_factory=Surroundings)
    catalog_misses: Mapping[Key, NotFound] = field(default_factory=dict)
    shipped: Mapping[Key, ValidDocument] = field(default_factory=dict)
    refused: frozenset[Key] = frozenset()
    refused_jobs: tuple[Document, ...] = ()
    references: tuple[tuple[Document, Mapping[str, Any]], ...] = ()
    dialect_context: DialectContext = field(default_factory=DialectContext)
    parts: tuple[tuple[ValidDocument, frozenset[str]], ...] = ()


def index_documents(
    documents: Sequence[Document],
    sources: Sequence[Sequence[Document]],
    release: str,
    options: Options,
    context: DialectContext | None = None,
) -> InputIndex:
    """Check all TrainJobs and runtimes of the input, then all runtimes of the other sources.

    `context` is derived from the documents unless they are part of a larger input.
    """
    diagnostics: list[Diagnostic] = []
    others: list[Document] = []
    jobs: dict[tuple[str, str], ValidDocument] = {}
    runtimes = Runtimes()
    refused: set[Key] = set()
    references: list[tuple[Document, Mapping[str, Any]]] = []
    refused_jobs: list[Document] = []
    parts: list[tuple[ValidDocument, frozenset[str]]] = []
    if context is None:
        context = dialect_context(document.data for source in (documents, *sources) for document in source)
    for depth, source in enumerate((documents, *sources)):
        earlier = dict(runtimes)
        for document in source:
            if not is_trainer_document(document.data):
                others.append(document)
                continue
            checked, problems, findings = check_document(document, release, options, context)
            diagnostics += problems
            if checked is None:
                refused.add(_intended_key(document.data, options))
                reference = check_reference(document.data, options.namespace) if depth == 0 else None
                if depth == 0 and document.data.get("kind") in JOB_KINDS:
                    refused_jobs.append(document)
                if reference:
                    references.append((document, reference))
                    part = valid_part(document, findings, release, options)
                    parts += [part] if part is not None else []
            elif checked.data["kind"] != "TrainJob":
                _add_runtime(runtimes, earlier, checked, diagnostics)
            elif depth == 0:
                _add_job(jobs, checked, diagnostics)
    return InputIndex(
        tuple(jobs[key] for key in sorted(jobs)),
        runtimes,
        tuple(diagnostics),
        Surroundings(others),
        refused=frozenset(refused),
        refused_jobs=tuple(refused_jobs),
        references=tuple(references),
        dialect_context=context,
        parts=tuple(parts),
    )


# The catalog's runtimes, or functions that return what the catalog has instead, by name.
Shipped: TypeAlias = dict[str, Mapping[Key, ValidDocument] | Callable[[], NotFound]]


def with_catalog(index: InputIndex, catalog: Catalog, release: str, options: Options, cache: Shipped) -> InputIndex:
    """Return the index with the runtimes that jobs refer to and only the catalog has.

    Each runtime is read and checked once, when a job first refers to it, and then kept in `cache`.
    """
    jobs = [*(job.data for job in index.jobs), *(reference for _, reference in index.references)]
    shipped: dict[Key, ValidDocument] = {}
    misses: dict[Key, NotFound] = {}
    shadowed: list[Diagnostic] = []
    waiting = [*dict.fromkeys(map(referenced_key, jobs))]
    for key in waiting:
        kind, _, name = key
        if kind != "ClusterTrainingRuntime" or key in index.refused:
            continue
        if name not in cache:
            result = catalog(name, release)
            if isinstance(result, Document):
                cache[name] = index_documents([result], (), release, options).runtimes
            else:
                cache[name] = result
        answer = cache[name]
        if callable(answer):
            if key not in index.runtimes:
                misses[key] = answer()
                # The job is compiled with the runtime that is meant, for what else is wrong with it.
                if misses[key].meant:
                    waiting.append((kind, "", misses[key].meant))
        elif key in index.runtimes and index.runtimes[key].data["spec"] == answer[key].data["spec"]:
            continue
        elif key in index.runtimes:
            shadowed.append(index.runtimes[key].diagnose(_SHADOWS_CATALOG))
        else:
            shipped.update(answer)
    diagnostics = (*index.diagnostics, *shadowed)
    return replace(index, shipped=shipped, catalog_misses=misses, diagnostics=diagnostics)


_SHADOWS_CATALOG = Finding(
    "ShadowedRuntime",
    "info",
    "this runtime replaces the one with the same name in trainc's catalog",
    "rename it to use the one in the catalog",
    ("metadata", "name"),
)


def _intended_key(data: Mapping[str, Any], options: Options) -> Key:
    """Return the key that a refused document would have had, as far as it can be determined."""
    kind = str(data.get("kind"))
    namespace = "" if kind == "ClusterTrainingRuntime" else identity_of(data, options.namespace)[0]
    return kind, namespace, str(mapping(data.get("metadata")).get("name"))


def _add_job(jobs: dict[tuple[str, str], ValidDocument], job: ValidDocument, diagnostics: list[Diagnostic]) -> None:
    metadata = job.data["metadata"]
    key = (metadata.get("namespace", ""), metadata["name"])
    if key in jobs:
        diagnostics.append(_duplicate(job, jobs[key], "DuplicateTrainJob"))
    else:
        jobs[key] = job


def _add_runtime(
    runtimes: dict[Key, ValidDocument],
    earlier: Mapping[Key, ValidDocument],
    runtime: ValidDocument,
    diagnostics: list[Diagnostic],
) -> None:
    key = runtime_key(runtime.data)
    if key in earlier:
        # The same file may be read twice, such as one in a folder of runtimes inside the input.
        files = {posixpath.normpath(candidate.document.file) for candidate in (earlier[key], runtime)}
        if earlier[key].data["spec"] == runtime.data["spec"] or (len(files) == 1 and files != {"."}):
            return
        where = earlier[key].document.file
        message = f"this runtime is not used: an earlier source has one with the same name: {where}"
        finding = Finding("ShadowedRuntime", "info", message, "rename or remove one of them", ("metadata", "name"))
        diagnostics.append(runtime.diagnose(finding))
    elif key in runtimes:
        diagnostics.append(_duplicate(runtime, runtimes[key], "DuplicateRuntime"))
    else:
        runtimes[key] = runtime


def _duplicate(second: ValidDocument, first: ValidDocument, code: str) -> Diagnostic:
    first, second = sorted((first, second), key=lambda copy: f"/{copy.key[1]}." not in f"/{copy.document.file}")
    source = first.document.locate(("metadata", "name"))
    where = f"the first one is at {source or first.document.file or 'an earlier document'}"
    hint = "rename or remove one of them"
    if source is not None and source == second.document.locate(("metadata", "name")):
        where, hint = "a loop in the template produces it more than once", "use the loop variable, and no item twice"
    message = f"{second.label} is defined twice; {where}"
    return second.diagnose(Finding(code, "error", message, hint, ("metadata", "name")))
