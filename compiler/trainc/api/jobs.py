"""Compiling: a session, its jobs, and what a job becomes."""

from trainc import functions
from trainc.compilation import Compilation, CompiledJob
from trainc.explain.select_job import OneJob
from trainc.ir.release import release_facts
from trainc.ir.trainjob import jobset_metadata
from trainc.kube.jobset import Dependency, JobSet, ReplicatedJob
from trainc.pipeline import failures, inputs
from trainc.pipeline.inputs import Inputs
from trainc.pipeline.session import Judge, Session
from trainc.pipeline.valid_document import ValidDocument
from trainc.plugins.ranks import Processes, Ranks

__all__ = [
    "Compilation",
    "CompiledJob",
    "Dependency",
    "Inputs",
    "JobSet",
    "Judge",
    "OneJob",
    "Processes",
    "Ranks",
    "ReplicatedJob",
    "Session",
    "ValidDocument",
    "failures",
    "functions",
    "inputs",
    "jobset_metadata",
    "release_facts",
]
