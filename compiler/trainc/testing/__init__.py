"""Test your own runtimes and jobs with a pytest fixture that compiles and a syrupy extension for manifests.

pytest loads the fixtures automatically (`trainc.testing.plugin`). The rest of trainc imports neither pytest nor syrupy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.testing.compiling import CompileFailure, CompileJobs, CompileManifests
    from trainc.testing.snapshots import ManifestSnapshotExtension

__all__ = ["CompileFailure", "CompileJobs", "CompileManifests", "ManifestSnapshotExtension"]

_NO_SYRUPY = "manifest snapshots need syrupy, which is not installed: pip install 'trainc[testing]'"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name != "ManifestSnapshotExtension":
        return getattr(import_module("trainc.testing.compiling"), name)
    try:
        return import_module("trainc.testing.snapshots").ManifestSnapshotExtension
    except ModuleNotFoundError as error:
        raise ImportError(_NO_SYRUPY) from error
