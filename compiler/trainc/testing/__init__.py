"""Test your own runtimes, jobs and policies: a pytest fixture that compiles, snapshots of manifests, and assertions.

pytest loads the fixtures automatically (`trainc.testing.plugin`). The rest of trainc imports neither pytest nor syrupy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.features.cluster.policies.reading import assert_allowed, assert_denied
    from trainc.testing.compiling import CompileFailure, CompileJobs, CompileManifests
    from trainc.testing.snapshots import ManifestSnapshotExtension

__all__ = [
    "CompileFailure",
    "CompileJobs",
    "CompileManifests",
    "ManifestSnapshotExtension",
    "assert_allowed",
    "assert_denied",
]

_NO_SYRUPY = "manifest snapshots need syrupy, which is not installed: pip install 'syrupy>=5.0'"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name in ("assert_allowed", "assert_denied"):
        from trainc.features import ask

        if (assertion := ask("policies", f"test {name}")) is None:
            raise AttributeError("this installation of trainc cannot evaluate policies")
        return assertion
    if name != "ManifestSnapshotExtension":
        return getattr(import_module("trainc.testing.compiling"), name)
    try:
        return import_module("trainc.testing.snapshots").ManifestSnapshotExtension
    except ModuleNotFoundError as error:
        raise ImportError(_NO_SYRUPY) from error
