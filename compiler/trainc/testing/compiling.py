"""Compiling inside a test: paths, YAML text and plain documents in any mixture, and errors that a report can show."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Protocol, TypeAlias

from trainc.api.documents import Manifest
from trainc.compilation import Compilation
from trainc.diagnostics import CompileError, Diagnostic
from trainc.options import Options

# A path, YAML text (a string of several lines), or a document.
Given: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"


class CompileManifests(Protocol):
    """What the fixture `compile_manifests` gives."""

    def __call__(
        self,
        paths_or_yaml: Given | Sequence[Given],
        *,
        runtimes: Given | Sequence[Given] = (),
        overlays: Sequence[str | os.PathLike[str]] = (),
        **options: Any,
    ) -> list[Manifest]:
        """The manifests of every TrainJob given, in order of application. CompileFailure if any is refused."""


class CompileJobs(Protocol):
    """What the fixture `compile_jobs` gives."""

    def __call__(
        self,
        paths_or_yaml: Given | Sequence[Given],
        *,
        runtimes: Given | Sequence[Given] = (),
        overlays: Sequence[str | os.PathLike[str]] = (),
        **options: Any,
    ) -> Compilation:
        """The compilation of every TrainJob given: manifests and diagnostics. CompileFailure if any is refused."""


class CompileFailure(CompileError):
    """A `CompileError` whose text says how to fix each problem: what a test report should show."""

    def __str__(self) -> str:
        return "\n".join(["the input was refused:", *map(_shown, self.diagnostics)])


def compile_for_test(
    given: Given | Sequence[Given],
    root: str | os.PathLike[str],
    *,
    runtimes: Given | Sequence[Given] = (),
    overlays: Sequence[str | os.PathLike[str]] = (),
    options: Options = Options(),
) -> Compilation:
    """As the fixture; relative paths lead from `root`. Runtimes that are text or documents count as part of the input."""
    __tracebackhide__ = True  # pytest leaves such frames out of its report
    from trainc.integrations.python import compile_inputs
    from trainc.reading.files import STDIN

    paths, texts = _split_inputs(given, root)
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


def _split_inputs(given: Given | Sequence[Given], root: str | os.PathLike[str]) -> tuple[list[str], list[str]]:
    """What was given as paths, and what as text."""
    entries = [given] if isinstance(given, str | os.PathLike | Mapping) else list(given)
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
