"""Compile the TrainJobs and runtimes among kustomize's items, which a function reads and writes as a ResourceList."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.api.documents import Document, dialects, files, label_of, yaml_reader
from trainc.api.findings import CompileError, Diagnostic, Path, format_path, has_errors, policy, sort_diagnostics
from trainc.api.jobs import functions, inputs
from trainc.api.kube import Json, Manifest, identity_of, mapping
from trainc.api.records import dataclass, replace
from trainc.api.settings import Limits, Options, is_overlay, stack
from trainc.features import ask
from trainc.features.gitops.krm.kustomization import kustomization_in
from trainc.features.gitops.krm.references import as_written, file_of, find_stale_references

# Fields of a plugin's configuration that kustomize reads to find its arguments.
_KUSTOMIZES_OWN = ("argsOneLiner", "argsFromFile")


@dataclass(frozen=True, slots=True)
class Transformed:
    """The items after compilation; unchanged if there is an error among `diagnostics`."""

    items: list[Manifest]
    diagnostics: list[Diagnostic]


def transform(
    items: Sequence[Manifest], configuration: Document | None, folder: str, *, allow_empty: bool = False
) -> Transformed:
    """Compile the TrainJobs among `items` as `configuration` says, an overlay with paths relative to `folder`."""
    try:
        manifests, diagnostics = _compiled(items, configuration, folder, allow_empty)
    except CompileError as error:
        return Transformed(list(items), error.diagnostics)
    new = {(manifest["kind"], *identity_of(manifest)) for manifest in manifests}
    unchanged = [
        item
        for item in items
        # A generator also receives its own configuration as an item, and the output contains the SealedSecrets.
        if not (dialects.is_trainer_document(item) or dialects.is_sweep(item) or is_overlay(item))
        and not (item.get("kind") == "SealedSecret" and ("SealedSecret", *identity_of(item)) in new)
    ]
    return Transformed([*unchanged, *manifests], diagnostics)


def _compiled(
    items: Sequence[Manifest], configuration: Document | None, folder: str, allow_empty: bool
) -> tuple[list[Manifest], list[Diagnostic]]:
    overlays, problems = (
        ([], [])
        if configuration is None
        else stack.load_overlay(_without_kustomize_fields(configuration), folder, Limits())
    )
    options, contradictions = stack.overlaid_options(Options(), overlays)
    if has_errors([*problems, *contradictions]):
        raise CompileError([*problems, *contradictions])
    read = inputs.read_inputs((), (), options, overlays=overlays, extra_documents=as_written(items, folder))
    diagnostics = [*problems, *contradictions, *read.diagnostics]
    has_policies = any(str(item.get("apiVersion")).startswith("admissionregistration.k8s.io/") for item in items)
    judge_of = ask("policies", "judge documents") if has_policies else None
    judge, of_policies = judge_of(read.documents, (), options) if judge_of else (None, [])
    diagnostics += of_policies
    try:
        rules = policy.Policy(tuple(rule for overlay in overlays for rule in overlay.rules))
        compilation = functions.compile_documents(
            read.documents, read.runtime_sources, options, read.catalog, rules, (), judge
        )
    except CompileError as error:
        raise CompileError([*diagnostics, *error.diagnostics]) from None
    kustomization = kustomization_in(folder)
    diagnostics += find_stale_references(items, compilation.manifests, kustomization, name_hash=bool(options.name_hash))
    if not compilation.jobs and not allow_empty and not has_errors(diagnostics):
        diagnostics.append(_NO_TRAINJOB)
    if has_errors(diagnostics):
        raise CompileError([*diagnostics, *compilation.diagnostics])
    return compilation.manifests, sort_diagnostics([*diagnostics, *compilation.diagnostics])


def _without_kustomize_fields(configuration: Document) -> Document:
    """The configuration without the fields for kustomize."""
    data = {key: value for key, value in configuration.data.items() if key not in _KUSTOMIZES_OWN}
    return Document(data, configuration.file, configuration.locate)


_NO_TRAINJOB = Diagnostic(
    "NoTrainJob",
    "error",
    "there are no TrainJobs among the resources; with pruning, empty output would delete running jobs",
    hint="list the files of TrainJobs under `resources`, and trainc under `transformers`, which come before `validators`",
)


# Read and write the ResourceList of a KRM function: from text to items, and back with results.
#
# Source: kubernetes-sigs/kustomize cmd/config/docs/api-conventions/functions-spec.md.


KIND = "ResourceList"
_GROUP = "config.kubernetes.io/"
_HINT = "a KRM function reads a ResourceList on stdin; kustomize and kpt write it"


@dataclass(frozen=True, slots=True)
class ResourceList:
    """`configuration` is the functionConfig; `head` is everything else, which is returned unchanged."""

    head: Mapping[str, Any]
    items: list[Manifest]
    configuration: Document | None


def read_resource_list(text: bytes) -> ResourceList:
    """Parse the ResourceList of a function. Raises CompileError if it is malformed."""
    try:
        value = yaml_reader.read_value(text.decode())
    except UnicodeDecodeError:
        raise CompileError([_wrong((), "it is not UTF-8 text")]) from None
    except CompileError as error:
        placed = [(d, replace(d.source, file=files.STDIN) if d.source is not None else None) for d in error.diagnostics]
        raise CompileError(replace(d, source=source) for d, source in placed) from None
    problems = list(_problems(value))
    if problems:
        raise CompileError(problems)
    configuration = value.get("functionConfig")
    head = {name: content for name, content in value.items() if name not in ("items", "results")}
    return ResourceList(head, value["items"], None if configuration is None else Document.of(configuration))


def _problems(value: Any) -> Iterator[Diagnostic]:
    if not isinstance(value, Mapping) or value.get("kind") != KIND:
        yield _wrong((), "it is empty" if value is None else f"it is not a {KIND}")
        return
    if not str(value.get("apiVersion", "")).startswith(_GROUP):
        problem = f"apiVersion is {value.get('apiVersion')!r}, which is not in {_GROUP.rstrip('/')}"
        yield _wrong(("apiVersion",), problem)
    if not isinstance(value.get("items"), list):
        yield _wrong(("items",), "items is not a list")
        return
    for index, item in enumerate(value["items"]):
        if not isinstance(item, Mapping):
            yield _wrong(("items", index), "it is not an object")
    if not isinstance(value.get("functionConfig"), Mapping | None):
        yield _wrong(("functionConfig",), "it is not an object")


def _wrong(path: Path, problem: str) -> Diagnostic:
    message = f"the input cannot be used: {problem}"
    return Diagnostic("InvalidResourceList", "error", message, hint=_HINT, object=KIND, path=format_path(path))


# Diagnostics as the `results` of a KRM function, for tools that show them; kustomize does not.
#
# Source: kubernetes-sigs/kustomize cmd/config/docs/api-conventions/functions-spec.md.


def results_of(diagnostics: Iterable[Diagnostic], items: Iterable[Json]) -> list[dict[str, Any]]:
    """One result per diagnostic; `items` are the objects that they may refer to."""
    by_label = {label_of(item): item for item in items}
    results = []
    for d in diagnostics:
        tags = {"code": d.code, **({"hint": d.hint} if d.hint else {})}
        result: dict[str, Any] = {"message": d.message, "severity": d.severity, "tags": tags}
        results.append(result)
        item = by_label.get(d.object)
        if item is None:  # A field may be given only together with its resource.
            result["message"] = ": ".join(filter(None, (d.object, d.path, d.message)))
            continue
        values = {**item, **mapping(item.get("metadata"))}
        texts = ((key, values.get(key)) for key in ("apiVersion", "kind", "name", "namespace"))
        result["resourceRef"] = {key: text for key, text in texts if isinstance(text, str) and text}
        result |= {"field": {"path": d.path}} if d.path else {}
        result |= {"file": {"path": file}} if (file := file_of(item)) else {}
    return results
