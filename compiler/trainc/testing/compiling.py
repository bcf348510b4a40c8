"""Compile inside a test: any mix of paths, YAML text and documents, with errors that read well in a test report."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Protocol, TypeAlias, TypeVar

from trainc.compilation import Compilation
from trainc.findings import CompileError
from trainc.kube.documents import Manifest
from trainc.options import Options

# A path, YAML text (a multi-line string), or a document.
JobInput: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"
Result_co = TypeVar("Result_co", covariant=True)


class _Compile(Protocol[Result_co]):
    def __call__(
        self,
        paths_or_yaml: JobInput | Sequence[JobInput],
        *,
        runtimes: JobInput | Sequence[JobInput] = (),
        overlays: Sequence[str | os.PathLike[str]] = (),
        **options: Any,
    ) -> Result_co:
        """Compile every given TrainJob. Raises CompileFailure if any is refused."""


# The types of the fixtures: `compile_manifests`, which returns manifests in apply order, and `compile_jobs`.
CompileManifests: TypeAlias = _Compile[list[Manifest]]
CompileJobs: TypeAlias = _Compile[Compilation]


class CompileFailure(CompileError):
    """A `CompileError` whose text includes how to fix each problem, for test reports."""

    def __str__(self) -> str:
        helps = (f"\n    help: {d.hint}" if d.hint else "" for d in self.diagnostics)
        return "the input was refused:" + "".join(
            f"\n  {d}{help_}" for d, help_ in zip(self.diagnostics, helps, strict=True)
        )


def compile_for_test(
    inputs: JobInput | Sequence[JobInput],
    root: str | os.PathLike[str],
    *,
    runtimes: JobInput | Sequence[JobInput] = (),
    overlays: Sequence[str | os.PathLike[str]] = (),
    options: Options = Options(),
) -> Compilation:
    """Implement the fixture. Relative paths start at `root`; runtimes given as text or documents join the input."""
    __tracebackhide__ = True  # pytest omits this frame from its report
    from trainc.paths import compile_inputs
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


def _split_inputs(inputs: JobInput | Sequence[JobInput], root: str | os.PathLike[str]) -> tuple[list[str], list[str]]:
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
