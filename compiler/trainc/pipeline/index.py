"""The index of an input: its valid, defaulted TrainJobs and runtimes, by key."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trainc.diagnostics import Diagnostic, Finding
from trainc.dialects import DialectContext, dialect_context, is_trainer_document
from trainc.options import Options
from trainc.pipeline.resolve import Key, check_reference, runtime_key, wanted_key
from trainc.pipeline.valid_document import ValidDocument, check_document
from trainc.reading.catalog import Catalog, NotFound
from trainc.reading.document import Document
from trainc.startup.records import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class InputIndex:
    """All documents of an input: jobs sorted by (namespace, name), runtimes by key, and documents of other kinds.

    - `shipped` are the catalog's runtimes that jobs refer to and that are not in the input.
    - `catalog_misses` has, for each runtime that is not in the catalog either, what the catalog has instead.
    - `refused` are the keys of invalid runtimes, so that they are not also reported as missing.
    - `references` are the runtimeRefs of TrainJobs that were refused, so that a missing runtime is still reported.
    """

    jobs: tuple[ValidDocument, ...]
    runtimes: Mapping[Key, ValidDocument]
    diagnostics: tuple[Diagnostic, ...]
    others: tuple[Document, ...] = ()
    catalog_misses: Mapping[Key, NotFound] = field(default_factory=dict)
    shipped: Mapping[Key, ValidDocument] = field(default_factory=dict)
    refused: frozenset[Key] = frozenset()
    references: tuple[tuple[Document, Mapping[str, Any]], ...] = ()
    dialect_context: DialectContext = field(default_factory=DialectContext)


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
    runtimes: dict[Key, ValidDocument] = {}
    refused: set[Key] = set()
    references: list[tuple[Document, Mapping[str, Any]]] = []
    if context is None:
        context = dialect_context(document.data for source in (documents, *sources) for document in source)
    for depth, source in enumerate((documents, *sources)):
        known_before = dict(runtimes)
        for document in source:
            if not is_trainer_document(document.data):
                others.append(document)
                continue
            checked, found = check_document(document, release, options, context)
            diagnostics += found
            if checked is None:
                refused.add(_intended_key(document.data, options))
                reference = check_reference(document.data, options.namespace) if depth == 0 else None
                references += [(document, reference)] if reference else []
                continue
            if checked.data["kind"] == "TrainJob":
                if depth == 0:
                    _add_job(jobs, checked, diagnostics)
                continue
            _add_runtime(runtimes, known_before, checked, diagnostics)
    ordered = tuple(jobs[key] for key in sorted(jobs))
    return InputIndex(
        ordered,
        runtimes,
        tuple(diagnostics),
        tuple(others),
        refused=frozenset(refused),
        references=tuple(references),
        dialect_context=context,
    )


class CatalogCache:
    """The catalog in one compilation: each runtime is read and checked once, when a job first refers to it."""

    def __init__(self, catalog: Catalog, release: str, options: Options) -> None:
        self._catalog = catalog
        self._release = release
        self._options = options
        self._known: dict[str, Mapping[Key, ValidDocument] | Callable[[], NotFound]] = {}

    def look_up(self, name: str) -> Mapping[Key, ValidDocument] | Callable[[], NotFound]:
        """Return the runtime called `name`, by key, or a function that returns what the catalog has instead."""
        if name not in self._known:
            answer = self._catalog(name, self._release)
            if isinstance(answer, Document):
                self._known[name] = index_documents([answer], (), self._release, self._options).runtimes
            else:
                self._known[name] = answer
        return self._known[name]


def with_catalog(index: InputIndex, cache: CatalogCache | None) -> InputIndex:
    """Return the index with the runtimes that jobs refer to and only the catalog has."""
    if cache is None:
        return index
    asking = [*(job.data for job in index.jobs), *(reference for _, reference in index.references)]
    shipped: dict[Key, ValidDocument] = {}
    misses: dict[Key, NotFound] = {}
    shadowed: list[Diagnostic] = []
    for key in dict.fromkeys(map(wanted_key, asking)):
        kind, _, name = key
        if kind != "ClusterTrainingRuntime" or key in index.refused:
            continue
        answer = cache.look_up(name)
        if callable(answer):
            if key not in index.runtimes:
                misses[key] = answer()
        elif key in index.runtimes and index.runtimes[key].data["spec"] == answer[key].data["spec"]:
            continue
        elif key in index.runtimes:
            shadowed.append(index.runtimes[key].place(_SHADOWS_CATALOG))
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
    metadata = data.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    kind = str(data.get("kind"))
    namespace = "" if kind == "ClusterTrainingRuntime" else str(known.get("namespace") or options.namespace or "")
    return kind, namespace, str(known.get("name"))


def _add_job(jobs: dict[tuple[str, str], ValidDocument], job: ValidDocument, diagnostics: list[Diagnostic]) -> None:
    metadata = job.data["metadata"]
    key = (metadata.get("namespace", ""), metadata["name"])
    if key in jobs:
        diagnostics.append(_twice(job, jobs[key], "DuplicateTrainJob"))
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
        if earlier[key].data["spec"] == runtime.data["spec"] or _same_file(earlier[key], runtime):
            return
        where = earlier[key].document.file
        message = f"this runtime is not used: an earlier source has one with the same name: {where}"
        finding = Finding("ShadowedRuntime", "info", message, "rename or remove one of them", ("metadata", "name"))
        diagnostics.append(runtime.place(finding))
    elif key in runtimes:
        diagnostics.append(_twice(runtime, runtimes[key], "DuplicateRuntime"))
    else:
        runtimes[key] = runtime


def _same_file(one: ValidDocument, other: ValidDocument) -> bool:
    """Return whether both were read from the same file, such as one in a folder of runtimes inside the input."""
    files = {posixpath.normpath(found.document.file) for found in (one, other)}
    return len(files) == 1 and files != {"."}


def _twice(second: ValidDocument, first: ValidDocument, code: str) -> Diagnostic:
    source = first.document.locate(("metadata", "name"))
    where = f"the first one is at {source or first.document.file or 'an earlier document'}"
    hint = "rename or remove one of them"
    if source is not None and source == second.document.locate(("metadata", "name")):
        where, hint = "a loop in the template produces it more than once", "use the loop variable in the name"
    return second.place(Finding(code, "error", f"{second.label} is defined twice; {where}", hint, ("metadata", "name")))
