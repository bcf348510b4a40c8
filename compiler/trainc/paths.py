"""Compile files and folders: the shell around the functions, which are given documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

from trainc.compilation import Compilation
from trainc.explain import place
from trainc.findings import CompileError, has_errors
from trainc.findings.policy import Policy
from trainc.options import Options
from trainc.pipeline.inputs import AnyPath, read_inputs
from trainc.pipeline.session import Session
from trainc.project.dialects import is_legacy
from trainc.reading.ignores import Comments
from trainc.startup.records import replace

if TYPE_CHECKING:
    from trainc.project.overlays.stack import Loaded


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
    for name, value in (("paths", paths), ("runtimes", runtimes), ("overlays", overlays)):
        if isinstance(value, str):
            raise TypeError(f"{name} is a list of paths: write [{value!r}]")
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
    rules = Policy(tuple(rule for overlay in loaded for rule in overlay.rules), Comments().about)
    session = Session(options, inputs.catalog, place, rules, cluster=())
    from trainc.project.dialects.enclosed import legacy_job  # Few inputs have such jobs.

    legacy = [legacy_job(document, "warning") for document in inputs.documents if is_legacy(document.data)]
    diagnostics = [*inputs.diagnostics, *legacy]
    compilation = session.with_input(inputs.documents, inputs.runtime_sources).compile_all(diagnostics)
    if legacy and not compilation.jobs:
        raise CompileError(replace(diagnostic, severity="error") for diagnostic in legacy)
    return compilation


def _load(paths: Sequence[AnyPath], options: Options) -> tuple[Sequence[Loaded], Options]:
    """Load the overlays and add their settings to the options. Raises CompileError with all their problems."""
    if not paths:
        return (), options
    from trainc.project.overlays.stack import load_overlays, overlaid_options

    overlays, problems = load_overlays(paths, options.limits)
    options, contradictions = overlaid_options(options, overlays)
    if has_errors([*problems, *contradictions]):
        raise CompileError([*problems, *contradictions])
    return overlays, options
