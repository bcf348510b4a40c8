"""Compiling: a session, its jobs, and what a job becomes."""

from trainc.compilation import Compilation, CompiledJob
from trainc.explain.select_job import OneJob
from trainc.functions import compile_documents
from trainc.kube.jobset import JobSet, ReplicatedJob, jobsets_in, read_jobset
from trainc.pipeline.inputs import Inputs, read_inputs
from trainc.pipeline.session import Judge, Session
from trainc.pipeline.valid_document import ValidDocument
from trainc.plugins.plugin import Gang, Plugin
from trainc.plugins.registry import PLUGINS, enabled

__all__ = [
    "PLUGINS",
    "Compilation",
    "CompiledJob",
    "Gang",
    "Inputs",
    "JobSet",
    "Judge",
    "OneJob",
    "Plugin",
    "ReplicatedJob",
    "Session",
    "ValidDocument",
    "compile_documents",
    "enabled",
    "jobsets_in",
    "read_inputs",
    "read_jobset",
]
