"""Compiling: a session, its jobs, and what a job becomes."""

from trainc import functions as functions
from trainc.compilation import Compilation as Compilation, CompiledJob as CompiledJob
from trainc.explain.select_job import OneJob as OneJob
from trainc.ir.release import release_facts as release_facts
from trainc.ir.trainjob import jobset_metadata as jobset_metadata
from trainc.kube.jobset import Dependency as Dependency, JobSet as JobSet, ReplicatedJob as ReplicatedJob
from trainc.pipeline import failures as failures, inputs as inputs
from trainc.pipeline.inputs import Inputs as Inputs
from trainc.pipeline.session import Judge as Judge, Session as Session
from trainc.pipeline.valid_document import ValidDocument as ValidDocument
from trainc.plugins.ranks import Processes as Processes, Ranks as Ranks
