"""From paths to a compilation: the thin shell that reads files around the pure pipeline."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias

from trainc.compilation import Compilation
from trainc.diagnostics import CompileError, Diagnostic, has_errors, in_order
from trainc.frontend.catalog import find
from trainc.frontend.document import Document
from trainc.frontend.files import read_paths
from trainc.options import Limits, Options
from trainc.pipeline import compile_documents

AnyPath: TypeAlias = "str | os.PathLike[str]"


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was read: the documents to compile, the runtimes of each further source, and what is wrong with them."""

    documents: list[Document]
    runtime_sources: list[list[Document]]
    diagnostics: list[Diagnostic]


def read_inputs(
    paths: Sequence[AnyPath],
    runtimes: Sequence[AnyPath] = (),
    limits: Limits = Limits(),
    *,
    stdin: BinaryIO | None = None,
    skip: AnyPath | None = None,
) -> Inputs:
    """Read `paths`, then each folder of `runtimes` as a source of its own. `-` is `stdin`; `skip` is not entered."""
    documents, diagnostics = read_paths(paths, limits, stdin=stdin, skip=skip)
    sources: list[list[Document]] = []
    for folder in runtimes:
        found, problems = read_paths([folder], limits)
        sources.append(found)
        diagnostics += problems
    return Inputs(documents, sources, diagnostics)


def compile_paths(
    paths: Sequence[AnyPath],
    *,
    runtimes: Sequence[AnyPath] = (),
    options: Options = Options(),
) -> Compilation:
    """Compile every TrainJob in the files and folders of `paths`.

    Runtimes come from the same input, then from each folder of `runtimes`, then from the catalog that trainc ships.
    Raises CompileError with every problem of every file. Amounts are Kubernetes quantities, times are seconds.
    """
    inputs = read_inputs(paths, runtimes, options.limits)
    try:
        compiled = compile_documents(inputs.documents, inputs.runtime_sources, options, find)
    except CompileError as error:
        raise CompileError([*inputs.diagnostics, *error.diagnostics]) from None
    if has_errors(inputs.diagnostics):
        raise CompileError([*inputs.diagnostics, *compiled.diagnostics])
    return Compilation(compiled.jobs, in_order([*inputs.diagnostics, *compiled.diagnostics]))
