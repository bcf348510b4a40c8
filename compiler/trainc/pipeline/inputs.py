"""From paths to a compilation: the thin shell that reads files around the pure pipeline."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from trainc.api.releases import NEWEST_RELEASE
from trainc.compilation import Compilation
from trainc.diagnostics import CompileError, Diagnostic, has_errors, in_order
from trainc.options import Options
from trainc.pipeline.compiler import compile_documents
from trainc.reading.catalog import Catalog, find
from trainc.reading.document import Document
from trainc.reading.files import read_paths
from trainc.startup.records import dataclass

if TYPE_CHECKING:
    from trainc.overlays.loaded import Loaded

AnyPath: TypeAlias = "str | os.PathLike[str]"
# Told what is being done, how much of it is done, and of how much, where that is known.
Step: TypeAlias = Callable[[str, int, "int | None"], None]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was read: the documents to compile, the runtimes of each further source, and what is wrong with them.

    `catalog` is trainc's own, as the overlays leave it.
    """

    documents: list[Document]
    runtime_sources: list[list[Document]]
    diagnostics: list[Diagnostic]
    catalog: Catalog = find


def read_inputs(  # noqa: PLR0913 - the last ones go by their names
    paths: Sequence[AnyPath],
    runtimes: Sequence[AnyPath] = (),
    options: Options = Options(),
    *,
    overlays: Sequence[Loaded] = (),
    handed_over: Sequence[Document] = (),
    stdin: BinaryIO | None = None,
    skip: AnyPath | None = None,
    step: Step | None = None,
) -> Inputs:
    """Read `paths`, then each folder of `runtimes` as a source of its own, then what `overlays` add, and apply them.

    `handed_over` is input that stands in no file; `-` is `stdin`; `skip` is not entered; `step` is told
    of each file of `paths`.
    """
    values: dict[str, Any] = {}
    if overlays:
        from trainc.overlays.loaded import values_of

        values = values_of(overlays)
    documents, diagnostics = read_paths(paths, options.limits, stdin=stdin, skip=skip, values=values, step=step)
    sources: list[list[Document]] = []
    for folder in (*runtimes, *(folder for overlay in overlays for folder in overlay.all_runtimes)):
        found, problems = read_paths([folder], options.limits, values=values)
        sources.append(found)
        diagnostics += problems
    if not overlays:
        return Inputs([*handed_over, *documents], sources, diagnostics)
    from trainc.overlays.stack import apply_overlays

    documents = [*handed_over, *_less_resources(documents, overlays)]
    overlaid = apply_overlays(overlays, documents, sources, find, options.release or NEWEST_RELEASE)
    diagnostics += overlaid.diagnostics
    return Inputs(overlaid.documents, overlaid.sources, diagnostics, overlaid.catalog)


def _less_resources(documents: Sequence[Document], overlays: Sequence[Loaded]) -> list[Document]:
    """The documents less those of files that an overlay brings as well: a file is read once."""
    brought = {os.path.realpath(file) for overlay in overlays for file in overlay.resource_files}
    return [document for document in documents if os.path.realpath(document.file) not in brought]


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
    Raises CompileError with every problem of every file. Amounts are Kubernetes quantities, times are seconds.
    """
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
    try:
        compiled = compile_documents(inputs.documents, inputs.runtime_sources, options, inputs.catalog)
    except CompileError as error:
        raise CompileError([*inputs.diagnostics, *error.diagnostics]) from None
    if has_errors(inputs.diagnostics):
        raise CompileError([*inputs.diagnostics, *compiled.diagnostics])
    return Compilation(compiled.jobs, in_order([*inputs.diagnostics, *compiled.diagnostics]))


def _load(paths: Sequence[AnyPath], options: Options) -> tuple[Sequence[Loaded], Options]:
    """The overlays, and the options with what they say. CompileError with everything that is wrong with them."""
    if not paths:
        return (), options
    from trainc.overlays.load import load_overlays
    from trainc.overlays.settings import overlaid_options

    overlays, problems = load_overlays(paths, options.limits)
    options, contradictions = overlaid_options(options, overlays)
    if has_errors([*problems, *contradictions]):
        raise CompileError([*problems, *contradictions])
    return overlays, options
