"""Compile inside a test: any mix of paths, YAML text and documents, with errors that read well in a test report."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Protocol, TypeAlias

from trainc.compilation import Compilation
from trainc.findings import CompileError, Diagnostic
from trainc.kube.documents import Manifest
from trainc.options import Options

# A path, YAML text (a multi-line string), or a document.
Given: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"


class CompileManifests(Protocol):
    """The type of the fixture `compile_manifests`."""

    def __call__(
        self,
        paths_or_yaml: Given | Sequence[Given],
        *,
        runtimes: Given | Sequence[Given] = (),
        overlays: Sequence[str | os.PathLike[str]] = (),
        **options: Any,
    ) -> list[Manifest]:
        """Return the manifests of every given TrainJob, in apply order. Raises CompileFailure if any is refused."""


class CompileJobs(Protocol):
    """The type of the fixture `compile_jobs`."""

    def __call__(
        self,
        paths_or_yaml: Given | Sequence[Given],
        *,
        runtimes: Given | Sequence[Given] = (),
        overlays: Sequence[str | os.PathLike[str]] = (),
        **options: Any,
    ) -> Compilation:
        """Compile every given TrainJob into manifests and diagnostics. Raises CompileFailure if any is refused."""


class CompileFailure(CompileError):
    """A `CompileError` whose text includes how to fix each problem, for test reports."""

    def __str__(self) -> str:
        return "\n".join(["the input was refused:", *map(_shown, self.diagnostics)])


def compile_for_test(
    inputs: Given | Sequence[Given],
    root: str | os.PathLike[str],
    *,
    runtimes: Given | Sequence[Given] = (),
    overlays: Sequence[str | os.PathLike[str]] = (),
    options: Options = Options(),
) -> Compilation:
    """Implement the fixture. Relative paths start at `root`; runtimes given as text or documents join the input."""
    __tracebackhide__ = True  # pytest omits this frame from its report
    from trainc.functions import compile_inputs
    from trainc.reading.files import STDIN

    paths, texts = _split_inputs(inputs, root)
    folders, more = _split_inputs(runtimes, root)
    texts += more
    try:
        return compile_inputs(
            [*paths, *([STDIN] if texts else [])],
            runtimes=folders,
            overlays=[os.path.join(root, overlay) for overlay in overlays],
            options=options,
            stdin=BytesIO("\n---\n".join(texts).encode()),
        )
    except CompileError as error:
        raise CompileFailure(error.diagnostics) from None


def _split_inputs(inputs: Given | Sequence[Given], root: str | os.PathLike[str]) -> tuple[list[str], list[str]]:
    """Separate inputs given as paths from those given as text."""
    entries = [inputs] if isinstance(inputs, str | os.PathLike | Mapping) else list(inputs)
    paths, texts = [], []
    for entry in entries:
        if isinstance(entry, Mapping):
            texts.append(json.dumps(entry))
        elif isinstance(entry, str) and "\n" in entry:
            texts.append(entry)
        else:
            paths.append(os.path.join(root, entry))
    return paths, texts


def _shown(diagnostic: Diagnostic) -> str:
    return f"  {diagnostic}" + (f"\n    help: {diagnostic.hint}" if diagnostic.hint else "")
