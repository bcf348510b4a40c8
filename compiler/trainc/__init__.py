"""trainc: the offline compiler for Kubeflow Trainer. TrainJobs and runtimes in, JobSets and PodGroups out."""

from __future__ import annotations

from trainc.startup.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.admission.admit import admit
    from trainc.admission.updates import refusals
    from trainc.compilation import Compilation, CompiledJob
    from trainc.features.cluster.fits.answer import Fit as Fit, Fits as Fits, fits as fits
    from trainc.features.cluster.why.causes import Waiting as Waiting, why as why
    from trainc.features.migration.v1.migrate import Migration as Migration, migrate as migrate
    from trainc.findings import CompileError, Diagnostic, Source
    from trainc.functions import JobResult, catalog, compile_many, compile_trainjob
    from trainc.options import Limits, Options
    from trainc.paths import compile_paths

__version__ = "0.2.0"

# Resolve public names on first use, so that a command only imports what it needs.
_HOMES = {
    "Compilation": "trainc.compilation",
    "CompiledJob": "trainc.compilation",
    "CompileError": "trainc.findings",
    "Diagnostic": "trainc.findings",
    "JobResult": "trainc.functions",
    "Source": "trainc.findings",
    "Limits": "trainc.options",
    "Options": "trainc.options",
    "admit": "trainc.admission.admit",
    "catalog": "trainc.functions",
    "compile_many": "trainc.functions",
    "compile_paths": "trainc.paths",
    "compile_trainjob": "trainc.functions",
    "refusals": "trainc.admission.updates",
}

__all__ = [
    "Compilation",
    "CompileError",
    "CompiledJob",
    "Diagnostic",
    "JobResult",
    "Limits",
    "Options",
    "Source",
    "admit",
    "catalog",
    "compile_many",
    "compile_paths",
    "compile_trainjob",
    "refusals",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    homes = _HOMES if name in _HOMES else _features()
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(homes[name]), name)


def _features() -> dict[str, str]:
    from trainc.features import public_names

    return public_names()


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_features()})
