"""How Python programs compile: the functions that `trainc` exports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from trainc.api.documents import Manifest
from trainc.api.releases import normalize_release
from trainc.compilation import Compilation
from trainc.diagnostics import CompileError, has_errors
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
    """The runtimes that trainc ships for a Trainer release, by name: documents, ready for `compile_trainjob`.

    Raises ValueError, never CompileError, for a release that trainc does not know.
    """
    minor = normalize_release(release)
    found = (find(name, minor) for name in names(minor))
    return [document.data for document in found if isinstance(document, Document)]


def compile_trainjob(
    trainjob: dict[str, Any], runtimes: Sequence[dict[str, Any]], options: Options = Options()
) -> Compilation:
    """Compile one TrainJob against the runtimes given, and no others.

    Both are plain documents as YAML or JSON holds them, and neither is changed; so are the resulting manifests.
    Amounts are Kubernetes quantities and times are seconds, as in the Trainer API.

    Raises CompileError with every problem found. Behaviour follows kubeflow/trainer at the tag that PORT.yaml pins
    for `options.release`.
    """
    for data in (*runtimes, trainjob):
        if not isinstance(data, dict):
            raise TypeError(f"{data!r} is not a document: pass a dict, or use compile_paths for files")
    return compile_documents([Document.of(data) for data in (*runtimes, trainjob)], (), options)


def compile_documents(
    documents: Sequence[Document],
    runtime_sources: Sequence[Sequence[Document]] = (),
    options: Options = Options(),
    catalog: Catalog | None = None,
    rules: Rules = keep_severities,
) -> Compilation:
    """Compile every TrainJob of `documents`. Raises CompileError with every problem of every document."""
    return Session.of(documents, runtime_sources, options, catalog, place, rules).compile_all()


def compile_paths(
    paths: Sequence[AnyPath],
    *,
    runtimes: Sequence[AnyPath] = (),
    overlays: Sequence[AnyPath] = (),
    options: Options = Options(),
) -> Compilation:
    """Compile every TrainJob in the files and folders of `paths`, as changed by `overlays`, one after the other.

    Runtimes come from the same input, then from each folder of `runtimes`, then from the catalog that trainc ships. An
    overlay's settings hold where `options` has its default.
    Raises CompileError with every problem of every file, TypeError for a single path in place of a list. Amounts are
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
    """As `compile_paths`, where `-` among the paths is `stdin`."""
    loaded, options = _load(overlays, options)
    inputs = read_inputs(paths, runtimes, options, overlays=loaded, stdin=stdin)
    rules = Policy(tuple(rule for overlay in loaded for rule in overlay.rules), Comments())
    session = Session.of(inputs.documents, inputs.runtime_sources, options, inputs.catalog, place, rules)
    return session.compile_all(inputs.diagnostics)


def _load(paths: Sequence[AnyPath], options: Options) -> tuple[Sequence[Loaded], Options]:
    """The overlays, and the options with what they say. CompileError with everything that is wrong with them."""
    if not paths:
        return (), options
    from trainc.overlays.load import load_overlays
    from trainc.overlays.loaded import overlaid_options

    overlays, problems = load_overlays(paths, options.limits)
    options, contradictions = overlaid_options(options, overlays)
    if has_errors([*problems, *contradictions]):
        raise CompileError([*problems, *contradictions])
    return overlays, options
