"""trainc: the offline compiler for Kubeflow Trainer. TrainJobs and runtimes in, JobSets and PodGroups out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.admission.admit import admit, refusals
    from trainc.compilation import Compilation, CompiledJob
    from trainc.features.fits.answer import Fit, Fits, fits
    from trainc.features.migrate.v1.migrate import Migration, migrate
    from trainc.findings import CompileError, Diagnostic, Source
    from trainc.options import Limits, Options
    from trainc.pipeline.python import JobResult, catalog, compile_many, compile_paths, compile_trainjob

__version__ = "0.1.0"

# Resolve public names on first use, so that a command only imports what it needs.
_HOMES = {
    "Compilation": "trainc.compilation",
    "CompiledJob": "trainc.compilation",
    "CompileError": "trainc.findings",
    "Diagnostic": "trainc.findings",
    "Fit": "trainc.features.fits.answer",
    "Fits": "trainc.features.fits.answer",
    "JobResult": "trainc.pipeline.python",
    "Source": "trainc.findings",
    "Limits": "trainc.options",
    "Migration": "trainc.features.migrate.v1.migrate",
    "Options": "trainc.options",
    "admit": "trainc.admission.admit",
    "catalog": "trainc.pipeline.python",
    "compile_many": "trainc.pipeline.python",
    "compile_paths": "trainc.pipeline.python",
    "compile_trainjob": "trainc.pipeline.python",
    "fits": "trainc.features.fits.answer",
    "migrate": "trainc.features.migrate.v1.migrate",
    "refusals": "trainc.admission.admit",
}

__all__ = [
    "Compilation",
    "CompileError",
    "CompiledJob",
    "Diagnostic",
    "Fit",
    "Fits",
    "JobResult",
    "Limits",
    "Migration",
    "Options",
    "Source",
    "admit",
    "catalog",
    "compile_many",
    "compile_paths",
    "compile_trainjob",
    "fits",
    "migrate",
    "refusals",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
