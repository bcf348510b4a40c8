"""Compiling: a session, its jobs, and what a job becomes."""

from trainc.compilation import Compilation, CompiledJob
from trainc.explain.select_job import OneJob
from trainc.functions import compile_documents
from trainc.kube.jobset import Dependency, JobSet, ReplicatedJob
from trainc.pipeline.inputs import Inputs, read_inputs
from trainc.pipeline.session import Judge, Session
from trainc.pipeline.valid_document import ValidDocument
from trainc.plugins.plugin import Gang, Plugin
from trainc.plugins.ranks import Processes, Ranks
from trainc.plugins.registry import PLUGINS, enabled

__all__ = [
    "PLUGINS",
    "Compilation",
    "CompiledJob",
    "Dependency",
    "Gang",
    "Inputs",
    "JobSet",
    "Judge",
    "OneJob",
    "Plugin",
    "Processes",
    "Ranks",
    "ReplicatedJob",
    "Session",
    "ValidDocument",
    "compile_documents",
    "enabled",
    "read_inputs",
]
