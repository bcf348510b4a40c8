"""Compile the TrainJobs and runtimes among kustomize's items; leave all other items unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainc.api.documents import Manifest
from trainc.diagnostics import CompileError, Diagnostic, has_errors, sort_diagnostics
from trainc.diagnostics.policy import Policy
from trainc.dialects import is_trainer_document
from trainc.integrations.krm.kustomization import kustomization_in
from trainc.integrations.krm.stale_references import find_stale_references
from trainc.integrations.krm.tool_metadata import as_written
from trainc.integrations.python import compile_documents
from trainc.options import Limits, Options
from trainc.overlays.load import load_overlay
from trainc.overlays.loaded import overlaid_options
from trainc.overlays.read import is_overlay
from trainc.pipeline.inputs import read_inputs
from trainc.reading.document import Document
from trainc.startup.records import dataclass

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
    new = {_identity(manifest) for manifest in manifests}
    kept = [item for item in items if not _is_consumed(item) and not _is_passed_on(item, new)]
    return Transformed([*kept, *manifests], diagnostics)


def _compiled(
    items: Sequence[Manifest], configuration: Document | None, folder: str, allow_empty: bool
) -> tuple[list[Manifest], list[Diagnostic]]:
    overlays, problems = ([], []) if configuration is None else load_overlay(_own(configuration), folder, Limits())
    options, contradictions = overlaid_options(Options(), overlays)
    if has_errors([*problems, *contradictions]):
        raise CompileError([*problems, *contradictions])
    inputs = read_inputs((), (), options, overlays=overlays, extra_documents=as_written(items, folder))
    found = [*problems, *contradictions, *inputs.diagnostics]
    try:
        rules = Policy(tuple(rule for overlay in overlays for rule in overlay.rules))
        compilation = compile_documents(inputs.documents, inputs.runtime_sources, options, inputs.catalog, rules)
    except CompileError as error:
        raise CompileError([*found, *error.diagnostics]) from None
    kustomization = kustomization_in(folder)
    found += find_stale_references(items, compilation.manifests, kustomization, name_hash=bool(options.name_hash))
    if not compilation.jobs and not allow_empty and not has_errors(found):
        found.append(_NO_TRAINJOB)
    if has_errors(found):
        raise CompileError([*found, *compilation.diagnostics])
    return compilation.manifests, sort_diagnostics([*found, *compilation.diagnostics])


def _own(configuration: Document) -> Document:
    """The configuration without the fields for kustomize."""
    data = {key: value for key, value in configuration.data.items() if key not in _KUSTOMIZES_OWN}
    return Document(data, configuration.file, configuration.locate)


def _is_consumed(item: Mapping[str, Any]) -> bool:
    # A generator also receives its own configuration as an item.
    return is_trainer_document(item) or is_overlay(item)


def _is_passed_on(item: Mapping[str, Any], new: set[tuple[str, ...]]) -> bool:
    """Whether an item is a SealedSecret that the output already contains."""
    return item.get("kind") == "SealedSecret" and _identity(item) in new


def _identity(item: Mapping[str, Any]) -> tuple[str, ...]:
    metadata = item.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    return tuple(str(part or "") for part in (item.get("kind"), named.get("namespace"), named.get("name")))


_NO_TRAINJOB = Diagnostic(
    "NoTrainJob",
    "error",
    "there are no TrainJobs among the resources; with pruning, empty output would delete running jobs",
    hint="list the files of TrainJobs under `resources`, and trainc under `transformers`, which come before `validators`",
)
