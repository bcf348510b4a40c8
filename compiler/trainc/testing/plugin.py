"""The pytest plugin: fixtures that compile and compare, available wherever trainc is installed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from trainc.compilation import Compilation
    from trainc.kube.documents import Manifest
    from trainc.testing.compiling import CompileJobs, CompileManifests, JobInput


@pytest.fixture
def compile_jobs(request: pytest.FixtureRequest) -> CompileJobs:
    """`compile_jobs(paths_or_yaml, runtimes=(), overlays=(), **options)`: compile TrainJobs to a trainc.Compilation.

    Inputs are paths relative to pytest's rootdir, YAML text or documents; `options` are those of trainc.Options.
    """

    def compile_jobs(
        paths_or_yaml: JobInput | Sequence[JobInput],
        *,
        runtimes: JobInput | Sequence[JobInput] = (),
        overlays: Sequence[str | os.PathLike[str]] = (),
        **options: Any,
    ) -> Compilation:
        __tracebackhide__ = True
        from trainc.options import Options
        from trainc.testing.compiling import compile_for_test

        return compile_for_test(
            paths_or_yaml, request.config.rootpath, runtimes=runtimes, overlays=overlays, options=Options(**options)
        )

    return compile_jobs


@pytest.fixture
def compile_manifests(compile_jobs: CompileJobs) -> CompileManifests:
    """Like `compile_jobs`, but returns only the manifests, as a list."""

    def compile_manifests(paths_or_yaml: JobInput | Sequence[JobInput], **arguments: Any) -> list[Manifest]:
        __tracebackhide__ = True
        return compile_jobs(paths_or_yaml, **arguments).manifests

    return compile_manifests


@pytest.fixture
def manifest_snapshot(request: pytest.FixtureRequest) -> Any:
    """Syrupy's `snapshot` for manifests: `assert compile_manifests("jobs") == manifest_snapshot`."""
    try:
        from trainc.testing import ManifestSnapshotExtension
    except ImportError as error:
        pytest.fail(str(error), pytrace=False)
    return request.getfixturevalue("snapshot").use_extension(ManifestSnapshotExtension)
