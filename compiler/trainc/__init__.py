"""trainc: the offline compiler for Kubeflow Trainer. TrainJobs and runtimes in, JobSets and PodGroups out."""

from __future__ import annotations

from trainc.compilation import Compilation, CompiledJob
from trainc.diagnostics import CompileError, Diagnostic, Source
from trainc.options import Limits, Options
from trainc.pipeline import compile_trainjob

__all__ = [
    "Compilation",
    "CompileError",
    "CompiledJob",
    "Diagnostic",
    "Limits",
    "Options",
    "Source",
    "compile_trainjob",
]
