"""trainc: the offline compiler for Kubeflow Trainer. TrainJobs and runtimes in, JobSets and PodGroups out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.admission.admit import admit, refusals
    from trainc.compilation import Compilation, CompiledJob
    from trainc.diagnostics import CompileError, Diagnostic, Source
    from trainc.fits.answer import Fit, Fits, fits
    from trainc.integrations.python import catalog, compile_paths, compile_trainjob
    from trainc.integrations.sweep import JobResult, compile_many
    from trainc.migration.v1.migrate import Migration, migrate
    from trainc.options import Limits, Options

__version__ = "0.1.0"

# Resolve public names on first use, so that a command only imports what it needs.
_HOMES = {
    "Compilation": "trainc.compilation",
    "CompiledJob": "trainc.compilation",
    "CompileError": "trainc.diagnostics",
    "Diagnostic": "trainc.diagnostics",
    "Fit": "trainc.fits.answer",
    "Fits": "trainc.fits.answer",
    "JobResult": "trainc.integrations.sweep",
    "Source": "trainc.diagnostics",
    "Limits": "trainc.options",
    "Migration": "trainc.migration.v1.migrate",
    "Options": "trainc.options",
    "admit": "trainc.admission.admit",
    "catalog": "trainc.integrations.python",
    "compile_many": "trainc.integrations.sweep",
    "compile_paths": "trainc.integrations.python",
    "compile_trainjob": "trainc.integrations.python",
    "fits": "trainc.fits.answer",
    "migrate": "trainc.migration.v1.migrate",
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
