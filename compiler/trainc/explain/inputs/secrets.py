"""Objects that have an SSH key pair made, or bring a sealed one: what they take from the job that mounts it."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.explain.inputs.row import Row
from trainc.explain.readings import because, job_name, ml_policy, namespace
from trainc.explain.situation import InTrainJob, Ref, Situation

_ON = ml_policy("mpi")


def _secret_name(s: Situation) -> Iterator[Ref]:
    """Keys that are there already keep their name, whatever hash the job's ends in."""
    yield from job_name(s) if s.job.new_keys else _account_name(s)


def _account_name(_: Situation) -> Iterator[Ref]:
    yield InTrainJob(("metadata", "name"))


ROWS = (
    Row("metadata.name", (_secret_name,)),
    Row("metadata.namespace", (namespace,)),
    Row("spec.target.name", (_secret_name,)),
    Row("...generatorRef.name", (_secret_name,)),
    Row("rules.*.resourceNames", (_secret_name,)),
    Row("roleRef.name", (_account_name,)),
    Row("subjects.*.name", (_account_name,)),
    Row("subjects.*.namespace", (namespace,)),
    Row("spec.template.metadata.name", (_secret_name,)),
    Row("spec.template.metadata.namespace", (namespace,)),
    Row("...template.spec.serviceAccountName", (_account_name,)),
    Row("...env[SECRET_NAME].value", (_secret_name,)),
    Row("...containers[keygen].image", (because("--keygen-image"), _ON)),
    Row("...", (_ON,)),
)
