"""The Python API: the compile functions that `trainc` exports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from trainc.api.documents import Manifest
from trainc.api.releases import normalize_release
from trainc.compilation import Compilation
from trainc.diagnostics import CompileError, Diagnostic, has_errors
from trainc.diagnostics.policy import Policy, Rules, keep_severities
from trainc.explain import place
from trainc.options import Options
from trainc.pipeline.inputs import AnyPath, read_inputs
from trainc.pipeline.session import Session
from trainc.reading.catalog import Catalog, find, names
from trainc.reading.document import Document
from trainc.reading.ignores import Comments

if TYPE_CHECKING:
    from trainc.overlays.loaded import Loaded


def catalog(release: str) -> list[Manifest]:
    """Return the runtimes built into trainc for a Trainer release, sorted by name, as input for `compile_trainjob`.

    Raises ValueError (not CompileError) for an unknown release.
    """
    minor = normalize_release(release)
    found = (find(name, minor) for name in names(minor))
    return [document.data for document in found if isinstance(document, Document)]


def compile_trainjob(
    trainjob: dict[str, Any], runtimes: Sequence[dict[str, Any]], options: Options = Options()
) -> Compilation:
    """Compile one TrainJob against the given runtimes only.

    Inputs are plain YAML or JSON documents and are not modified; the manifests are plain documents as well.
    Amounts are Kubernetes quantities and times are seconds, as in the Trainer API.

    Raises CompileError with every problem found. Behavior follows kubeflow/trainer at the tag that PORT.yaml pins
    for `options.release`.
    """
    for data in (*runtimes, trainjob):
        if not isinstance(data, dict):
            raise TypeError(f"{data!r} is not a document: pass a dict, or use compile_paths for files")
    compilation = compile_documents([Document.of(data) for data in (*runtimes, trainjob)], (), options)
    if not compilation.jobs:
        hint = "pass a document with apiVersion: trainer.kubeflow.org/v1alpha1 and kind: TrainJob"
        raise CompileError([Diagnostic("NoTrainJob", "error", "the document is not a TrainJob", hint)])
    return compilation


def compile_documents(
    documents: Sequence[Document],
    runtime_sources: Sequence[Sequence[Document]] = (),
    options: Options = Options(),
    catalog: Catalog | None = None,
    rules: Rules = keep_severities,
) -> Compilation:
    """Compile every TrainJob in `documents`. Raises CompileError with the problems of all documents."""
    return Session.of(documents, runtime_sources, options, catalog, place, rules).compile_all()


def compile_paths(
    paths: Sequence[AnyPath],
    *,
    runtimes: Sequence[AnyPath] = (),
    overlays: Sequence[AnyPath] = (),
    options: Options = Options(),
) -> Compilation:
    """Compile every TrainJob in the files and folders of `paths`, after applying `overlays` in order.

    Runtimes are looked up in the same input, then in each folder of `runtimes`, then among trainc's built-in ones. The
    settings of an overlay apply to fields that have their default in `options`.
    Raises CompileError with the problems of all files, and TypeError for a single path instead of a list. Amounts are
    Kubernetes quantities, times are seconds.
    """
    for name, given in (("paths", paths), ("runtimes", runtimes), ("overlays", overlays)):
        if isinstance(given, str):
            raise TypeError(f"{name} is a list of paths: write [{given!r}]")
    return compile_inputs(paths, runtimes=runtimes, overlays=overlays, options=options)


def compile_inputs(
    paths: Sequence[AnyPath],
    *,
    runtimes: Sequence[AnyPath] = (),
    overlays: Sequence[AnyPath] = (),
    options: Options = Options(),
    stdin: BinaryIO | None = None,
) -> Compilation:
    """Like `compile_paths`; `-` among the paths refers to `stdin`."""
    loaded, options = _load(overlays, options)
    inputs = read_inputs(paths, runtimes, options, overlays=loaded, stdin=stdin)
    rules = Policy(tuple(rule for overlay in loaded for rule in overlay.rules), Comments())
    session = Session.of(inputs.documents, inputs.runtime_sources, options, inputs.catalog, place, rules)
    return session.compile_all(inputs.diagnostics)


def _load(paths: Sequence[AnyPath], options: Options) -> tuple[Sequence[Loaded], Options]:
    """Load the overlays and add their settings to the options. Raises CompileError with all their problems."""
    if not paths:
        return (), options
    from trainc.overlays.load import load_overlays
    from trainc.overlays.loaded import overlaid_options

    overlays, problems = load_overlays(paths, options.limits)
    options, contradictions = overlaid_options(options, overlays)
    if has_errors([*problems, *contradictions]):
        raise CompileError([*problems, *contradictions])
    return overlays, options
